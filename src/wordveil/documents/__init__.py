"""Document sets: read record by record, hand the private texts out, write the released ones back in the same format.

Nothing here knows mechanisms or tokens. `run_documents` is the whole journey; `open_documents` reads one file.
"""

from __future__ import annotations

from wordveil.documents.base import DocumentFormat, FormatDetails, Missing, Record, Selection
from wordveil.documents.checkpoints import (
    RUN_KEY,
    Journal,
    is_complete,
    is_resumable,
    load_run_key,
    remove_run_key,
    run_key_path,
    save_run_key,
)
from wordveil.documents.jobs import (
    Answers,
    Callbacks,
    DocumentSettings,
    DocumentSummary,
    Notice,
    Process,
    Progress,
    Tally,
)
from wordveil.documents.output import OutputWriter
from wordveil.documents.reader import FORMATS, DocumentReader, guess_format, open_documents
from wordveil.documents.trees import TreeFiles, run_documents, tree_files

__all__ = [
    "FORMATS",
    "RUN_KEY",
    "Answers",
    "Callbacks",
    "DocumentFormat",
    "DocumentReader",
    "DocumentSettings",
    "DocumentSummary",
    "FormatDetails",
    "Journal",
    "Missing",
    "Notice",
    "OutputWriter",
    "Process",
    "Progress",
    "Record",
    "Selection",
    "Tally",
    "TreeFiles",
    "guess_format",
    "is_complete",
    "is_resumable",
    "load_run_key",
    "open_documents",
    "remove_run_key",
    "run_documents",
    "run_key_path",
    "save_run_key",
    "tree_files",
]
