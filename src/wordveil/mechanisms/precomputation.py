"""Algorithm 3 of the TEM paper: selection from rows made beforehand, at the cost of two bisections a word.

Beyond the truncation distance all words of TEM weigh the same, so sparse rows of the words within it hold all that its
law depends on. Their size is counted in a pass of its own, because the number of pairs can come out anywhere between v
and v**2. Integer weights of a row are exact sums below 2**62, from a unit of the row's own, so the only rounding is
that of each weight; the law is that of the other kernels.

Worth it for batch work where few words lie within the truncation distance of another: TEM at a large epsilon. The
bisections take as many steps for every word, but which memory they touch depends on it, so a service that answers
strangers should not use this form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array, IdArray, Progress
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.library import NUMPY
from wordveil.kernels.distance_sources import DistanceSource
from wordveil.kernels.threads import map_chunks
from wordveil.mechanisms.exponential import FittedExponential
from wordveil.mechanisms.metric_rows import distance_source
from wordveil.metrics.distances import AnyMetric
from wordveil.randomness import BitArray, multiply_high

TILE = 1 << 21  # distances of one block: 16 MB
PAIR_BYTES = 4 + 8 + 8  # position, distance, cumulative weight
WORD_BYTES = 8 + 8 + 8 + 8  # start of the row, total, total of near words, normalizer


@dataclass(frozen=True, kw_only=True)
class NearSize:
    """How large the rows are, before they are made."""

    words: int  # number of inputs v
    pairs: int  # pairs (input, output) closer than the truncation distance; inputs that share a row are counted once

    @property
    def bytes(self) -> int:
        """Memory that rows ready to draw from take, in bytes."""
        return PAIR_BYTES * self.pairs + WORD_BYTES * (self.words + 1)

    def __str__(self) -> str:
        return f"{self.pairs:,} pairs of {self.words:,} words, {self.bytes / 2**20:,.1f} MiB"


def near_size(
    source: DistanceSource,
    outputs: IdArray,
    cap: float,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NearSize:
    """Count the pairs of a word and an output, sorted ids, that are closer than the cap."""
    pairs = sum(len(found) for _, found in _blocks(source, outputs, cap, threads, progress))
    return NearSize(words=len(source.canonical), pairs=pairs)


def _blocks(
    source: DistanceSource, outputs: IdArray, cap: float, threads: int | None, progress: Progress | None
) -> Iterator[tuple[tuple[NDArray[np.int64], NDArray[np.int64]], Float64Array]]:
    """Yield ((words, output positions), distances) of the pairs closer than the cap, sorted, always in equal blocks."""
    words = np.unique(source.canonical)
    height = max(1, TILE // len(outputs))
    starts = range(0, len(words), height)

    def near(start: int) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], Float64Array]:
        some = words[start : start + height]
        block = source.block(some, outputs)
        rows, columns = np.nonzero(block < cap)
        return (some[rows].astype(np.int64), columns), block[rows, columns]

    for start, found in zip(starts, map_chunks(near, starts, threads), strict=True):
        yield found
        if progress is not None:
            progress(min(height, len(words) - start))


TOKENS = 1 << 14
PAIRS = 1 << 20
UNIT = 2.0**-53


class NearRows:
    """The rows of an exponential-family channel whose scores are all equal beyond the cap.

    `pairs` is the number that `near_size` found for the same source, outputs and cap. Row x is the entries starts[x] to
    starts[x + 1] of positions in the outputs, ascending, and distances; it is empty where x is not canonical.
    """

    engine: ClassVar[str] = NUMPY
    base: ClassVar[None] = None
    draw_width: ClassVar[int] = 2

    def __init__(
        self,
        source: DistanceSource,
        metric: AnyMetric,
        outputs: IdArray,
        *,
        rate: float,
        cap: float,
        pairs: int,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.metric, self.outputs, self.rate, self.cap = metric, outputs, rate, cap
        self._error, self._canonical = source.error, source.canonical
        v = len(source.canonical)
        counts, done = np.zeros(v, dtype=np.int64), 0
        self._positions, self._distances = np.empty(pairs, dtype=np.int32), np.empty(pairs)
        for (words, columns), found in _blocks(source, outputs, cap, threads, progress):
            counts += np.bincount(words, minlength=v)
            span = slice(done, done := done + len(found))
            self._positions[span], self._distances[span] = columns, found
        self._starts = np.concatenate(([0], np.cumsum(counts)))
        self._bounds = np.empty(pairs, dtype=np.uint64)
        self._near_total = np.zeros(v, dtype=np.uint64)
        self._total = np.zeros(v, dtype=np.uint64)
        self._normalizer = np.zeros(v)
        self._steps = int(counts.max()).bit_length()
        for low, high in _row_spans(self._starts):
            self._prepare(low, high)

    def _prepare(self, low: int, high: int) -> None:
        starts = self._starts[low : high + 1]
        counts = np.diff(starts)
        row = np.repeat(np.arange(high - low), counts)
        weights = self._weights(self._distances[starts[0] : starts[-1]])
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
        return self  # everything is kept already

    def weights(self, ids: IdArray) -> Float64Array:
        out = np.full((len(ids), len(self.outputs)), math.exp(-self.rate * self.cap))
        for i, word in enumerate(self._canonical[ids].tolist()):
            span = slice(self._starts[word], self._starts[word + 1])
            out[i, self._positions[span]] = self._weights(self._distances[span])
        return out

    def log_normalizers(
        self, ids: IdArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> Float64Array:
        if progress is not None:
            progress(len(ids))
        return np.asarray(np.log(self._normalizer[self._canonical[ids]]))

    def draw(
        self, ids: IdArray, bits: BitArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        canonical = self._canonical[ids]
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
        start = self._starts[inputs]
        count = self._starts[inputs + 1] - start
        target = multiply_high(bits[:, 0], self._total[inputs])
        beyond = len(self.outputs) - count
        rank = multiply_high(bits[:, 1], beyond.astype(np.uint64)).astype(np.int64)
        if not len(self._bounds):  # no output is near any input
            return rank
        last = len(self._bounds) - 1
        near = self._bisect(count, lambda i: self._bounds[np.minimum(start + i, last)] > target)
        # Of the words beyond, the one of this rank comes after c near words: the first c with position_c - c > rank.
        skipped = self._bisect(count, lambda i: self._positions[np.minimum(start + i, last)] - i > rank)
        chosen = self._positions[np.minimum(start + near, last)].astype(np.int64)
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
        weight = self.rate * self._error + (3 + 2 * reach) * UNIT
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


LIMIT_BYTES = 1 << 30
"""Memory that precomputed rows take without being asked for more: 1 GiB."""


def precomputed_size(
    fitted: FittedExponential, *, threads: int | None = None, progress: Progress | None = None
) -> NearSize:
    """Count the pairs within the truncation distance, without keeping them.

    Args:
        fitted: TEM or another selection mechanism with any metric.
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of words done since the last call.

    Returns:
        Pairs and bytes; `str` of it is one line for people.
    """
    rows = fitted.rows
    source = distance_source(rows.metric, fitted.embeddings)
    return near_size(source, rows.outputs, rows.cap, threads=threads, progress=progress)


def precompute(
    fitted: FittedExponential,
    *,
    limit_bytes: int = LIMIT_BYTES,
    threads: int | None = None,
    progress: Progress | None = None,
) -> FittedExponential:
    """Return the same mechanism drawing from precomputed rows.

    Guarantee:
        That of the mechanism given. The slack is the larger of both ways to draw.

    Args:
        fitted: TEM or another selection mechanism with any metric, exactly as `fit` returned it.
        limit_bytes: Most memory to take; `precomputed_size` says beforehand what is needed.
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of words done since the last call; every word is passed twice.

    Raises:
        ParameterError: If the rows would exceed the limit, 64-bit sampling from them cannot honour the promise, the
            mechanism claims no metric DP, or words have a base measure, so that those beyond the distance differ.
    """
    rows, claim = fitted.rows, fitted.guarantee()
    if not claim.metric or claim.slack is None:
        raise ParameterError("fitted", claim.promise, "must be a mechanism with metric DP and a stated slack.")
    if fitted.base is not None:
        raise ParameterError("fitted", "<a base measure>", "must draw without one: precomputed rows would not hold it.")
    source = distance_source(rows.metric, fitted.embeddings)
    size = near_size(source, rows.outputs, rows.cap, threads=threads, progress=progress)
    if size.bytes > limit_bytes:
        raise ParameterError(
            "limit_bytes", limit_bytes, f"is less than {size.bytes}: {size}. Raise it, or draw without precomputing."
        )
    made = NearRows(
        source,
        rows.metric,
        rows.outputs,
        rate=rows.rate,
        cap=rows.cap,
        pairs=size.pairs,
        threads=threads,
        progress=progress,
    )
    slack = claim.slack + max(0.0, made.arithmetic_slack() - rows.arithmetic_slack())
    if slack == float("inf"):
        raise ParameterError("fitted", size.pairs, "pairs weigh too little for 64-bit sampling; lower gamma.")
    return replace(fitted, rows=made, grounds=replace(fitted.grounds, slack=slack))
