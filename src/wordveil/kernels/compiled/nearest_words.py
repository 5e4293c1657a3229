"""The calls into nearest.c: words packed in bfloat16 or float32, and the words that can be nearest to a query.

Let q, x be a query and a word, both centred on the mean word (which leaves distances alone and shortens vectors),
q', x' their roundings to the screen's type, and K the columns of the product. The screen's score differs from
q.x - |x|^2/2 by at most

    |q - q'||x| + |q'||x - x'| + c (|q'||x'| + 1.02 |x|^2/2) + |h| + 2K 2^-126,    c = 2.02 (K + 2) 2^-24

where the residual norms are measured, not estimated; |x|^2/2 rides along as extra columns of rounding error h; c bounds
float32 summation in any order, twice over; and the last term is what flushing to zero can lose. A word that can be
nearest therefore lies in a group whose maximum plus bound reaches the best maximum less its bound.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray
from wordveil.kernels.compiled.library import require

__all__ = ["CompiledScreen"]

LANES = 16
GROUP = 32
SPAN = LANES * GROUP  # words packed at a time
SIDE = 32
SAFE = 1 + 1e-9  # covers the rounding of norms and bounds themselves
PADDING = 3e38  # stands for |x|^2/2 of columns that hold no word
TINY = 2.0**-126


class _Table(ctypes.Structure):
    """`table` of nearest.c."""

    _fields_ = (
        ("vectors", ctypes.c_void_p),
        ("outputs", ctypes.c_void_p),
        ("length", ctypes.c_void_p),
        ("residue", ctypes.c_void_p),
        ("own", ctypes.c_void_p),
        ("d", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("groups", ctypes.c_int64),
    )


class _Narrowed(NamedTuple):
    """Rows in the screen's type, as bits, and the float64 rows those bits stand for."""

    bits: NDArray[Any]
    values: Float64Array


@dataclass(frozen=True, kw_only=True)
class CompiledScreen:
    """Words packed for one engine.

    Attributes:
        engine: Level of the library.
        vectors: All vectors, float32, C-contiguous, shape (v, d).
        outputs: Ids searched, int32, ascending.
    """

    engine: str
    vectors: Float32Array
    outputs: IdArray
    centre: Float64Array = field(init=False, repr=False)
    words: NDArray[Any] = field(init=False, repr=False)
    bounds: Float64Array = field(init=False, repr=False)
    """Rows length, residue, own: the largest among each maximum's words, shape (3, maxima)."""
    largest: float = field(init=False)
    """Largest norm of a centred word."""

    def __post_init__(self) -> None:
        groups = -(-len(self.outputs) // SPAN)
        words: NDArray[Any] = np.zeros((groups * GROUP, self._k // self._pair, LANES, self._pair), dtype=self._type)
        bounds = np.zeros((3, groups, LANES))
        set_field = object.__setattr__
        set_field(self, "centre", self._mean())
        for g in range(groups):
            packed, facts = self._pack(self.vectors[self.outputs[g * SPAN : (g + 1) * SPAN]])
            words[g * GROUP : (g + 1) * GROUP] = packed
            bounds[:, g] = facts
        set_field(self, "words", words)
        set_field(self, "bounds", bounds.reshape(3, -1))
        set_field(self, "largest", float(bounds[0].max()))

    @property
    def _pair(self) -> int:
        return int(require(self.engine).wordveil_pair())

    @property
    def _type(self) -> Any:
        return np.uint16 if self._pair == 2 else np.float32

    @property
    def _k(self) -> int:
        """Columns of the product: d and the half norms, whole tiles."""
        d = int(self.vectors.shape[1])
        return -(-(d + 3) // 32) * 32 if self._pair == 2 else d + 1

    def _mean(self) -> Float64Array:
        total = np.zeros(self.vectors.shape[1])
        for low in range(0, len(self.outputs), 1 << 14):
            total += self.vectors[self.outputs[low : low + (1 << 14)]].sum(axis=0, dtype=np.float64)
        # In float32, so that the difference of a word and the centre is exact to float64 rounding.
        return (total / len(self.outputs)).astype(np.float32).astype(np.float64)

    def _narrow(self, rows: Float64Array) -> _Narrowed:
        """Round to the screen's type; numbers below 2**-126, which products would flush, become 0."""
        single = rows.astype(np.float32)
        if self._pair == 2:
            raw = single.view(np.uint32)
            raw = (raw + (0x7FFF + ((raw >> 16) & 1)).astype(np.uint32)) & np.uint32(0xFFFF0000)
            single = raw.view(np.float32)
        single[np.abs(single) < TINY] = 0.0
        bits = (single.view(np.uint32) >> 16).astype(np.uint16) if self._pair == 2 else single
        return _Narrowed(bits, single.astype(np.float64))

    def _pack(self, rows: Float32Array) -> tuple[NDArray[Any], Float64Array]:
        """Return up to 512 words as tiles, shape (32, k / pair, 16, pair), and their bounds, shape (3, 16)."""
        n, d = rows.shape
        factor: NDArray[Any] = np.zeros((SPAN, self._k), dtype=self._type)
        centred = rows.astype(np.float64) - self.centre
        narrowed = self._narrow(centred)
        factor[:n, :d] = narrowed.bits
        squared = np.einsum("ij,ij->i", centred, centred)
        left = np.full(SPAN, PADDING)
        left[:n] = 0.5 * squared
        for column in range(d, d + (3 if self._pair == 2 else 1)):
            part = self._narrow(left)
            factor[:, column] = part.bits
            left = left - part.values
        facts = np.zeros((3, SPAN))
        facts[0, :n] = np.sqrt(squared) * SAFE
        residue = centred - narrowed.values
        facts[1, :n] = np.sqrt(np.einsum("ij,ij->i", residue, residue)) * SAFE
        own = 0.51 * self._summing * squared + np.abs(left[:n]) + 2 * self._k * TINY + 2.0**-50 * squared
        facts[2, :n] = own * SAFE
        tiles = factor.reshape(GROUP, LANES, self._k // self._pair, self._pair).transpose(0, 2, 1, 3)
        return tiles, facts.reshape(3, GROUP, LANES).max(axis=1)

    @property
    def _summing(self) -> float:
        return 2.02 * (self._k + 2) * 2.0**-24

    def candidates(self, rows: Float64Array, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (row, column) of every word that can be among the k nearest, at least k for each row.

        For k = 1, words whose vectors are equal count as one, the first.

        Args:
            rows: Queries, float64, shape (n, d).
            k: Neighbours asked for.
        """
        rows = np.ascontiguousarray(rows)
        centred = rows - self.centre
        narrowed = self._narrow(centred)
        norms, scales = self._scales(centred, narrowed.values)
        maxima, floors = self._screen(narrowed, scales)
        if k > 1:
            floors = self._kth_floors(maxima, scales, k)
        limit = np.square(norms) - 2 * floors
        limit += (rows.shape[1] + 16) * 2.0**-50 * np.square(norms + self.largest)
        return self._collect(rows, *self._hits(maxima, scales, floors), limit, one=k == 1)

    def _scales(self, centred: Float64Array, narrowed: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return the queries' norms and the factors of length and residue in their bounds, shape (n, 2)."""
        norms = np.sqrt(np.einsum("ij,ij->i", centred, centred))
        short = np.sqrt(np.einsum("ij,ij->i", narrowed, narrowed))
        rest = centred - narrowed
        residue = np.sqrt(np.einsum("ij,ij->i", rest, rest))
        scales = np.column_stack([residue + self._summing * short + 2.0**-50 * norms, (1 + self._summing) * short])
        return norms, scales * SAFE

    def _screen(self, narrowed: _Narrowed, scales: Float64Array) -> tuple[Float32Array, Float64Array]:
        """Return the maxima, shape (groups, padded n, 16), and a score that some word certainly reaches, shape (n,)."""
        n, d = narrowed.bits.shape
        padded = -(-n // SIDE) * SIDE
        left = np.zeros((padded, self._k), dtype=self._type)
        left[:n, :d] = narrowed.bits
        left[:, d : d + (3 if self._pair == 2 else 1)] = self._narrow(np.array([-1.0])).bits
        all_scales = np.zeros((padded, 2))
        all_scales[:n] = scales
        maxima = np.empty((len(self.words) // GROUP, padded, LANES), dtype=np.float32)
        floors = np.empty((padded, LANES))
        require(self.engine).wordveil_screen(
            ctypes.byref(self._table()),
            _pointer(left),
            ctypes.c_int64(padded),
            _pointer(self.words),
            ctypes.c_int64(self._k),
            *map(_pointer, (all_scales, maxima, floors)),
        )
        return maxima, floors[:n].max(axis=1)

    def _kth_floors(self, maxima: Float32Array, scales: Float64Array, k: int) -> Float64Array:
        """Return a score that at least k words certainly reach, for each query: each maximum stands for one word."""
        n, count = len(scales), self.bounds.shape[1]
        if k > count:
            return np.full(n, -np.inf)
        low = maxima.transpose(1, 0, 2).reshape(-1, count)[:n].astype(np.float64)
        low -= scales[:, :1] * self.bounds[0] + scales[:, 1:] * self.bounds[1] + self.bounds[2]
        return np.ascontiguousarray(np.partition(low, count - k, axis=1)[:, count - k])

    def _hits(
        self, maxima: Float32Array, scales: Float64Array, floors: Float64Array
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the maxima that reach their query's floor, sorted by query, and where each query's begin."""
        n, work = len(scales), require(self.engine).wordveil_hits
        work.restype = ctypes.c_int64
        found, room = -1, 16 * n
        scales, floors = np.ascontiguousarray(scales), np.ascontiguousarray(floors)
        while found < 0:
            room *= 4
            query, maximum = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
            found = work(
                ctypes.byref(self._table()),
                ctypes.c_int64(n),
                ctypes.c_int64(maxima.shape[1]),
                *map(_pointer, (maxima, scales, floors)),
                ctypes.c_int64(room),
                *map(_pointer, (query, maximum)),
            )
        order = np.argsort(query[:found], kind="stable")
        return np.searchsorted(query[order], np.arange(n + 1)).astype(np.int64), maximum[order]

    def _collect(
        self,
        rows: Float64Array,
        start: NDArray[np.int64],
        hits: NDArray[np.int64],
        limit: Float64Array,
        *,
        one: bool,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (row, column) of the words within the limit, by direct differences."""
        n, d = rows.shape
        # One row takes at most every word, in whole groups; usually a row leaves one or two.
        room = max(len(self.words) * LANES, 1 << 16)
        columns, distances = np.empty(room, dtype=np.int64), np.empty(room)
        ends = np.empty(n, dtype=np.int64)
        work = require(self.engine).wordveil_candidates
        work.restype = ctypes.c_int64
        at, parts = 0, []
        while at < n:
            done = work(
                ctypes.byref(self._table()),
                ctypes.c_int64(at),
                ctypes.c_int64(n),
                *map(_pointer, (rows, start, hits, limit)),
                ctypes.c_double((d + 16) * 2.0**-50),
                ctypes.c_int(one),
                ctypes.c_int64(room),
                *map(_pointer, (columns, distances, ends)),
            )
            counts = np.diff(ends[at:done], prepend=0)
            parts.append((np.repeat(np.arange(at, done), counts), columns[: ends[done - 1]].copy()))
            at = done
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _table(self) -> _Table:
        arrays = (self.vectors, self.outputs, *self.bounds)
        sizes = self.vectors.shape[1], len(self.outputs), len(self.words) // GROUP
        return _Table(*map(_pointer, arrays), *sizes)


def _pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
