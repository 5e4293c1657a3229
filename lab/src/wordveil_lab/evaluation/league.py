"""The league table: every row on every task, in parallel, resumable, with progress.

A job is one row: its promise, the audit of the promise, and its cells, all taken from the cache where they are there.
Jobs run in processes of their own, one thread each. What is computed does not depend on the number of processes, on
the order, or on where an earlier run was interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from wordveil.api import Embeddings, ParameterError, SanText, WordveilError, check_whole
from wordveil_lab.evaluation import cells
from wordveil_lab.evaluation.audits import AuditSettings, audit_promise
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.cells import Baseline, Cell, Cells, Group, OfferedTarget, PromiseSettings, Target
from wordveil_lab.evaluation.recipes import fit_contender
from wordveil_lab.evaluation.subjects import Entrant, subject_of, unprotected


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be compared."""

    targets: tuple[Target, ...]
    tasks: tuple[Task, ...]
    promises: PromiseSettings = field(default_factory=PromiseSettings)  # what the promises have besides epsilon
    audit: AuditSettings = field(default_factory=AuditSettings)  # how hard every row's promise is audited
    left_out: Mapping[str, str] = field(default_factory=dict)  # task that cannot run on this machine -> why
    repeats: int = 3  # runs of every cell that is not exact, at least 2
    seed: int = 0  # changes all noise; results are repeatable for one seed

    def __post_init__(self) -> None:
        if not self.targets or not self.tasks:
            raise ParameterError("targets", len(self.targets), "and tasks must not be empty.")
        if self.repeats < 2:
            raise ParameterError("repeats", self.repeats, "must be at least 2: one run shows no spread.")


@dataclass(frozen=True, kw_only=True)
class LeagueRow:
    """One row of the finished table."""

    target: Target | Baseline
    guarantee: dict[str, Any] | None  # None for a baseline or a row that could not be fitted
    note: str  # where the promise comes from, or why the row could not be fitted
    cells: tuple[Cell, ...]  # its cells, in the order of the tasks; empty where it could not be fitted
    audit: dict[str, Any] | None = None

    @property
    def label(self) -> str:
        """Name and epsilon, or the name of a baseline."""
        return self.target.label


@dataclass(frozen=True, kw_only=True)
class League:
    """The finished table."""

    plan: Plan
    vocabulary: dict[str, Any]  # name, size and checksum of the public vocabulary
    rows: tuple[LeagueRow, ...]  # the baselines first
    seconds: float
    cached: int  # cells taken from the cache


def run_league(
    plan: Plan,
    embeddings: Embeddings,
    *,
    cache: Path | None = None,
    workers: int = 1,
    progress: Callable[[int, int, str], None] = lambda done, total, row: None,
) -> League:
    """Compute the table; it does not depend on the number of workers, or on what the cache of cells holds."""
    check_whole("workers", workers)
    started = time.perf_counter()
    key = partial(cells.cell_key, embeddings=embeddings, promises=plan.promises, repeats=plan.repeats, seed=plan.seed)
    jobs = [
        _Job(target, tuple(key(target, task) for task in plan.tasks), plan, cache)
        for target in (*Baseline, *plan.targets)
    ]
    cached = sum(Cells(cache).get_cell(key) is not None for job in jobs for key in job.keys)
    rows: dict[Target | Baseline, LeagueRow] = {}
    done, total = 0, len(jobs) * len(plan.tasks)
    for row in _rows(jobs, embeddings, workers):
        rows[row.target] = row
        done += len(plan.tasks)
        progress(done, total, row.label)
    header = embeddings.header
    vocabulary = {"name": header.name, "words": header.rows, "dimensions": header.dimensions}
    return League(
        plan=plan,
        vocabulary=vocabulary | {"checksum": header.checksum},
        rows=_in_their_group([rows[job.target] for job in jobs]),
        seconds=time.perf_counter() - started,
        cached=cached,
    )


def _in_their_group(rows: Sequence[LeagueRow]) -> tuple[LeagueRow, ...]:
    """Leave out rows of another package that failed, where a row of another group shows what the mechanism promises."""
    shown = {row.target.name for row in rows if isinstance(row.target, OfferedTarget) and row.guarantee is not None}
    failed = [row for row in rows if isinstance(row.target, OfferedTarget) and row.guarantee is None]
    return tuple(row for row in rows if row not in failed or row.target.name not in shown)


@dataclass(frozen=True)
class _Job:
    target: Target | Baseline
    keys: tuple[str, ...]
    plan: Plan
    cache: Path | None


def _in_order(jobs: Sequence[_Job]) -> list[list[_Job]]:
    """Return what one process does in one go: rank rows together and first, as they share a costly matrix."""
    rank = [job for job in jobs if isinstance(job.target, Target) and job.target.group is Group.RANK]
    return [*([rank] if rank else []), *([job] for job in jobs if job not in rank)]


def _rows(jobs: Sequence[_Job], embeddings: Embeddings, workers: int) -> Iterator[LeagueRow]:
    if workers == 1:
        prepared: dict[str, Any] = {}
        with threadpool_limits(1):  # as in the processes: sums in another order differ in their last bits
            for job in chain(*_in_order(jobs)):
                yield _row(job, embeddings, prepared)
        return
    # Started afresh, not forked: a fork would copy threads' locks and re-key every random source.
    with ProcessPoolExecutor(workers, get_context("spawn"), _start, (embeddings,)) as pool:
        futures = [pool.submit(_rows_in_worker, part) for part in _in_order(jobs)]
        try:
            for future in as_completed(futures):
                yield from future.result()
        finally:
            pool.shutdown(cancel_futures=True)


_worker: dict[str, Any] = {}


def _start(embeddings: Embeddings) -> None:
    _worker.update(embeddings=embeddings, prepared={}, limits=threadpool_limits(1))


def _rows_in_worker(jobs: Sequence[_Job]) -> list[LeagueRow]:
    return [_row(job, _worker["embeddings"], _worker["prepared"]) for job in jobs]


def _row(job: _Job, embeddings: Embeddings, prepared: dict[str, Any]) -> LeagueRow:
    """Compute what is missing of a row; one that has no parameters at this epsilon says so and stays empty."""
    store = Cells(job.cache)
    if isinstance(job.target, Baseline):
        # Random words are a selection at a rate that tells no word from another.
        blind = SanText(epsilon=1e-9).fit
        subject = unprotected(embeddings) if job.target is Baseline.NO_NOISE else subject_of(blind(embeddings))
        made = _cells(job, lambda: subject, store, prepared)
        return LeagueRow(target=job.target, guarantee=None, note="", cells=tuple(made))
    key = cells.promise_key(job.target, embeddings, job.plan.promises)
    audit_key = cells.digest(["audit", key, asdict(job.plan.audit), job.plan.seed])
    contender = cache(partial(fit_contender, job.target, embeddings, job.plan.promises))

    def audited() -> dict[str, Any]:
        return audit_promise(contender(), embeddings, job.plan.audit, int(audit_key[:8], 16)).as_dict()

    try:
        promise = store.under(key, lambda: {"guarantee": contender().guarantee.as_dict(), "note": contender().note})
    except WordveilError as problem:
        return LeagueRow(target=job.target, guarantee=None, note=f"not possible here: {problem}", cells=())
    audit = store.under(audit_key, audited) if job.plan.audit.samples else None
    entrant = cache(lambda: subject_of(contender().words, decoded=contender().decoded))
    made = _cells(job, entrant, store, prepared)
    return LeagueRow(target=job.target, cells=tuple(made), audit=audit, **promise)


def _cells(job: _Job, entrant: Callable[[], Entrant], store: Cells, prepared: dict[str, Any]) -> Iterator[Cell]:
    """Yield the cells of a row, finished ones as they are; what tasks prepare is kept for other rows."""
    for task, key in zip(job.plan.tasks, job.keys, strict=True):
        cell = store.get_cell(key)
        if cell is None:
            subject = entrant()
            if task.applies(subject) and repr(task) not in prepared:
                prepared[repr(task)] = task.prepare(subject.embeddings)
            cell = cells.compute_cell(job.target.label, key, task, prepared.get(repr(task)), subject, job.plan.repeats)
            store.put(key, asdict(cell))
        yield cell
