"""Runs a document set through a function block by block, with atomic output and resume.

It decides what is read, handed out, written and recorded, and in which order; it knows nothing of what the function
does. Memory is bounded by the block. The output bytes depend on the input, the settings and the function alone,
provided the function's answer for a record does not depend on its block.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from wordveil.arrays import ReleasedText
from wordveil.documents.base import FormatDetails, Record
from wordveil.documents.checkpoints import Journal, file_identity, is_regular_or_tree, journal_path
from wordveil.documents.output import OutputWriter, is_regular_target, partial_path, publish, remove_partial
from wordveil.documents.parquet import Parquet, ParquetSink
from wordveil.documents.reader import DocumentReader, guess_format, open_documents
from wordveil.errors import DocumentFormatError, ParameterError, ResumeError, WordveilError

__all__ = [
    "Answers",
    "DocumentSettings",
    "DocumentSummary",
    "Job",
    "Pipeline",
    "Process",
    "Progress",
    "Tally",
    "blocks",
    "run_file",
]

Answers = list[list[ReleasedText | None]]
"""For each record of a block, one released text per text, None for None."""

Process = Callable[[list[Record]], Answers]
Progress = Callable[[int, int | None, int], None]
"""Called with raw bytes read, raw bytes in total (None for standard input) and documents done."""


@runtime_checkable
class Pipeline(Protocol):
    """A process that takes the next blocks while earlier ones are still in work."""

    def run(self, blocks: Iterator[list[Record]]) -> Iterator[Answers]:
        """Yield the answers of each block, in order; empty blocks occur."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSettings:
    """How a document set is read; see `open_documents`.

    Attributes:
        format: Format name, or None to go by the file name.
        columns: The columns that hold text.
        keep: The other columns to copy; None copies all.
        drop_others: Copy no other column.
        details: Details of single formats.
        block_characters: About so much input is held and handed out at once (bytes of records); performance only.
        line_buffered: Hand out every record as soon as it is read, write it at once.
        pattern: In a directory tree, the file names taken.
    """

    format: str | None = None
    columns: tuple[str, ...] = ()
    keep: tuple[str, ...] | None = None
    drop_others: bool = False
    details: FormatDetails = field(default_factory=FormatDetails)
    block_characters: int = 24_000_000
    line_buffered: bool = False
    pattern: str = "*"

    def __post_init__(self) -> None:
        if self.block_characters < 1:
            raise ParameterError("block_characters", self.block_characters, "must be at least 1.")

    def open(self, path: str) -> DocumentReader:
        """Open one file with these settings."""
        return open_documents(
            path,
            format=self.format,
            columns=self.columns,
            drop_others=self.drop_others,
            keep=self.keep,
            details=self.details,
        )

    def fingerprint(self) -> dict[str, Any]:
        """The settings the output depends on, as JSON values."""
        settings = asdict(self)
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
        skipped_files: Files of a tree that were not taken, paths relative to it.
        resumed_documents: Documents taken over from an interrupted run.
    """

    documents: int = 0
    files: int = 0
    copied_columns: list[str] = field(default_factory=list)
    skipped_files: list[str] = field(default_factory=list)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is the same for all files of a run; see `run_documents` for the meaning of each."""

    process: Process | Pipeline
    settings: DocumentSettings
    fingerprint: Mapping[str, Any]
    resume: bool = False
    progress: Progress | None = None
    tally: Tally = field(default_factory=_NoTally)


class _ByteSink:
    """Writes rendered records into an `OutputWriter`."""

    def __init__(self, reader: DocumentReader, writer: OutputWriter) -> None:
        self._render = reader.format.render
        self._writer = writer
        self.resumable_anywhere = not writer.compressed
        self.end_section = writer.close_member
        self.checkpoint = writer.checkpoint
        self.seal = writer.seal
        self.publish = writer.commit
        self.abort = writer.abort

    def write(self, record: Record, released: Sequence[ReleasedText | None]) -> None:
        self._writer.write(self._render(record, released))


_Sink = _ByteSink | ParquetSink


def blocks(records: Iterator[Record], settings: DocumentSettings) -> Iterator[list[Record]]:
    """Cut records into blocks that end at sections, or inside one where sections are larger than blocks."""
    block: list[Record] = []
    size = 0
    section = settings.details.section_bytes
    whole_sections = True  # the block began at a section
    for record in records:
        block.append(record)
        size += record.size
        if settings.line_buffered:
            full = True
        elif record.closes_section:
            full = not whole_sections or size + section // 2 > settings.block_characters
        else:
            full = settings.block_characters < section and size >= settings.block_characters
        if full:
            yield block
            block, size, whole_sections = [], 0, record.closes_section
    if block:
        yield block


def run_file(source: str, destination: str, job: Job, *, name: str | None = None) -> DocumentSummary:
    """Run one file.

    Args:
        source: A file, or "-".
        destination: A file, a device, or "-".
        job: What to do.
        name: Input name for document ids; the file name by default.

    Returns:
        What was done.

    Raises:
        WordveilError: As `run_documents`.
    """
    check_destination(source, destination, resume=job.resume)
    journal = None
    if is_regular_target(destination) and source != "-":
        facts = job.settings.fingerprint() | {"input": file_identity(Path(source), name), **job.fingerprint}
        journal = Journal(journal_path(destination), facts)
        if not job.resume:
            journal.remove()
        elif journal.load():
            job.tally.restore(journal.tally)
            if journal.complete:
                return _finish_complete(journal, destination)
    with job.settings.open(source) as reader:
        reader.source = name or reader.source
        return _FileRun(reader, destination, job, journal).execute()


class _FileRun:
    """One file on its way: reader, sink and journal kept in step."""

    def __init__(self, reader: DocumentReader, destination: str, job: Job, journal: Journal | None) -> None:
        self._reader = reader
        self._job = job
        self._journal = journal
        self._records = journal.records if journal else 0
        self._documents = self._resumed = journal.documents if journal else 0
        resume_at = journal.position if journal and journal.records else None
        if resume_at is not None and not partial_path(Path(destination).resolve()).exists():
            raise ResumeError("The unfinished output of the interrupted run is gone. Start without --resume.")
        self._sink: _Sink
        if isinstance(reader.format, Parquet):
            self._sink = ParquetSink(reader.format, destination, resume_at=resume_at)
        else:
            line_buffered = job.settings.line_buffered
            writer = OutputWriter(destination, resume_at=resume_at, line_buffered=line_buffered)
            self._sink = _ByteSink(reader, writer)

    def execute(self) -> DocumentSummary:
        try:
            taken = deque[list[Record]]()
            for answers in self._answers(self._documents_of(taken)):
                self._block(taken.popleft(), answers)
            self._seal()
        except WordveilError:
            # Wrong input or settings: the same run would fail again, so nothing is kept.
            self._sink.abort()
            if self._journal is not None:
                self._journal.remove()
            raise
        except BaseException:
            self._sink.abort(keep=self._journal is not None and self._journal.records > 0)
            raise
        self._sink.publish()
        if self._journal is not None:
            self._journal.remove()
        return DocumentSummary(
            documents=self._documents,
            files=1,
            copied_columns=self._reader.copied_columns,
            resumed_documents=self._resumed,
        )

    def _todo(self) -> Iterator[Record]:
        """Records after those done by the interrupted run."""
        records = iter(self._reader)
        for _ in range(self._records):
            if next(records, None) is None:
                raise ResumeError("The input is shorter than in the interrupted run. Start without --resume.")
        return records

    def _documents_of(self, taken: deque[list[Record]]) -> Iterator[list[Record]]:
        """Yield the documents of each block; the whole block is left in `taken`."""
        for block in blocks(self._todo(), self._job.settings):
            taken.append(block)
            yield [record for record in block if not record.structural]

    def _answers(self, documents: Iterator[list[Record]]) -> Iterator[Answers]:
        process = self._job.process
        if isinstance(process, Pipeline):
            return process.run(documents)
        return (process(block) if block else [] for block in documents)

    def _block(self, block: list[Record], given: Answers) -> None:
        documents = [record for record in block if not record.structural]
        _check_answers(documents, given)
        for record in documents:
            record.texts = []  # a long text need not be held beside what is written of it
        answers = iter(given)
        for record in block:
            self._sink.write(record, [] if record.structural else next(answers))
            if record.closes_section:
                self._sink.end_section()
        self._records += len(block)
        self._documents += len(documents)
        anywhere = self._sink.resumable_anywhere and not self._job.settings.line_buffered
        if self._journal is not None and (block[-1].closes_section or anywhere):
            self._save(self._sink.checkpoint())
        if self._job.progress is not None:
            self._job.progress(self._reader.bytes_done, self._reader.bytes_total, self._documents)

    def _save(self, position: int, *, complete: bool = False) -> None:
        assert self._journal is not None
        self._journal.records = self._records
        self._journal.documents = self._documents
        self._journal.position = position
        self._journal.tally = dict(self._job.tally.save())
        self._journal.copied_columns = self._reader.copied_columns
        self._journal.complete = complete
        self._journal.save()

    def _seal(self) -> None:
        self._sink.seal()
        if self._journal is not None:
            self._save(self._journal.position, complete=True)


def _check_answers(documents: list[Record], answers: Answers) -> None:
    if len(answers) != len(documents):
        raise ValueError(f"process returned {len(answers)} answers for {len(documents)} records")
    for record, released in zip(documents, answers, strict=True):
        nulls = [text is None for text in record.texts]
        if nulls != [text is None for text in released]:
            raise ValueError("process must return one text for each text of a record, None for None")


def _finish_complete(journal: Journal, destination: str) -> DocumentSummary:
    """Publish an output that was complete when its run was cut off."""
    target = Path(destination).resolve()
    partial = partial_path(target)
    if (partial / "merged").is_file():
        publish(partial / "merged", target)
    elif partial.is_file():
        publish(partial, target)
    elif not target.is_file():
        raise ResumeError("The output of the interrupted run is gone. Start without --resume.")
    remove_partial(partial)
    journal.remove()
    return DocumentSummary(
        documents=journal.documents,
        files=1,
        copied_columns=list(journal.copied_columns),
        resumed_documents=journal.documents,
    )


def check_destination(source: str, destination: str, *, resume: bool) -> None:
    """Refuse outputs that would harm the input, differ in format, or cannot be resumed."""
    if resume and (source == "-" or not is_regular_or_tree(destination)):
        raise ParameterError("resume", resume, "needs an input file and an output file.")
    if source != "-" and not Path(source).exists():
        raise DocumentFormatError(source, "no such file.", remedy="Check the path.")
    if destination == "-" or not is_regular_or_tree(destination):
        return
    parent = Path(destination).resolve().parent
    if not parent.is_dir():
        raise ParameterError("destination", destination, "must lie in an existing directory.")
    if source == "-":
        return
    if Path(destination).exists() and os.path.samefile(source, destination):
        raise ParameterError("destination", destination, "must differ from the input.")
    theirs, ours = guess_format(source), guess_format(destination)
    if theirs and ours and theirs != ours:
        raise ParameterError("destination", destination, f"stands for {ours}, but the output is {theirs} as the input.")
