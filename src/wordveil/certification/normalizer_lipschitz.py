"""The exact loss of a selection mechanism on one vocabulary, from the normalizers of every pair of words.

For P(y | x) = b(y) e^(-rate s(x, y)) / Z(x) with s = min(dist, cap), any two inputs and any output,

    |ln P(y | x) - ln P(y | x')| <= rate s(x, x') + |ln Z(x) - ln Z(x')|,

so the mechanism keeps epsilon metric DP in s with epsilon = rate + max |ln Z(x) - ln Z(x')| / s(x, x'), the maximum
over all pairs at positive distance. It is attained where x and x' may both be output; pairs with a word that may not
are taken exactly by `barred_words`, or by this bound where they are too many. Without "/ s" the same maximum is local
DP. That |ln Z(x) - ln Z(x')| <= rate s(x, x') is a theorem and clamps what is computed. This module finds the maximum;
it does not choose the rate.

The passes over all pairs can be saved after any step and continued (`kernels.passes`). What is saved is one small file
of public numbers, written all or nothing and tied to the inputs of the computation.
"""

from __future__ import annotations

import io
import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from wordveil.arrays import MALFORMED, Progress
from wordveil.certification.barred_words import MOST_TRIPLES, BarredMaximum, PairSpace, Reach
from wordveil.errors import ParameterError, ResumeError
from wordveil.files.atomic import write_whole
from wordveil.kernels.pair_maximum import PairProblem
from wordveil.kernels.pair_tiles import SIDE
from wordveil.kernels.passes import Pass, WorstPair
from wordveil.parameters import check_number, check_positive
from wordveil.promises.certificates import CLAIM_MARGIN

_SECONDS = 15.0


class SavedWork:
    """The state of an interrupted computation, by stage, if it has a path; `ResumeError` if of other inputs."""

    def __init__(self, path: str | os.PathLike[str] | None, inputs: str) -> None:
        self._path = None if path is None else Path(path)
        self._inputs = inputs
        self._stages: dict[str, dict[str, Any]] = {}
        self._saved_at = time.monotonic()
        if (path := self._path) is None or not path.exists():
            return
        try:
            with np.load(path, allow_pickle=False) as stored:
                content = {name: stored[name] for name in stored.files}
            inputs = str(content.pop("inputs"))
        except (OSError, KeyError, *MALFORMED):
            raise ResumeError(f"{path} is no saved certification; remove it, or name another file.") from None
        if inputs != self._inputs:
            raise ResumeError(f"{path} was saved for other inputs; remove it, or name another file.")
        for name, value in content.items():
            stage, _, entry = name.rpartition("|")
            self._stages.setdefault(stage, {})[entry] = value

    def get(self, stage: str) -> Mapping[str, Any] | None:
        return self._stages.get(stage)

    def put(self, stage: str, values: Mapping[str, Any], *, final: bool = False) -> None:
        if self._path is None or not (final or time.monotonic() - self._saved_at >= _SECONDS):
            return
        self._stages[stage] = {name: np.asarray(value) for name, value in values.items()}
        content = {f"{stage}|{name}": value for stage, held in self._stages.items() for name, value in held.items()}
        packed = io.BytesIO()
        np.savez(packed, inputs=np.asarray(self._inputs), **content)
        write_whole(self._path, packed.getvalue(), shared=True)
        self._saved_at = time.monotonic()

    def forget(self, stage: str) -> None:
        self._stages.pop(stage, None)

    def remove(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)


TOLERANCE = 1e-9
"""Nats of |ln Z - ln Z'| that are claimed as slack instead of slope, so that the rounding of two words a hair apart
is not divided by their distance."""


class PassOptions(TypedDict, total=False):
    """How a computation over all pairs is run, which no answer depends on; as for `certify`."""

    threads: int | None
    progress: Progress | None
    checkpoint: str | None


@dataclass(frozen=True, kw_only=True)
class ExactLoss:
    """The loss found at one rate."""

    rate: float  # the rate, 1/distance
    cap: float  # where distances are clipped
    epsilon: float  # metric: loss at most epsilon * min(dist, cap) + error; local: at most epsilon + error. Rounded up.
    computed: float  # the same number before rounding up
    error: float  # bound in nats on what float64 can have missed


def pair_visits(vectors: int) -> int:
    """Return how many pair visits one rate takes for a number of distinct vectors: the total for progress."""
    blocks = -(-vectors // SIDE)
    return blocks * (blocks + 1) * SIDE * SIDE


class LossComputation:
    """Exact losses of one vocabulary at any rate, each of which can be interrupted and continued.

    With `DistinctVectors` one rate takes `pair_visits` of their number. Progress is saved to a checkpoint, and resumed
    from it.
    """

    def __init__(self, vocabulary: PairSpace, **options: Unpack[PassOptions]) -> None:
        self.vocabulary = vocabulary
        self._threads, self._progress = options.get("threads"), options.get("progress")
        checkpoint = options.get("checkpoint")
        self._saved = SavedWork(checkpoint, vocabulary.digest() if checkpoint is not None else "")

    def metric(self, rate: float, cap: float = math.inf) -> ExactLoss:
        """Return the exact loss per unit of min(dist, cap) at a rate in (0, inf), unit 1/distance.

        `ParameterError` if a parameter is outside its domain, or a word has no output within float64's reach.
        """
        return self._at(rate, cap, per_distance=True)

    def local(self, rate: float, cap: float = math.inf) -> ExactLoss:
        """Return the exact largest loss between any two words, epsilon of local DP; the rest as for `metric`."""
        return self._at(rate, cap, per_distance=False)

    @cached_property
    def _reach(self) -> Reach:
        return Reach.of(self.vocabulary, len(self.vocabulary.ids), self._threads)

    def finish(self) -> None:
        """Delete the checkpoint: everything asked for has been answered."""
        self._saved.remove()

    def _at(self, rate: float, cap: float, *, per_distance: bool) -> ExactLoss:
        check_positive("rate", rate)
        check_number("cap", cap, lambda x: x > 0, "(0, inf]")
        stage = f"{'metric' if per_distance else 'local'}:{rate!r}:{cap!r}"
        done = self._saved.get(f"{stage}:done")
        if done is not None:
            return self._loss(rate, cap, WorstPair.from_dict(done), float(done["log_error"]), per_distance=per_distance)
        sums = self.vocabulary.sums(rate, cap)
        self._run(f"{stage}:sums", sums)
        logs = sums.logs()
        if not np.all(np.isfinite(logs)):
            raise ParameterError("rate", rate, "leaves a word without any output in float64; set a cap or lower it.")
        problem = PairProblem(values=logs, rate=rate, cap=cap, tolerance=TOLERANCE, per_distance=per_distance)
        places, outputs = np.arange(len(logs)), self.vocabulary.outputs
        exact = (len(places) - len(outputs)) * len(places) * len(outputs) <= MOST_TRIPLES
        looked = outputs if exact else places
        among = self.vocabulary.maximum(problem, looked)
        self._run(f"{stage}:pairs", among)
        best = replace(among.best, first=int(looked[among.best.first]), second=int(looked[among.best.second]))
        if exact:
            search = BarredMaximum(self.vocabulary, problem, best, self._reach)
            self._run(f"{stage}:barred", search)
            best = search.best
        for suffix in ("sums", "pairs", "barred"):
            self._saved.forget(f"{stage}:{suffix}")
        log_error = sums.log_error()
        self._saved.put(f"{stage}:done", {**vars(best), "log_error": log_error}, final=True)
        return self._loss(rate, cap, best, log_error, per_distance=per_distance)

    def _run(self, stage: str, work: Pass) -> None:
        saved = self._saved.get(stage)
        if saved is not None:
            work.restore(saved)
            self._report(work.visited)
        for visited in work.steps(self._threads):
            self._report(visited)
            self._saved.put(stage, work.state())

    def _report(self, visited: int) -> None:
        if self._progress is not None and visited:
            self._progress(visited)

    def _loss(self, rate: float, cap: float, worst: WorstPair, log_error: float, *, per_distance: bool) -> ExactLoss:
        computed = rate + worst.value if per_distance else worst.value
        # Local DP of a single vector loses nothing; a guarantee still needs a positive epsilon.
        claimed = max(computed * (1 + CLAIM_MARGIN), np.finfo(np.float64).tiny)
        return ExactLoss(
            rate=rate,
            cap=cap,
            epsilon=math.nextafter(claimed, math.inf),
            computed=computed,
            # Normalizers err on both sides, and so does the distance that the claim is graded by.
            error=2 * log_error + TOLERANCE + 2 * rate * self.vocabulary.distance_error,
        )
