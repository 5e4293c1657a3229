"""Rows of texts, some of them null, as runs, tables and Spark hold them: a row is one document, with all its texts."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.errors import ParameterError

Rows = Sequence[Sequence[PrivateText | None]]
ReleasedRows = list[list[ReleasedText | None]]


def into_rows(rows: Rows, texts: Iterable[ReleasedText]) -> ReleasedRows:
    """Put texts, in order, into the places that hold one in rows."""
    rest = iter(texts)
    return [[None if text is None else next(rest) for text in row] for row in rows]


def refused_row(error: ParameterError, rows: Rows) -> int | None:
    """Return which row holds the text that an error refuses by its length: the first of that length."""
    lengths = ((row, len(text)) for row, texts in enumerate(rows) for text in texts if text is not None)
    found = (row for row, length in lengths if (error.name, error.value) == ("text", f"<{length} characters>"))
    return next(found, None)


_LONGEST_NAME = 1000  # beyond, as many combining marks are put in order in the square of their number


def person(value: object) -> str | None:
    """Return one name for all spellings of a person: files write 7, 7.0 and 7e0, and null, NaN or blanks for nobody.

    Numbers that are one as doubles are one person, and so are letters that Unicode's NFKC calls equal. That counts too
    much for a person and never too little. `ParameterError` for more than `_LONGEST_NAME` characters.
    """
    name = "" if value is None else str(value).strip()
    if len(name) > _LONGEST_NAME:
        size = f"<{len(name)} characters>"
        raise ParameterError("user", size, f"must name persons in at most {_LONGEST_NAME:,} characters each.")
    name = unicodedata.normalize("NFKC", name).strip()
    try:
        number = float(name)
    except ValueError:
        return name.lower() if name.lower() in ("true", "false") else name or None
    return None if math.isnan(number) else repr(number + 0.0)
