"""What a row of the league table promises, and one cell of it: one row, one task.

A cell is seeded by what it is, and cached by what it depends on.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from wordveil import __version__
from wordveil.api import Embeddings, Guarantee, ParameterError, RandomSource, WordRandomizer, check_delta, write_whole
from wordveil_lab.evaluation.base import Summary, Task, summarize
from wordveil_lab.evaluation.catalogue import data_digests
from wordveil_lab.evaluation.subjects import Entrant


class Group(StrEnum):
    """What is promised in common by the rows of one part of the table."""

    METRIC = "metric"
    RANK = "rank"
    LOCAL = "local"
    NEIGHBOUR = "neighbour"
    REFUTED = "refuted"


class Baseline(StrEnum):
    """What every row is read against: the input as it is, and output that knows nothing of it.

    A score that random words reach as well says nothing about a mechanism.
    """

    NO_NOISE = "no noise"
    RANDOM = "random words"

    @property
    def label(self) -> str:
        """Its name."""
        return self.value


@dataclass(frozen=True, kw_only=True)
class PromiseSettings:
    """What the promises have besides epsilon."""

    delta: float = 1e-5  # of the promises that have one, in (0, 1/2)
    clip_quantile: float = 0.5  # the public clip norm is this quantile of the vocabulary's norms
    projected: int | None = None  # dimensions of projections; None takes a fifth of the embedding's
    rank_c: float = 0.04  # c of the rank-softmax decoder

    def __post_init__(self) -> None:
        check_delta(self.delta, 0.5)
        if not 0 < self.clip_quantile <= 1:
            raise ParameterError("clip_quantile", self.clip_quantile, "must be in (0, 1].")


@dataclass(frozen=True, kw_only=True)
class Target:
    """One row of the table before it is fitted."""

    name: str
    group: Group
    # Of the group's promise: per unit of distance for "metric" and "rank", nats for the others; the claimed one for
    # "refuted"
    epsilon: float

    @property
    def label(self) -> str:
        """Name and epsilon."""
        return f"{self.name} @ {self.epsilon:g}"


@dataclass(frozen=True, kw_only=True)
class OfferedTarget(Target):
    """A row of somebody else's mechanism.

    Attributes:
        code: Names its build, so that no result of older code is taken for it.
        place: The Python path of its class; "" for an installed package's, which its name finds.
    """

    code: str
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A fitted row."""

    words: WordRandomizer = field(repr=False)
    guarantee: Guarantee  # what it promises in its group's terms
    note: str = ""  # where the promise comes from, when it is not the mechanism's own; "" otherwise
    decoded: bool = True  # whether words are released that were decoded from noisy vectors, and not those vectors


CACHE_FORMAT = 5  # raised whenever a task, or what a row is, changes under the same settings


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one task found about one row."""

    row: str
    task: str
    key: str  # SHA-256 of everything the result depends on
    applies: bool  # whether the task says anything about this row
    scores: Mapping[str, Summary] = field(default_factory=dict)  # empty where the task does not apply
    seconds: float


def digest(facts: Any) -> str:
    """Return the SHA-256 of what a result depends on."""
    return hashlib.sha256(json.dumps([CACHE_FORMAT, __version__, facts], sort_keys=True).encode()).hexdigest()


def cell_key(
    target: Target | Baseline, task: Task, embeddings: Embeddings, promises: PromiseSettings, *, repeats: int, seed: int
) -> str:
    """Return the SHA-256 of row, task, data files, vocabulary, repeats, seed and version."""
    row = asdict(target) if isinstance(target, Target) else target.label
    return digest([row, _public(embeddings, promises), task.name, repr(task), data_digests(task), repeats, seed])


def promise_key(target: Target, embeddings: Embeddings, promises: PromiseSettings) -> str:
    """Return the SHA-256 of what a row's promise depends on."""
    return digest(["promise", asdict(target), _public(embeddings, promises)])


def _public(embeddings: Embeddings, promises: PromiseSettings) -> list[Any]:
    return [embeddings.header.checksum, embeddings.candidates_checksum, asdict(promises)]


def compute_cell(label: str, key: str, task: Task, prepared: Any, subject: Entrant, repeats: int) -> Cell:
    """Run a task on a subject with fresh seeded noise for every run.

    The seed of run i is taken from the cell's key and i: results do not depend on what else is computed, or where.
    A selection mechanism's exact score, and the baseline, take one run.
    """
    started = time.perf_counter()
    if not task.applies(subject):
        return Cell(row=label, task=task.name, key=key, applies=False, seconds=0.0)
    certain = subject.is_baseline or (task.exact and subject.exact)
    values: dict[str, list[float]] = {score.name: [] for score in task.scores}
    for i in range(1 if certain else repeats):
        seed = int.from_bytes(hashlib.sha256(f"{key}:{i}".encode()).digest()[:8], "big")
        found = task.run(prepared, subject, RandomSource.seeded_for_tests(seed))
        for name, column in values.items():
            column.append(found[name])
    summaries = {name: summarize(column) for name, column in values.items()}
    seconds = time.perf_counter() - started
    return Cell(row=label, task=task.name, key=key, applies=True, scores=summaries, seconds=seconds)


class Cells:
    """Finished pieces of work, a JSON file each, named by their key: an interrupted run goes on from them."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> dict[str, Any] | None:
        """Return what was found under a key, or None; a file that was cut short counts as none."""
        if self.folder is None:
            return None
        try:
            facts = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return facts if isinstance(facts, dict) else None

    def put(self, key: str, facts: Mapping[str, Any]) -> None:
        """Write what was found, all or nothing."""
        if self.folder is not None:
            write_whole(self.folder / f"{key}.json", json.dumps(facts).encode(), shared=True)

    def get_cell(self, key: str) -> Cell | None:
        """Return a finished cell, or None."""
        try:
            facts = self.get(key) or {}
            return Cell(**{**facts, "scores": {name: Summary(**one) for name, one in facts["scores"].items()}})
        except (ValueError, KeyError, TypeError):
            return None

    def once(self, facts: Any, compute: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """Return what a piece of work gave, done here unless it was finished before under the same facts."""
        return self.under(digest(facts), compute)

    def under(self, key: str, compute: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """Return what lies under a key, computed where nothing does."""
        found = self.get(key)
        if found is None:
            self.put(key, found := dict(compute()))
        return found
