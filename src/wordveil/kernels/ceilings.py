"""Ceilings of block masses: cheap numbers that are never below the exact ones, to draw from exact weights with.

A draw picks a block by its ceiling and then a point below that ceiling. Where the point falls among the block's exact
weights, the word there is drawn; beyond them the draw is rejected and made again. Words are accepted in proportion to
their exact weights whatever the ceilings are (rejection sampling, von Neumann 1951), which only decide how often.
So ceilings can come from bfloat16 or float32 products.

Let q, x be an input and a word, both centred on the mean word, and q', x' their roundings. Half the squared distance is
never less than -q'.x' + a(q) + a(x) - |q - q'||x| - |q'||x - x'|, with

    a(x) = (1 - s) |x|^2/2 - f      s = 2.04 c + 2^-22      f = 2K 2^-126

where c bounds float32 summation of K columns, as in `kernels.screening`, and f what flushing to zero can lose. All of
it is one product of K columns: a in one part (float32) or three (bfloat16), the norms rounded up.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, FloatArray, IdArray
from wordveil.kernels.compiled.library import NUMPY, require
from wordveil.kernels.compiled.selection_rows import compiled_ceilings
from wordveil.kernels.screening import NumberType
from wordveil.metrics import Metric

__all__ = ["LARGEST", "STEEPEST", "Ceilings"]

ROWS = 128  # rows of a NumPy tile
STACK = 4  # tiles weighed together: longer steps, between which threads wait for each other
SIDE = 32  # rows and columns of a compiled product
LANES = 16
PADDING = 1e37  # stands for |x|^2/2 of columns that hold no word
LARGEST = 1e36  # squared norms beyond might overflow in float32
STEEPEST = 1e12  # rate beyond which distances that float32 cannot hold would count
RAISED = 1 + 2.0**-11  # the exponential, the sum and the rounding of a base measure err by less
ROOT_ERROR = 2.0**-14 * 1.01  # relative error of the compiled root, the largest of all engines


class _Packed(NamedTuple):
    """Words as the products read them.

    Attributes:
        centre: The mean word, shape (d,).
        factor: (blocks, K, columns) for NumPy; (blocks, columns / 16, K / pair, 16, pair) for compiled products.
        base: Base measure, float32, shape (blocks, columns); 0 where there is no word.
    """

    centre: Float64Array
    factor: NDArray[Any]
    base: Float32Array


class _Facts(NamedTuple):
    """Of each row, in the number type: a in parts, shape (n, extra); the norm and that of the residue, rounded up."""

    halves: NDArray[Any]
    norms: NDArray[Any]
    residues: NDArray[Any]


class Ceilings:
    """Ceilings of the masses of one vocabulary's blocks, for any input of it; packed when first asked for.

    Args:
        vectors: All input vectors, shape (v, d).
        metric: A norm: the distance is the Euclidean distance of the coordinates.
        outputs: Ids that may be output, int32.
        edges: First output of each block, and the end, shape (blocks + 1,).
        base: Base measure over `outputs`, or None for 1.
        engine: "numpy", or the level of a compiled library.
    """

    def __init__(
        self,
        vectors: FloatArray,
        metric: Metric,
        outputs: IdArray,
        edges: NDArray[np.int64],
        base: Float64Array | None,
        engine: str,
    ) -> None:
        self._vectors, self._metric, self._outputs, self._edges = vectors, metric, outputs, edges
        self._base, self._engine = base, engine
        self._multiple = LANES if engine == NUMPY else SIDE
        self._columns = -(-int(np.diff(edges).max()) // self._multiple) * self._multiple

    @cached_property
    def type(self) -> NumberType:
        """The number type of this engine's products."""
        d = int(self._metric.coordinates(self._vectors[:1]).shape[1])
        bfloat16 = self._pair == 2
        return NumberType(bfloat16=bfloat16, d=d, columns=-(-(d + 8) // 32) * 32 if bfloat16 else d + 4)

    @cached_property
    def _pair(self) -> int:
        return 1 if self._engine == NUMPY else int(require(self._engine).wordveil_pair())

    @cached_property
    def _packed(self) -> _Packed:
        blocks, columns, extra, d = len(self._edges) - 1, self._columns, self.type.extra, self.type.d
        centre, one = self._mean(), self.type.narrow(np.ones(1)).bits
        factor = np.zeros(self._layout(blocks), dtype=self.type.dtype)
        base = np.zeros((blocks, columns), dtype=np.float32)
        for block in range(blocks):
            low, high = self._edges[block], self._edges[block + 1]
            n = high - low
            rows = self._metric.coordinates(self._vectors[self._outputs[low:high]]) - centre
            whole = np.zeros((columns, self.type.columns), dtype=self.type.dtype)
            whole[:n, :d], facts = self._narrow(rows)
            whole[n:, d + extra] = self.type.narrow(np.array([PADDING])).bits
            whole[:, d : d + extra] = one
            whole[:n, d + extra : d + 2 * extra] = facts.halves
            whole[:n, d + 2 * extra] = facts.norms
            whole[:n, d + 2 * extra + 1] = facts.residues
            factor[block] = self._laid(whole)
            base[block, :n] = 1.0 if self._base is None else self._base[low:high]
        return _Packed(centre, factor, base)

    def _mean(self) -> Float64Array:
        total = np.zeros(self.type.d)
        for low, high in zip(self._edges[:-1], self._edges[1:], strict=True):
            total += self._metric.coordinates(self._vectors[self._outputs[low:high]]).sum(axis=0)
        return np.asarray(total / len(self._outputs))

    def _layout(self, blocks: int) -> tuple[int, ...]:
        k, columns, pair = self.type.columns, self._columns, self._pair
        return (blocks, k, columns) if self._engine == NUMPY else (blocks, columns // LANES, k // pair, LANES, pair)

    def _laid(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return one block's words, shape (columns, K), as its product reads them."""
        if self._engine == NUMPY:
            return rows.T
        k, pair = self.type.columns, self._pair
        return rows.reshape(-1, LANES, k // pair, pair).transpose(0, 2, 1, 3)

    def _narrow(self, rows: Float64Array) -> tuple[NDArray[Any], _Facts]:
        """Return rounded rows, and what the bound needs to know of the exact ones."""
        narrowed = self.type.narrow(rows)
        rest = rows - narrowed.values
        squared = np.einsum("ij,ij->i", rows, rows)
        half = (1 - 2.04 * self.type.summing - 2.0**-22) * (0.5 * squared) - 2 * self.type.columns * 2.0**-126
        halves = []
        for _ in range(self.type.extra):
            part = self.type.narrow(half)
            halves.append(part.bits)
            half = half - part.values
        lost = np.sqrt(np.einsum("ij,ij->i", rest, rest))
        facts = _Facts(np.stack(halves, axis=1), self._raised(np.sqrt(squared)), self._raised(lost))
        return narrowed.bits, facts

    def _raised(self, numbers: Float64Array) -> NDArray[Any]:
        """Return numbers >= 0 rounded up, or by more."""
        up = 1 + (2.0**-6 if self.type.bfloat16 else 2.0**-21)
        return self.type.narrow(numbers * up + 2.0**-125).bits

    def _queries(self, ids: IdArray) -> NDArray[Any]:
        """Return the left factor of the given inputs, shape (n, K)."""
        d, extra = self.type.d, self.type.extra
        rows = self._metric.coordinates(self._vectors[ids]) - self._packed.centre
        left = np.zeros((len(ids), self.type.columns), dtype=self.type.dtype)
        left[:, :d], facts = self._narrow(-rows)
        left[:, d : d + extra] = facts.halves
        left[:, d + extra : d + 2 * extra] = self.type.narrow(np.ones(1)).bits
        left[:, d + 2 * extra] = self._negative(facts.residues)
        left[:, d + 2 * extra + 1] = self._negative(facts.norms)
        return left

    def _negative(self, bits: NDArray[Any]) -> NDArray[Any]:
        return bits | np.uint16(0x8000) if self.type.bfloat16 else -bits

    def masses(self, ids: IdArray, *, rate: float, cap: float, raised: float) -> Float32Array:
        """Return a ceiling of the mass of every block for each input, shape (n, blocks).

        Args:
            ids: Input ids, shape (n,).
            rate: Rate of the exponential.
            cap: Where distances are clipped.
            raised: Factor at least 1 by which the exact weights may exceed the formula.
        """
        packed = self._packed
        left = self._queries(ids)
        scale = -rate * math.sqrt(2) * (1 - ROOT_ERROR)
        if self._engine == NUMPY:
            out = self._tiled(left, scale, 0.5 * min(cap, 86.0 / rate) ** 2)
        else:
            base = None if self._base is None else packed.base
            out = compiled_ceilings(self._engine, left, packed.factor, base, scale, -rate * cap)
        out *= np.float32(raised * RAISED)
        return out

    def _tiled(self, left: NDArray[Any], scale: float, farthest: float) -> Float32Array:
        """Return sums of exp(scale sqrt(min(h, farthest))) over every block, shape (n, blocks), by NumPy."""
        packed, blocks = self._packed, len(self._edges) - 1
        high = -(-len(left) // ROWS)  # tiles of ROWS rows, so that a row's bits never depend on its batch
        rows = np.zeros((high, ROWS, left.shape[1]), dtype=np.float32)
        rows.reshape(high * ROWS, -1)[: len(left)] = left
        sums = np.empty((high, ROWS, blocks), dtype=np.float32)
        tiles = np.empty((min(high, STACK), ROWS, self._columns), dtype=np.float32)
        for start in range(0, high, STACK):
            some = rows[start : start + STACK]
            tile = tiles[: len(some)]
            for block in range(blocks):
                np.matmul(some, packed.factor[block], out=tile)
                np.clip(tile, np.float32(0), np.float32(farthest), out=tile)
                np.sqrt(tile, out=tile)
                tile *= np.float32(scale)
                np.exp(tile, out=tile)
                np.matmul(tile, packed.base[block], out=sums[start : start + STACK, :, block])
        return sums.reshape(high * ROWS, blocks)[: len(left)]
