"""What the exit codes of the command line mean; docs/command-line.md shows the same table."""

from __future__ import annotations

DONE, NO, MISTAKE, INCOMPLETE, INTERNAL_ERROR, INTERRUPTED, READER_GONE = 0, 1, 2, 3, 70, 130, 141

MEANINGS = {
    DONE: "done, and nothing was found wrong",
    NO: "the answer is no: `audit` or `evaluate` refuted a claim, `score` contradicted it, `report` found an edit or "
    "other files, or `doctor` found something damaged",
    MISTAKE: "a mistake in the command, a file that is not what it should be, or a question without a yes; "
    "one line says which",
    INCOMPLETE: "done, but files of a directory could not be read and are left out; `--allow-bad-files` makes this 0",
    INTERNAL_ERROR: "an error of wordveil itself; the message names the place and never shows text",
    INTERRUPTED: "interrupted (Ctrl-C); the message says how to continue",
    READER_GONE: "the program that reads standard output has ended, as in `wordveil ... | head`",
}
"""Exit code -> what it says."""
