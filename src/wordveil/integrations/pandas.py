"""pandas: columns of texts of a data frame, released; the promise also stands in its `attrs`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Unpack

import numpy as np

from wordveil.errors import MissingExtraError, ParameterError
from wordveil.parameters import OtherColumns
from wordveil.runs.tables import Releaser, TableRelease, chosen_columns, described, released_columns

try:
    import pandas as pd
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.pandas", "pandas", "pandas") from missing

NUMBERS = (*(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)), "Float32", "Float64")
REBUILT = (pd.StringDtype, pd.DatetimeTZDtype, pd.BooleanDtype, *(getattr(pd, f"{name}Dtype") for name in NUMBERS))
"""Types of pandas' own in which kept values are written again; those of any other come out as plain objects."""
PLAIN = {str, bytes, bool, int, float, complex, Decimal, date, time, datetime, timedelta, type(None)}
PLAIN |= {type(pd.NA), type(pd.NaT), pd.Timestamp, pd.Timedelta, pd.Period, pd.Interval}
PLAIN |= set(np.sctypeDict.values()) - {np.void, np.object_}  # a void shows no padding, which may hold anything
"""Types of objects that are nothing but the value they show."""


def sanitize(
    frame: pd.DataFrame,
    columns: Sequence[str],
    sanitizer: Releaser | None = None,
    *,
    ids: Sequence[str] | None = None,
    **others: Unpack[OtherColumns],
) -> TableRelease:
    """Return a data frame with columns released; missing values stay missing.

    An index other than a range is a column like the others, by its name or "index". Else rows are numbered anew.
    Of what is copied come the values that are shown: categories and types of Arrow come out as plain objects.

    Args:
        frame: The private frame.
        columns: Columns of texts. Categories are not kept: they list private texts.
        sanitizer: How, or a redactor; the default of `wordveil.sanitize` unless given.
        ids: See `released_columns`.
        **others: What becomes of the other columns: `keep`, `keep_others` or `drop_others`; see `OtherColumns`.
    """
    called = [] if isinstance(frame.index, pd.RangeIndex) else frame.index.names
    levels = ["index" if name is None else name for name in called]
    chosen, copied = chosen_columns(columns, list(frame.columns), levels, **others)
    private = {name: frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in chosen}
    released = released_columns(private, sanitizer, ids)
    kept = [place for place, name in enumerate(levels) if name in copied]
    arrays = [_visible(frame.index.get_level_values(place)) for place in kept]
    names = [_plain_name(frame.index.names[place]) for place in kept]
    index = pd.RangeIndex(len(frame))
    if arrays:
        index = pd.MultiIndex.from_arrays(arrays, names=names) if arrays[1:] else pd.Index(arrays[0], name=names[0])
    shown = [place for place, name in enumerate(frame.columns) if name in chosen or name in copied]
    made: dict[int, Any] = {}
    for number, place in enumerate(shown):
        column = frame.iloc[:, place]
        if column.name in chosen:
            kind = column.dtype if isinstance(column.dtype, pd.StringDtype) else object
            made[number] = pd.Series(released[column.name], index=index, dtype=kind)
        else:
            made[number] = pd.Series(_visible(column), index=index)
    out = pd.DataFrame(made, index=index)
    out.columns = pd.Index([_plain_name(frame.columns[place]) for place in shown])
    beside = [name for name in frame.columns if name in copied]
    beside += [name if name == "index" else f"index {name}" for name in levels if name in copied]
    release = described(out, sanitizer, chosen, beside, keyed=ids is not None)
    out.attrs["wordveil"] = release.as_dict()
    return release


def _plain_name(name: Any) -> Any:
    """Return a column's or an index's name without what a class derived from text may hold beside it."""
    return str.__str__(name) if isinstance(name, str) else name


def _visible(column: pd.Series | pd.Index) -> Any:
    """Return the values that a column shows, in an array of their own: categories and masks hold others."""
    kind = column.dtype
    if isinstance(kind, np.dtype) and kind.kind != "O":
        plain = column.to_numpy().astype(np.dtype(kind.str))  # without what the type may hold as its metadata
        if kind.kind in "fc":
            plain[np.isnan(plain)] = np.nan  # of any bits
        return plain
    if isinstance(kind, REBUILT):
        return pd.array(column.tolist(), dtype=kind)
    values = np.fromiter(column.astype(object), dtype=object, count=len(column))
    if odd := {type(value).__name__ for value in values if type(value) not in PLAIN}:
        kinds = f"objects of other types than text, numbers and times: {', '.join(sorted(odd))}"
        raise ParameterError("keep", str(column.name), f"holds {kinds}. They may carry more than they show.")
    return values
