"""pandas: columns of texts of a data frame, released; the promise also stands in its `attrs`."""

from __future__ import annotations

from collections.abc import Sequence

from wordveil.errors import MissingExtraError
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.pipeline.tables import TableRelease, described, released_columns

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
) -> TableRelease:
    """Return a data frame with columns released; index and other columns are copied, missing values stay missing.

    Args:
        frame: The private frame.
        columns: Columns of texts. Categories are not kept: they list private texts.
        sanitizer: How; the default of `wordveil.sanitize` unless given.
        ids: See `released_columns`.

    Raises:
        ParameterError: If a value is neither text nor missing, or the ids do not fit.
    """
    private = {name: frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in columns}
    released = released_columns(private, sanitizer, ids)
    out = frame.drop(columns=list(columns))  # what stays of the old columns is not even in memory
    out.attrs = {}
    for name in columns:
        kind = frame[name].dtype if isinstance(frame[name].dtype, pd.StringDtype) else object
        out[name] = pd.Series(released[name], index=frame.index, dtype=kind)
    out = out[list(frame.columns)]
    others = [str(name) for name in frame.columns if name not in columns]
    if not isinstance(frame.index, pd.RangeIndex):
        others += ["index" if name is None else f"index {name}" for name in frame.index.names]
    release = described(out, sanitizer, columns, others, keyed=ids is not None)
    out.attrs["wordveil"] = release.as_dict()
    return release
