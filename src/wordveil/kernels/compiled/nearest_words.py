"""The calls into nearest.c: words packed in bfloat16, and the words that can be nearest to a query.

What is rounded away and the bound on the scores are those of `kernels.screening`. A word that can be nearest lies in a
group whose maximum plus bound reaches the best maximum less its bound.
"""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray, Int64Array
from wordveil.kernels.compiled.library import call, pointer, require
from wordveil.kernels.rescoring import Pairs
from wordveil.kernels.screening import NumberType, ScreenedQueries, mean_word

LEVEL = "amx"
LANES = 16
GROUP = 32
SPAN = LANES * GROUP  # words packed at a time
SIDE = 32
PAIR = 2  # numbers of a row side by side
PADDING = 3e38  # stands for |x|^2/2 of columns that hold no word


class _Table(ctypes.Structure):
    """`table` of nearest.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("vectors", "outputs", "length", "residue", "own")),
        *((name, ctypes.c_int64) for name in ("d", "count", "groups")),
    )


class CompiledScreen:
    """Vectors, float32, C-contiguous, shape (v, d), of ascending outputs, packed for the matrix registers.

    `bounds` are rows length, residue, own: the largest among each maximum's words, shape (3, maxima); `largest` is the
    largest norm of a centred word.
    """

    rows: ClassVar[int] = 512
    """Most queries to ask for at once; no answer depends on it."""

    def __init__(self, vectors: Float32Array, outputs: IdArray) -> None:
        self.vectors, self.outputs, d = vectors, outputs, int(vectors.shape[1])
        self.type = NumberType(bfloat16=True, d=d, columns=-(-(d + 3) // SIDE) * SIDE)  # in whole tiles
        self.centre = mean_word(vectors, outputs)
        groups, columns = -(-len(outputs) // SPAN), self.type.columns
        self.words: NDArray[Any] = np.zeros((groups * GROUP, columns // PAIR, LANES, PAIR), dtype=self.type.dtype)
        bounds = np.zeros((3, groups, LANES))
        for g in range(groups):
            packed, bounds[:, g] = self._pack(vectors[outputs[g * SPAN : (g + 1) * SPAN]])
            self.words[g * GROUP : (g + 1) * GROUP] = packed
        self.bounds, self.largest = bounds.reshape(3, -1), float(bounds[0].max())

    def _pack(self, rows: Float32Array) -> tuple[NDArray[Any], Float64Array]:
        """Return up to 512 words as tiles, shape (32, columns / 2, 16, 2), and their bounds, shape (3, 16)."""
        (n, d), columns = rows.shape, self.type.columns
        factor: NDArray[Any] = np.zeros((SPAN, columns), dtype=self.type.dtype)
        facts = np.zeros((3, SPAN))
        factor[:n], facts[:, :n] = self.type.words(rows.astype(np.float64) - self.centre)
        factor[n:, d] = self.type.narrow(np.array([PADDING])).bits
        tiles = factor.reshape(GROUP, LANES, columns // PAIR, PAIR).transpose(0, 2, 1, 3)
        return tiles, facts.reshape(3, GROUP, LANES).max(axis=1)

    def candidates(self, rows: Float64Array, k: int) -> Pairs:
        """Return (row, column) of every word that can be among the k nearest, at least k for each query, shape (n, d).

        For k = 1, words whose vectors are equal count as one, the first.
        """
        rows = np.ascontiguousarray(rows)
        queries = self.type.queries(rows - self.centre)
        maxima, floors = self._screen(queries)
        if k > 1:  # each maximum stands for one word
            n, count = len(rows), self.bounds.shape[1]
            floors = np.full(n, -np.inf)
            if k <= count:
                low = maxima.transpose(1, 0, 2).reshape(-1, count)[:n].astype(np.float64)
                low -= queries.scales[:, :1] * self.bounds[0] + queries.scales[:, 1:] * self.bounds[1] + self.bounds[2]
                floors = np.ascontiguousarray(np.partition(low, count - k, axis=1)[:, count - k])
        limit = np.square(queries.norms) - 2 * floors
        limit += (rows.shape[1] + 16) * 2.0**-50 * np.square(queries.norms + self.largest)
        return self._collect(rows, *self._hits(maxima, queries.scales, floors), limit, one=k == 1)

    def _screen(self, queries: ScreenedQueries) -> tuple[Float32Array, Float64Array]:
        """Return the maxima, shape (groups, padded n, 16), and a score that some word certainly reaches, shape (n,)."""
        n, columns = queries.factor.shape
        padded = -(-n // SIDE) * SIDE
        left = np.zeros((padded, columns), dtype=self.type.dtype)
        left[:n] = queries.factor
        all_scales = np.zeros((padded, 2))
        all_scales[:n] = queries.scales
        maxima = np.empty((len(self.words) // GROUP, padded, LANES), dtype=np.float32)
        floors = np.empty((padded, LANES))
        arrays = all_scales, maxima, floors
        call(require(LEVEL).wordveil_screen, self._table(), left, padded, self.words, columns, *arrays)
        return maxima, floors[:n].max(axis=1)

    def _hits(self, maxima: Float32Array, scales: Float64Array, floors: Float64Array) -> tuple[Int64Array, Int64Array]:
        """Return the maxima that reach their query's floor, sorted by query, and where each query's begin."""
        n, work = len(scales), require(LEVEL).wordveil_hits
        work.restype = ctypes.c_int64
        found, room = -1, 16 * n
        scales, floors = np.ascontiguousarray(scales), np.ascontiguousarray(floors)
        while found < 0:
            room *= 4
            query, maximum = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
            found = call(work, self._table(), n, maxima.shape[1], maxima, scales, floors, room, query, maximum)
        order = np.argsort(query[:found], kind="stable")
        return np.searchsorted(query[order], np.arange(n + 1)).astype(np.int64), maximum[order]

    def _collect(
        self, rows: Float64Array, start: Int64Array, hits: Int64Array, limit: Float64Array, *, one: bool
    ) -> Pairs:
        """Return (row, column) of the words within the limit, by direct differences."""
        n, d = rows.shape
        # One row takes at most every word, in whole groups; usually a row leaves one or two.
        room = max(len(self.words) * LANES, 1 << 16)
        columns, distances = np.empty(room, dtype=np.int64), np.empty(room)
        ends = np.empty(n, dtype=np.int64)
        work = require(LEVEL).wordveil_candidates
        work.restype = ctypes.c_int64
        at, parts = 0, []
        inputs = rows, start, hits, limit, (d + 16) * 2.0**-50, one, room
        while at < n:
            done = call(work, self._table(), at, n, *inputs, columns, distances, ends)
            counts = np.diff(ends[at:done], prepend=0)
            parts.append((np.repeat(np.arange(at, done), counts), columns[: ends[done - 1]].copy()))
            at = done
        return Pairs(*map(np.concatenate, zip(*parts, strict=True)))

    def _table(self) -> _Table:
        arrays = (self.vectors, self.outputs, *self.bounds)
        sizes = self.vectors.shape[1], len(self.outputs), len(self.words) // GROUP
        return _Table(*map(pointer, arrays), *sizes)
