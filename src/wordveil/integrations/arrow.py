"""Arrow: columns of texts of a table or a stream of batches, released; the promise stands in the schema's metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from wordveil.documents.arrow_types import bare_schema, visible_table
from wordveil.errors import MissingExtraError, ParameterError
from wordveil.parameters import OtherColumns
from wordveil.runs.tables import Releaser, TableRelease, chosen_columns, described, released_columns

try:
    import pyarrow as pa
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.arrow", "pyarrow", "parquet") from missing


def sanitize(
    table: pa.Table | pa.RecordBatchReader,
    columns: Sequence[str],
    sanitizer: Releaser | None = None,
    *,
    ids: Sequence[str] | None = None,
    **others: Unpack[OtherColumns],
) -> TableRelease:
    """Return a table, or a reader that releases batch after batch; null stays null.

    Args:
        table: The private table, or a reader of one. Metadata, and values of dictionaries that no row uses, are not
            copied: they may tell of the private text.
        columns: Columns of texts; dictionaries are not kept: they list private texts.
        sanitizer: How, or a redactor; the default of `wordveil.sanitize` unless given. Whether a redactor keeps too
            little is judged of a table as a whole, and of each batch of a reader alone, when earlier ones have left.
        ids: See `released_columns`; for a table only.
        **others: What becomes of the other columns: `keep`, `keep_others` or `drop_others`; see `OtherColumns`.
    """
    if ids is not None and not isinstance(table, pa.Table):
        raise ParameterError("ids", f"<{len(ids)} entries>", "must come with a table: a reader's rows are not counted.")
    chosen, copied = chosen_columns(columns, table.schema.names, **others)
    bare = bare_schema(table.schema, [name for name in table.schema.names if name in chosen or name in copied])
    changed = {each.name for each in bare if each.name in chosen and not pa.types.is_large_string(each.type)}
    fields = [pa.field(each.name, pa.string() if each.name in changed else each.type) for each in bare]
    promise = described(None, sanitizer, chosen, copied, keyed=ids is not None).as_json()
    schema = pa.schema(fields, metadata={"wordveil": promise})

    def released(part: Any) -> Any:
        new = released_columns({name: part.column(name).to_pylist() for name in chosen}, sanitizer, ids)
        kept = visible_table(part, pa.schema([each for each in schema if each.name not in new]))
        made = [pa.array(new[each.name], each.type) if each.name in new else kept.column(each.name) for each in schema]
        if isinstance(part, pa.Table):
            return pa.Table.from_arrays(made, schema=schema)
        whole = [each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in made]
        return pa.RecordBatch.from_arrays(whole, schema=schema)

    whole = isinstance(table, pa.Table)
    out = released(table) if whole else pa.RecordBatchReader.from_batches(schema, map(released, table))
    return described(out, sanitizer, chosen, copied, keyed=ids is not None)
