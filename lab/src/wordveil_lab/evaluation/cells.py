"""One cell of the league table: one row, one task; seeded by what it is, cached by what it depends on."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wordveil import __version__
from wordveil.api import Embeddings, ParameterError, RandomSource, write_whole
from wordveil_lab.evaluation.audits import AuditSettings
from wordveil_lab.evaluation.base import Summary, Task, summarize
from wordveil_lab.evaluation.catalogue import data_digests
from wordveil_lab.evaluation.promises import Baseline, PromiseSettings, Target
from wordveil_lab.evaluation.subjects import Entrant

__all__ = ["Cell", "CellCache", "audit_key", "cell_key", "compute_cell", "promise_key"]

CACHE_FORMAT = 4  # raised whenever a task, or what a row is, changes under the same settings


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one task found about one row.

    Attributes:
        row: The row's label.
        task: The task's name.
        key: SHA-256 of everything the result depends on.
        applies: Whether the task says anything about this row.
        scores: Score name -> summary over runs; empty where the task does not apply.
        seconds: Time it took.
    """

    row: str
    task: str
    key: str
    applies: bool
    scores: Mapping[str, Summary] = field(default_factory=dict)
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary."""
        return {**asdict(self), "scores": {name: asdict(summary) for name, summary in self.scores.items()}}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Cell:
        """Return the cell of such a dictionary."""
        scores = {name: Summary(**summary) for name, summary in facts["scores"].items()}
        return cls(**{**facts, "scores": scores})


def cell_key(
    target: Target | Baseline, task: Task, embeddings: Embeddings, promises: PromiseSettings, *, repeats: int, seed: int
) -> str:
    """Return the SHA-256 of row, task, data files, vocabulary, repeats, seed and version."""
    facts = {
        "format": CACHE_FORMAT,
        "version": __version__,
        "row": asdict(target) if isinstance(target, Target) else target.label,
        "promises": asdict(promises),
        "task": [task.name, repr(task)],
        "data": data_digests(task),
        "vocabulary": [embeddings.header.checksum, embeddings.candidates_checksum],
        "repeats": repeats,
        "seed": seed,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def promise_key(target: Target, embeddings: Embeddings, promises: PromiseSettings) -> str:
    """Return the SHA-256 of what a row's promise depends on."""
    header = embeddings.header
    facts = [
        "promise",
        CACHE_FORMAT,
        __version__,
        asdict(target),
        asdict(promises),
        header.checksum,
        embeddings.candidates_checksum,
    ]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def audit_key(promise: str, audit: AuditSettings, seed: int) -> str:
    """Return the SHA-256 of what a row's audit depends on: its promise, the samples, the seed."""
    facts = ["audit", promise, asdict(audit), seed]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def compute_cell(label: str, key: str, task: Task, prepared: Any, subject: Entrant, repeats: int) -> Cell:
    """Run a task on a subject with fresh seeded noise for every run.

    The seed of run i is taken from the cell's key and i: results do not depend on what else is computed, or where.
    A selection mechanism's exact score, and the baseline, take one run.

    Raises:
        ParameterError: If repeats is below 2, so that no error could be estimated.
    """
    if repeats < 2:
        raise ParameterError("repeats", repeats, "must be at least 2: one run shows no spread.")
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


class CellCache:
    """Finished cells, one JSON file each, named by their key.

    Args:
        folder: Where they lie; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> Cell | None:
        """Return a finished cell, or None; a file that was cut short counts as none."""
        try:
            return Cell.from_dict(self._read(key))
        except (ValueError, KeyError, TypeError):
            return None

    def put(self, cell: Cell) -> None:
        """Write a cell, all or nothing."""
        self._write(cell.key, cell.as_dict())

    def get_promise(self, key: str) -> tuple[dict[str, Any], str] | None:
        """Return a row's guarantee and note, so that a finished row is not fitted again; or None."""
        facts = self._read(key)
        return (facts["guarantee"], facts["note"]) if {"guarantee", "note"} <= facts.keys() else None

    def put_promise(self, key: str, guarantee: dict[str, Any], note: str) -> None:
        """Write a row's guarantee and note, all or nothing."""
        self._write(key, {"guarantee": guarantee, "note": note})

    def get_audit(self, key: str) -> dict[str, Any] | None:
        """Return what the audit of a row showed, or None."""
        return self._read(key).get("audit")

    def put_audit(self, key: str, found: dict[str, Any]) -> None:
        """Write what the audit of a row showed, all or nothing."""
        self._write(key, {"audit": found})

    def _read(self, key: str) -> dict[str, Any]:
        """Return what a file holds, nothing where there is none or it holds no JSON object."""
        if self.folder is None:
            return {}
        try:
            facts = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return facts if isinstance(facts, dict) else {}

    def _write(self, key: str, facts: Mapping[str, Any]) -> None:
        if self.folder is not None:
            write_whole(self.folder / f"{key}.json", json.dumps(facts).encode(), shared=True)
