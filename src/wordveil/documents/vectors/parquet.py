"""Parquet: one column of lists of numbers, all of one length; other columns are copied where they are kept.

Needs pyarrow (the extra `parquet`). The output has row groups of a fixed number of rows, and a column of lists of
fixed size. Metadata of the file and of its columns, and categories that no row has, are not copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.documents.arrow_types import bare_schema, bare_table, even_tables, pa, pq
from wordveil.documents.vectors.base import OutputPlan, VectorFormat, VectorReader
from wordveil.errors import DataFormatError, ParameterError
from wordveil.files.atomic import sync

GROUP_VALUES = 1 << 22  # numbers in one row group of the output
GROUP_ROWS = 1 << 16


class _ParquetReader(VectorReader):
    def opened(self, path: Path) -> Any:
        path.open("rb").close()  # what the system refuses is told as that
        with suppress(pa.ArrowException, OSError, UnicodeDecodeError):
            file = pq.ParquetFile(path)
            if file.schema_arrow.names is not None:  # asked for here, where a damaged name is no text
                return file
        raise DataFormatError(path, "not a readable Parquet file.", remedy="Fetch it again.")

    def find(self, name: str | None) -> None:
        self.schema = self.file.schema_arrow
        self.check_names(self.schema.names)
        lists = [field.name for field in self.schema if _number_type(field.type) is not None]
        self.name = self.pick(name, lists, "column of lists")
        self.others = tuple(n for n in self.schema.names if n != self.name)
        kind = self.schema.field(self.name).type
        dtype = pa.array([], _number_type(kind)).to_numpy(zero_copy_only=False).dtype
        self.rows = self.file.metadata.num_rows
        self.dimensions = kind.list_size if pa.types.is_fixed_size_list(kind) else self._first_length()
        self.check_matrix((self.rows, self.dimensions), dtype)
        self.kind = dtype.name

    def _first_length(self) -> int:
        for batch in self._batches(0, 1, [self.name]):
            length = batch.column(self.name).value_lengths()[0].as_py()
            return -1 if length is None else int(length)
        problem = "an empty column of lists tells no dimension."
        raise DataFormatError(self.path, problem, remedy="Store lists of a fixed size.")

    def _batches(self, start: int, size: int, columns: list[str]) -> Iterator[Any]:
        left = start
        with suppress(pa.ArrowException, OSError):
            for group in range(self.file.metadata.num_row_groups):
                rows = self.file.metadata.row_group(group).num_rows
                if rows <= left:
                    left -= rows
                    continue
                # One row group at a time: asked for several, pyarrow decodes lists of all of them before the first.
                for batch in self.file.iter_batches(size, row_groups=[group], columns=columns):
                    cut = min(left, batch.num_rows)
                    left -= cut
                    if cut < batch.num_rows:
                        yield batch.slice(cut)
            return
        raise DataFormatError(self.path, "a column cannot be read.", remedy="Fetch the file again.")

    def blocks(self, start: int, size: int) -> Iterator[NDArray[Any]]:
        row = start
        for batch in self._batches(start, size, [self.name]):
            column = batch.column(self.name)  # by name: asked for "a.b", pyarrow gives the member b of "a" too
            if column.null_count:
                first = int(np.flatnonzero(np.asarray(column.is_null()))[0])
                raise DataFormatError(self.path, f"row {row + first} is null.", remedy="Remove such rows.")
            if not pa.types.is_fixed_size_list(column.type):
                lengths = np.asarray(column.value_lengths())
                if np.any(lengths != self.dimensions):
                    first = int(np.flatnonzero(lengths != self.dimensions)[0])
                    problem = f"row {row + first} has {lengths[first]} numbers, row 0 has {self.dimensions}."
                    raise DataFormatError(self.path, problem)
            values = column.flatten()
            if values.null_count:
                first = int(np.flatnonzero(np.asarray(values.is_null()))[0]) // self.dimensions
                raise DataFormatError(self.path, f"row {row + first} holds a null.", remedy="Remove such rows.")
            yield values.to_numpy(zero_copy_only=False).reshape(len(column), self.dimensions)
            row += len(column)

    def tables(self, columns: tuple[str, ...], size: int) -> Iterator[Any]:
        """Yield tables of exactly `size` rows (the last may be shorter) of other columns."""
        return even_tables(self._batches(0, size, list(columns)), size)


def _number_type(kind: Any) -> Any:
    types = pa.types
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return None
    inner = kind.value_type
    return inner if types.is_floating(inner) or types.is_integer(inner) else None


class ParquetVectors(VectorFormat):
    """Parquet files with a column of vectors."""

    name, ending, has_names, reader = "parquet", ".parquet", True, _ParquetReader

    def prefix(self, plan: OutputPlan) -> bytes:
        self._schema(plan)  # what is missing shows now, and not after the work
        if plan.rows and plan.dimensions > GROUP_VALUES:
            raise ParameterError("dimensions", plan.dimensions, f"must be at most {GROUP_VALUES} in Parquet.")
        return b""

    def finish(self, plan: OutputPlan, rows: Path, merged: Path) -> Path:
        size = min(GROUP_ROWS, GROUP_VALUES // plan.dimensions)
        schema, tables = self._schema(plan), iter(())
        others = pa.schema([schema.field(name) for name in plan.keep])
        if plan.keep:
            assert isinstance(plan.reader, _ParquetReader)
            tables = plan.reader.tables(plan.keep, size)
        with merged.open("wb") as file, rows.open("rb") as source:
            with pq.ParquetWriter(file, schema) as writer:
                for low in range(0, plan.rows, size):
                    count = min(size, plan.rows - low)
                    flat = np.frombuffer(source.read(count * plan.row_bytes), dtype=plan.dtype)
                    vectors = pa.FixedSizeListArray.from_arrays(pa.array(flat), plan.dimensions)
                    kept = bare_table(next(tables), others) if plan.keep else None
                    columns = [vectors if n == plan.name or kept is None else kept.column(n) for n in schema.names]
                    writer.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=count)
            sync(file)
        return merged

    @staticmethod
    def _schema(plan: OutputPlan) -> Any:
        number = pa.float32() if plan.dtype == "<f4" else pa.float64()
        vectors = pa.field(plan.name, pa.list_(number, plan.dimensions))
        if not plan.keep:
            return pa.schema([vectors])
        assert isinstance(plan.reader, _ParquetReader)
        own = plan.reader.schema
        bare = bare_schema(own, list(plan.keep))
        wanted = [n for n in own.names if n in plan.keep or n == plan.name]
        return pa.schema([vectors if n == plan.name else bare.field(n) for n in wanted])
