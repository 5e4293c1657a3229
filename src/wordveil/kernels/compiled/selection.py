"""The calls into selection.c and ceilings.c: masses, weight tiles, draws and ceilings, on arrays that Python owns.

No choice is made here: `SelectionRows` and `Ceilings` decide what is computed, this module hands over the pointers.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array
from wordveil.kernels.compiled.library import pointer, require

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
        ceilings: Float64Array,
        words: NDArray[np.uint64],
        error: float,
    ) -> NDArray[np.int64]:
        """Return the column, inside its block, of each random word; -1 beyond the weights, -2 where it is open.

        Pairs are (row, block), sorted by block; `start` holds the first token of each and the end, shape (pairs + 1,).
        A word is a share of its pair's ceiling. Logarithms of the weights may err by `error`.
        """
        columns = np.empty(len(words), dtype=np.int64)
        rows, blocks = (np.ascontiguousarray(part, dtype=np.int64) for part in pairs)
        start, words = np.ascontiguousarray(start, dtype=np.int64), np.ascontiguousarray(words)
        problem, keep = self._problem(left, twins)
        arrays = map(pointer, (rows, blocks, start, ceilings, words, columns))
        count, range_of = ctypes.c_int64(len(rows)), ctypes.c_double(math.exp(error))
        require(self.engine).wordveil_draw(ctypes.byref(problem), count, *arrays, range_of)
        del keep
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


def ceiling_sums(
    engine: str,
    inputs: tuple[NDArray[np.int16], NDArray[np.int32]],
    packed: tuple[NDArray[np.int16], NDArray[np.int32], Float32Array],
    *,
    scale: float,
    lowest: float,
) -> Float32Array:
    """Return what `wordveil_ceilings` sums over every block, shape (n, blocks), of inputs and their squared lengths."""
    placed, squares = inputs
    words, norms, shares = packed
    n, k = len(placed), words.shape[2] * 2
    height = -(-n // SIDE) * SIDE
    left, own = np.zeros((height, k), dtype=np.int16), np.zeros(height, dtype=np.int32)
    left[:n, : placed.shape[1]], own[:n] = placed, squares
    out = np.empty((height, len(norms)), dtype=np.float32)
    require(engine).wordveil_ceilings(
        *map(pointer, (left, own)),
        ctypes.c_int64(height),
        *map(pointer, (words, norms, shares)),
        *map(ctypes.c_int64, (k, *norms.shape)),
        *map(ctypes.c_float, (scale, lowest)),
        pointer(out),
    )
    return out[:n]
