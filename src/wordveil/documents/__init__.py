"""Document sets: read record by record, and written in the same format, released texts where private ones were.

Nothing here knows mechanisms, tokens or runs: `runs.documents` is the whole journey.
"""

from __future__ import annotations

from wordveil.documents.base import FormatDetails, Record
from wordveil.documents.settings import DocumentSettings

__all__ = ["DocumentSettings", "FormatDetails", "Record"]
