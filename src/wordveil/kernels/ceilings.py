"""Ceilings of block masses: cheap numbers that are never below the exact ones, the same bytes on every engine.

A draw picks a block by its ceiling and then a point below that ceiling. Where the point falls among the block's ideal
weights, the word there is drawn; beyond them the draw is rejected and made again. Words are accepted in proportion to
their ideal weights whatever the ceilings are (rejection sampling, von Neumann 1951), which only decide how often.

Coordinates are rounded once to integers of a public grid, q = rint(x / step) - centre, whose squared distances h are
exact integers in any order. With r the largest length that rounding moves a word by, in the metric's unit,

    |x - y| >= step sqrt(h) - 2 r, and >= 0      so that      |x - y| >= step sqrt(max(h, 1)) - max(2 r, step).

What follows are IEEE operations on float32 in a fixed order, which NumPy and compiled/ceilings.c share, with u = 2^-24:

    root    one Newton step from a bit trick: g (3/2 - g y / 2), g = h y, is sqrt(h) at most, for any y; rounding may
            raise it by 4.5 u, the scale and its product by 2 u; both exponents are lowered by 16 u
    angle   of unit vectors at a distance c, at least c (1 + A c^2 + B c^4), rising by at most 9/4 of what c does; its
            factor may be raised by 2.3 u
    power   2^x by its chord between integers, 2^floor(x) (1 + x - floor(x)): 2^x at least, exact in integer arithmetic;
            x + log2 of a base measure, rounded up to 1/256, is off by 2^-17 where there is one
    sums    at most 32 in each of 16 lanes, then in float64: lowered by 33 u

so that ceilings times 1 + 2^-16, which is more than e^(ln 2 2^-17 + 33 u), and e^(rate max(2 r, step)) are never below
the masses of the ideal weights. `docs/design/2026-11-26-draws.md` has the steps.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray, Int64Array
from wordveil.kernels.compiled.library import NUMPY, call, require

ROWS = 128  # rows of a NumPy tile
SIDE = 32  # rows, and columns, that ceilings.c takes together
LANES = 16
CHUNK = 1 << 12  # words rounded at a time
SAMPLE = 4096  # words whose mean is the centre: any centre is correct
LONGEST = 23_000  # length of a word in steps: a squared distance of two stays below 2**31
FINE = 1 << 16  # parts of a step that lengths lost by rounding are counted in
LOG2_E = 1.4426950408889634
LOWEST = -60.0  # exponents below are taken for this one, so that all numbers stay normal
LOWERED = 1 - 2.0**-20  # exponents of the distances, against 6.5 roundings
RAISED = 1 + 2.0**-16
BEND_A, BEND_B = 2338577, 168  # A 2^26 and B 2^14, rounded down
STEEPEST = 9 / 4
NO_WORD = -200.0  # logarithm of the base measure of a column that holds no word
LEAST_SHARE = 2.0**-39  # of the largest of a base measure; smaller ones are taken for this one
THRESHOLDS = np.array([float(Decimal(2) ** (Decimal(i) / 256 - 1)) for i in range(256)])  # the same on any machine


class WholeGrid(NamedTuple):
    """The public grid of one vocabulary."""

    step: float  # a power of two, unit of the coordinates
    centre: Int64Array  # what rounded coordinates are taken from, shape (d,)
    apart: float  # by how much a distance may be below the grid's, in the metric's unit


class _Packed(NamedTuple):
    """Words as the products read them."""

    words: NDArray[Any]  # (blocks, d + 2, columns) float64 for NumPy, [y; |y|^2; 1], or tiles of int16
    norms: NDArray[np.int32]  # squared lengths, shape (blocks, columns)
    shares: Float32Array  # base-2 logarithms of the base measure, shape (blocks, columns)


class Ceilings:
    """Ceilings of the masses of one vocabulary's blocks, for any of its v words.

    Coordinates are given by ids. The distance is their Euclidean distance or, of unit vectors, their angle. Edges are
    the first output of each block, and the end, shape (blocks + 1,); a base measure over outputs of None stands for 1.
    """

    def __init__(
        self,
        coordinates: Callable[[Any], Float64Array],
        v: int,
        outputs: IdArray,
        edges: Int64Array,
        base: Float64Array | None,
        engine: str,
        *,
        is_angle: bool = False,
    ) -> None:
        self._coordinates, self._v, self._outputs, self._edges = coordinates, v, outputs, edges
        self._base, self._engine, self._is_angle = base, engine, is_angle
        self._columns = -(-int(np.diff(edges).max()) // LANES) * LANES
        self._packed: _Packed | None = None

    @cached_property
    def grid(self) -> WholeGrid:
        """The finest grid on which no word is too long, by integer arithmetic only."""
        largest = max(float(np.abs(rows).max(initial=0.0)) for rows in self._parts())
        step = 2.0 ** max(math.frexp(largest / LONGEST)[1], -900)
        while (found := self._try(step)) is None:
            step *= 2
        return found

    def _parts(self) -> Iterator[Float64Array]:
        return (self._coordinates(slice(low, low + CHUNK)) for low in range(0, self._v, CHUNK))

    def _try(self, step: float) -> WholeGrid | None:
        some = np.rint(self._coordinates(self._outputs[:: -(-len(self._outputs) // SAMPLE)]) / step)
        centre, most = some.astype(np.int64).sum(axis=0) // len(some), 0
        for rows in self._parts():
            exact = rows / step
            whole = np.rint(exact)
            placed = whole.astype(np.int64) - centre
            if int(np.einsum("ij,ij->i", placed, placed).max()) > LONGEST**2:
                return None
            lost = np.ceil(np.abs(exact - whole) * FINE).astype(np.int64)
            most = max(most, int(np.einsum("ij,ij->i", lost, lost).max()))
        return WholeGrid(step, centre, max(2 * step * math.sqrt(most) / FINE * (1 + 2.0**-40), step))

    def place(self, ids: IdArray) -> NDArray[np.int16]:
        """Return words as integers of the grid, shape (n, d)."""
        return (np.rint(self._coordinates(ids) / self.grid.step).astype(np.int64) - self.grid.centre).astype(np.int16)

    def raised(self, rate: float) -> float:
        """Return what ceilings are to be multiplied by so that none is below its mass; inf where the grid is coarse."""
        apart = STEEPEST * self.grid.apart + 2.0**-40 if self._is_angle else self.grid.apart
        moved = rate * apart
        return RAISED / (1 - moved) if moved < 0.75 else math.inf  # 1 / (1 - t) is at least e^t

    def pack(self) -> _Packed:
        """Return the words laid out, by the first call; threads that come first together make the same numbers."""
        if self._packed is None:
            blocks, d = len(self._edges) - 1, len(self.grid.centre)
            factor = np.zeros((blocks, self._columns, d + d % 2), dtype=np.int16)
            norms = np.zeros((blocks, self._columns), dtype=np.int32)
            shares = np.full(norms.shape, NO_WORD, dtype=np.float32)
            for block in range(blocks):
                low, high = self._edges[block], self._edges[block + 1]
                placed = self.place(self._outputs[low:high])
                factor[block, : high - low, :d], norms[block, : high - low] = placed, _squares(placed)
                shares[block, : high - low] = 0.0
                if self._base is not None:  # logarithms of shares of the largest, rounded up to 1/256
                    base = self._base[low:high]
                    parts, exponents = np.frexp(np.maximum(base / self._base.max(), LEAST_SHARE))
                    logs = exponents + np.searchsorted(THRESHOLDS, parts) / 256 - 1
                    shares[block, : high - low] = np.where(base > 0, logs, NO_WORD)
            if self._engine == NUMPY:
                words: NDArray[Any] = np.ones((blocks, d + 2, self._columns))
                words[:, :d], words[:, d] = factor[:, :, :d].transpose(0, 2, 1), norms
            else:
                tiles = factor.reshape(blocks, self._columns // LANES, LANES, -1, 2)
                words = np.ascontiguousarray(tiles.transpose(0, 1, 3, 2, 4))
            self._packed = _Packed(words, norms, shares)
        return self._packed

    def below(self, ids: IdArray, *, rate: float, cap: float) -> Float32Array:
        """Return ceilings of the blocks' masses before they are raised, in units of the largest base measure."""
        packed, placed = self.pack(), self.place(ids)
        scale = np.float32(-rate * self.grid.step * LOG2_E * LOWERED)
        lowest = np.float32(max(-rate * cap, LOWEST) * LOG2_E * LOWERED)
        # Of an angle a squared distance has 12 bits behind the point.
        shift = min(-2 * math.frexp(self.grid.step)[1] - 10, 31) if self._is_angle else 0
        if self._engine == NUMPY:
            return self._sums(placed, scale, lowest, shift)
        n, k = len(placed), packed.words.shape[2] * 2
        height = -(-n // SIDE) * SIDE
        left, own = np.zeros((height, k), dtype=np.int16), np.zeros(height, dtype=np.int32)
        left[:n, : placed.shape[1]], own[:n] = placed, _squares(placed)
        out = np.empty((height, len(packed.norms)), dtype=np.float32)
        numbers = ctypes.c_float(float(scale)), ctypes.c_float(float(lowest)), ctypes.c_int(shift)
        work = require(self._engine).wordveil_ceilings
        call(work, left, own, height, *packed, k, *packed.norms.shape, *numbers, out)
        return out[:n]

    def _sums(self, placed: NDArray[np.int16], scale: np.float32, lowest: np.float32, shift: int) -> Float32Array:
        """Do in NumPy what compiled/ceilings.c does."""
        packed, blocks = self.pack(), len(self._edges) - 1
        out = np.empty((len(placed), blocks), dtype=np.float32)
        for low in range(0, len(placed), ROWS):
            some = placed[low : low + ROWS]
            left = np.ones((len(some), some.shape[1] + 2))
            left[:, :-2], left[:, -1] = -2.0 * some, _squares(some)
            product = np.empty((len(some), self._columns))
            tile, inverse = (np.empty(product.shape, dtype=np.float32) for _ in range(2))
            for block in range(blocks):
                np.matmul(left, packed.words[block], out=product)
                np.maximum(product, 1.0, out=tile, casting="same_kind")
                whole = inverse.view(np.int32)
                np.right_shift(tile.view(np.int32), 1, out=whole)
                np.subtract(np.int32(0x5F375A86), whole, out=whole)
                tile *= inverse
                inverse *= tile
                inverse *= np.float32(-0.5)
                inverse += np.float32(1.5)
                tile *= inverse
                tile *= scale
                if shift:
                    q = product.astype(np.int32) >> shift
                    tile *= (((BEND_A + BEND_B * q) >> 8) * q).astype(np.float32) * np.float32(2.0**-30) + np.float32(1)
                np.maximum(tile, lowest, out=tile)
                if self._base is not None or self._columns > self._edges[block + 1] - self._edges[block]:
                    tile += packed.shares[block]
                    np.maximum(tile, np.float32(-126.0), out=tile)
                tile *= np.float32(2.0**23)
                np.copyto(whole, tile, casting="unsafe")
                whole += 0x3F800000
                lanes = inverse.reshape(len(some), -1, LANES)
                sums = lanes[:, 0].copy()
                for i in range(1, lanes.shape[1]):
                    sums += lanes[:, i]
                total = sums[:, 0].astype(np.float64)
                for i in range(1, LANES):
                    total += sums[:, i]
                out[low : low + len(some), block] = total
        return out


def _squares(placed: NDArray[np.int16]) -> NDArray[np.int32]:
    wide = placed.astype(np.int32)
    return np.asarray(np.einsum("ij,ij->i", wide, wide))
