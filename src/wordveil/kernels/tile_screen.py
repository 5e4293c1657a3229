"""The screen that needs no compiler: tiles of NumPy's float32 product, of which few words survive.

A tile is one product of queries and words with |x|^2/2 as extra columns, so that its scores q.x - |x|^2/2 rank words
by distance. Each tile is looked through while it lies in the cache, and most of its rows only for their largest score.
No (n, v) array is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray
from wordveil.kernels.rescoring import Pairs, nearest_pairs, squared_distances
from wordveil.kernels.screening import NumberType, mean_word
from wordveil.kernels.survivors import Survivors

__all__ = ["TileScreen"]


class TileScreen:
    """Words packed for the product.

    Args:
        vectors: All vectors, float32, shape (v, d).
        outputs: Ids searched, int32, ascending.

    Attributes:
        centre: The mean word, float64, shape (d,).
        largest: Largest norm of a centred word.
        rows: Most queries to ask for at once.
    """

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
        self._tiles = [np.ascontiguousarray(factor.T) for factor in self._factors()]
        self.largest = float(self._bounds[0].max())

    def __reduce__(self) -> tuple[Any, ...]:
        return TileScreen, (self._vectors, self._outputs)  # packing them again is cheaper than carrying them

    def _factors(self) -> Iterator[NDArray[Any]]:
        """Yield the factor of each tile, and note the largest length, residue and own of its words."""
        for t in range(self._bounds.shape[1]):
            some = self._vectors[self._outputs[t * self._wide : (t + 1) * self._wide]]
            factor, facts = self._type.words(some.astype(np.float64) - self.centre)
            self._bounds[:, t] = facts.max(axis=1)
            yield factor

    def candidates(self, rows: Float64Array, k: int) -> Pairs:
        """Return (row, column) of every word that can be among the k nearest, at least k for each row.

        Where very many tie, some that are not among the k nearest may be left out too.

        Args:
            rows: Queries, float64, shape (n, d).
            k: Neighbours asked for.
        """
        queries = self._type.queries(rows - self.centre)
        found = Survivors(len(rows), k, lambda pairs: self._nearest_of(rows, pairs, k))
        length, residue, own = self._bounds[:, :, None]
        bounds = length * queries.scales[:, 0] + residue * queries.scales[:, 1] + own
        buffer = np.empty(len(rows) * self._tiles[0].shape[1], dtype=np.float32)
        for t, factor in enumerate(self._tiles):
            scores = buffer[: len(rows) * factor.shape[1]].reshape(len(rows), -1)
            found.offer(np.matmul(queries.factor, factor, out=scores), t * self._wide, bounds[t])
        return found.pairs()

    def _nearest_of(self, rows: Float64Array, pairs: Pairs, k: int) -> NDArray[np.int64]:
        squared = squared_distances(rows, self._vectors, self._outputs, pairs)
        kept = nearest_pairs(pairs, squared, len(rows), k)
        return kept[kept >= 0]
