"""The league table: every row on every task, in parallel, resumable, with progress.

A job is one row with the tasks that are not yet cached; jobs run in processes of their own, one thread each. What is
computed does not depend on the number of processes, on the order, or on where an earlier run was interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from wordveil.embeddings.table import Embeddings
from wordveil.errors import ParameterError, WordveilError
from wordveil.evaluation.base import Task
from wordveil.evaluation.cells import Cell, CellCache, cell_key, compute_cell, promise_key
from wordveil.evaluation.contenders import fit_contender
from wordveil.evaluation.promises import PromiseSettings, Target
from wordveil.evaluation.subjects import Subject, subject_of, unprotected

__all__ = ["BASELINE", "League", "LeagueRow", "Plan", "first_words", "run_league"]

BASELINE = "no noise"
"""Label of the row without a mechanism."""

LeagueProgress = Callable[[int, int, str], None]
"""Called with cells done, cells in all, and the label of the row just finished."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be compared.

    Attributes:
        targets: The rows.
        tasks: The columns.
        promises: What the promises have besides epsilon.
        repeats: Runs of every cell that is not exact, at least 2.
        seed: Changes all noise; results are repeatable for one seed.
    """

    targets: tuple[Target, ...]
    tasks: tuple[Task, ...]
    promises: PromiseSettings = field(default_factory=PromiseSettings)
    repeats: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.targets or not self.tasks:
            raise ParameterError("targets", len(self.targets), "and tasks must not be empty.")
        if self.repeats < 2:
            raise ParameterError("repeats", self.repeats, "must be at least 2: one run shows no spread.")


@dataclass(frozen=True, kw_only=True)
class LeagueRow:
    """One row of the finished table.

    Attributes:
        target: What it is; None for the baseline.
        guarantee: The promise as a dictionary; None for the baseline or a row that could not be fitted.
        note: Where the promise comes from, or why the row could not be fitted.
        cells: Its cells, in the order of the tasks; empty where it could not be fitted.
    """

    target: Target | None
    guarantee: dict[str, Any] | None
    note: str
    cells: tuple[Cell, ...]

    @property
    def label(self) -> str:
        """Name and epsilon, or "no noise"."""
        return BASELINE if self.target is None else self.target.label


@dataclass(frozen=True, kw_only=True)
class League:
    """The finished table.

    Attributes:
        plan: What was compared.
        vocabulary: Name, size and checksum of the public vocabulary.
        rows: The baseline first.
        seconds: Wall-clock time of this run; cached cells cost nothing.
        cached: Cells taken from the cache.
    """

    plan: Plan
    vocabulary: dict[str, Any]
    rows: tuple[LeagueRow, ...]
    seconds: float
    cached: int


def first_words(embeddings: Embeddings, count: int | None) -> Embeddings:
    """Return the first `count` words that may be output as a vocabulary of their own: inputs and outputs the same.

    Entries that may be input but not output (numbers, markup) would cost a certified rate most of its gain, and no
    evaluation text is any the poorer without them.

    Args:
        embeddings: The public vocabulary, most frequent words first.
        count: Words to keep; None keeps all that may be output.

    Raises:
        ParameterError: If fewer than 2 are asked for.
    """
    if count is not None and count < 2:
        raise ParameterError("words", count, "must be at least 2, or None for all.")
    ids = embeddings.candidates[:count]
    if len(ids) == len(embeddings):
        return embeddings
    header = embeddings.header
    entries = embeddings.words
    return Embeddings.from_arrays(
        [entries[int(i)] for i in ids],
        embeddings.vectors[ids],
        name=f"{header.name} (first {len(ids)} words)",
        source=header.source,
        licence=header.licence,
        casing=header.casing,
        candidate_rule="all",
    )


def run_league(
    plan: Plan,
    embeddings: Embeddings,
    *,
    cache: Path | None = None,
    workers: int = 1,
    progress: LeagueProgress | None = None,
) -> League:
    """Compute the table.

    Args:
        plan: Rows, columns, repeats, seed.
        embeddings: The public vocabulary; see `first_words`.
        cache: Folder of finished cells: an interrupted run goes on where it stopped.
        workers: Processes; the table does not depend on it.
        progress: Called after every row.

    Raises:
        ParameterError: If workers is below 1 or a data file is missing.
    """
    if workers < 1:
        raise ParameterError("workers", workers, "must be at least 1.")
    started = time.perf_counter()
    jobs = [_job(target, plan, embeddings, cache) for target in (None, *plan.targets)]
    rows: dict[str, LeagueRow] = {}
    done, total = 0, len(jobs) * len(plan.tasks)
    for row in _rows(jobs, embeddings, workers):
        rows[_place(row.target)] = row
        done += len(plan.tasks)
        if progress is not None:
            progress(done, total, row.label)
    header = embeddings.header
    return League(
        plan=plan,
        vocabulary={
            "name": header.name,
            "words": header.rows,
            "dimensions": header.dimensions,
            "checksum": header.checksum,
        },
        rows=tuple(rows[_place(job.target)] for job in jobs),
        seconds=time.perf_counter() - started,
        cached=sum(job.cached for job in jobs),
    )


def _place(target: Target | None) -> str:
    return "" if target is None else f"{target.group}/{target.label}"


@dataclass(frozen=True)
class _Job:
    target: Target | None
    tasks: tuple[Task, ...]
    keys: tuple[str, ...]
    promises: PromiseSettings
    repeats: int
    cache: Path | None
    cached: int


def _job(target: Target | None, plan: Plan, embeddings: Embeddings, cache: Path | None) -> _Job:
    keys = tuple(
        cell_key(target, task, embeddings, plan.promises, repeats=plan.repeats, seed=plan.seed) for task in plan.tasks
    )
    store = CellCache(cache)
    cached = sum(store.get(key) is not None for key in keys)
    return _Job(target, plan.tasks, keys, plan.promises, plan.repeats, cache, cached)


def _rows(jobs: Sequence[_Job], embeddings: Embeddings, workers: int) -> Iterator[LeagueRow]:
    if workers == 1:
        prepared: dict[str, Any] = {}
        for job in jobs:
            yield _row(job, embeddings, prepared)
        return
    # Started afresh, not forked: a fork would copy threads' locks and re-key every random source.
    with ProcessPoolExecutor(workers, get_context("spawn"), _start, (embeddings,)) as pool:
        futures = [pool.submit(_row_in_worker, job) for job in jobs]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            raise


_worker: dict[str, Any] = {}


def _start(embeddings: Embeddings) -> None:
    _worker.update(embeddings=embeddings, prepared={}, limits=threadpool_limits(1))


def _row_in_worker(job: _Job) -> LeagueRow:
    return _row(job, _worker["embeddings"], _worker["prepared"])


def _row(job: _Job, embeddings: Embeddings, prepared: dict[str, Any]) -> LeagueRow:
    """Compute a row's missing cells; a row that has no parameters at this epsilon says so and stays empty."""
    store = CellCache(job.cache)
    if job.target is None:
        subject, guarantee, note = unprotected(embeddings), None, "the texts and vectors as they are"
        cells = tuple(_cell(job, i, subject, store, prepared) for i in range(len(job.tasks)))
        return LeagueRow(target=None, guarantee=guarantee, note=note, cells=cells)
    key = promise_key(job.target, embeddings, job.promises)
    finished = [store.get(cell) for cell in job.keys]
    promise = store.get_promise(key)
    if promise is not None and all(cell is not None for cell in finished):
        cells = tuple(cell for cell in finished if cell is not None)
        return LeagueRow(target=job.target, guarantee=promise[0], note=promise[1], cells=cells)
    try:
        contender = fit_contender(job.target, embeddings, job.promises)
    except WordveilError as problem:
        return LeagueRow(target=job.target, guarantee=None, note=f"not possible here: {problem}", cells=())
    promised = contender.guarantee.as_dict()
    store.put_promise(key, promised, contender.note)
    subject = subject_of(contender.words)
    cells = tuple(_cell(job, i, subject, store, prepared) for i in range(len(job.tasks)))
    return LeagueRow(target=job.target, guarantee=promised, note=contender.note, cells=cells)


def _cell(job: _Job, i: int, subject: Subject, store: CellCache, prepared: dict[str, Any]) -> Cell:
    task, key = job.tasks[i], job.keys[i]
    found = store.get(key)
    if found is not None:
        return found
    if repr(task) not in prepared:
        prepared[repr(task)] = task.prepare(subject.embeddings)
    label = BASELINE if job.target is None else job.target.label
    cell = compute_cell(label, key, task, prepared[repr(task)], subject, job.repeats)
    store.put(cell)
    return cell
