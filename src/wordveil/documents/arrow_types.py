"""What of an Arrow table is copied: names, types and values, and nothing that came with them.

Metadata of a file or of a field (pandas attributes, examples, queries, dataset cards) and dictionary values that no row
uses can hold anybody's text, and a release could not list them: none of them passes. An extension type is metadata too,
so its values are written in their storage type; dictionaries become plain values, at every depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from wordveil.errors import MissingExtraError, ParameterError


class _Lazy:
    """A module of pyarrow, loaded when it is first used, which says what is missing."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        try:
            value = vars(self)[name] = getattr(import_module(self._name), name)
        except ImportError:
            raise MissingExtraError("The parquet format", "pyarrow", "parquet") from None
        return value


pa: Any = _Lazy("pyarrow")
pq: Any = _Lazy("pyarrow.parquet")

# Older versions of pyarrow have no views, so that they are told by name.
_LISTS = {
    "ListType": "list_",
    "LargeListType": "large_list",
    "ListViewType": "list_view",
    "LargeListViewType": "large_list_view",
}


def bare_schema(schema: Any, names: list[str]) -> Any:
    """Return the schema of the named columns without metadata at any depth."""
    return pa.schema([_bare_field(schema.field(name)) for name in names])


def bare_table(table: Any, schema: Any) -> Any:
    """Return a table or record batch in the types of its bare schema."""
    columns = [_bare_values(table.column(field.name), field) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def visible_table(table: Any, schema: Any) -> Any:
    """Return a table in the types of its bare schema, with the values that its rows show and no others.

    Buffers hold more: what stands under a null, before and behind a slice, in the other members of a union. So the
    columns go through a Parquet file in memory, which holds what is shown.
    """
    bare, sink = bare_table(table, schema), pa.BufferOutputStream()
    if not bare.num_columns:
        return bare
    try:
        pq.write_table(bare, sink)
        return pq.read_table(pa.BufferReader(sink.getvalue())).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError):
        kinds = ", ".join(dict.fromkeys(str(field.type) for field in schema))
        raise ParameterError("keep", list(schema.names), f"holds a type that no Parquet file holds: {kinds}.") from None


def even_tables(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Yield tables of so many rows, the last of the rest, whatever the batches: theirs follow the input's row groups.

    A batch has so many rows at most.
    """
    waiting: list[Any] = []
    held = 0
    for batch in batches:
        waiting.append(batch)
        held += batch.num_rows
        if held >= rows:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, rows)
            held -= rows
            waiting = table.slice(rows).to_batches()
    if held:
        yield pa.Table.from_batches(waiting)


def is_list(kind: Any) -> bool:
    """Whether the values of a type are lists of one kind; maps are none."""
    return type(kind).__name__ in (*_LISTS, "FixedSizeListType")


def with_values(kind: Any, values: Any) -> Any:
    """Return the type of a list with another type of values, without metadata."""
    field = pa.field(kind.value_field.name, values, kind.value_field.nullable)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(field, kind.list_size)
    return getattr(pa, _LISTS[type(kind).__name__])(field)


def _bare_field(field: Any) -> Any:
    return pa.field(field.name, _bare_type(field.type), field.nullable)


def _bare_type(kind: Any) -> Any:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _bare_type(kind.storage_type)
    if types.is_dictionary(kind):
        return _bare_type(kind.value_type)
    if types.is_struct(kind):
        return pa.struct([_bare_field(kind.field(i)) for i in range(kind.num_fields)])
    if types.is_map(kind):
        return pa.map_(_bare_field(kind.key_field), _bare_field(kind.item_field), keys_sorted=kind.keys_sorted)
    if is_list(kind):
        return with_values(kind, _bare_type(kind.value_type))
    return kind


def _bare_values(column: Any, field: Any) -> Any:
    try:
        return column if column.type == field.type else column.cast(field.type)
    except pa.ArrowNotImplementedError:
        remedy = f"is of a type that cannot be written as plain values: {column.type}. Cast it first, or leave it out."
        raise ParameterError("keep", field.name, remedy) from None
