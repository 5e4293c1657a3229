"""Rows of texts through a sanitizer, or what stands in its place."""

from __future__ import annotations

from collections.abc import Sequence

from wordveil.parameters import unique_ids
from wordveil.promises.release import BatchRelease
from wordveil.promises.rows import ReleasedRows, Rows, RowsReleaser, into_rows
from wordveil.sanitizing.sanitizer import Sanitizer


def release_rows(
    sanitizer: Sanitizer, rows: Rows, ids: Sequence[str] | None, part: str = ""
) -> tuple[ReleasedRows, BatchRelease]:
    """Return the released texts of rows, None where there was none, and their release."""
    documents = [[text for text in row if text is not None] for row in rows]
    filled = [row for row, texts in enumerate(documents) if texts]
    places = None if ids is None else sanitizer.places(unique_ids([ids[row] for row in filled], len(filled)), part)
    release = sanitizer.release(sanitizer.prepare([documents[row] for row in filled]), places)
    return into_rows(rows, release.texts), release


def rows_of(releaser: Sanitizer | RowsReleaser, rows: Rows, ids: Sequence[str] | None, part: str = "") -> ReleasedRows:
    """Return the released texts of rows, whichever releases them; see `release_rows`."""
    if isinstance(releaser, Sanitizer):
        return release_rows(releaser, rows, ids, part)[0]
    return releaser.release_rows(rows, ids, part)
