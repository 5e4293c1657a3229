"""The screen that needs no compiler: tiles of scores from a library's product, of which few words survive.

A tile is one product of queries and words with |x|^2/2 as extra columns, so that its scores q.x - |x|^2/2 rank words
by distance: in float32 through NumPy, or in bfloat16 through another library. Each tile is looked through while it
lies in the cache, and most of its rows only for their largest score. No (n, v) array is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray
from wordveil.kernels.rescoring import Pairs, nearest_pairs, squared_distances
from wordveil.kernels.screening import NumberType, mean_word
from wordveil.kernels.survivors import Survivors

__all__ = ["NumpyProduct", "TileProduct", "TileScreen"]


class TileProduct(Protocol):
    """Scores of queries against one tile of words after another.

    Made from the words' factors, one array of shape (words, columns) a tile.
    """

    bfloat16: ClassVar[bool]
    align: ClassVar[int]
    """The columns of the factors are a multiple of this."""
    tile: ClassVar[tuple[int, int]]
    """Queries and words of a tile; found by measurement, no answer depends on it."""

    def __init__(self, tiles: Iterator[NDArray[Any]]) -> None: ...

    def all_scores(self, factor: NDArray[Any]) -> Iterator[Float32Array]:
        """Yield the scores of the queries' factor, shape (n, columns), against each tile, shape (n, words).

        An array that was yielded may be overwritten by the next.
        """


class NumpyProduct:
    """Float32 products through NumPy."""

    bfloat16: ClassVar[bool] = False
    align: ClassVar[int] = 1
    tile: ClassVar[tuple[int, int]] = (1024, 512)  # taller ones gain a little at 300 columns and lose more at 50

    def __init__(self, tiles: Iterator[NDArray[Any]]) -> None:
        self._tiles = [np.ascontiguousarray(tile.T) for tile in tiles]

    def all_scores(self, factor: NDArray[Any]) -> Iterator[Float32Array]:
        buffer = np.empty(len(factor) * self._tiles[0].shape[1], dtype=np.float32)
        for right in self._tiles:
            out = buffer[: len(factor) * right.shape[1]].reshape(len(factor), -1)
            yield np.matmul(factor, right, out=out)


class TileScreen:
    """Words packed for a product.

    Args:
        product: Makes the product.
        vectors: All vectors, float32, shape (v, d).
        outputs: Ids searched, int32, ascending.

    Attributes:
        centre: The mean word, float64, shape (d,).
        largest: Largest norm of a centred word.
        rows: Most queries to ask for at once.
    """

    def __init__(self, product: type[TileProduct], vectors: Float32Array, outputs: IdArray) -> None:
        d = vectors.shape[1]
        extra = NumberType(bfloat16=product.bfloat16, d=d, columns=d).extra
        columns = -(-(d + extra) // product.align) * product.align
        self._type = NumberType(bfloat16=product.bfloat16, d=d, columns=columns)
        self._vectors, self._outputs, self._kind = vectors, outputs, product
        self.rows, self._wide = product.tile
        self.centre = mean_word(vectors, outputs)
        self._bounds = np.empty((3, -(-len(outputs) // self._wide)))
        self._product = product(self._factors())
        self.largest = float(self._bounds[0].max())

    def __reduce__(self) -> tuple[Any, ...]:
        # A library's packed factors cannot travel; they are packed again where they arrive.
        return TileScreen, (self._kind, self._vectors, self._outputs)

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
        for t, tile in enumerate(self._product.all_scores(queries.factor)):
            found.offer(tile, t * self._wide, bounds[t])
        return found.pairs()

    def _nearest_of(self, rows: Float64Array, pairs: Pairs, k: int) -> NDArray[np.int64]:
        squared = squared_distances(rows, self._vectors, self._outputs, pairs)
        kept = nearest_pairs(pairs, squared, len(rows), k)
        return kept[kept >= 0]
