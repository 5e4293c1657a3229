"""Draws from rows made beforehand: the words within the cap one by one, all words beyond it as one.

The law is that of the other kernels. A draw costs two bisections whose number of steps is the same for every word;
which memory they touch is not, so this form is for batch work on the owner's machine. Integer weights of a row are
exact sums below 2**62, from a unit of the row's own, so the only rounding is that of each weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array, IdArray, Progress
from wordveil.errors import ParameterError
from wordveil.kernels.near_words import NearWords
from wordveil.kernels.threads import map_chunks
from wordveil.metrics.distances import AnyMetric
from wordveil.randomness import BitArray, multiply_high

TOKENS = 1 << 14
PAIRS = 1 << 20
UNIT = 2.0**-53


class NearRows:
    """The rows of an exponential-family channel whose scores are all equal beyond the cap.

    Args:
        near: Words within the cap of every word.
        metric: The metric of their distances, for its name.
        outputs: Ids that may be output, the ones `near` was made for.
        rate: Rate of the exponential, 1/distance, > 0.
        cap: Distances are clipped here, in (0, near.cap].

    Raises:
        ParameterError: If the cap is beyond that of the rows.
    """

    draw_width: ClassVar[int] = 2

    def __init__(self, near: NearWords, metric: AnyMetric, outputs: IdArray, *, rate: float, cap: float) -> None:
        if not 0 < cap <= near.cap:
            raise ParameterError("cap", cap, f"must be in (0, {near.cap!r}], the cap the rows were made for.")
        self.near, self.metric, self.outputs = near, metric, outputs
        self.rate, self.cap = rate, cap
        v = len(near.canonical)
        self._bounds = np.empty(len(near.positions), dtype=np.uint64)
        self._near_total = np.zeros(v, dtype=np.uint64)
        self._total = np.zeros(v, dtype=np.uint64)
        self._normalizer = np.zeros(v)
        self._steps = int(np.diff(near.starts).max()).bit_length()
        for low, high in _row_spans(near.starts):
            self._prepare(low, high)

    def _prepare(self, low: int, high: int) -> None:
        """Turn the weights of rows low to high into integers and their cumulative sums."""
        starts = self.near.starts[low : high + 1]
        counts = np.diff(starts)
        row = np.repeat(np.arange(high - low), counts)
        weights = self._weights(self.near.distances[starts[0] : starts[-1]])
        sums = np.bincount(row, weights=weights, minlength=high - low)
        beyond = len(self.outputs) - counts
        far = math.exp(-self.rate * self.cap)
        totals = sums + beyond * far
        unit = 2.0 ** (62 - np.ceil(np.log2(totals + 1)))
        # Sums over several rows wrap around 2**64; their differences inside a row are exact all the same.
        running = np.cumsum(np.rint(weights * unit[row]).astype(np.uint64))
        before = np.concatenate((np.zeros(1, np.uint64), running))[starts - starts[0]]
        self._bounds[starts[0] : starts[-1]] = running - before[row]
        self._near_total[low:high] = before[1:] - before[:-1]
        self._total[low:high] = self._near_total[low:high] + np.rint(far * unit).astype(np.uint64) * beyond.astype(
            np.uint64
        )
        self._normalizer[low:high] = totals

    def _weights(self, distances: Float64Array) -> Float64Array:
        return np.asarray(np.exp(-self.rate * np.minimum(distances, self.cap)))

    def with_cache(self, limit_bytes: int) -> NearRows:
        """Return the same rows: everything is kept already."""
        return self

    def weights(self, ids: IdArray) -> Float64Array:
        out = np.full((len(ids), len(self.outputs)), math.exp(-self.rate * self.cap))
        for i, word in enumerate(self.near.canonical[ids].tolist()):
            span = slice(self.near.starts[word], self.near.starts[word + 1])
            out[i, self.near.positions[span]] = self._weights(self.near.distances[span])
        return out

    def log_normalizers(
        self, ids: IdArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> Float64Array:
        if progress is not None:
            progress(len(ids))
        return np.asarray(np.log(self._normalizer[self.near.canonical[ids]]))

    def draw(
        self, ids: IdArray, bits: BitArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        canonical = self.near.canonical[ids]
        answer = np.empty(len(ids), dtype=np.int32)
        starts = range(0, len(ids), TOKENS)

        def some(start: int) -> NDArray[np.int64]:
            part = slice(start, start + TOKENS)
            return self._columns(canonical[part], bits[part])

        for start, columns in zip(starts, map_chunks(some, starts, threads), strict=True):
            answer[start : start + len(columns)] = self.outputs[columns]
            if progress is not None:
                progress(len(columns))
        return answer

    def _columns(self, inputs: IdArray, bits: BitArray) -> NDArray[np.int64]:
        start = self.near.starts[inputs]
        count = self.near.starts[inputs + 1] - start
        target = multiply_high(bits[:, 0], self._total[inputs])
        beyond = len(self.outputs) - count
        rank = multiply_high(bits[:, 1], beyond.astype(np.uint64)).astype(np.int64)
        if not len(self._bounds):  # no output is near any input
            return rank
        last = len(self._bounds) - 1
        near = self._bisect(count, lambda i: self._bounds[np.minimum(start + i, last)] > target)
        # Of the words beyond, the one of this rank comes after c near words: the first c with position_c - c > rank.
        skipped = self._bisect(count, lambda i: self.near.positions[np.minimum(start + i, last)] - i > rank)
        chosen = self.near.positions[np.minimum(start + near, last)].astype(np.int64)
        return np.where(target < self._near_total[inputs], chosen, rank + skipped)

    def _bisect(
        self, count: NDArray[np.int64], passed: Callable[[NDArray[np.int64]], NDArray[np.bool_]]
    ) -> NDArray[np.int64]:
        """Return for each token the first i in [0, count] that has passed, in a fixed number of steps."""
        low, high = np.zeros_like(count), count.copy()
        for _ in range(self._steps):
            middle = (low + high) >> 1
            stop = passed(middle) | (low == high)
            high = np.where(stop & (low < high), middle, high)
            low = np.where(stop, low, middle + 1)
        return low

    def arithmetic_slack(self) -> float:
        """Return a bound on what arithmetic adds to the privacy loss between any two inputs, in nats.

        A draw has probability I_y / sum I with integer weights. A weight is off by rate * (error of its distance), by
        the rounding of product and exponential, and by half a unit; the picks by the 2**-64 grid of the random words,
        on at most 2**62 units. Both inputs count.
        """
        reach = self.rate * self.cap
        farthest = math.exp(-reach)
        if farthest == 0.0:
            return math.inf
        weight = self.rate * self.near.error + (3 + 2 * reach) * UNIT
        used = self._normalizer[self._normalizer > 0]
        unit = 2.0 ** (62 - math.ceil(math.log2(float(used.max()) + 1)))
        relative = 1.25 / (farthest * unit) + len(self.outputs) * 2.0**-64
        if relative >= 0.5:
            return math.inf
        return 2 * (2 * weight + relative / (1 - relative))


def _row_spans(starts: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Cut the rows into spans of about a million pairs, at least one row each."""
    spans, low, v = [], 0, len(starts) - 1
    while low < v:
        high = max(low + 1, int(np.searchsorted(starts, starts[low] + PAIRS, side="right")) - 1)
        spans.append((low, min(high, v)))
        low = spans[-1][1]
    return spans
