"""Keeps, tile by tile, the words that can still be among the k nearest.

A score lies within its bound of the exact one. The floor of a query is a score that k words certainly reach: the k-th
largest of scores less their bounds so far. A word survives while its score plus bound reaches the floor. Once the floor
stands, few tiles hold a survivor; only their rows are copied, and read together when enough of them wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array
from wordveil.kernels.rescoring import Pairs

__all__ = ["Survivors"]

GROUPS = 64  # maxima that stand for a tile where few neighbours are asked for
FEW = 32
MOST_PAIRS = 1 << 20  # survivors held before they are thinned out


class _Waiting(NamedTuple):
    """Rows of one tile that may hold survivors: queries, the tile's first column, their bounds and scores."""

    rows: NDArray[np.int64]
    first: int
    bound: Float64Array
    scores: Float32Array


class Survivors:
    """Pairs (query, word) that the tiles seen so far do not rule out.

    Args:
        n: Queries.
        k: Neighbours asked for.
        thin: Returns which of some pairs are among the k nearest of their query's pairs; called where many tie.
    """

    def __init__(self, n: int, k: int, thin: Callable[[Pairs], NDArray[np.int64]]) -> None:
        self._n, self._k, self._thin = n, k, thin
        self._all = np.arange(n)
        self._reached = np.full((n, k), -np.inf)  # the k largest scores less bounds so far, in no order
        self._floor = np.full(n, -np.inf)
        self._waiting: list[_Waiting] = []
        self._waiting_rows = 0
        self._found: list[tuple[NDArray[np.int64], NDArray[np.int64], Float64Array]] = []  # rows, columns, uppers
        self._held, self._room = 0, max(MOST_PAIRS, 4 * n * k)

    def offer(self, tile: Float32Array, first: int, bound: Float64Array) -> None:
        """Look through a tile.

        Args:
            tile: Scores, shape (n, words).
            first: Column of the tile's first word.
            bound: How far each query's scores may lie from the exact ones, shape (n,).
        """
        # `argmax` is faster than `max` here, and most rows of most tiles end at these lines.
        best = tile[self._all, tile.argmax(axis=1)]
        live = np.flatnonzero(best + bound >= self._floor)
        if len(live) == 0:
            return
        if self._k == 1:
            np.maximum(self._floor, best - bound, out=self._floor)
        if self._waiting and self._waiting[0].scores.shape[1] != tile.shape[1]:
            self._read()
        scores = tile if len(live) == self._n else tile[live]  # all of them are read before the tile is overwritten
        self._waiting.append(_Waiting(live, first, bound[live], scores))
        self._waiting_rows += len(live)
        if self._waiting_rows >= self._n:
            self._read()

    def pairs(self) -> Pairs:
        """Return (row, column) of the survivors, at least k for each query once all words were offered."""
        self._read()
        rows, columns, _ = self._standing()
        return rows, columns

    def _read(self) -> None:
        """Pick the survivors out of the waiting rows."""
        if not self._waiting:
            return
        if self._k > 1:
            for some in self._waiting:
                self._raise_floor(some)
        rows, bound = (np.concatenate([w[i] for w in self._waiting]) for i in (0, 2))
        parts = [w.scores for w in self._waiting]
        scores = parts[0] if len(parts) == 1 else np.concatenate(parts)
        first = np.repeat([w.first for w in self._waiting], [len(w.rows) for w in self._waiting])
        self._waiting, self._waiting_rows = [], 0
        # Rounded down, so that the comparison can stay in float32.
        threshold = np.nextafter((self._floor[rows] - bound).astype(np.float32), np.float32(-np.inf))
        i, j = np.nonzero(scores >= threshold[:, None])
        self._found.append((rows[i], first[i] + j, scores[i, j] + bound[i]))
        self._held += len(i)
        if self._held > self._room:
            self._shrink()

    def _raise_floor(self, some: _Waiting) -> None:
        scores = some.scores
        # Each maximum of a group of words stands for one word; halves are compared, which runs at memory speed.
        while self._k <= FEW and scores.shape[1] > GROUPS and scores.shape[1] % 2 == 0:
            half = scores.shape[1] // 2
            scores = np.maximum(scores[:, :half], scores[:, half:])
        reached = np.concatenate((self._reached[some.rows], scores - some.bound[:, None]), axis=1)
        reached = np.partition(reached, reached.shape[1] - self._k, axis=1)[:, -self._k :]
        self._reached[some.rows], self._floor[some.rows] = reached, reached[:, 0]

    def _standing(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Float64Array]:
        """Return the pairs that the floor has not passed."""
        rows, columns, uppers = (np.concatenate([part[i] for part in self._found]) for i in range(3))
        kept = uppers >= self._floor[rows]
        return rows[kept], columns[kept], uppers[kept]

    def _shrink(self) -> None:
        """Forget pairs that the floor has passed; if too many are left, all but the nearest k of each query."""
        rows, columns, uppers = self._standing()
        if len(rows) > self._room // 2:
            kept = self._thin((rows, columns))
            rows, columns, uppers = rows[kept], columns[kept], uppers[kept]
        self._found, self._held = [(rows, columns, uppers)], len(rows)
