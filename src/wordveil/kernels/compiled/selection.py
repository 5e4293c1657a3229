"""The calls into selection.c and ceilings.c: masses, weight tiles, draws and ceilings, on arrays that Python owns.

No choice is made here: `SelectionRows` and `Ceilings` decide what is computed, this module hands over the pointers.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.library import pointer, require

BROKEN_LIMIT = "A ceiling lies below the weights it stands for, so a draw could be biased: please report this."

MOST_K = 4096  # rows of the right factor that selection.c has room for
MOST_COLUMNS = 512
SIDE = 32  # rows, and columns, that ceilings.c takes together
LANES = 16

Twins = tuple[NDArray[np.int64], NDArray[np.int64]]
"""(row, column) of every output at distance exactly 0, sorted by column."""


class _Problem(ctypes.Structure):
    """`problem` of selection.c."""

    _fields_ = (
        ("left", ctypes.c_void_p),
        ("right", ctypes.c_void_p),
        ("base", ctypes.c_void_p),
        ("edges", ctypes.c_void_p),
        ("twin_start", ctypes.c_void_p),
        ("twin", ctypes.c_void_p),
        ("k", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("rate", ctypes.c_float),
        ("floor", ctypes.c_float),
    )


@dataclass(frozen=True, kw_only=True)
class CompiledRows:
    """Packed outputs as selection.c reads them."""

    engine: str  # level of the library
    right: Float64Array  # shape (blocks, d + 2, width), float64
    edges: NDArray[np.int64]  # first output of each block and the end, int64, shape (blocks + 1,)
    base: Float64Array | None  # base measure, shape (blocks, width), or None
    rate: float  # rate of the exponential
    cap: float  # where distances are clipped

    def masses(self, left: Float64Array, twins: Twins) -> Float32Array:
        return self._masses(left, twins, None)

    def tiles(self, left: Float64Array, twins: Twins) -> Float32Array:
        whole = np.empty((len(left), self.right.shape[0], self.right.shape[2]), dtype=np.float32)
        self._masses(left, twins, whole)
        return whole

    def _masses(self, left: Float64Array, twins: Twins, whole: Float32Array | None) -> Float32Array:
        out = np.empty((len(left), len(self.right)), dtype=np.float32)
        problem, keep = self._problem(left, twins)
        counts = ctypes.c_int64(len(left)), ctypes.c_int64(len(self.right))
        require(self.engine).wordveil_masses(ctypes.byref(problem), *counts, pointer(out), pointer(whole))
        del keep
        return out

    def draw(
        self,
        left: Float64Array,
        twins: Twins,
        pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
        start: NDArray[np.int64],
        ranges: NDArray[np.uint64] | None,
        units: Float64Array,
        words: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """Return the column, inside its block, that each random word falls into; -1 beyond the block's weights.

        Pairs are (row, block), sorted by block; `start` holds the first token of each and the end, shape (pairs + 1,).
        Ranges are the units that each pair's words are scaled to, at least the sum of its weights; None for that sum.
        Units are integer units of weight for each block, and there is one 64-bit word a token, in the order of the
        pairs. `RuntimeError` if a range is below the sum of the weights, which would bias draws: a fault of this
        package.
        """
        columns = np.empty(len(words), dtype=np.int64)
        rows, blocks = (np.ascontiguousarray(part, dtype=np.int64) for part in pairs)
        start, words = np.ascontiguousarray(start, dtype=np.int64), np.ascontiguousarray(words)
        problem, keep = self._problem(left, twins)
        arrays = map(pointer, (rows, blocks, start, ranges, units, words, columns))
        broken = require(self.engine).wordveil_draw(ctypes.byref(problem), ctypes.c_int64(len(rows)), *arrays)
        del keep
        if broken:
            raise RuntimeError(BROKEN_LIMIT)
        return columns

    def _problem(self, left: Float64Array, twins: Twins) -> tuple[_Problem, Any]:
        """Return the structure, and the arrays that must outlive the call."""
        rows, columns = twins
        order = np.argsort(rows, kind="stable")
        start = np.searchsorted(rows[order], np.arange(len(left) + 1)).astype(np.int64)
        by_row = np.ascontiguousarray(columns[order], dtype=np.int64)
        arrays = (np.ascontiguousarray(left), self.right, self.base, self.edges, start, by_row)
        sizes = self.right.shape[1:]
        return _Problem(*map(pointer, arrays), *sizes, self.rate, -self.rate * self.cap), arrays


class Shrinking(NamedTuple):
    """How halved squared norms are lessened: |x|^2 / 2 becomes kept |x|^2 / 2 - flush."""

    kept: float
    flush: float


@dataclass(frozen=True, kw_only=True)
class CompiledCeilings:
    """Layout and sums of one engine, for vectors of d dimensions."""

    engine: str
    d: int

    @property
    def _pair(self) -> int:
        return int(require(self.engine).wordveil_pair())

    @property
    def k(self) -> int:
        """Columns of the product; bfloat16 comes in whole tiles."""
        k = self.d + int(require(self.engine).wordveil_ceiling_columns())
        return k if self._pair == 1 else -(-k // SIDE) * SIDE

    def room(self, blocks: int, columns: int) -> NDArray[Any]:
        """Return room for the words of all blocks, `columns` of each, a multiple of 32."""
        shape = (blocks, columns // LANES, self.k // self._pair, LANES, self._pair)
        return np.empty(shape, dtype=np.float32 if self._pair == 1 else np.uint16)

    def lay_words(self, vectors: Float32Array, shrinking: Shrinking, out: NDArray[Any]) -> None:
        self._lay(vectors, out.shape[0] * LANES, shrinking, True, out)

    def sums(
        self,
        inputs: Float32Array,
        factor: NDArray[Any],
        base: Float32Array | None,
        *,
        shrinking: Shrinking,
        scale: float,
        lowest: float,
    ) -> Float32Array:
        """Return sums of b exp(max(scale sqrt(h), lowest)) over every block, shape (n, blocks), b of (blocks, columns).

        Inputs are centred vectors, shape (n, d), whose norms are shrunk; scale is negative, lowest in [-86, 0).
        """
        (n, blocks), columns = (len(inputs), len(factor)), factor.shape[1] * LANES
        height = -(-n // SIDE) * SIDE
        left = np.empty((height, self.k), dtype=factor.dtype)
        self._lay(inputs, n, shrinking, False, left)
        out = np.empty((height, blocks), dtype=np.float32)
        log2e = math.log2(math.e)
        require(self.engine).wordveil_ceilings(
            pointer(left),
            ctypes.c_int64(height),
            pointer(factor),
            *map(ctypes.c_int64, (self.k, blocks, columns)),
            pointer(base),
            *map(ctypes.c_float, (scale * log2e, lowest * log2e)),
            pointer(out),
        )
        return out[:n]

    def _lay(self, vectors: Float32Array, lines: int, shrinking: Shrinking, words: bool, out: NDArray[Any]) -> None:
        """Lay vectors out as so many lines: rows of a left factor, or, for words, columns in tiles."""
        vectors = np.ascontiguousarray(vectors)
        too_wide = require(self.engine).wordveil_ceiling_factor(
            pointer(vectors),
            *map(ctypes.c_int64, (len(vectors), self.d, self.k, lines)),
            *map(ctypes.c_double, shrinking),
            ctypes.c_int(words),
            pointer(out),
        )
        if too_wide:
            raise ParameterError("d", self.d, "is more than the compiled kernels take; set WORDVEIL_ENGINE=numpy.")
