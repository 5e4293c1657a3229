"""The exact loss of a selection mechanism for any metric, from the distances of all pairs of words.

The same maximum as `normaliser_lipschitz`, which needs coordinates; this needs a matrix or a user's function, twice
v**2 distances a rate. The triangle inequality is what makes the bound one: it is proved, or assumed, elsewhere.
"""

from __future__ import annotations

import math

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.certificates import CLAIM_MARGIN
from wordveil.certification.normaliser_lipschitz import TOLERANCE, ExactLoss, Progress
from wordveil.embeddings.table import Embeddings
from wordveil.errors import ParameterError
from wordveil.kernels.pairwise import PairwiseRows
from wordveil.kernels.threads import map_chunks
from wordveil.mechanisms.metric_rows import bound_metric, distance_source
from wordveil.metrics import AnyMetric

__all__ = ["PairwiseLoss"]

ROWS = 64
UNIT = 2.0**-53


class PairwiseLoss:
    """Exact losses of one vocabulary at any rate, from distances alone.

    Args:
        embeddings: The public vocabulary: all words are inputs, its candidates outputs.
        metric: The metric; one that belongs to vocabularies is computed for this one here, once.
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of pair visits done since the last call; one rate takes v * (v + outputs).

    Raises:
        ParameterError: If the metric belongs to another vocabulary or fails an axiom on a sample.
    """

    def __init__(
        self,
        embeddings: Embeddings,
        metric: AnyMetric,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._metric = bound_metric(metric, embeddings)
        self._source = distance_source(self._metric, embeddings)
        self._outputs = embeddings.candidates
        self._words = np.arange(len(embeddings), dtype=np.int32)
        self._threads, self._progress = threads, progress

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
        """Do nothing: no work is saved, because a rate takes seconds."""

    def _at(self, rate: float, cap: float, *, per_distance: bool) -> ExactLoss:
        if not (math.isfinite(rate) and rate > 0):
            raise ParameterError("rate", rate, "must be in (0, inf).")
        if not cap > 0:
            raise ParameterError("cap", cap, "must be in (0, inf].")
        logs = self._log_normalisers(rate, cap)
        value, worst = self._worst(logs, rate, cap, per_distance=per_distance)
        computed = rate + value if per_distance else value
        claimed = max(computed * (1 + CLAIM_MARGIN), np.finfo(np.float64).tiny)
        longest = cap if math.isfinite(cap) else 745.0 / rate  # farther words weigh nothing in float64
        log_error = rate * self._source.error + (4 + 2 * rate * longest + len(self._outputs)) * UNIT
        return ExactLoss(
            rate=rate,
            cap=cap,
            epsilon=math.nextafter(claimed, math.inf),
            computed=computed,
            # Normalisers err on both sides, and the distance the claim is graded by is itself off by `error`.
            error=2 * log_error + TOLERANCE + 2 * rate * self._source.error,
            worst=worst,
        )

    def _log_normalisers(self, rate: float, cap: float) -> Float64Array:
        rows = PairwiseRows(self._source, self._metric, self._outputs, rate=rate, cap=cap)

        def report(done: int) -> None:
            if self._progress is not None:
                self._progress(done * len(self._outputs))

        logs = rows.log_normalisers(self._words, threads=self._threads, progress=report)
        if not np.isfinite(logs).all():
            raise ParameterError("rate", rate, "leaves a word without any output in float64; set a cap or lower it.")
        return logs

    def _worst(
        self, logs: Float64Array, rate: float, cap: float, *, per_distance: bool
    ) -> tuple[float, tuple[int, int]]:
        """Return the largest slope of ln Z, or the largest loss, over pairs at positive distance, and its words."""
        best, worst = 0.0, (0, 0)
        starts = range(0, len(logs), ROWS)

        def some(start: int) -> tuple[float, int, int]:
            part = self._words[start : start + ROWS]
            score = np.minimum(self._source.block(self._source.canonical[part], self._words), cap)
            gap = np.abs(logs[None, :] - logs[part, None])
            slope = np.minimum(np.maximum(gap - TOLERANCE, 0.0), rate * score)
            if per_distance:
                slope = np.divide(slope, score, out=slope, where=score > 0)
            else:
                slope += rate * score
            row, column = np.unravel_index(int(slope.argmax()), slope.shape)
            return float(slope[row, column]), start + int(row), int(column)

        for start, (value, x, y) in zip(starts, map_chunks(some, starts, self._threads), strict=True):
            if value > best:
                best, worst = value, (x, y)
            if self._progress is not None:
                self._progress(min(ROWS, len(logs) - start) * len(logs))
        return best, worst
