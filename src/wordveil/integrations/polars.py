"""Polars: columns of texts of a frame, released; and an expression that does so inside of a lazy query."""

from __future__ import annotations

from collections.abc import Sequence

from wordveil.errors import MissingExtraError
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.pipeline.tables import TableRelease, described, released_columns

try:
    import polars as pl
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.polars", "polars", "polars") from missing

__all__ = ["sanitize", "sanitized"]


def sanitize(
    frame: pl.DataFrame,
    columns: Sequence[str],
    sanitizer: Sanitizer | None = None,
    *,
    ids: Sequence[str] | None = None,
) -> TableRelease:
    """Return a frame with columns released; other columns are copied, null stays null.

    Args:
        frame: The private frame.
        columns: Columns of texts; they come out as strings.
        sanitizer: How; the default of `wordveil.sanitize` unless given.
        ids: See `released_columns`.

    Raises:
        ParameterError: If a value is neither text nor null, or the ids do not fit.
    """
    released = released_columns({name: frame[name].to_list() for name in columns}, sanitizer, ids)
    out = frame.with_columns(pl.Series(name, released[name], dtype=pl.String) for name in columns)
    others = [name for name in frame.columns if name not in columns]
    return described(out, sanitizer, columns, others, keyed=ids is not None)


def sanitized(column: str, sanitizer: Sanitizer | None = None) -> pl.Expr:
    """Return an expression that releases a column of texts, every row as a document with noise of its own.

    A query that is collected twice releases twice.
    """

    def released(series: pl.Series) -> pl.Series:
        return pl.Series(series.name, released_columns({"": series.to_list()}, sanitizer)[""], dtype=pl.String)

    return pl.col(column).map_batches(released, return_dtype=pl.String, is_elementwise=True)
