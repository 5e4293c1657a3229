"""What a run over documents is given and what it gives back; see `running` for the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from wordveil.arrays import ReleasedText
from wordveil.documents.base import FormatDetails, Missing, Record
from wordveil.documents.reader import DocumentReader, open_documents
from wordveil.documents.streams import checked_encoding
from wordveil.errors import ParameterError

__all__ = [
    "Answers",
    "Callbacks",
    "DocumentSettings",
    "DocumentSummary",
    "Job",
    "Notice",
    "Process",
    "Progress",
    "Tally",
]

Answers = list[list[ReleasedText | None]]
"""For each record of a block, one released text per text, None for None."""

Process = Callable[[list[Record]], Answers]
Progress = Callable[[int, int | None, int], None]
"""Called with raw bytes read, raw bytes in total (None for standard input) and documents done."""

Notice = Callable[[str], None]
"""Called with a line for the owner of the input, which may name files; it is for no report that travels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSettings:
    """How a document set is read; see `open_documents`.

    Attributes:
        format: Format name, or None to go by the file name.
        columns: The columns that hold text.
        keep: The other columns to copy; None copies all.
        drop_others: Copy no other column.
        missing: JSON: what happens to a record that lacks a text column, or holds something else than text in it:
            "refuse" stops the run, "keep" copies the record with null in the place of what is no text, "skip" leaves
            the record out.
        encoding: Encoding of the input, such as "windows-1252"; None for UTF-8. The output is UTF-8.
        details: Details of single formats.
        block_characters: About so much input is held and handed out at once (bytes of records); performance only.
        line_buffered: Hand out every record as soon as it is read, write it at once.
        pattern: In a directory tree, the file names taken.
    """

    format: str | None = None
    columns: tuple[str, ...] = ()
    keep: tuple[str, ...] | None = None
    drop_others: bool = False
    missing: Missing = "refuse"
    encoding: str | None = None
    details: FormatDetails = field(default_factory=FormatDetails)
    block_characters: int = 24_000_000
    line_buffered: bool = False
    pattern: str = "*"

    def __post_init__(self) -> None:
        if self.block_characters < 1:
            raise ParameterError("block_characters", self.block_characters, "must be at least 1.")
        checked_encoding(self.encoding)

    def open(self, path: str) -> DocumentReader:
        """Open one file with these settings."""
        return open_documents(
            path,
            format=self.format,
            columns=self.columns,
            drop_others=self.drop_others,
            keep=self.keep,
            missing=self.missing,
            encoding=self.encoding,
            details=self.details,
        )

    def fingerprint(self) -> dict[str, Any]:
        """The settings the output depends on, as JSON values."""
        settings = asdict(self) | {"encoding": checked_encoding(self.encoding)}
        for name in ("block_characters", "line_buffered"):
            del settings[name]
        return {f"documents.{name}": value for name, value in settings.items()}


@dataclass(slots=True)
class DocumentSummary:
    """What a run did.

    Attributes:
        documents: Documents processed, those of the interrupted run included.
        files: Files written.
        copied_columns: Names of the columns copied unchanged, over all files.
        gaps: Text columns that records lacked ("missing") or that held something else ("not_text", null now), and
            records that were left out for it ("skipped").
        skipped_files: Files of a tree that were not taken: of another format, hidden, or links that lead out of it.
        bad_files: What was wrong with the files of a tree that were left out.
        resumed_documents: Documents taken over from an interrupted run.
    """

    documents: int = 0
    files: int = 0
    copied_columns: list[str] = field(default_factory=list)
    gaps: dict[str, int] = field(default_factory=dict)
    skipped_files: list[str] = field(default_factory=list)
    bad_files: list[str] = field(default_factory=list)
    resumed_documents: int = 0


class Tally(Protocol):
    """The caller's own counts, saved with every checkpoint so that a resumed run reports the whole."""

    def save(self) -> Mapping[str, Any]:
        """The counts as JSON values; nothing private."""

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take over the counts of an interrupted run; an empty mapping means none."""


class _NoTally:
    def save(self) -> Mapping[str, Any]:
        return {}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Nothing to take over."""


def _no_notice(_: str) -> None:
    """Tell nobody."""


def _nothing(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """What a run calls besides the function that it runs documents through.

    Attributes:
        progress: Called after every block; the first blocks are small.
        notice: Told of a run that is continued or discarded, and of files that are not read.
        sealed: Called when all of the output is written and before it is published.
        published: Called with the summary when the output is in its place, and before the journal goes: where it fails,
            the run can be resumed, which releases nothing anew and calls it again.
    """

    progress: Progress | None = None
    notice: Notice = _no_notice
    sealed: Callable[[], None] = _nothing
    published: Callable[[DocumentSummary], None] = _nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is the same for all files of a run; see `run_documents` for the meaning of each."""

    process: Process
    settings: DocumentSettings
    fingerprint: Mapping[str, Any]
    resume: bool = False
    tally: Tally = field(default_factory=_NoTally)
    calls: Callbacks = field(default_factory=Callbacks)
