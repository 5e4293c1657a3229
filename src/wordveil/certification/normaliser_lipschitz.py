"""The exact loss of a selection mechanism on one vocabulary, from the normalisers of every pair of words.

For P(y | x) = b(y) e^(-rate s(x, y)) / Z(x) with s = min(dist, cap), any two inputs and any output,

    |ln P(y | x) - ln P(y | x')| <= rate s(x, x') + |ln Z(x) - ln Z(x')|,

so the mechanism keeps epsilon metric DP in s with epsilon = rate + max |ln Z(x) - ln Z(x')| / s(x, x'), the maximum
over all pairs at positive distance. It is attained where x and x' may both be output, and a valid bound for any
public set of outputs. Without "/ s" the same maximum is local DP. That |ln Z(x) - ln Z(x')| <= rate s(x, x') is a
theorem and clamps what is computed. This module finds the maximum; it does not choose the rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.certificates import CLAIM_MARGIN
from wordveil.certification.interruption import SavedWork
from wordveil.certification.vocabulary import DistinctVectors
from wordveil.errors import ParameterError
from wordveil.kernels.pair_maximum import PairMaximum, PairProblem, WorstPair
from wordveil.kernels.pair_tiles import SIDE, NormaliserSums, PairTiles

__all__ = ["TOLERANCE", "ExactLoss", "LossComputation", "Progress", "pair_visits"]

TOLERANCE = 1e-9
"""Nats of |ln Z - ln Z'| that are claimed as slack instead of slope, so that the rounding of two words a hair apart
is not divided by their distance."""

Progress = Callable[[int], None]
"""Called with the number of pair visits done since the last call."""


@dataclass(frozen=True, kw_only=True)
class ExactLoss:
    """The loss found at one rate.

    Attributes:
        rate: The rate, 1/distance.
        cap: Where distances are clipped.
        epsilon: Metric: loss at most epsilon * min(dist, cap) + error; local: at most epsilon + error. Rounded up.
        computed: The same number before rounding up.
        error: Bound in nats on what float64 can have missed.
        worst: Ids of the pair where it is attained.
    """

    rate: float
    cap: float
    epsilon: float
    computed: float
    error: float
    worst: tuple[int, int]


def pair_visits(vectors: int) -> int:
    """Return how many pair visits one rate takes for a number of distinct vectors: the total for progress."""
    blocks = -(-vectors // SIDE)
    return blocks * (blocks + 1) * SIDE * SIDE


class LossComputation:
    """Exact losses of one vocabulary at any rate; the packed vectors are shared between rates.

    Args:
        vocabulary: The distinct vectors.
        threads: Threads; the answer does not depend on it.
        progress: Called as work proceeds; one rate takes `pair_visits` of the number of distinct vectors.
        checkpoint: File to save progress to and to resume from.
    """

    def __init__(
        self,
        vocabulary: DistinctVectors,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
        checkpoint: str | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self._threads, self._progress = threads, progress
        self._tiles = PairTiles(vocabulary.coordinates, vocabulary.metric)
        self._saved = SavedWork(checkpoint, vocabulary.digest() if checkpoint is not None else "")

    def metric(self, rate: float, cap: float = math.inf) -> ExactLoss:
        """Return the exact loss per unit of min(dist, cap).

        Args:
            rate: Rate of the exponential, 1/distance, in (0, inf).
            cap: Where distances are clipped, in (0, inf].

        Raises:
            ParameterError: If a parameter is outside its domain, or a word has no output within float64's reach.
        """
        return self._at(rate, cap, per_distance=True)

    def local(self, rate: float, cap: float = math.inf) -> ExactLoss:
        """Return the exact largest loss between any two words: epsilon of local DP.

        Args:
            rate: As for `metric`.
            cap: As for `metric`.

        Raises:
            ParameterError: As for `metric`.
        """
        return self._at(rate, cap, per_distance=False)

    def finish(self) -> None:
        """Delete the checkpoint: everything asked for has been answered."""
        self._saved.remove()

    def _at(self, rate: float, cap: float, *, per_distance: bool) -> ExactLoss:
        if not (math.isfinite(rate) and rate > 0):
            raise ParameterError("rate", rate, "must be in (0, inf).")
        if not cap > 0:
            raise ParameterError("cap", cap, "must be in (0, inf].")
        stage = f"{'metric' if per_distance else 'local'}:{rate!r}:{cap!r}"
        done = self._saved.get(f"{stage}:done")
        if done is not None:
            worst = WorstPair(value=float(done["value"]), first=int(done["first"]), second=int(done["second"]))
            return self._loss(rate, cap, worst, float(done["log_error"]), per_distance=per_distance)
        logs, log_error = self._log_normalisers(f"{stage}:sums", rate, cap)
        problem = PairProblem(values=logs, rate=rate, cap=cap, tolerance=TOLERANCE, per_distance=per_distance)
        worst = self._worst_pair(f"{stage}:pairs", problem)
        values = {"value": worst.value, "first": worst.first, "second": worst.second, "log_error": log_error}
        for suffix in ("sums", "pairs"):
            self._saved.forget(f"{stage}:{suffix}")
        self._saved.put(f"{stage}:done", values, final=True)
        return self._loss(rate, cap, worst, log_error, per_distance=per_distance)

    def _log_normalisers(self, stage: str, rate: float, cap: float) -> tuple[Float64Array, float]:
        sums = NormaliserSums(self._tiles, self.vocabulary.measure, rate=rate, cap=cap)
        saved = self._saved.get(stage)
        if saved is not None:
            sums.sums[:], sums.next_block = saved["sums"], int(saved["next_block"])
            self._report(self._visits_before(sums.next_block))
        for visited in sums.steps(self._threads):
            self._report(visited)
            self._saved.put(stage, {"sums": sums.sums, "next_block": sums.next_block})
        if not sums.sums[: self._tiles.v].min() > 0:
            raise ParameterError("rate", rate, "leaves a word without any output in float64; set a cap or lower it.")
        return sums.logs(), sums.log_error()

    def _worst_pair(self, stage: str, problem: PairProblem) -> WorstPair:
        search = PairMaximum(self._tiles, problem)
        saved = self._saved.get(stage)
        if saved is not None:
            best = WorstPair(value=float(saved["value"]), first=int(saved["first"]), second=int(saved["second"]))
            search.best, search.next_block = best, int(saved["next_block"])
            self._report(self._visits_before(search.next_block))
        for visited in search.steps(self._threads):
            self._report(visited)
            best = search.best
            state = {"value": best.value, "first": best.first, "second": best.second, "next_block": search.next_block}
            self._saved.put(stage, state)
        return search.best

    def _visits_before(self, block: int) -> int:
        return sum(self._tiles.blocks - i for i in range(block)) * SIDE * SIDE

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
            error=2 * log_error + TOLERANCE,
            worst=(int(self.vocabulary.ids[worst.first]), int(self.vocabulary.ids[worst.second])),
        )
