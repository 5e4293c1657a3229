"""What a task is, what it measures a mechanism with, and how repeated scores are summed up.

    Task.prepare(embeddings)          reads data, encodes it, drops what the vocabulary does not hold; no noise
    Task.run(prepared, subject, ...)  one run with fresh noise: a number for every name the task promises
    Summary                           mean, standard error and confidence interval over runs

The baseline without noise is the same run with the subject `unprotected(embeddings)`. A task never sees more of a
mechanism than what it releases, except the attacks, which may also use its public parameters.
"""

from __future__ import annotations

import importlib.util
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtrit

from wordveil.api import Embeddings, Float64Array, ParameterError, RandomSource
from wordveil_lab.evaluation.subjects import Entrant
from wordveil_lab.package import told

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Score:
    """One number that a task reports."""

    name: str
    meaning: str  # one line for a reader who does not know the task
    better: str  # "higher" or "lower", for the owner of the private text; "neither" where it is a description


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Several runs of one score."""

    mean: float
    standard_error: float  # standard deviation over the root of the number of runs; 0 where the score is exact
    low: float  # lower end of the confidence interval of the mean
    high: float
    runs: int  # number of runs; 1 for an exact score


class Task(ABC):
    """A frozen dataclass of public settings: where the data is, how much of it, which model.

    What holds of a task whatever its settings stands in `tasks.toml`, which says what it means, under its name.
    """

    name: ClassVar[str]  # the task's name on the command line and in tables
    kind: ClassVar[str]
    scores: ClassVar[tuple[Score, ...]]
    exact: ClassVar[bool]
    reads_words: ClassVar[bool]
    needs: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        listed = told("evaluation/tasks.toml")
        facts = listed.get(cls.__dict__.get("name", ""), {})
        facts = listed.get(facts.get("like"), {}) | facts
        cls.kind, cls.exact = facts.get("kind", "utility"), facts.get("exact", False)
        cls.reads_words, cls.needs = facts.get("reads_words", False), tuple(facts.get("needs", ()))
        cls.scores = tuple(Score(*score) for score in facts.get("scores", ()))

    @abstractmethod
    def prepare(self, embeddings: Embeddings) -> Any:
        """Read and encode the data once; everything that needs no noise."""

    @property
    def lacking(self) -> str:
        """What the task needs and this machine has not got, for a reader; "" where it can run."""
        absent = [name for name in self.needs if importlib.util.find_spec(name) is None]
        return f"{' and '.join(absent)} not installed: pip install 'wordveil-lab[evaluation]'" if absent else ""

    def applies(self, subject: Entrant) -> bool:
        """Whether the task says anything about this subject; one that does not is left out of its row."""
        return not (self.reads_words and subject.vectors is not None)

    @abstractmethod
    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        """Return one number per score with noise from this source; the caller gives a new source to every run."""


def summarize(values: Sequence[float] | Float64Array) -> Summary:
    """Return mean, standard error and the 95 % interval of Student's t of some runs; one run is taken as exact."""
    runs = np.asarray(values, dtype=np.float64)
    if runs.size == 0 or not np.all(np.isfinite(runs)):
        raise ParameterError("values", f"{runs.size} runs", "must hold at least one number, all finite.")
    mean = float(runs.mean())
    if runs.size == 1:
        return Summary(mean=mean, standard_error=0.0, low=mean, high=mean, runs=1)
    error = float(runs.std(ddof=1)) / math.sqrt(runs.size)
    reach = error * float(stdtrit(runs.size - 1, 0.5 + CONFIDENCE / 2))
    return Summary(mean=mean, standard_error=error, low=mean - reach, high=mean + reach, runs=int(runs.size))
