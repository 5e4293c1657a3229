"""Runs a document set through a function block by block, with atomic output and resume.

It decides what is read, handed out, written and recorded, and in which order; it knows nothing of what the function
does. Memory is bounded by the block. The output bytes depend on the input, the settings and the function alone,
provided the function's answer for a record does not depend on its block.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from wordveil.arrays import ReleasedText
from wordveil.documents.base import Record
from wordveil.documents.checkpoints import Journal, file_identity, is_regular_or_tree, journal_path
from wordveil.documents.jobs import Answers, DocumentSettings, DocumentSummary, Job
from wordveil.documents.output import (
    OutputWriter,
    check_not_busy,
    is_regular_target,
    partial_path,
    publish,
    remove_partial,
)
from wordveil.documents.parquet import Parquet, ParquetSink
from wordveil.documents.reader import DocumentReader, guess_format
from wordveil.errors import DocumentFormatError, ParameterError, ResumeError, WordveilError

__all__ = ["blocks", "run_file", "take_up"]

_FIRST_BLOCK = 1 << 20  # each block is twice the one before: the time left is known from the first seconds on


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
    """Cut records into blocks that end at sections, or inside one where a section is larger than a block.

    The first blocks are smaller, so that progress is seen at once.
    """
    block: list[Record] = []
    size = section = 0  # of the block, and of what it has of its last section
    budget = min(_FIRST_BLOCK, settings.block_characters)
    whole_sections = True  # the block began at a section
    for record in records:
        block.append(record)
        size += record.size
        section += record.size
        if settings.line_buffered:
            full = True
        elif record.closes_section:
            full = not whole_sections or size + section // 2 > budget
        else:
            full = size >= budget and section >= budget // 2
        if full:
            yield block
            block, size, whole_sections = [], 0, record.closes_section
            budget = min(2 * budget, settings.block_characters)
        if full or record.closes_section:
            section = 0
    if block:
        yield block


def take_up(journal: Journal, job: Job) -> bool:
    """Go on with an interrupted run where it is asked for and there is one; else discard what it left.

    Returns:
        Whether the journal now says how far the interrupted run came.

    Raises:
        ResumeError: If that run had another input or other settings.
    """
    if job.resume and journal.load():
        job.tally.restore(journal.tally)
        if journal.complete:
            job.calls.notice("the output of the interrupted run is complete: nothing is released anew.")
            return True
        job.calls.notice(f"going on with the interrupted run: {journal.documents:,} documents are taken over.")
        return True
    if job.resume:
        job.calls.notice("there is no interrupted run to resume: this one starts from the beginning.")
    elif journal.path.exists():
        job.calls.notice("an interrupted run of this output was discarded; --resume would have gone on with it.")
    journal.remove()
    return False


def run_file(
    source: str, destination: str, job: Job, *, name: str | None = None, identity: Mapping[str, Any] | None = None
) -> DocumentSummary:
    """Run one file.

    Args:
        source: A file, or "-".
        destination: A file, a device, or "-".
        job: What to do.
        name: Input name for document ids; the file name by default.
        identity: The input's `file_identity` where it is known.

    Returns:
        What was done.

    Raises:
        WordveilError: As `run_documents`.
    """
    check_destination(source, destination, resume=job.resume)
    journal = None
    if is_regular_target(destination) and Path(source).is_file():
        check_not_busy(partial_path(Path(destination).resolve()))
        read = identity or file_identity(Path(source), name)
        facts = job.settings.fingerprint() | {"input": read, **job.fingerprint}
        journal = Journal(journal_path(destination), facts)
        if take_up(journal, job) and journal.complete:
            return _finish_complete(journal, destination, job)
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
        taken = deque[list[Record]]()
        try:
            self._run(taken)
        except WordveilError as error:
            # Wrong input or settings: the same run would fail again, so nothing is kept.
            self._drop()
            unreadable = self._unreadable(error, taken)
            if unreadable is None:
                raise
        except BaseException as error:
            if self._records or not isinstance(error, Exception):
                self._sink.abort(keep=self._journal is not None)
            else:
                self._drop()
            raise
        else:
            return self._publish()
        raise unreadable

    def _run(self, taken: deque[list[Record]]) -> None:
        if self._journal is not None and not self._records:
            self._save(0)
        for answers in self._answers(self._documents_of(taken)):
            self._block(taken.popleft(), answers)
        self._sink.seal()
        if self._journal is not None:
            self._save(self._journal.position, complete=True)
            self._job.calls.sealed()

    def _drop(self) -> None:
        """Leave nothing behind."""
        self._sink.abort()
        if self._journal is not None:
            self._journal.remove()

    def _publish(self) -> DocumentSummary:
        self._sink.publish()
        summary = DocumentSummary(
            documents=self._documents,
            files=1,
            copied_columns=self._reader.copied_columns,
            gaps=self._reader.gaps,
            resumed_documents=self._resumed,
        )
        self._job.calls.published(summary)
        if self._journal is not None:
            self._journal.remove()
        return summary

    def _unreadable(self, error: WordveilError, taken: deque[list[Record]]) -> DocumentFormatError | None:
        """The error with file and line where the function refused a text of the blocks in work, which names its length.

        Other records of the same length cannot be told apart from it; the first one is named.
        """
        if not (isinstance(error, ParameterError) and error.name == "text"):
            return None
        for record in (record for block in taken for record in block):
            for length in (len(text) for text in record.texts if text is not None):
                if error.value == f"<{length} characters>":
                    problem = f"the text of {length} characters {error.requirement}"
                    return DocumentFormatError(self._reader.path, problem, line=record.line)
        return None

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
        if self._job.calls.progress is not None:
            self._job.calls.progress(self._reader.bytes_done, self._reader.bytes_total, self._documents)

    def _save(self, position: int, *, complete: bool = False) -> None:
        assert self._journal is not None
        self._journal.records = self._records
        self._journal.documents = self._documents
        self._journal.position = position
        self._journal.tally = dict(self._job.tally.save())
        self._journal.copied_columns = self._reader.copied_columns
        self._journal.gaps = self._reader.gaps
        self._journal.complete = complete
        self._journal.save()


def _check_answers(documents: list[Record], answers: Answers) -> None:
    if len(answers) != len(documents):
        raise ValueError(f"process returned {len(answers)} answers for {len(documents)} records")
    for record, released in zip(documents, answers, strict=True):
        nulls = [text is None for text in record.texts]
        if nulls != [text is None for text in released]:
            raise ValueError("process must return one text for each text of a record, None for None")


def _finish_complete(journal: Journal, destination: str, job: Job) -> DocumentSummary:
    """Publish an output that was complete when its run was cut off."""
    job.calls.sealed()
    target = Path(destination).resolve()
    partial = partial_path(target)
    if (partial / "merged").is_file():
        publish(partial / "merged", target)
    elif partial.is_file():
        publish(partial, target)
    elif not target.is_file():
        raise ResumeError("The output of the interrupted run is gone. Start without --resume.")
    remove_partial(partial)
    summary = DocumentSummary(
        documents=journal.documents,
        files=1,
        copied_columns=list(journal.copied_columns),
        gaps=dict(journal.gaps),
        resumed_documents=journal.documents,
    )
    job.calls.published(summary)
    journal.remove()
    return summary


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
