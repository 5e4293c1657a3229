"""Arrow types without what a file says about its columns: metadata, extension types and lists of categories.

All three may hold private text that no row shows: examples in a description, categories of rows that were filtered out.
"""

from __future__ import annotations

from typing import Any

__all__ = ["bare_field", "bare_type"]


def bare_field(field: Any, name: str | None = None) -> Any:
    """Return a field of the same name (or another) and bare type, without metadata."""
    import pyarrow as pa

    return pa.field(name or field.name, bare_type(field.type), nullable=field.nullable)


def bare_type(kind: Any) -> Any:
    """Return a type whose fields, all the way down, have no metadata and which names no values.

    A dictionary becomes the type of its values, an extension type the type it is stored as: cast the column to it.
    """
    import pyarrow as pa

    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return bare_type(kind.storage_type)
    if types.is_dictionary(kind):
        return bare_type(kind.value_type)
    if types.is_struct(kind):
        return pa.struct([bare_field(kind.field(i)) for i in range(kind.num_fields)])
    if types.is_map(kind):
        return pa.map_(bare_field(kind.key_field), bare_field(kind.item_field), keys_sorted=kind.keys_sorted)
    if types.is_fixed_size_list(kind):
        return pa.list_(bare_field(kind.value_field, "item"), kind.list_size)
    if types.is_list(kind):
        return pa.list_(bare_field(kind.value_field, "item"))
    if types.is_large_list(kind):
        return pa.large_list(bare_field(kind.value_field, "item"))
    return kind
