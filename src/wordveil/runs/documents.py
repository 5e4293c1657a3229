"""Runs a document set (a file, standard input, a folder) through a function, block by block, into the same formats.

It decides what is read, handed out and written, and in which order; it knows nothing of what the function does. Memory
is bounded by the block. The output bytes depend on the input, the settings and the function alone, provided the
function's answer for a record does not depend on its block. In a folder, malformed files are left out, and told of.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wordveil.documents.base import Record, Sink
from wordveil.documents.output import OutputFile
from wordveil.documents.reader import DocumentReader
from wordveil.documents.settings import DocumentSettings
from wordveil.documents.streams import compression_of, gzip_library
from wordveil.documents.trees import TreeFiles
from wordveil.errors import DocumentFormatError, ParameterError, ResumeError
from wordveil.files.atomic import is_replaceable
from wordveil.files.journal import file_identity
from wordveil.promises.rows import ReleasedRows, refused_row
from wordveil.randomness import RandomSource
from wordveil.runs.completion import SECOND, Completion
from wordveil.runs.engine import Notice, Position, Run, silent
from wordveil.runs.other_columns import check_kept, other_columns, settle_others
from wordveil.runs.preconditions import check_file, tell, tree_file_identity, tree_identity, tree_to_run

Answers = ReleasedRows
"""For each record of a block, one released text per text, None for None."""

Process = Callable[[list[Record]], Answers]


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of the documents of a file before it is run: which are left out, and the ids of the others."""

    leave_out: Collection[int] = ()
    ids: Sequence[str] | None = None  # None goes by the file and the place in it
    documents: int | None = None  # how many it has, left out or not, where that was found out
    stamp: tuple[int, ...] | None = None  # by which it is known that nobody wrote to it since
    problem: DocumentFormatError | None = None  # why it could not be read beforehand, and is not read now


Beforehand = Callable[[Sequence[tuple[str, DocumentSettings]]], list[Known]]
"""Reads all files, each with its settings, once before they are run."""

Progress = Callable[[int, int | None, int], None]
"""Called with raw bytes read, raw bytes in total (None for standard input) and documents done."""

UNNAMED = "a file that was named when the output was made"
_WHOLE, _PARTS = "whole", "parts"  # in the unfinished output's folder


@dataclass(slots=True)
class DocumentSummary:
    """What a run did."""

    documents: int = 0  # documents processed, those of the interrupted run included
    files: int = 0  # files written
    copied_columns: list[str] = field(default_factory=list)  # names of the columns copied unchanged, over all files
    # text columns that records lacked ("missing") or that held something else ("not_text", null now), records that
    # were left out for it ("skipped"), and members left out that no first record has ("members")
    gaps: dict[str, int] = field(default_factory=dict)
    # files of a tree that were not taken: of another format, hidden, or links that lead out of it
    skipped_files: list[str] = field(default_factory=list)
    bad_files: list[str] = field(default_factory=list)  # what was wrong with the files of a tree that were left out
    resumed_documents: int = 0  # documents taken over from an interrupted run
    finished: str = ""  # when the output was complete, UTC, ISO 8601; "" where it is not yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """What a run calls besides the function that it runs documents through."""

    progress: Progress | None = None  # called after every block; the first blocks are small
    notice: Notice = silent  # told of a run that is continued or discarded, and of files that are not read
    read: Callable[[], None] = lambda: None  # called when all is read: where it fails, no output gets its place
    # called with the summary when the output is in its place, and before the journal goes: where it fails, the run
    # can be resumed, which calls it again. Not called where the output was complete before the run.
    published: Callable[[DocumentSummary], None] = lambda _: None


def run_documents(  # noqa: PLR0913 (half of them serve a later resume)
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    process: Process,
    *,
    settings: DocumentSettings | None = None,
    fingerprint: Mapping[str, Any] | None = None,
    randomness: RandomSource | None = None,
    resume: bool = False,
    again: bool | None = None,
    second: str = SECOND,
    counts: Counter[str] | None = None,
    callbacks: Callbacks | None = None,
    beforehand: Beforehand | None = None,
) -> DocumentSummary:
    """Run a document set through a function and write the same formats; see `sanitize_documents`.

    `process` takes a block of records and returns, for each, one released text per text, None for None; the answer for
    a record must not depend on the others. What the output depends on besides input and settings is the `fingerprint`,
    JSON values, nothing private. The key of `randomness`, from which the process draws, is kept until all is written;
    where there is some, `second` is said of writing over an output. With `again` None that is done unasked, and nothing
    is remembered of the run. The process adds to `counts`, kept over a resume, and less those of malformed files.
    `beforehand` reads all files before the first is run; nothing is read where the output is complete.
    """
    origin, target = os.fspath(source), os.fspath(destination)
    settings, calls = settings or DocumentSettings(), callbacks or Callbacks()
    tree = None
    if origin != "-" and Path(origin).is_dir():
        found = tree_to_run(origin, target, settings, resume=resume, settled=again is not None)
        files = [_File(str(Path(origin) / name), name, settings.for_file(name)) for name in found.taken]
        settle_others(origin, settings, (other_columns(each.path, each.settings) for each in files), calls.notice)
        read, sizes = tree_identity({name: tree_file_identity(origin, name) for name in found.taken})
        tree = _Tree(origin, found, sizes)
    else:
        check_file(origin, target, resume=resume)
        settle_others(origin, settings, [other_columns(origin, settings)], calls.notice)
        read = file_identity(Path(origin)) if Path(origin).is_file() and is_replaceable(target) else {}
        files = [_File(origin, None, settings)]
    counts = Counter() if counts is None else counts
    given: dict[str, Any] = {"process": process, "counts": counts, "calls": calls, "choice": settings}
    work = _Documents(target=target, files=files, tree=tree, beforehand=beforehand, **given)
    facts = {**settings.fingerprint(), "input": read, **(fingerprint or {})} if read else None
    if facts and any(compression_of(file.name or target) == "gz" for file in files):
        facts["gzip"] = gzip_library()
    run = Run(destination=target, work=work, identity=facts, source=randomness, resume=resume, notice=calls.notice)
    if again is not None:
        known: Any = {"counted": work.remembered, "recall": work.recall, "second": second if randomness else ""}
        inputs = [Path(file.path) for file in files] if read else None
        run.completion = Completion(inputs=inputs, again=again, **known)
    run.execute()
    return work.summary()


def run_tree_file(
    root: str,
    name: str,
    folder: Path,
    process: Process,
    *,
    settings: DocumentSettings,
    counts: Counter[str],
    leave_out: Collection[int] = (),
) -> tuple[Path, Mapping[str, Any]]:
    """Run one file of a tree, as `run_documents` runs it among the others.

    Returns:
        Where the output lies in the folder, and what was counted ("counts", "gaps", "columns").
    """
    file = _File(str(Path(root) / name), name, settings.for_file(name), Known(leave_out=leave_out))
    work = _Documents(target=name, files=[file], tree=None, process=process, counts=counts, calls=Callbacks())
    for _ in work.steps(folder, {}):
        pass
    return folder / _WHOLE / name, work.tally()


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    name: str | None  # in a tree, and in the ids of its documents
    settings: DocumentSettings
    known: Known = field(default_factory=Known)


@dataclass(frozen=True, slots=True)
class _Tree:
    root: str
    found: TreeFiles
    sizes: list[int]  # of the files that are taken


@dataclass(kw_only=True)
class _Documents:
    """The files of a document set on their way; a `Work`.

    Positions name the file, the records of it that are done (structural ones included) and where its output goes on.
    """

    target: str
    files: list[_File]
    tree: _Tree | None
    process: Process
    counts: Counter[str]
    calls: Callbacks
    choice: DocumentSettings | None = None  # of the whole document set; None where this is one file of it
    beforehand: Beforehand | None = None
    _gaps: Counter[str] = field(default_factory=Counter)
    _columns: list[str] = field(default_factory=list)
    _bad_files: list[str] = field(default_factory=list)
    _before: dict[str, Any] = field(default_factory=dict)  # the counts at the start of the file
    _resumed: int = 0
    _finished: str = ""

    def restore(self, tally: Mapping[str, Any]) -> str:
        self._bad_files = list(tally.get("bad_files", ()))
        self._take_over(tally)
        self._before = dict(tally.get("before", {}))
        self._resumed = self.counts["documents"]
        return f"{self._resumed:,} documents"

    def _take_over(self, tally: Mapping[str, Any]) -> None:
        self.counts.clear()
        self.counts.update(tally.get("counts", {}))
        self._gaps, self._columns = Counter(tally.get("gaps", {})), list(tally.get("columns", ()))

    def tally(self) -> Mapping[str, Any]:
        return {**self._counted(), "bad_files": list(self._bad_files), "before": self._before}

    def _counted(self) -> dict[str, Any]:
        return {"counts": dict(self.counts), "gaps": dict(self._gaps), "columns": list(self._columns)}

    def remembered(self) -> Mapping[str, Any]:
        # The names of files that were left out are their owner's.
        return {**self._counted(), "bad_files": len(self._bad_files)}

    def recall(self, tally: Mapping[str, Any], finished: str) -> None:
        self._take_over(tally)
        self._bad_files, self._finished = [UNNAMED] * tally.get("bad_files", 0), finished

    def steps(self, folder: Path | None, position: Position) -> Generator[Position | None, None, str]:
        first = position.get("file", 0)
        if self.beforehand is not None:
            found = self.beforehand([(file.path, file.settings) for file in self.files])
            self.files = [replace(file, known=known) for file, known in zip(self.files, found, strict=True)]
        for index in range(first, len(self.files)):
            here = position if index == first and position.get("records") else {}
            if not here:
                self._before = self._counted()
            try:
                yield from self._one_file(index, folder, here)
            except DocumentFormatError as error:
                if self.tree is None:
                    raise
                self._take_over(self._before)
                self._resumed = min(self._resumed, self.counts["documents"])
                self._bad_files.append(str(error))
                if folder is not None:
                    self._output(folder, index).unlink(missing_ok=True)
            if self.tree is not None:
                yield {"file": index + 1}
        if self.tree is not None and len(self._bad_files) == len(self.files):
            problem = f"none of its {len(self.files)} files can be read. The first: {self._bad_files[0]}"
            raise DocumentFormatError(self.tree.root, problem)
        if self.choice is not None and self.counts["documents"]:
            check_kept(self.choice.keep or (), self._columns, self.choice.columns)
        self.calls.read()
        return _WHOLE

    def _one_file(self, index: int, folder: Path | None, here: Position) -> Generator[Position | None, None, None]:
        file = self.files[index]
        if file.known.problem is not None:
            raise file.known.problem
        if folder is not None:
            self._output(folder, index).parent.mkdir(parents=True, exist_ok=True)
        with file.settings.open(file.path) as reader:
            reader.source = file.name or reader.source
            reader.format.leave_out = file.known.leave_out
            done = here.get("records", 0)
            with closing(self._sink(reader, index, folder, here.get("output"))) as sink:
                for block in file.settings.blocks(_after(_named(reader, file.known), done)):
                    self._block(reader, block, sink)
                    done += len(block)
                    self._note(reader)
                    if block[-1].closes_section or sink.resumable_anywhere:
                        yield {"file": index, "records": done, "output": sink.checkpoint()}
                    else:
                        yield None
                    if self.calls.progress is not None:
                        sizes = [] if self.tree is None else self.tree.sizes
                        before, total = sum(sizes[:index]), sum(sizes) or reader.input.bytes_total
                        self.calls.progress(before + reader.bytes_done, total, self.counts["documents"])
                sink.seal()
            self._note(reader)

    def _note(self, reader: DocumentReader) -> None:
        """Take in what the reader, which always begins at the file's start, has found in it so far."""
        self._gaps = Counter(self._before["gaps"]) + reader.format.gaps
        self._columns = list(dict.fromkeys([*self._before["columns"], *reader.format.copied_columns]))

    def _output(self, folder: Path, index: int) -> Path:
        return folder / _WHOLE / (self.files[index].name or "")

    def _sink(self, reader: DocumentReader, index: int, folder: Path | None, start: int | None) -> Sink:
        path = None if folder is None else self._output(folder, index)
        name, line_buffered = self.files[index].name or self.target, self.files[index].settings.line_buffered
        parts = (folder or Path()) / _PARTS
        target = OutputFile(path=path, destination=name, parts=parts, start=start, line_buffered=line_buffered)
        return reader.format.sink(target)

    def _block(self, reader: DocumentReader, block: list[Record], sink: Sink) -> None:
        documents = [record for record in block if not record.structural]
        given = self._answers(reader, documents)
        self.counts["documents"] += len(documents)
        for record in documents:
            record.texts = []  # a long text need not be held beside what is written of it
        answers = iter(given)
        for record in block:
            sink.write(record, [] if record.structural else next(answers))
            if record.closes_section:
                sink.end_section()

    def _answers(self, reader: DocumentReader, documents: list[Record]) -> Answers:
        """Run the function; the error where it refuses a text, which names its length, gets file and line.

        Other records of the same length cannot be told apart from it; the first one is named.
        """
        try:
            given = self.process(documents) if documents else []
        except ParameterError as error:
            row = refused_row(error, [record.texts for record in documents])
            if row is None:
                raise
            problem = f"the text of {str(error.value)[1:-1]} {error.requirement}"
        else:
            if len(given) != len(documents):
                raise ValueError(f"process returned {len(given)} answers for {len(documents)} records")
            for record, released in zip(documents, given, strict=True):
                if [text is None for text in record.texts] != [text is None for text in released]:
                    raise ValueError("process must return one text for each text of a record, None for None")
            return given
        raise DocumentFormatError(reader.path, problem, line=documents[row].line)

    def finish(self, ended: str) -> None:
        self._finished = ended
        if self.tree is not None:
            tell(self.summary().bad_files, self.tree.found, self.calls.notice)
        self.calls.published(self.summary())

    def summary(self) -> DocumentSummary:
        return DocumentSummary(
            documents=self.counts["documents"],
            files=len(self.files) - len(self._bad_files),
            copied_columns=self._columns,
            gaps=dict(self._gaps),
            skipped_files=[] if self.tree is None else self.tree.found.skipped,
            bad_files=[*self._bad_files, *([] if self.tree is None else self.tree.found.unreadable)],
            resumed_documents=self._resumed,
            finished=self._finished,
        )


def _named(reader: DocumentReader, known: Known) -> Iterator[Record]:
    """Give each document its id, where there are ids; stop where the file is not what was read beforehand."""
    last, stamped = -1, known.stamp is None or stamp_of(reader.input.descriptor) == known.stamp
    for record in reader if stamped else ():
        if not record.structural:
            last = record.ordinal
            if known.ids is not None and last < len(known.ids):
                record.id = known.ids[last]
        if known.documents is not None and last + len(known.leave_out) >= known.documents:
            break
        yield record
    stamped = stamped and (known.stamp is None or stamp_of(reader.input.descriptor) == known.stamp)
    if not stamped or (known.documents is not None and last + 1 + len(known.leave_out) != known.documents):
        problem = "was written to after it had been read for the first time."
        raise DocumentFormatError(reader.path, problem, remedy="Release a file that nobody writes to.")


def stamp_of(file: str | int) -> tuple[int, ...]:
    """Return by what a file, of this path or open, is known again in this run as long as nobody writes to it."""
    facts = os.stat(file)
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _after(records: Iterator[Record], done: int) -> Iterator[Record]:
    for _ in range(done):
        if next(records, None) is None:
            raise ResumeError("The input is shorter than in the interrupted run. Start without --resume.")
    return records
