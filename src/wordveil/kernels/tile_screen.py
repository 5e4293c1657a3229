"""The screen that needs no compiler: tiles of NumPy's float32 product, of which few words survive.

A tile is one product of queries and words with |x|^2/2 as extra columns, so that its scores q.x - |x|^2/2 rank words
by distance. Each tile is looked through while it lies in the cache, and most of its rows only for their largest score.
No (n, v) array is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray, Int64Array
from wordveil.kernels.rescoring import Pairs, nearest_pairs, squared_distances
from wordveil.kernels.screening import NumberType, mean_word

GROUPS = 64  # maxima that stand for a tile where few neighbours are asked for
FEW = 32
MOST_PAIRS = 1 << 20  # survivors held before they are thinned out


class TileScreen:
    """Float32 vectors, shape (v, d), of ascending outputs, packed for the product; at most `rows` queries at once."""

    tile: ClassVar[tuple[int, int]] = (1024, 512)
    """Queries and words of a tile: taller ones gain a little at 300 columns and lose more at 50."""

    def __init__(self, vectors: Float32Array, outputs: IdArray) -> None:
        d = vectors.shape[1]
        extra = NumberType(bfloat16=False, d=d, columns=d).extra
        self._type = NumberType(bfloat16=False, d=d, columns=d + extra)
        self._vectors, self._outputs = vectors, outputs
        self.rows, self._wide = self.tile
        self.centre = mean_word(vectors, outputs)
        self._bounds = np.empty((3, -(-len(outputs) // self._wide)))
        self._tiles: list[NDArray[Any]] = []
        for t in range(self._bounds.shape[1]):
            factor, facts = self._type.words(vectors[outputs[t * self._wide : (t + 1) * self._wide]] - self.centre)
            self._tiles.append(np.ascontiguousarray(factor.T))
            self._bounds[:, t] = facts.max(axis=1)  # the largest length, residue and own of its words
        self.largest = float(self._bounds[0].max())

    def __reduce__(self) -> tuple[Any, ...]:
        return TileScreen, (self._vectors, self._outputs)  # packing them again is cheaper than carrying them

    def candidates(self, rows: Float64Array, k: int) -> Pairs:
        """Return (row, column) of every word that can be among the k nearest, at least k for each query, shape (n, d).

        Where very many tie, some that are not among the k nearest may be left out too.
        """
        queries = self._type.queries(rows - self.centre)
        found = _Survivors(len(rows), k, lambda pairs: self._nearest_of(rows, pairs, k))
        length, residue, own = self._bounds[:, :, None]
        bounds = length * queries.scales[:, 0] + residue * queries.scales[:, 1] + own
        buffer = np.empty(len(rows) * self._tiles[0].shape[1], dtype=np.float32)
        for t, factor in enumerate(self._tiles):
            scores = buffer[: len(rows) * factor.shape[1]].reshape(len(rows), -1)
            found.offer(np.matmul(queries.factor, factor, out=scores), t * self._wide, bounds[t])
        return found.pairs()

    def _nearest_of(self, rows: Float64Array, pairs: Pairs, k: int) -> Int64Array:
        squared = squared_distances(rows, self._vectors, self._outputs, pairs)
        kept = nearest_pairs(pairs, squared, len(rows), k)
        return kept[kept >= 0]


class _Survivors:
    """Pairs (query, word) that the tiles seen so far do not rule out.

    A score lies within its bound of the exact one. The floor of a query is a score that k words certainly reach: the
    k-th largest of scores less their bounds so far. A word survives while its score plus bound reaches the floor. Where
    many tie, `thin` says which of some pairs are among the k nearest of their query's.
    """

    def __init__(self, n: int, k: int, thin: Callable[[Pairs], Int64Array]) -> None:
        self._k, self._thin, self._all = k, thin, np.arange(n)
        self._reached = np.full((n, k), -np.inf)  # the k largest scores less bounds so far, in no order
        self._floor = np.full(n, -np.inf)
        self._found: list[tuple[Int64Array, Int64Array, Float64Array]] = []  # rows, columns, uppers
        self._held, self._room = 0, max(MOST_PAIRS, 4 * n * k)

    def offer(self, tile: Float32Array, first: int, bound: Float64Array) -> None:
        """Look through a tile of scores, shape (n, words), from a column on, that lie within `bound`, shape (n,)."""
        # `argmax` is faster than `max` here, and most rows of most tiles end at these lines.
        best = tile[self._all, tile.argmax(axis=1)]
        rows = np.flatnonzero(best + bound >= self._floor)
        if not len(rows):
            return
        scores, bound = (tile if len(rows) == len(tile) else tile[rows]), bound[rows]
        if self._k == 1:
            self._floor[rows] = np.maximum(self._floor[rows], best[rows] - bound)
        else:
            self._raise_floor(rows, scores, bound)
        # Rounded down, so that the comparison can stay in float32.
        threshold = np.nextafter((self._floor[rows] - bound).astype(np.float32), np.float32(-np.inf))
        i, j = np.nonzero(scores >= threshold[:, None])
        self._found.append((rows[i], first + j, scores[i, j] + bound[i]))
        self._held += len(i)
        if self._held > self._room:
            # Forget pairs that the floor has passed; if too many are left, all but the nearest k of each query.
            held = self._standing()
            if len(held[0]) > self._room // 2:
                kept = self._thin(Pairs(*held[:2]))
                held = held[0][kept], held[1][kept], held[2][kept]
            self._found, self._held = [held], len(held[0])

    def pairs(self) -> Pairs:
        """Return (row, column) of the survivors, at least k for each query once all words were offered."""
        rows, columns, _ = self._standing()
        return Pairs(rows, columns)

    def _raise_floor(self, rows: Int64Array, scores: Float32Array, bound: Float64Array) -> None:
        # Each maximum of a group of words stands for one word; halves are compared, which runs at memory speed.
        while self._k <= FEW and scores.shape[1] > GROUPS and scores.shape[1] % 2 == 0:
            half = scores.shape[1] // 2
            scores = np.maximum(scores[:, :half], scores[:, half:])
        reached = np.concatenate((self._reached[rows], scores - bound[:, None]), axis=1)
        reached = np.partition(reached, reached.shape[1] - self._k, axis=1)[:, -self._k :]
        self._reached[rows], self._floor[rows] = reached, reached[:, 0]

    def _standing(self) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Return the pairs that the floor has not passed."""
        rows, columns, uppers = (np.concatenate([part[i] for part in self._found]) for i in range(3))
        kept = uppers >= self._floor[rows]
        return rows[kept], columns[kept], uppers[kept]
