"""pandas: columns of texts of a data frame, released; the promise also stands in its `attrs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wordveil.errors import MissingExtraError
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.pipeline.tables import TableRelease, chosen_columns, described, released_columns

try:
    import pandas as pd
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.pandas", "pandas", "pandas") from missing

__all__ = ["sanitize"]


def sanitize(
    frame: pd.DataFrame,
    columns: Sequence[str],
    sanitizer: Sanitizer | None = None,
    *,
    ids: Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    keep_others: bool = False,
    drop_others: bool = False,
) -> TableRelease:
    """Return a data frame with columns released; missing values stay missing.

    An index other than a range is a column like the others, by its name or "index"; left out, rows are numbered anew.

    Args:
        frame: The private frame.
        columns: Columns of texts. Categories are not kept: they list private texts.
        sanitizer: How; the default of `wordveil.sanitize` unless given.
        ids: See `released_columns`.
        keep: The other columns to copy; where there are any, this or one of the next two must be given.
        keep_others: Copy all other columns.
        drop_others: Leave out all other columns.

    Raises:
        ParameterError: If columns, ids or values are not as above.
    """
    levels = [] if isinstance(frame.index, pd.RangeIndex) else [_level(name) for name in frame.index.names]
    how: dict[str, Any] = {"keep": keep, "keep_others": keep_others, "drop_others": drop_others}
    chosen, copied = chosen_columns(columns, list(frame.columns), also=levels, **how)
    private = {name: frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in chosen}
    released = released_columns(private, sanitizer, ids)
    # What stays of the old columns is not even in memory.
    out = frame.loc[:, [name not in chosen and name in copied for name in frame.columns]].copy()
    out.attrs = {}
    dropped = [place for place, name in enumerate(levels) if name not in copied]
    out.index = out.index.droplevel(dropped) if len(dropped) < len(levels) else out.index
    # What no row uses is nobody's column.
    out.index = out.index.remove_unused_levels() if isinstance(out.index, pd.MultiIndex) else out.index
    for place, kind in enumerate(out.dtypes):
        if isinstance(kind, pd.CategoricalDtype):
            out.isetitem(place, out.iloc[:, place].cat.remove_unused_categories())
    if levels and len(dropped) == len(levels):
        out.index = pd.RangeIndex(len(out))
    for name in chosen:
        kind = frame[name].dtype if isinstance(frame[name].dtype, pd.StringDtype) else object
        out[name] = pd.Series(released[name], index=out.index, dtype=kind)
    out = out.loc[:, [name for name in dict.fromkeys(frame.columns) if name in chosen or name in copied]]
    others = [name for name in frame.columns if name in copied]
    others += [name if name == "index" else f"index {name}" for name in levels if name in copied]
    release = described(out, sanitizer, chosen, others, keyed=ids is not None)
    out.attrs["wordveil"] = release.as_dict()
    return release


def _level(name: object) -> object:
    """Return what a level of an index is called."""
    return "index" if name is None else name
