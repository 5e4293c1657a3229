"""The largest slope, or the largest loss, over all pairs of distinct vectors, found exactly.

Screens discard, with a proven rounding bound, the tiles and pairs that cannot beat the best pair known; what is left
is rescored by float64 direct differences. So the answer is the maximum of the directly computed values, whatever
the screen's rounding, the number of threads, or the resume point; on equal values the pair of lowest ids wins.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from wordveil.arrays import Float32Array, Float64Array, Int64Array
from wordveil.kernels.pair_tiles import SIDE, PairTiles
from wordveil.kernels.passes import Maximum, WorstPair
from wordveil.metrics.distances import Angular, is_norm

WIDE = 8  # blocks in one float32 tile: 256 x 2048
UNIT32 = 2.0**-24
CHUNK = 1 << 14
SCOUTS = 64


@dataclass(frozen=True, kw_only=True)
class PairProblem:
    """What to maximize over pairs, with s = min(dist, cap) and g = min(max(|z - z'| - tolerance, 0), rate * s).

    The clamp at rate * s is a theorem about normalizers; `tolerance` is what the caller accounts for as slack.
    """

    values: Float64Array  # z = ln Z of each row, shape (v,)
    rate: float  # rate of the exponential, 1/distance
    cap: float  # distances are clipped here
    tolerance: float  # nats forgiven on |z - z'|
    per_distance: bool  # True for the slope g / s, False for the loss rate * s + g

    def among(self, rows: Int64Array) -> PairProblem:
        return replace(self, values=self.values[rows])

    def score(self, distance: Float64Array, gap: Float64Array) -> Float64Array:
        """Return the value of pairs given their distances and |z - z'|; pairs at distance 0 score 0."""
        s = np.minimum(distance, self.cap)
        g = np.minimum(np.maximum(gap - self.tolerance, 0.0), self.rate * s)
        if not self.per_distance:
            return np.asarray(self.rate * s + g)
        return np.divide(g, s, out=np.zeros_like(s), where=s > 0)


class PairMaximum(Maximum):
    """Search for the worst pair of the vectors of some tiles."""

    def __init__(self, tiles: PairTiles, problem: PairProblem) -> None:
        self._tiles, self._problem, self.blocks = tiles, problem, tiles.blocks
        self._z = np.zeros(len(tiles.rows))
        middle = (problem.values.min() + problem.values.max()) / 2
        self._z[: tiles.v] = problem.values - middle
        # Norms are the chord and angles never below it; of a metric with distances of its own nothing is known.
        self._fast = problem.per_distance and (is_norm(tiles.metric) or type(tiles.metric) is Angular)
        self._norms = np.einsum("ij,ij->i", tiles.rows, tiles.rows)
        self._scout()
        # The screens compare with the pair known at the start, never with one found meanwhile by another thread, so
        # that which pairs are judged, and with it the pair named among equals, depends on the inputs alone.
        self._threshold = self.best.value * (1 - 1e-12)
        self._fast = self._fast and self._threshold > 0
        if self._fast:
            # The right factors [y, 1, |y|^2, z, z^2] as float32 columns, and the lengths of both parts.
            z = self._z
            columns = np.column_stack([tiles.rows, np.ones(len(z)), self._norms, z, z * z])
            self._right: Float32Array = np.ascontiguousarray(columns.T, dtype=np.float32)
            self._radius = np.sqrt(self._norms).reshape(-1, SIDE).max(axis=1)
            self._reach = np.abs(z).reshape(-1, SIDE).max(axis=1)

    def _scout(self) -> None:
        """Start from a good pair: the extreme values, then the worst partner of a few rows, followed greedily."""
        v = self._tiles.v
        if v < 2:
            return
        order = np.argsort(self._z[:v], kind="stable")
        self._offer(np.array([order[0]]), np.array([order[-1]]))
        # The extremes give at least range / cap, so that beyond it no pair farther than the cap can win.
        rows = order[np.unique(np.linspace(0, v - 1, min(v, SCOUTS)).astype(np.int64))]
        for row in rows:
            self._offer_row(int(row))
        while True:
            seen = self.best
            self._offer_row(seen.first)
            self._offer_row(seen.second)
            if self.best == seen:
                return

    def _offer_row(self, row: int) -> None:
        """Offer the likely worst partners of a row; products may be rough here, the pairs are judged directly."""
        rows, v = self._tiles.rows[: self._tiles.v], self._tiles.v
        distance = np.maximum(self._norms[:v] + self._norms[row] - 2 * (rows @ rows[row]), 0.0)
        self._tiles.metric.from_squared(distance)
        scores = self._problem.score(distance, np.abs(self._z[:v] - self._z[row]))
        top = np.argpartition(-scores, min(4, v - 1))[:4]
        self._offer(np.full(len(top), row), top)

    def _offer(self, first: Int64Array, second: Int64Array) -> None:
        self.take(0, self._judge(first, second))

    def _judge(self, first: Int64Array, second: Int64Array) -> WorstPair | None:
        worst: WorstPair | None = None
        for low in range(0, len(first), CHUNK):
            i = np.minimum(first[low : low + CHUNK], second[low : low + CHUNK])
            j = np.maximum(first[low : low + CHUNK], second[low : low + CHUNK])
            scores = self._problem.score(self._tiles.of_pairs(i, j), np.abs(self._z[i] - self._z[j]))
            k = int(np.lexsort((j, i, -scores))[0])
            pair = WorstPair(value=float(scores[k]), first=int(i[k]), second=int(j[k]))
            if worst is None or pair.beats(worst):
                worst = pair
        return worst

    def pairs(self, block: int) -> int:
        return self._tiles.pairs(block)

    def visit(self, block: int) -> WorstPair | None:
        """Judge each real pair that a screen leaves once; early where there are many, so that memory stays bounded."""
        left, right = [], []
        for first, second in self._screened_fast(block) if self._fast else self._screened(block):
            real = (first < second) & (second < self._tiles.v)
            first, second = first[real], second[real]
            if len(first) > CHUNK:
                worst = self._judge(first, second)
                assert worst is not None
                first, second = np.array([worst.first]), np.array([worst.second])
            left.append(first)
            right.append(second)
        return self._judge(np.concatenate(left), np.concatenate(right)) if left else None

    def _screened_fast(self, i: int) -> Iterator[tuple[Int64Array, Int64Array]]:
        """Screen by one float32 product: T^2 |x - y|^2 - (z - z')^2 is positive unless the pair's slope exceeds T."""
        slope = self._threshold
        own = slice(i * SIDE, (i + 1) * SIDE)
        x, z = self._tiles.rows[own], self._z[own]
        square = slope * slope
        left = np.column_stack(
            [-2 * square * x, square * self._norms[own] - z * z, np.full(SIDE, square), 2 * z, -np.ones(SIDE)]
        ).astype(np.float32)
        # The diagonal tile holds every row against itself, so it is taken alone and never skipped.
        starts = [i, *range(i + 1, self.blocks, WIDE), self.blocks]
        for j, stop in itertools.pairwise(starts):
            tile = left @ self._right[:, j * SIDE : stop * SIDE]
            bound = self._screen_error(i, slice(j, stop), slope)
            if j == i or tile.min() <= bound:
                rows, columns = np.nonzero(tile <= bound)
                yield i * SIDE + rows, j * SIDE + columns

    def _screen_error(self, i: int, blocks: slice, slope: float) -> float:
        """Return how far a float32 score can lie above the exact one: rounding of both factors and of d + 4 terms."""
        d = self._tiles.rows.shape[1]
        radius = self._radius[i] + self._radius[blocks].max()
        reach = self._reach[i] + self._reach[blocks].max()
        size = float((slope * radius) ** 2 + 2 * reach**2)
        return float(1.01 * (d + 10) * UNIT32 * size + (d + 8) * 2.0**-126 * (1 + size))

    def _screened(self, i: int) -> Iterator[tuple[Int64Array, Int64Array]]:
        problem, error = self._problem, self._tiles.distance_error()
        tile, z = np.empty((SIDE, SIDE)), self._z
        for j in range(i, self.blocks):
            self._tiles.distances(i, j, tile)
            error_here = error + 1e-12 * float(tile.max())
            gap = np.abs(z[i * SIDE : (i + 1) * SIDE, None] - z[None, j * SIDE : (j + 1) * SIDE])
            best = self._threshold
            if problem.per_distance:
                hits = gap >= best * np.minimum(np.maximum(tile - error_here, 0.0), problem.cap)
            else:
                s = np.minimum(tile + error_here, problem.cap)
                hits = problem.rate * s + np.minimum(gap, problem.rate * s) >= best
            rows, columns = np.nonzero(hits)
            yield i * SIDE + rows, j * SIDE + columns
