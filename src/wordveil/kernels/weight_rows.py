"""Exponential-family rows over one vocabulary: b(y) exp(-rate * min(dist(x, y), cap)), tile by tile.

Memory is one tile a thread plus a row of block masses, beside the packed words: no (n, v) array, ever. Squared
distances come from float64 products. Equal vectors share one row (that of the lowest id), at distance exactly 0.
Drawing is `kernels.selection`.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, IdArray, Int64Array, Progress
from wordveil.kernels.channel_rows import ChannelRows
from wordveil.kernels.compiled.library import kernel_engine
from wordveil.kernels.threads import filled
from wordveil.metrics.distances import Metric, coordinate_rows, is_norm

ROWS = 128  # rows of a mass tile; fixed, so that a row's bits never depend on its batch
COLUMNS = 512  # most columns of a tile: 128 x 512 float64 stays in the L2 cache
REGISTER = 16
UNIT = 2.0**-53
UNIT32 = 2.0**-24
LARGEST_NORM, LARGEST_RATE = 2.0**61, 2.0**60  # between which squared distances and exponents are normal in float32
SMALLEST_DISTANCE = 2.0**-62


class WeightRows(ChannelRows):
    """The rows of an exponential-family channel over one vocabulary, computed tile by tile.

    Scores are distances of `metric` between `vectors`, shape (v, d), clipped at the cap in (0, inf], which is again a
    metric; `canonical` is the lowest id with the same vector, and `base` the measure over the outputs, sorted ids, None
    for 1.
    """

    metric: Metric

    def __init__(
        self,
        vectors: FloatArray,
        metric: Metric,
        outputs: IdArray,
        canonical: IdArray,
        *,
        rate: float,
        cap: float = math.inf,
        base: Float64Array | None = None,
    ) -> None:
        self.rate, self.cap, self.metric, self.base = rate, cap, metric, base
        self.outputs, self.canonical, self._vectors = outputs, canonical, vectors
        self.engine = kernel_engine("ceilings.c")  # of what draws
        self._coordinates = coordinate_rows(metric, vectors)
        self.blocks = -(-len(outputs) // COLUMNS)
        self._edges = np.linspace(0, len(outputs), self.blocks + 1).round().astype(np.int64)
        # BLAS answers are the same in every row of a tile only where its width fills whole registers.
        self.width = -(-int(np.diff(self._edges).max()) // REGISTER) * REGISTER
        d = self._coordinates(slice(1)).shape[1]
        self._right, self._laid = np.zeros((self.blocks, d + 2, self.width)), np.zeros(self.blocks, dtype=bool)
        self._base = None if base is None else np.zeros((self.blocks, self.width))
        if base is not None and self._base is not None:
            for row, low, high in zip(self._base, self._edges[:-1], self._edges[1:], strict=True):
                row[: high - low] = base[low:high]
        # Block masses as integers: every mass is at most len(outputs), and the sum stays below 2**62.
        total = float(len(outputs)) if self._base is None else float(self._base.sum())
        self._mass_unit = 2.0 ** (62 - math.ceil(math.log2(total + 1)))
        tops = np.ones(self.blocks) if self._base is None else self._base.max(axis=1)
        self._inner_units = 2.0 ** (62 - np.ceil(np.log2(self.width * tops + 1)))

    def lay_out(self, blocks: Int64Array | None = None) -> Float64Array:
        """Return the outputs as (blocks, d + 2, width): [y; 1; |y|^2], so that one product gives squared distances.

        Only the blocks asked for, None for all, are sure to be there: a few draws need few. Threads that lay out the
        same block write the same numbers.
        """
        asked = np.arange(self.blocks) if blocks is None else blocks
        for block in asked[~self._laid[asked]].tolist():
            low, high = self._edges[block], self._edges[block + 1]
            rows = self._coordinates(self.outputs[low:high])
            packed = self._right[block]
            packed[:-2, : high - low], packed[-2] = rows.T, 1.0
            packed[-1, : high - low] = np.einsum("ij,ij->i", rows, rows)
            self._laid[block] = True
        return self._right

    def _left(self, ids: IdArray, height: int) -> Float64Array:
        """Return [-2x, |x|^2, 1] for the given inputs, padded to `height` rows."""
        rows = self._coordinates(ids)
        left = np.zeros((height, rows.shape[1] + 2))
        n = len(ids)
        left[:n, :-2] = -2.0 * rows
        left[:n, -2] = np.einsum("ij,ij->i", rows, rows)
        left[:n, -1] = 1.0
        return left

    def weigh(self, squared: Float64Array, blocks: Int64Array) -> None:
        """Turn squared distances into weights b(y) exp(-rate * min(dist, cap)), in place; beyond a block they are 0.

        Blocks are those of each row, or one of all rows.
        """
        np.maximum(squared, 0.0, out=squared)
        self.metric.from_squared(squared)
        squared *= -self.rate
        np.maximum(squared, -self.rate * self.cap, out=squared)
        np.exp(squared, out=squared)
        if self._base is not None:
            squared *= self._base[blocks]
        sizes = self._edges[blocks + 1] - self._edges[blocks]
        least = int(sizes.min())
        np.copyto(squared[:, least:], 0.0, where=np.arange(least, self.width) >= sizes[:, None])

    def masses(self, ids: IdArray) -> Float64Array:
        """Return the mass of every block for each canonical input, shape (n, blocks)."""
        self.lay_out()
        tile, sums = np.empty((ROWS, self.width)), np.empty((len(ids), self.blocks))
        for start in range(0, len(ids), ROWS):
            chunk = ids[start : start + ROWS]
            left, rows = self._left(chunk, ROWS), tile[: len(chunk)]
            for block in range(self.blocks):
                np.matmul(left, self._right[block], out=tile)
                low, high = self._edges[block : block + 2]
                rows[:, : high - low][self.canonical[self.outputs[low:high]] == chunk[:, None]] = 0.0
                self.weigh(tile, np.array([block]))
                np.sum(rows, axis=1, out=sums[start : start + ROWS, block])
        return sums

    def log_normalizers(
        self, ids: IdArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> Float64Array:
        canonical = self.canonical[ids]
        logs = np.empty(len(ids))
        return filled(logs, ROWS, lambda s: np.log(self.masses(canonical[s]).sum(axis=1)), threads, progress)

    def masses_slack(self) -> float:
        """Return a bound on what a draw by a card adds to the privacy loss between any two inputs, in nats.

        A draw by masses has probability (M_b / sum M) * (I_y / sum I): integer masses M of the blocks, integer weights
        I inside the block, computed from another tile. Each of these four factors is off by e^(+-weight error). A
        weight errs by float64 rounding of its squared distance (the standard bound on a dot product, turned into a
        distance by |sqrt(a) - sqrt(b)| <= sqrt(|a - b|)) and, in float32, by 3.5 roundings of the exponent (square,
        root, rate, product) and six units of the exponential; by the summing of a block and the rounding of its mass;
        by rounding to integers; and the two picks by the 2**-64 grid of the random words. Both inputs count. Finite
        only where the cap and the base measure keep every weight away from 0.
        """
        unit, reach = UNIT32, self.rate * self.cap
        weight = self.weight_error(unit)
        farthest = math.exp(-reach)
        if farthest == 0.0:
            return math.inf
        smallest, lightest = 1.0, float(np.diff(self._edges).min())
        if self._base is not None:
            smallest = float(self._base[self._base > 0].min())
            totals = self._base.sum(axis=1)
            lightest = float(totals[totals > 0].min())
        block = farthest * lightest * self._mass_unit
        inner = farthest * smallest * float(self._inner_units.min())
        # Numerator and denominator of each pick round by at most half a unit a term; the grid moves a pick by 2**-64
        # of the total, which is at most 1.2 * 2**62 units.
        relative = (1 + 0.3) / block + (1 + 0.3) / inner
        if relative >= 0.5:
            return math.inf
        sums = 2 * (self.width + self.blocks) * UNIT + 2 * unit
        return 2 * (4 * weight + relative / (1 - relative) + sums)

    def weight_error(self, unit: float) -> float:
        """Return how far the logarithm of one weight can be from the formula's, with roundings of 2**-24 or 2**-53.

        Squared distances are float64 products either way; inf where float32 may not hold them.
        """
        squared_error = 2 * (self._right.shape[1] + 2) * UNIT * (2 * self._norm_bound) ** 2
        if not is_norm(self.metric):
            squared_error *= 2  # what unit vectors lack, and the arc sine
        relative = (8 + 4 * self.rate * self.cap) * unit
        if unit == UNIT32:
            if not self._is_weighable:
                return math.inf
            relative += self.rate * SMALLEST_DISTANCE  # of shorter ones the square is not normal, or is nothing
        return self.rate * self.metric.distance_error(squared_error) + relative

    @cached_property
    def _is_weighable(self) -> bool:
        """Whether float32 holds squared distances and exponents."""
        return self._norm_bound < LARGEST_NORM and 1 / LARGEST_RATE < self.rate < LARGEST_RATE

    @cached_property
    def _norm_bound(self) -> float:
        largest = 0.0
        for start in range(0, len(self.canonical), 1 << 10):
            rows = self._coordinates(slice(start, start + (1 << 10)))
            largest = max(largest, float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max())))
        return largest
