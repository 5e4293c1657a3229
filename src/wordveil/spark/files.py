"""A tree of files through Spark, a task a file: the bytes of `wordveil sanitize` on the tree, under the same key.

Tasks write to folders of their own in the run's unfinished output. The first that is done with a file links its output
into place; another attempt at the same file made the same bytes, and is thrown away. A receipt tells that a file is
done: a driver that is started again goes on with those that have none.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Unpack

from wordveil.documents import DocumentSettings, Record
from wordveil.documents.trees import TreeFiles
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.files.atomic import sibling, write_whole
from wordveil.files.journal import file_identity, is_resumable
from wordveil.files.run_key import run_key_path
from wordveil.runs.beforehand import UserBudget
from wordveil.runs.completion import Completion
from wordveil.runs.documents import UNNAMED, Answers, DocumentSummary, run_tree_file
from wordveil.runs.engine import Going, Notice, Position, Run, RunOptions, silent
from wordveil.runs.other_columns import check_kept, other_columns, settle_others
from wordveil.runs.preconditions import tell, tree_file_identity, tree_identity, tree_to_run
from wordveil.runs.sanitize import RunReport, add_counts, fingerprint, release_records, run_report
from wordveil.sanitizing.input_watch import InputWatch
from wordveil.sanitizing.sanitizer import Sanitizer
from wordveil.spark.budgets import check_columns, leave_out_over_budget, left_out_of
from wordveil.spark.keys import check_repeatable
from wordveil.spark.pythons import check_workers
from wordveil.spark.workers import Worker, packed_for_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RECEIPTS, _ATTEMPTS, _WHOLE = "receipts", "attempts", "whole"
_POLL = 0.5  # seconds between looks at the receipts

Progress = Callable[[int, int, int], None]
"""Called with files done, files in all and documents done."""


def sanitize_files(
    spark: SparkSession,
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    sanitizer: Sanitizer,
    *,
    settings: DocumentSettings | None = None,
    stop_at_bad_files: bool = False,
    budget: UserBudget | None = None,
    watch: InputWatch | None = None,
    **how: Unpack[RunOptions[RunReport, Progress]],
) -> RunReport:
    """Sanitize a directory tree on a cluster, a task a file: text, JSONL, JSON, CSV, TSV, Parquet, `.gz`, `.zst`.

    Args:
        spark: The session; its executors see the same paths as the driver, and have this package.
        source: A directory. Files of 100 MB to 1 GB share the work best: a file is never cut.
        destination: A new or empty directory outside it.
        sanitizer: The pipeline; give it `run_source(destination, resume=resume)` as its source to be able to resume.
        settings: How documents are read.
        stop_at_bad_files: Fail at a file that cannot be read, rather than leave it out and name it.
        budget: What bounds the loss of all documents of one person; each file is read twice then.
        watch: As for `sanitize_documents`; the driver reads its sample itself, and nothing more is counted.
        **how: How the run goes, and who is told of it: `resume`, `again`, `progress`, `notice` and `deliver`; see
            `RunOptions`. Files of an interrupted run that are done are taken over.

    Returns:
        The report of the run.

    Raises:
        DocumentFormatError: If no file can be read, or one cannot and `stop_at_bad_files`.
        ParameterError: If places or settings do not fit, there are columns of which nothing was said, a host would
            draw other noise than the driver, a user is over the budget that stops, or the output is there and `again`
            was not asked for.
        ResumeError: If the interrupted run, or the complete output, had other input, settings, vocabulary or version.
    """
    origin, settings, started = os.fspath(Path(source).absolute()), settings or DocumentSettings(), time.perf_counter()
    if not Path(origin).is_dir():
        raise ParameterError("source", origin, "must be a directory.")
    going = Going(**how)
    resume, notice = going.resume, going.notice or silent
    check_repeatable(sanitizer)
    found = tree_to_run(origin, os.fspath(destination), settings, resume=resume)
    if budget is not None:
        budget.tokens(sanitizer)
        check_columns(found, settings)
    check_workers(spark)
    watch = watch or sanitizer.watch()
    if not (resume and (is_resumable(destination) or Path(destination).exists())):
        _look(watch, origin, found, sanitizer, settings)
    context = spark.sparkContext
    spread = partial(context.parallelize, numSlices=len(found.taken))
    others = spread(found.taken).map(partial(_other_columns, origin, settings)).collect()
    settle_others(os.fspath(source), settings, others, notice)
    identities = spread(found.taken).map(partial(tree_file_identity, origin)).collect()
    read, _ = tree_identity(dict(zip(found.taken, identities, strict=True)))
    folder = str(sibling(destination, "partial"))
    reading: dict[str, Any] = {"root": origin, "folder": folder, "settings": settings}

    bad = partial(_bad, folder, stop_at_bad_files)
    counted: dict[str, Any] = {"names": found.taken, "bad": bad, **reading}
    work = _Tree(
        spread=lambda task, pending: context.parallelize(pending, len(pending)).foreach(task),
        leave_out=None if budget is None else partial(leave_out_over_budget, spark, budget, sanitizer, **counted),
        task=_Task(
            sanitizer=packed_for_tasks(sanitizer),
            key_file=str(run_key_path(destination)),
            noise=fingerprint(sanitizer),
            stop=stop_at_bad_files,
            **reading,
        ),
        found=found,
        notice=notice,
        progress=going.progress or (lambda *_: None),
    )
    reports: list[RunReport] = []

    def reported() -> RunReport:
        spent = time.perf_counter() - started, work.here
        summary, counts = work.summary(), work.counts
        outputs = sorted((each["output"] for each in work.receipts if "output" in each), key=lambda it: it["name"])
        seen: dict[str, Any] = {"counts": counts, "spent": spent, "outputs": outputs or None}
        report = run_report(source, destination, sanitizer, settings, summary, **seen)
        if budget is None:
            return report
        return budget.within(report, work.budget)

    def published() -> None:
        reports.append(reported())
        if going.deliver is not None:
            going.deliver(reports[0])

    work.published = published
    facts = {**settings.fingerprint(), "input": read, **fingerprint(sanitizer)}
    facts |= {} if budget is None else {"budget": asdict(budget)}
    run = Run(destination=destination, work=work, identity=facts, source=sanitizer.source, resume=resume, notice=notice)
    inputs = [Path(origin) / name for name in found.taken]
    run.completion = Completion(inputs=inputs, again=going.again, counted=work.remembered, recall=work.recall)
    run.execute()
    if not reports:  # the output was complete before
        return reported()
    watch.finish(reports[0].documents, reports[0].tokens + reports[0].exempt)
    return reports[0]


def _look(watch: InputWatch, origin: str, found: TreeFiles, sanitizer: Sanitizer, settings: DocumentSettings) -> None:
    for name in found.taken:
        own = settings.for_file(name)
        with suppress(DocumentFormatError, ParameterError), own.open(str(Path(origin) / name)) as reader:
            for block in own.blocks(iter(reader)):
                texts = [text for record in block for text in record.texts if text is not None]
                prepared = sanitizer.prepare([texts])
                watch.look(texts, prepared.tokens, prepared.exempt)
                if watch.settled:
                    break
        if watch.settled:
            break
    watch.words = watch.unknown = 0  # of a sample, which says nothing of the whole


def _other_columns(root: str, settings: DocumentSettings, name: str) -> list[str]:
    return other_columns(str(Path(root) / name), settings.for_file(name))


def _bad(folder: str, stop: bool, index: int, problem: str) -> None:
    """Take down that a file cannot be read."""
    _write_receipt(folder, index, {"bad": problem})
    if stop:
        raise DocumentFormatError(str(index), "cannot be read.")  # the driver tells why


def _write_receipt(folder: str, index: int, receipt: Mapping[str, Any]) -> None:
    whole = json.dumps(receipt).encode("ascii")
    write_whole(Path(folder) / _RECEIPTS / f"{index}.json", whole, private=True, shared=True)


@dataclass(frozen=True, kw_only=True)
class _Task(Worker):
    """Sanitizes one file on an executor; it may run several times, even at once."""

    root: str
    folder: str
    settings: DocumentSettings
    stop: bool

    def __call__(self, numbered: tuple[int, str]) -> None:
        index, name = numbered
        attempt = Path(self.folder) / _ATTEMPTS / uuid.uuid4().hex
        attempt.mkdir(mode=0o700)
        try:
            _write_receipt(self.folder, index, self._one(index, name, attempt))
        except DocumentFormatError as error:
            _bad(self.folder, self.stop, index, str(error))
        finally:
            rmtree(attempt, ignore_errors=True)

    def _one(self, index: int, name: str, attempt: Path) -> dict[str, Any]:
        job, counts = self.ready(), Counter[str]()

        def process(records: list[Record]) -> Answers:
            answers, found = release_records(job, records, columns=self.settings.columns)
            add_counts(counts, found)
            return answers

        left_out = left_out_of(self.folder, index)
        how: dict[str, Any] = {"settings": self.settings, "counts": counts, "leave_out": left_out}
        made, tally = run_tree_file(self.root, name, attempt, process, **how)
        with suppress(FileExistsError):  # another attempt was faster, with the same bytes
            os.link(made, Path(self.folder) / _WHOLE / name)
        return {**tally, "output": file_identity(made, name)}


@dataclass(kw_only=True)
class _Tree:
    """The files of a tree on their way through a cluster; a `Work`."""

    spread: Callable[[_Task, list[tuple[int, str]]], None]
    leave_out: Callable[[], dict[str, Any]] | None
    task: _Task
    found: TreeFiles
    notice: Notice
    progress: Progress
    published: Callable[[], None] = lambda: None
    receipts: list[dict[str, Any]] = field(default_factory=list)
    resumed: int = 0
    here: int = 0  # tokens of this driver's part
    budget: dict[str, Any] | None = None
    finished: str = ""

    def restore(self, tally: Mapping[str, Any]) -> str:
        self.receipts, self.budget = list(tally.get("receipts", ())), tally.get("budget")
        self.resumed = len(self.receipts) or len(list((Path(self.task.folder) / _RECEIPTS).glob("*.json")))
        return f"{self.resumed:,} files"

    def tally(self) -> Mapping[str, Any]:
        return {"receipts": self.receipts, "budget": self.budget}

    def remembered(self) -> Mapping[str, Any]:
        """The counts of a complete output; the names of files that were left out are their owner's."""
        done = self.summary()
        facts = {"counts": dict(self.counts), "gaps": done.gaps, "columns": done.copied_columns, "budget": self.budget}
        return {**facts, "files": done.files, "bad_files": len(self.receipts) - done.files}

    def recall(self, tally: Mapping[str, Any], finished: str) -> None:
        self.receipts = [{name: tally[name] for name in ("counts", "gaps", "columns")}]
        self.receipts += [{}] * (tally["files"] - 1) + [{"bad": UNNAMED}] * tally["bad_files"]
        self.budget, self.finished = tally["budget"], finished

    def steps(self, folder: Path | None, position: Position) -> Generator[Position | None, None, str]:
        assert folder is not None  # a tree is always a folder
        for name in (_RECEIPTS, _ATTEMPTS, _WHOLE):
            (folder / name).mkdir(exist_ok=True)
        for name in self.found.taken:
            (folder / _WHOLE / name).parent.mkdir(parents=True, exist_ok=True)
        yield {"started": True}
        places = [folder / _RECEIPTS / f"{index}.json" for index in range(len(self.found.taken))]
        before = [place.exists() for place in places]
        with self._bad_files_told(places):
            self.budget = self.leave_out and self.leave_out()
        # Some may be done now: those that cannot be read.
        pending = [(n, name) for n, name in enumerate(self.found.taken) if not places[n].exists()]
        if pending:
            with self._bad_files_told(places), _watched(folder / _RECEIPTS, len(places), self.progress):
                self.spread(self.task, pending)
        self.receipts = _read(places)
        new = [receipt for receipt, done in zip(self.receipts, before, strict=True) if not done]
        self.here = sum(receipt.get("counts", {}).get("tokens", 0) for receipt in new)
        if all("bad" in receipt for receipt in self.receipts):
            problem = f"none of its {len(places)} files can be read. The first: {self.receipts[0]['bad']}"
            raise DocumentFormatError(self.task.root, problem)
        if self.counts["documents"]:
            check_kept(self.task.settings.keep or (), self.summary().copied_columns, self.task.settings.columns)
        yield {"started": True, "done": True}
        return _WHOLE

    @contextmanager
    def _bad_files_told(self, places: list[Path]) -> Iterator[None]:
        try:
            yield
        except Exception:
            bad = [receipt["bad"] for receipt in _read(places) if "bad" in receipt]
            if self.task.stop and bad:
                raise DocumentFormatError(self.task.root, f"holds what cannot be read: {bad[0]}") from None
            raise

    @property
    def counts(self) -> Counter[str]:
        """Documents, tokens and exempt tokens of all files, and the tokens of the longest document."""
        counts = Counter[str]()
        for receipt in self.receipts:
            add_counts(counts, receipt.get("counts", {}))
        return counts

    def finish(self, ended: str) -> None:
        self.finished = ended
        tell(self.summary().bad_files, self.found, self.notice)
        self.published()

    def summary(self) -> DocumentSummary:
        columns = dict.fromkeys(name for receipt in self.receipts for name in receipt.get("columns", ()))
        bad = [receipt["bad"] for receipt in self.receipts if "bad" in receipt]
        return DocumentSummary(
            documents=self.counts["documents"],
            files=len(self.receipts) - len(bad),
            copied_columns=list(columns),
            gaps=dict(sum((Counter(receipt.get("gaps", {})) for receipt in self.receipts), Counter[str]())),
            skipped_files=self.found.skipped,
            bad_files=[*bad, *self.found.unreadable],
            finished=self.finished,
        )


def _read(places: list[Path]) -> list[dict[str, Any]]:
    return [json.loads(place.read_bytes()) for place in places if place.exists()]


@contextmanager
def _watched(folder: Path, files: int, progress: Progress) -> Iterator[None]:
    """Tell of progress from the receipts while a job runs."""
    end = threading.Event()

    def watch() -> None:
        seen: dict[str, int] = {}
        while not end.wait(_POLL):
            # One listing, and each receipt once: a look at every file in turn would not scale.
            for place in folder.glob("[0-9]*.json"):
                if place.name not in seen:
                    seen[place.name] = json.loads(place.read_bytes()).get("counts", {}).get("documents", 0)
            progress(len(seen), files, sum(seen.values()))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
