"""Polars: columns of texts of a frame, released; and an expression that does so inside of a lazy query."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Unpack

from wordveil.errors import MissingExtraError, ParameterError
from wordveil.parameters import OtherColumns
from wordveil.runs.tables import Releaser, TableRelease, chosen_columns, described, released_columns

try:
    import polars as pl
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.polars", "polars", "polars") from missing


def sanitize(
    frame: pl.DataFrame,
    columns: Sequence[str],
    sanitizer: Releaser | None = None,
    *,
    ids: Sequence[str] | None = None,
    **others: Unpack[OtherColumns],
) -> TableRelease:
    """Return a frame with columns released; null stays null.

    Args:
        frame: The private frame.
        columns: Columns of texts; they come out as strings, and so do categories and enumerations that are kept.
        sanitizer: How, or a redactor; the default of `wordveil.sanitize` unless given.
        ids: See `released_columns`.
        **others: What becomes of the other columns: `keep`, `keep_others` or `drop_others`; see `OtherColumns`.
    """
    chosen, copied = chosen_columns(columns, frame.columns, **others)
    released = released_columns({name: frame[name].to_list() for name in chosen}, sanitizer, ids)
    kept = _visible(frame.select(name for name in frame.columns if name in copied))
    texts = {name: pl.Series(name, released[name], dtype=pl.String) for name in chosen}
    written = [name for name in frame.columns if name in [*chosen, *copied]]
    out = pl.DataFrame([texts[name] if name in texts else kept[name] for name in written])
    return described(out, sanitizer, chosen, copied, keyed=ids is not None)


def _visible(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with the values that its rows show: buffers hold others, under nulls and in categories."""
    if not frame.width:
        return frame
    file = io.BytesIO()
    try:
        frame.cast({name: _plain(kind) for name, kind in frame.schema.items()}).write_parquet(file)
        file.seek(0)
        return pl.read_parquet(file)
    except pl.exceptions.PolarsError:
        kinds = ", ".join(dict.fromkeys(map(str, frame.schema.values())))
        raise ParameterError("keep", frame.columns, f"holds a type that no Parquet file holds: {kinds}.") from None


def _plain(kind: Any) -> Any:
    if isinstance(kind, pl.Categorical | pl.Enum):
        return pl.String()
    if isinstance(kind, pl.Array):
        return pl.Array(_plain(kind.inner), kind.size)
    if isinstance(kind, pl.List):
        return pl.List(_plain(kind.inner))
    if isinstance(kind, pl.Struct):
        return pl.Struct({field.name: _plain(field.dtype) for field in kind.fields})
    return kind


def sanitized(column: str, sanitizer: Releaser | None = None) -> pl.Expr:
    """Return an expression that releases a column of texts, every row as a document with noise of its own.

    A query that is collected twice releases twice.
    """

    def released(series: pl.Series) -> pl.Series:
        try:
            texts = released_columns({series.name: series.to_list()}, sanitizer)[series.name]
        except ParameterError as error:  # which Polars could not hand on
            raise pl.exceptions.ComputeError(str(error)) from None
        return pl.Series(series.name, texts, dtype=pl.String)

    return pl.col(column).map_batches(released, return_dtype=pl.String, is_elementwise=True)
