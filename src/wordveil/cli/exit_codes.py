"""The exit codes of the command line; docs/command-line.md says what each means."""

from __future__ import annotations

DONE, NO, MISTAKE, INCOMPLETE, INTERNAL_ERROR, INTERRUPTED, READER_GONE = 0, 1, 2, 3, 70, 130, 141
