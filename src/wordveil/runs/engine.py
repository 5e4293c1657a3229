"""The one run engine: an input through a process into an output that is there whole or not at all, and can be resumed.

Texts, vectors and rewriting all run here, so that each of these has one answer:

- A kill at any moment, or Ctrl-C: the unfinished output, the journal and the key stay, and a resumed run gives the
  bytes of one that was never interrupted.
- Wrong input or settings: the same run would fail again, so nothing is kept. Other errors, a full disk among them, keep
  what is done, if anything is; the error says which.
- The key goes when all bytes are written, before the output gets its name; the journal when the report is made too:
  where only that failed, a resumed run releases nothing anew and reports again.
- Resuming refuses another input (all of it counts), other settings, another key.
- What is there already is no run's to write over, unless that is asked for; see `runs.completion`.

Standard output, devices and pipes are written directly; a pipe as input leaves nothing to resume.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypedDict, TypeVar

from wordveil.errors import ParameterError, ResumeError, WordveilError, printable
from wordveil.files.atomic import Unfinished, check_not_busy, is_replaceable, publish, stamp, standing
from wordveil.files.journal import RUN_KEY, Journal, is_resumable, journal_path
from wordveil.files.records import time_of_end
from wordveil.files.run_key import key_digest, remove_run_key, run_key_path, save_run_key
from wordveil.randomness import RandomSource
from wordveil.runs.completion import Completion

R = TypeVar("R")
P = TypeVar("P")

Position = Mapping[str, Any]
"""Where input and output go on; empty at the start."""

Notice = Callable[[str], None]
"""Called with a line for the owner of the input, which may name files; it is for no report that travels."""

LOG = logging.getLogger("wordveil")
LOG.addHandler(logging.NullHandler())  # else Python shows warnings on standard error where nobody asked for a log
"""How runs go. A log travels: it holds no text and no name of a file or column, and counts only what releases show."""

_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def silent(_: str) -> None:
    """Tell nobody."""


class RunOptions(TypedDict, Generic[R, P], total=False):
    """How a run goes, and who is told of it.

    Attributes:
        resume: Continue an interrupted run with the same input and settings. Where the output is complete, and of the
            same input and settings, nothing is released or written; where there is neither, the run starts anew.
        again: Write over an output that is there: a second release, whose loss adds to the first's.
        progress: Called as the work goes on: after each block of a file with bytes read, bytes in all (None if
            unknown), documents, tokens; of vectors with rows done and rows in all; on a cluster, about twice a second,
            with files done, files in all and documents done.
        notice: Told, line by line, what the owner should know and a report that travels should not hold: a run that is
            continued or discarded, names of files that were not read or are malformed, what `keep_others` copies.
        deliver: Called with the report when the output is in its place, to write it down: where that fails, the run can
            be resumed, which releases nothing anew and delivers the report again. Not called where the output was
            complete before.
    """

    resume: bool
    again: bool
    progress: P | None
    notice: Notice | None
    deliver: Callable[[R], None] | None


@dataclass(frozen=True, kw_only=True)
class Going(Generic[R, P]):
    """`RunOptions` with their defaults; `TypeError` for any other."""

    resume: bool = False
    again: bool = False
    progress: P | None = None
    notice: Notice | None = None
    deliver: Callable[[R], None] | None = None


class Work(Protocol):
    """What a run does between its start and the renaming of its output."""

    def restore(self, tally: Mapping[str, Any]) -> str:
        """Take over the counts of an interrupted run; returns how much that is, such as "12 documents"."""

    def tally(self) -> Mapping[str, Any]:
        """The counts so far, as JSON values; nothing private."""

    def steps(self, folder: Path | None, position: Position) -> Generator[Position | None, None, str]:
        """Write block after block from a position on, and bring each to the disk before it is yielded.

        The folder is the unfinished output's private one; None where it goes straight to its destination.

        Yields:
            After each block where the run could go on; None where it could not.

        Returns:
            The name in the folder of what is to be renamed into place, complete and on the disk.
        """

    def finish(self, ended: str) -> None:
        """Report: the output is in its place since then, UTC, ISO 8601."""


@dataclass(kw_only=True)
class Run:
    """One run."""

    destination: str | os.PathLike[str]  # a file, a folder, a device, or "-"
    work: Work  # what to do
    # everything the output depends on, as JSON values; None where the input can be read only once, so that nothing
    # can be resumed
    identity: Mapping[str, Any] | None
    # randomness whose key is kept until all bytes are written; None where the work draws none
    source: RandomSource | None = field(default=None, repr=False)
    # continue an interrupted run, and leave a complete output as it is; starts anew where there is neither
    resume: bool = False
    # told of a run that is continued or discarded, and of an output that is complete or written over
    notice: Notice = silent
    # what the run has to do with an output that is there; None where that is the caller's affair
    completion: Completion | None = None

    def execute(self) -> None:
        try:
            if is_replaceable(self.destination):
                self._into_place()
            else:
                for _ in self.work.steps(None, {}):
                    pass
                self.work.finish(time_of_end())
        except OSError as error:
            if error.errno not in _FULL:
                raise
            full = error
        else:
            return
        kept = is_resumable(self.destination)
        advice = "make room and add --resume" if kept else "nothing is left of the run; make room and start it again"
        raise OSError(full.errno, f"{os.strerror(full.errno or 0)}: {advice}", os.fspath(self.destination))

    def _into_place(self) -> None:
        target = Path(self.destination).resolve()
        if Path(self.destination).is_symlink():
            self.notice(f"the output is a link: what it leads to is written, {printable(str(target))}.")
        if self.identity is not None and self.source is not None:
            self.identity = {**self.identity, "whose the key is": "its owner's" if self.source.lasts else "the run's"}
        check_not_busy(target)
        before = standing(target)
        if self._is_complete(target):
            return
        key = {} if self.source is None else {RUN_KEY: key_digest(self.source)}
        journal = Journal(journal_path(self.destination), {**(self.identity or {}), **key})
        going_on = self._taken_up(journal)
        unfinished = Unfinished(target, before, keep=bool(journal.position), complete=journal.product is not None)
        try:  # no other run writes the output until all that speaks of it is written: report, record and journal
            if journal.product is None:
                self._written(target, journal, unfinished, going_on=going_on)
            else:
                self._publish(target, journal)
            ended = time_of_end()
            self.work.finish(ended)
            if self.completion is not None:
                self.completion.remember(target, self.identity, ended, journal.written)
            journal.remove()
        finally:
            unfinished.release()

    def _is_complete(self, target: Path) -> bool:
        if self.completion is None:
            return False
        complete = self.completion.check(target, self.identity, resume=self.resume)
        line = complete or self.completion.overwriting(target)
        if line:
            self.notice(line)
        if complete:
            LOG.info("complete already: nothing is released anew")
        return bool(complete)

    def _written(self, target: Path, journal: Journal, unfinished: Unfinished, *, going_on: bool) -> None:
        """Write and publish; what remains of a failure is all that a resumed run needs, or nothing."""
        try:
            if not going_on:
                self._begin(journal)
            self._work(unfinished.folder, journal)
            self._publish(target, journal)
        except BaseException as error:
            kept = self._is_worth_keeping(error, journal)
            LOG.warning("stopped; %s", "resume goes on with what is done" if kept else "nothing is left of the run")
            if not kept:
                unfinished.remove()
                journal.remove()
                remove_run_key(run_key_path(target))
            raise

    def _is_worth_keeping(self, error: BaseException, journal: Journal) -> bool:
        """Whether a later run could go on, and would not fail in the same way."""
        if self.identity is None or (isinstance(error, WordveilError) and not isinstance(error, ResumeError)):
            return False
        return bool(journal.position) or journal.product is not None or not isinstance(error, Exception)

    def _publish(self, target: Path, journal: Journal) -> None:
        assert journal.product is not None
        remove_run_key(run_key_path(target))  # nothing is left to draw
        replace = self.completion is not None and self.completion.replaces(target)
        publish(target, journal.product, journal.written, replace=replace)
        LOG.info("the output is in its place")

    def _taken_up(self, journal: Journal) -> bool:
        if self.resume and journal.load():
            taken = self.work.restore(journal.tally)
            LOG.info("going on with an interrupted run")
            told = f"going on with the interrupted run: {taken} are taken over."
            complete = "the output of the interrupted run is complete: nothing is released anew."
            self.notice(told if journal.product is None else complete)
            return True
        if self.resume:
            self.notice("there is no interrupted run to resume: this one starts from the beginning.")
        elif journal.path.exists():
            self.notice("an interrupted run of this output was discarded; --resume would have gone on with it.")
        return False

    def _begin(self, journal: Journal) -> None:
        """Put key and journal of a new run in the place of what an interrupted one left: the key first."""
        journal.remove()
        if self.identity is None:
            return
        if self.source is not None:
            save_run_key(run_key_path(self.destination), self.source.export_key())
        journal.save()

    def _work(self, folder: Path, journal: Journal) -> None:
        with closing(self.work.steps(folder, journal.position)) as steps:
            while journal.product is None:
                try:
                    reached = next(steps)
                except StopIteration as end:
                    reached, journal.product = journal.position, end.value
                    journal.written = stamp(folder / end.value)
                if reached is not None:
                    journal.position, journal.tally = reached, self.work.tally()
                    if self.identity is not None:
                        journal.save()


def check_report_path(
    path: str | os.PathLike[str],
    endings: Sequence[str] = (".json", ".html"),
    *,
    others: Iterable[str | os.PathLike[str] | None] = (),
) -> None:
    """Raise `ParameterError` where no report of these forms could be written: worth knowing before a long run."""
    target = Path(path)
    try:
        target.resolve()
    except (OSError, RuntimeError):
        raise ParameterError("report", target.name, "is a link that leads nowhere. Name a file.") from None
    for other in (Path(one).resolve() for one in others if one not in (None, "-")):
        same = target.exists() and other.exists() and target.samefile(other)
        if same or other == target.resolve() or other in target.resolve().parents:
            raise ParameterError("report", target.name, "must be another file than those the run reads and writes.")
    if target.suffix not in endings:
        raise ParameterError("report", target.name, f"must end in {' or '.join(endings)}.")
    if target.exists() and not target.is_file():
        raise ParameterError("report", target.name, "is a folder or a pipe. Name a file.")
    if not target.resolve().parent.is_dir():
        raise ParameterError("report", str(path), "must lie in an existing directory.")


def check_replaced(path: str | os.PathLike[str], start: bytes = b"") -> None:
    """Raise `ParameterError` where a measurement's report would replace a file that does not look like one.

    Args:
        path: Where the report is to lie.
        start: What such a report begins with, if its first megabyte does not name wordveil.
    """
    target = Path(path)
    if not target.is_file():
        return
    with target.open("rb") as file:
        there = file.read(1 << 20)
    if there and not (b"wordveil" in there or (start and there.startswith(start))):
        problem = "is there and does not look like a report of wordveil: it was left alone. Name another file."
        raise ParameterError("report", target.name, problem)
