"""Document sets: read record by record, and written in the same format, released texts where private ones were.

Nothing here knows mechanisms, tokens or runs: `runs.documents` is the whole journey.
"""

from __future__ import annotations

from wordveil.documents.base import DocumentFormat, FormatDetails, Missing, Record, Selection
from wordveil.documents.reader import FORMATS, DocumentReader, guess_format
from wordveil.documents.settings import DocumentSettings
from wordveil.documents.trees import TreeFiles, tree_files

__all__ = [
    "FORMATS",
    "DocumentFormat",
    "DocumentReader",
    "DocumentSettings",
    "FormatDetails",
    "Missing",
    "Record",
    "Selection",
    "TreeFiles",
    "guess_format",
    "tree_files",
]
