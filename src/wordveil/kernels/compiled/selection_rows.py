"""The calls into selection.c: block masses, whole weight tiles and draws, on arrays that Python owns.

No choice is made here: `SelectionRows` decides what is computed, this module hands over the pointers.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array
from wordveil.kernels.compiled.library import pointer, require
from wordveil.kernels.integer_draws import BROKEN_LIMIT

__all__ = ["MOST_COLUMNS", "MOST_K", "CompiledRows", "Twins"]

MOST_K = 4096  # rows of the right factor that selection.c has room for
MOST_COLUMNS = 512

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
    """Packed outputs as selection.c reads them.

    Attributes:
        engine: Level of the library.
        right: Shape (blocks, d + 2, width), float64.
        edges: First output of each block and the end, int64, shape (blocks + 1,).
        base: Base measure, shape (blocks, width), or None.
        rate: Rate of the exponential.
        cap: Where distances are clipped.
    """

    engine: str
    right: Float64Array
    edges: NDArray[np.int64]
    base: Float64Array | None
    rate: float
    cap: float

    def masses(self, left: Float64Array, twins: Twins) -> Float32Array:
        """Return the mass of every block, shape (n, blocks), for the rows of `left`, shape (n, d + 2)."""
        return self._masses(left, twins, None)

    def tiles(self, left: Float64Array, twins: Twins) -> Float32Array:
        """Return all weights, shape (n, blocks, width)."""
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

        Args:
            left: Shape (n, d + 2).
            twins: Outputs at distance 0.
            pairs: (row, block) of each pair, sorted by block.
            start: First token of each pair and the end, shape (pairs + 1,).
            ranges: Units that each pair's words are scaled to, at least the sum of its weights; None for that sum.
            units: Integer units of weight for each block.
            words: One 64-bit word a token, in the order of the pairs.

        Raises:
            RuntimeError: If a range is below the sum of the weights, which would bias draws: a fault of this package.
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
