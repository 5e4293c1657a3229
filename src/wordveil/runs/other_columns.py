"""What becomes of the columns that hold no text: settled before any text is read. None is copied that was not named."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from wordveil.documents import DocumentSettings
from wordveil.errors import ParameterError, WordveilError
from wordveil.parameters import listed_names, similar_name, unnamed_columns
from wordveil.runs.engine import Notice


def other_columns(path: str, settings: DocumentSettings) -> list[str]:
    """Return the names of the columns that hold no text: of JSON, those of the first record.

    A file that cannot be read here, a pipe among them, has none: the same is checked again while it is read.
    """
    if not settings.columns or not Path(path).is_file():
        return []
    first_row = replace(settings.details, row_group_rows=1)
    try:
        with replace(settings, missing="keep", details=first_row).open_texts(path) as reader:
            reader.format.any_value = True
            for record in reader:
                if not record.structural or reader.format.other_columns:
                    break
            # Where a text column is misspelt, its absence is what is to be told.
            absent = settings.missing == "refuse" and reader.format.gaps.get("missing")
            return [] if absent else list(reader.format.other_columns)
    except (WordveilError, OSError):
        return []  # it is told of when its turn comes


def settle_others(source: str, settings: DocumentSettings, found: Iterable[Collection[str]], notice: Notice) -> None:
    """Stop before anything is read where it is not said what becomes of other columns, and tell which are all copied.

    Raises:
        ParameterError: If there are columns of which nothing was said, or a kept one is misspelt.
    """
    others = list(dict.fromkeys(name for names in found for name in names))
    keep = settings.keep or ()
    if settings.selection.asks and others:
        raise unnamed_columns(settings.columns, others, source)
    for name in keep:
        near = "" if _reached(name, others) else similar_name(name, [other for other in others if other not in keep])
        if near:
            raise ParameterError("keep", name, f"is no other column of {source}.{near}")
    if settings.keep_others and settings.columns:
        known = f": {listed_names(others)}" if others else ""
        notice(f"every column besides the text is copied unchanged{known}")


def check_kept(keep: Collection[str], columns: Collection[str], texts: Collection[str]) -> None:
    """Raise `ParameterError` where no record had a column that was to be copied."""
    unlisted = any(column.startswith("further members") for column in columns)
    for name in keep:
        if not unlisted and not _reached(name, (*columns, *texts)):
            raise ParameterError("keep", name, "is in no record. Check its spelling, or leave it out.")


def _reached(name: str, columns: Collection[str]) -> bool:
    return any(f"{name}.".startswith(f"{own}.") or f"{own}.".startswith(f"{name}.") for own in columns)
