"""Ceilings of block masses: cheap numbers that are never below the exact ones, to draw from exact weights with.

A draw picks a block by its ceiling and then a point below that ceiling. Where the point falls among the block's exact
weights, the word there is drawn; beyond them the draw is rejected and made again. Words are accepted in proportion to
their exact weights whatever the ceilings are (rejection sampling, von Neumann 1951), which only decide how often.
So ceilings can come from bfloat16 or float32 products.

Let q, x be an input and a word, less some centre, in float32. With a(x) = (1 - s) |x|^2/2 - f, half the squared
distance is never less than the computed product -q.x + a(q) + a(x), where

    s = 4.12 (K + 2) 2^-24 + 2^-21      f = 2K 2^-126

holds float32 summation of K columns in any order (as in `kernels.screening`), rounding q, x and a to float32, and
flushing to zero. In bfloat16, |q - q'||x| + |q'||x - x'| is taken away too, by two more columns (compiled/ceilings.c).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray
from wordveil.kernels.compiled.library import NUMPY
from wordveil.kernels.compiled.selection import SIDE, CompiledCeilings, Shrinking

ROWS = 128  # rows of a NumPy tile
SAMPLE = 4096  # words whose mean is the centre: any centre is correct
STACK = 4  # tiles weighed together: longer steps, between which threads wait for each other
PADDING = 1e37  # stands for a(x) of columns that hold no word
LARGEST = 1e36  # squared norms beyond might overflow in float32
STEEPEST = 1e12  # rate beyond which distances that float32 cannot hold would count
LOWEST = -86.0  # exponents below could leave float32
RAISED = 1 + 2.0**-11  # the exponential (7.5e-5), the sum (3.1e-5), a base measure's rounding (6e-8) err by less
ROOT_ERROR = 2.0**-14 * 1.01  # relative error of the compiled root, the largest of all engines


class _Packed(NamedTuple):
    """Words as the products read them."""

    centre: Float64Array  # what vectors are taken from, shape (d,): the mean of some words, near which norms are small
    factor: NDArray[Any]  # [y; 1; a(y)] of shape (blocks, d + 2, columns) for NumPy, or the compiled layout
    base: Float32Array  # base measure, float32, shape (blocks, columns); 0 where there is no word


class Ceilings:
    """Ceilings of the masses of one vocabulary's blocks, for any input of it.

    Coordinates, by ids, are in a norm: the distance is their Euclidean distance. Edges are the first output of each
    block, and the end, shape (blocks + 1,); a base measure over outputs of None stands for 1.
    """

    def __init__(
        self,
        coordinates: Callable[[Any], Float64Array],
        outputs: IdArray,
        edges: NDArray[np.int64],
        base: Float64Array | None,
        engine: str,
    ) -> None:
        self._coordinates, self._outputs, self._edges, self._base = coordinates, outputs, edges, base
        self._columns = -(-int(np.diff(edges).max()) // SIDE) * SIDE
        self._d = int(coordinates(slice(1)).shape[1])
        self._compiled = None if engine == NUMPY else CompiledCeilings(engine=engine, d=self._d)
        self._packed: _Packed | None = None

    @cached_property
    def _shrinking(self) -> Shrinking:
        """1 - s and f of the module's bound."""
        k = self._d + 2 if self._compiled is None else self._compiled.k
        return Shrinking(1 - 4.12 * (k + 2) * 2.0**-24 - 2.0**-21, 2 * k * 2.0**-126)

    def pack(self) -> _Packed:
        """Return the words laid out, by the first call; threads that come first together make the same numbers."""
        if self._packed is None:
            blocks = len(self._edges) - 1
            some = self._outputs[:: -(-len(self._outputs) // SAMPLE)]
            centre = self._coordinates(some).mean(axis=0)
            if self._compiled is None:
                factor = np.zeros((blocks, self._d + 2, self._columns), dtype=np.float32)
            else:
                factor = self._compiled.room(blocks, self._columns)
            made = _Packed(centre, factor, np.zeros((blocks, self._columns), dtype=np.float32))
            for block in range(blocks):
                self._pack_block(block, made)
            self._packed = made
        return self._packed

    def _pack_block(self, block: int, packed: _Packed) -> None:
        low, high = self._edges[block], self._edges[block + 1]
        rows, factor = self._centred(self._outputs[low:high], packed.centre), packed.factor[block]
        if self._compiled is not None:
            self._compiled.lay_words(rows, self._shrinking, factor)
        else:
            factor[:-2, : high - low] = rows.T
            factor[-2], factor[-1] = 1.0, PADDING
            factor[-1, : high - low] = self._halves(rows)
        packed.base[block, : high - low] = 1.0 if self._base is None else self._base[low:high]

    def _centred(self, ids: IdArray, centre: Float64Array) -> Float32Array:
        rows = self._coordinates(ids)
        return np.subtract(rows, centre, out=np.empty(rows.shape, dtype=np.float32), casting="same_kind")

    def _halves(self, rows: Float32Array) -> Float64Array:
        kept, flush = self._shrinking
        return np.asarray(kept * 0.5 * np.einsum("ij,ij->i", rows, rows, dtype=np.float64) - flush)

    def above(self, ids: IdArray, *, rate: float, cap: float, raised: float) -> Float32Array:
        """Return ceilings of the blocks' masses, shape (n, blocks), for weights up to `raised` times the formula's."""
        packed = self.pack()
        rows = self._centred(ids, packed.centre)
        scale = -rate * math.sqrt(2) * (1 - ROOT_ERROR)
        if self._compiled is None:
            out = self._sums(rows, scale, min(0.5 * min(cap, -LOWEST / rate) ** 2, PADDING))
        else:
            base = None if self._base is None else packed.base
            lowest = max(-rate * cap, LOWEST)
            out = self._compiled.sums(rows, packed.factor, base, shrinking=self._shrinking, scale=scale, lowest=lowest)
        out *= np.float32(raised * RAISED)
        return out

    def _sums(self, rows: Float32Array, scale: float, farthest: float) -> Float32Array:
        """Return sums of b exp(scale sqrt(min(h, farthest))) over every block, shape (n, blocks), by NumPy."""
        packed, blocks = self.pack(), len(self._edges) - 1
        high = -(-len(rows) // ROWS)  # tiles of ROWS rows, so that a row's bits never depend on its batch
        # The product is taken in float64: in float32 some BLAS kernels round a row by its place in the tile.
        left = np.zeros((high * ROWS, self._d + 2))
        left[: len(rows), :-2] = -rows
        left[: len(rows), -2] = self._halves(rows)
        left[:, -1] = 1.0
        stack = left.reshape(high, ROWS, -1)
        sums = np.empty((high, ROWS, blocks), dtype=np.float32)
        products = np.empty((min(high, STACK), ROWS, self._columns))
        tiles = np.empty(products.shape, dtype=np.float32)
        for start in range(0, high, STACK):
            some = stack[start : start + STACK]
            product, tile = products[: len(some)], tiles[: len(some)]
            for block in range(blocks):
                np.matmul(some, packed.factor[block].astype(np.float64), out=product)
                np.clip(product, 0.0, farthest, out=tile, casting="same_kind")
                np.sqrt(tile, out=tile)
                tile *= np.float32(scale)
                np.exp(tile, out=tile)
                np.matmul(tile, packed.base[block], out=sums[start : start + STACK, :, block])
        return sums.reshape(high * ROWS, blocks)[: len(rows)]
