"""Parquet: selected string columns are rewritten; names, types and values of the others and the codec are kept.

Nothing else of the file is: see `arrow_types`. The output has row groups of a fixed number of rows. Nested columns are
reached by name (`a.b`, lists included) and rebuilt from Python values. Needs pyarrow (the extra `parquet`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, cast

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.documents.arrow_types import bare_schema, bare_table, even_tables, is_list, pa, pq, with_values
from wordveil.documents.base import DocumentFormat, Record, absent_column
from wordveil.documents.json_walker import IN_A_LIST, SelectionNode, selection_tree
from wordveil.documents.output import OutputFile, open_direct
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.files.atomic import open_private, sync
from wordveil.parameters import unnamed_columns


class _NotTextError(Exception):
    """A selected column holds something else, which the message names and does not show."""


@dataclass(slots=True)
class _Batch:
    """Rows that become one row group: the table, and per selected column its values as Python objects."""

    table: Any
    values: dict[str, list[Any]]
    released: list[Sequence[ReleasedText | None]] = field(default_factory=list)


class Parquet(DocumentFormat):
    """Parquet files; see the module."""

    name = "parquet"
    has_columns = True
    choices = ()
    suffixes = (".parquet",)
    encodings = False
    sections = True
    share_done = 0.0

    def read(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        if not stream.seekable():
            raise ParameterError("format", "parquet", "cannot be read from a pipe: give a file.")
        problem = ""
        try:
            yield from self._rows(pq.ParquetFile(stream), path)
        except UnicodeDecodeError:
            problem = "a selected column holds invalid UTF-8."
        except (pa.ArrowException, OSError) as error:
            if getattr(error, "errno", None):
                raise  # the system's own: the disk, not the file
            problem = "not a readable Parquet file: it is damaged, truncated or of another format."
        if problem:
            raise DocumentFormatError(path, problem, remedy="Fetch it again, or write it anew.")

    def render(self, record: Record, released: Sequence[ReleasedText | None]) -> bytes:
        """Not available: rows have no bytes of their own; see `ParquetSink`."""
        raise TypeError("Parquet rows are written by ParquetSink")

    def sink(self, target: OutputFile) -> ParquetSink:
        return ParquetSink(self, target)

    def _rows(self, file: Any, path: str) -> Iterator[Record]:
        self._settle(file, path)
        ordinal, total = 0, max(1, file.metadata.num_rows)
        batches = file.iter_batches(self.details.row_group_rows, columns=list(self._written))
        if self.leave_out:
            batches = self._without_left_out(batches)
        for even in even_tables(batches, self.details.row_group_rows):
            table = bare_table(even, self._bare).combine_chunks()
            batch = _Batch(table, {name: table.column(name).to_pylist() for name in self._columns})
            size = max(1, table.nbytes // max(1, table.num_rows))
            for row in range(table.num_rows):
                texts: list[PrivateText | None] = []
                try:
                    for name in self._columns:
                        node = self._tree.children[name]
                        self._gather(batch.values[name][row], node, name, texts)
                except _NotTextError as error:
                    remedy = "Choose with --column."
                    raise DocumentFormatError(path, f"row {ordinal + 1}: {error}", remedy=remedy) from None
                last = row == table.num_rows - 1
                self.share_done = (ordinal + 1) / total
                yield Record(ordinal, texts, batch, size=size, closes_section=last, line=ordinal + 1)
                ordinal += 1

    def _gather(self, value: Any, node: SelectionNode, name: str, texts: list[PrivateText | None]) -> None:
        """Add the texts of a value to `texts`."""
        if isinstance(value, list):
            if self.no_lists:
                raise _NotTextError(IN_A_LIST.format(name))
            for element in value:
                self._gather(element, node, name, texts)
        elif node.column is None:
            if isinstance(value, dict):  # elsewhere nothing lies below: another column's name may begin like this one's
                for key, child in node.children.items():
                    if key in value:
                        self._gather(value[key], child, f"{name}.{key}", texts)
        elif value is None or isinstance(value, str):
            texts.append(cast(PrivateText | None, value))
        elif self.any_value and isinstance(value, (int, float, Decimal)):  # bytes and dates have no one spelling
            texts.append(PrivateText(str(value)))
        else:
            raise _NotTextError(f"column {name!r} holds {type(value).__name__} values, not text.")

    def _without_left_out(self, batches: Iterator[Any]) -> Iterator[Any]:
        done = 0
        for batch in batches:
            kept = []
            for _ in range(batch.num_rows):
                left_out = self.is_left_out(done)
                kept.append(not left_out)
                done += not left_out
            yield batch.filter(pa.array(kept, pa.bool_()))

    def _settle(self, file: Any, path: str) -> None:
        schema = file.schema_arrow
        if not self.selection.columns:
            raise ParameterError("columns", (), f"must name the text columns among the {len(schema.names)} of {path}.")
        tree = selection_tree(self.selection)
        self._tree = tree
        if len(set(schema.names)) < len(schema.names):
            raise DocumentFormatError(path, "two columns of one name.", remedy="Give each its own.")
        for name in self.selection.named:
            if not _reaches(schema, name):
                problem, remedy = absent_column(name, schema.names, self.selection.columns)
                raise DocumentFormatError(path, problem, remedy=remedy)
        written = _Written({}, {})
        kinds = {name: written.kind(field.type, tree, name) for name, field in zip(schema.names, schema, strict=True)}
        self.copied_columns, self.other_columns = written.copied, {**written.copied, **written.left_out}
        if self.selection.asks and written.left_out:
            raise unnamed_columns(self.selection.columns, list(written.left_out), path)
        self._written = [name for name, kind in kinds.items() if kind is not None]
        self._bare = bare_schema(schema, self._written)
        fields = [field.with_type(kinds[field.name]) for field in schema if field.name in self._written]
        self.schema = bare_schema(pa.schema(fields), self._written)
        self._columns = [n for n in self._written if n in tree.children and not tree.children[n].is_copied_whole]
        metadata = file.metadata
        has_chunk = metadata.num_row_groups and metadata.num_columns
        codec = metadata.row_group(0).column(0).compression if has_chunk else "SNAPPY"
        self.codec = "NONE" if codec == "UNCOMPRESSED" else codec

    def rebuilt(self, batch: _Batch) -> Any:
        iterators = [iter(texts) for texts in batch.released]
        columns = []
        for name in self._written:
            if name in batch.values:
                node, kind = self._tree.children[name], self.schema.field(name).type
                pairs = zip(batch.values[name], iterators, strict=True)
                columns.append(pa.array([_replace(value, node, texts) for value, texts in pairs], type=kind))
            else:
                columns.append(batch.table.column(name))
        return pa.Table.from_arrays(columns, schema=self.schema)


@dataclass(frozen=True, slots=True)
class _Written:
    """Takes a schema apart into what is written and what is left out; struct members by their whole path."""

    copied: dict[str, None]
    left_out: dict[str, None]

    def kind(self, kind: Any, node: SelectionNode, *path: str) -> Any:
        """Return what is left of the type of a member of `node`; None where nothing is."""
        child = node.children.get(path[-1])
        if child is not None and not child.is_copied_whole:
            return self._below(kind, child, path)
        whole = node.copies_rest if child is None else True
        (self.copied if whole else self.left_out)[".".join(path)] = None
        return kind if whole else None

    def _below(self, kind: Any, node: SelectionNode, path: tuple[str, ...]) -> Any:
        if node.column is not None:
            return kind
        if pa.types.is_struct(kind):
            members = [kind.field(i) for i in range(kind.num_fields)]
            kinds = [self.kind(member.type, node, *path, member.name) for member in members]
            rest = [member.with_type(k) for member, k in zip(members, kinds, strict=True) if k is not None]
            return pa.struct(rest) if rest else None
        if is_list(kind):
            value = self._below(kind.value_type, node, path)
            return None if value is None else with_values(kind, value)
        # Nothing lies below: the name of a text column begins like this one's.
        (self.copied if node.copies_rest else self.left_out)[".".join(path)] = None
        return kind if node.copies_rest else None


def _reaches(schema: Any, name: str) -> bool:
    if name in schema.names:
        return True
    first, *rest = name.split(".")
    if first not in schema.names:
        return False
    kind = schema.field(first).type
    for part in rest:
        while hasattr(kind, "value_type"):
            kind = kind.value_type
        index = kind.get_field_index(part) if hasattr(kind, "get_field_index") else -1
        if index < 0:
            return False
        kind = kind.field(index).type
    return True


def _replace(value: Any, node: SelectionNode, texts: Iterator[ReleasedText | None]) -> Any:
    """The value with its selected texts taken from `texts`, in the order of `_gather`."""
    if isinstance(value, list):
        return [_replace(element, node, texts) for element in value]
    if node.column is None:
        if not isinstance(value, dict):
            return value
        known = [(key, child) for key, child in node.children.items() if key in value]
        return value | {key: _replace(value[key], child, texts) for key, child in known}
    return next(texts)


class ParquetSink:
    """Collects released rows into row groups, in a folder until they are merged; a pipe gets them one by one."""

    resumable_anywhere = False

    def __init__(self, form: Parquet, target: OutputFile) -> None:
        self._form, self._path, self._folder = form, target.path, target.parts
        self._parts = target.start or 0
        self._writer: Any = None
        if target.path is None:
            self._out = open_direct(target.destination)
        elif target.start is None:
            if target.parts.exists():
                shutil.rmtree(target.parts)
            target.parts.mkdir(mode=0o700)

    def write(self, record: Record, released: Sequence[ReleasedText | None]) -> None:
        """Take one row; the last row of a batch writes its row group."""
        batch: _Batch = record.template
        batch.released.append(released)
        if len(batch.released) < batch.table.num_rows:
            return
        table = self._form.rebuilt(batch)
        if self._path is None:
            self._merged(self._out).write_table(table, row_group_size=table.num_rows)
            return
        with open(self._part(self._parts), "wb") as file:
            with pa.ipc.new_file(file, self._form.schema) as part:
                part.write_table(table)
            sync(file)
        self._parts += 1

    def end_section(self) -> None:
        """Nothing: a row group ends by itself."""

    def checkpoint(self) -> int:
        return self._parts

    def seal(self) -> None:
        if self._path is None:
            self._merged(self._out).close()
            self._out.flush()
            return
        with open_private(self._path) as file:
            writer = self._merged(file)
            for index in range(self._parts):
                with pa.memory_map(os.fspath(self._part(index))) as part:
                    table = pa.ipc.open_file(part).read_all()
                    writer.write_table(table, row_group_size=max(1, table.num_rows))
            writer.close()
            sync(file)

    def close(self) -> None:
        """Nothing: row groups are closed one by one."""

    def _part(self, index: int) -> Path:
        return self._folder / f"{index:08d}.arrow"

    def _merged(self, file: BinaryIO) -> Any:
        if self._writer is None:
            self._writer = pq.ParquetWriter(file, self._form.schema, compression=self._form.codec)
        return self._writer
