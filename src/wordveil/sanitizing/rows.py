"""Rows of texts, some of them null, as runs, tables and Spark hold them: a row is one document, with all its texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.errors import ParameterError
from wordveil.parameters import unique_ids
from wordveil.promises.release import BatchRelease
from wordveil.sanitizing.sanitizer import Sanitizer

__all__ = ["ReleasedRows", "Rows", "into_rows", "refused_row", "release_rows"]

Rows = Sequence[Sequence[PrivateText | None]]
ReleasedRows = list[list[ReleasedText | None]]


def release_rows(
    sanitizer: Sanitizer, rows: Rows, ids: Sequence[str] | None, part: str = ""
) -> tuple[ReleasedRows, BatchRelease]:
    """Return the released texts of rows, None where there was none, and their release.

    Args:
        sanitizer: Releases them.
        rows: Texts of each row; one without any is no document.
        ids: One per row, those of documents unique under the sanitizer's key; None draws afresh.
        part: What of its document a row holds, such as columns: others draw noise of their own.
    """
    documents = [[text for text in row if text is not None] for row in rows]
    filled = [row for row, texts in enumerate(documents) if texts]
    places = None if ids is None else sanitizer.places(unique_ids([ids[row] for row in filled], len(filled)), part)
    release = sanitizer.release(sanitizer.prepare([documents[row] for row in filled]), places)
    return into_rows(rows, release.texts), release


def into_rows(rows: Rows, texts: Iterable[ReleasedText]) -> ReleasedRows:
    """Put texts, in order, into the places that hold one in rows."""
    rest = iter(texts)
    return [[None if text is None else next(rest) for text in row] for row in rows]


def refused_row(error: ParameterError, rows: Rows) -> int | None:
    """Return which row holds the text that an error refuses by its length: the first of that length."""
    lengths = ((row, len(text)) for row, texts in enumerate(rows) for text in texts if text is not None)
    found = (row for row, length in lengths if (error.name, error.value) == ("text", f"<{length} characters>"))
    return next(found, None)
