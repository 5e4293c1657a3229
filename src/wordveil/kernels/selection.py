"""Exact draws from exponential-family rows: P(y | x) proportional to b(y) exp(-rate * min(dist(x, y), cap)).

A draw picks a block of outputs and then a word inside it. Blocks are picked by the integer ceilings of
`kernels.ceilings`, by 63 random bits of which equally many pick each unit, and the word, or a rejection, by 64 bits
among the ideal weights: `kernels.ideal` decides where floats cannot. Where all attempts are rejected, once in a
thousand million draws, or the grid of the ceilings is too coarse, the word is picked among the ideal weights of the
whole row. So the words are those of the ideal law, the same on every engine, and no slack is claimed.

Ceilings of inputs already seen are kept for one batch job on the owner's machine: a cache keyed
by the true word would show in the timing of later requests, so it belongs to a job and dies with it; a service never
uses one. It changes no draw: a kept row holds the same numbers that would be computed again. Threads may share it.
"""

from __future__ import annotations

import copy
import itertools
import math
import os
from fractions import Fraction
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple, Self
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray, Int64Array, Progress
from wordveil.errors import ParameterError
from wordveil.kernels.ceilings import Ceilings
from wordveil.kernels.ideal import FARTHEST, OPEN, WHOLE, Draw, IdealRows, ends
from wordveil.kernels.ideal_distances import Angles, Lengths
from wordveil.kernels.threads import even_size, map_chunks
from wordveil.kernels.weight_rows import UNIT, WeightRows
from wordveil.metrics.distances import is_known, is_norm
from wordveil.randomness import BitArray

_CACHES: WeakSet[RowCache] = WeakSet()


class RowCache:
    """Keeps the ceilings of the first inputs seen, up to a memory limit; a copy, also by pickling, is empty."""

    def __init__(self, vocabulary: int, blocks: int, limit_bytes: int) -> None:
        self._limits = vocabulary, blocks, limit_bytes
        self._slot = np.full(vocabulary, -1, dtype=np.int32)
        self._capacity = min(vocabulary, max(0, limit_bytes // (4 * blocks)))
        self._rows = np.empty((self._capacity, blocks), dtype=np.float32)  # pages are taken as they fill
        self._used = 0
        self._lock = Lock()  # two threads at once would take the same places, and a word get another's row
        _CACHES.add(self)

    def holds(self, ids: IdArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which inputs are kept; more may be by the time that the answer is looked at, never fewer."""
        return np.asarray(self._slot[ids] >= 0)

    def rows(self, ids: IdArray) -> Float32Array | None:
        """Return the rows of inputs that are all kept, shape (n, blocks); None where one of them is not."""
        with self._lock:
            slots = self._slot[ids]
            return None if np.any(slots < 0) else self._rows[slots]

    def keep(self, ids: IdArray, rows: Float32Array) -> None:
        """Keep the rows of inputs, none twice, while there is room; those that are kept already stay as they are."""
        with self._lock:
            new = np.flatnonzero(self._slot[ids] < 0)[: self._capacity - self._used]
            places = np.arange(self._used, self._used + len(new), dtype=np.int32)
            self._rows[places] = rows[new]
            self._slot[ids[new]] = places
            self._used += len(new)

    def renew(self) -> None:
        """Begin anew in a forked process: a thread that stayed behind may have held the lock in the middle of a row."""
        RowCache.__init__(self, *self._limits)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowCache, self._limits


def _renew_all() -> None:
    for cache in list(_CACHES):
        cache.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)


SPAN = 512  # most inputs whose draws are made together, so that their rows of one block fill whole tiles
FEWEST = 32  # inputs that are worth a thread of their own
TOGETHER = 256  # (input, block) whose weights are held at once
ATTEMPTS = {1.15: 8, 2.0: 32}
"""What ceilings are raised by, at most -> draws by ceilings, so many that all are rejected once in 10^9 draws or so."""
UNITS = 2.0**44  # sum of the ceilings of a row, without what is added by rounding up
SMALLEST = 2.0**-1000  # weight, likewise
CHECKED = 32  # of so many draws one is decided again where the time shall not tell which were open


class _Ceilings(NamedTuple):
    """Ceilings of some inputs as integers, and what makes weights of them."""

    bounds: NDArray[np.uint64]  # running sums, shape (inputs, blocks)
    share: NDArray[np.uint64]  # of the 2**63 numbers that pick, so many pick each unit, shape (inputs,)
    scale: Float64Array  # units in a weight before it is raised, shape (inputs,)


class SelectionRows(WeightRows):
    """Rows that draw; arguments and attributes are those of `WeightRows`, the metric a norm or an angle.

    How often a draw is rejected depends on the input (mostly 1 time in 30 on GloVe). A batch job makes only rejected
    draws again; rows without a cache, as a service has them, make every attempt for every word, and decide a fixed
    share of the draws again as if they were open, so that their time does not tell which words were rejected.
    """

    _cache: RowCache | None = None

    @cached_property
    def ideal(self) -> IdealRows:  # type: ignore[override]
        own = Angles(self._coordinates, self._coordinates, off=2.0**-41)  # of unit length within 2^-44
        angles = Angles(self._coordinates, self._vectors.__getitem__) if is_known(self.metric) else own
        distances = Lengths(self._coordinates) if is_norm(self.metric) else angles
        return IdealRows(distances=distances, outputs=self.outputs, base=self.base, rate=self.rate, cap=self.cap)

    @cached_property
    def _ceilings(self) -> Ceilings:
        size, is_angle = len(self.canonical), not is_norm(self.metric)
        return Ceilings(self._coordinates, size, self.outputs, self._edges, self.base, self.engine, is_angle=is_angle)

    @cached_property
    def _raised(self) -> float:
        """What the ceilings of a row are multiplied by, a base measure's largest value included."""
        return self._ceilings.raised(self.rate) * (1.0 if self._base is None else float(self._base.max()))

    @cached_property
    def attempts(self) -> int:
        """Draws by ceilings before one from the whole row; 0 where the grid is too coarse."""
        raised = self._ceilings.raised(self.rate)
        return next((count for most, count in ATTEMPTS.items() if raised <= most), 0)

    @property
    def draw_width(self) -> int:  # type: ignore[override]
        return max(2, 2 * self.attempts)

    def with_cache(self, limit_bytes: int) -> Self:
        """Return the same rows for one batch job, with a cache and without needless attempts; the draws stay."""
        for shared in ("ideal", "_ceilings"):
            getattr(self, shared)  # laid out once for all jobs
        other = copy.copy(self)
        other._cache = RowCache(len(self.canonical), self.blocks, limit_bytes)
        return other

    def weights(self, ids: IdArray) -> Float64Array:
        return self.ideal.weights(self.canonical[ids])

    def draw(
        self, ids: IdArray, bits: BitArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        if bits.shape != (len(ids), self.draw_width):  # fewer would be used twice
            raise ParameterError("bits", bits.shape, f"must have shape ({len(ids)}, {self.draw_width}).")
        answer = np.empty(len(ids), dtype=np.int32)
        if len(ids) == 0:
            return answer
        canonical = self.canonical[ids]
        spans = self._spans(canonical, threads)
        if self.attempts:
            self._ceilings.pack()
        drawn = map_chunks(lambda span: self._draw_chunk(canonical[span], bits[span]), spans, threads)
        for tokens, (positions, inputs, new_rows) in zip(spans, drawn, strict=True):
            answer[tokens] = self.outputs[positions]
            if self._cache is not None and new_rows is not None:
                self._cache.keep(inputs, new_rows)
            if progress is not None:
                progress(len(tokens))
        return answer

    def arithmetic_slack(self) -> float:
        """Return 0; inf where weights leave float64."""
        if not self._is_weighable:
            raise ParameterError(
                "vectors",
                "the ones given",
                "hold distances, for this epsilon, that are too large or too small to be "
                "weighed: multiply all of them by one power of two, and divide epsilon by it.",
            )
        return self.ideal.arithmetic_slack()

    def _spans(self, canonical: IdArray, threads: int | None) -> list[Int64Array]:
        """Cut the tokens, sorted by input, into spans of at most 512 inputs, as a rule all of them kept or none."""
        key = canonical.astype(np.int64)
        if self._cache is not None:
            key += len(self.canonical) * self._cache.holds(canonical)
        order = np.argsort(key, kind="stable")
        ordered = key[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        new = int(np.searchsorted(ordered[starts], len(self.canonical)))  # those that are kept come after
        size = even_size(new, SPAN, FEWEST, threads)
        edges = [*starts[:new:size], *starts[new::SPAN], len(order)]
        return [order[low:high] for low, high in itertools.pairwise(edges)]

    def _draw_chunk(self, canonical: IdArray, bits: BitArray) -> tuple[Int64Array, IdArray, Float32Array | None]:
        """Return the positions of some tokens, their inputs, each once, and the ceilings computed for these."""
        inputs, row_of = np.unique(canonical, return_inverse=True)
        rows = new_rows = None
        if self._cache is not None:
            rows = self._cache.rows(inputs)  # all of them or none, whatever other threads have kept since the cut
        if rows is None and self.attempts:
            rows = new_rows = self._ceiling_rows(inputs)
        positions = np.full(len(canonical), -1, dtype=np.int64)
        if rows is not None:
            self._draw_by_ceilings(positions, inputs, self._integers(rows), row_of, bits)
        left = np.flatnonzero(positions < 0)
        for row in np.unique(row_of[left]).tolist():
            some = left[row_of[left] == row]
            draws = [Draw(words=bits[i], first=-1, number=WHOLE, ceiling=None) for i in some.tolist()]
            positions[some] = self.ideal.columns(int(inputs[row]), 0, len(self.outputs), draws)
        return positions, inputs, new_rows

    def _ceiling_rows(self, inputs: IdArray) -> Float32Array:
        """Return ceilings of the blocks for each canonical input before they are raised, shape (n, blocks)."""
        return self._ceilings.below(inputs, rate=self.rate, cap=self.cap)

    def _integers(self, rows: Float32Array) -> _Ceilings:
        # Running sums, unlike those of `sum`, go in one order on every machine.
        scale = UNITS / np.cumsum(rows, axis=1, dtype=np.float64)[:, -1]
        units = np.floor(rows * scale[:, None]).astype(np.uint64) + np.uint64(1)
        bounds = np.cumsum(units, axis=1)
        return _Ceilings(bounds, np.uint64(1 << 63) // bounds[:, -1], scale)

    def _draw_by_ceilings(
        self, positions: Int64Array, inputs: IdArray, ceilings: _Ceilings, row_of: Int64Array, bits: BitArray
    ) -> None:
        """Fill in where each token's first accepted attempt falls; a job makes one after another, others all."""
        at_once = self.attempts if self._cache is None else 1
        left = np.arange(len(positions))
        for first in range(0, self.attempts, at_once):
            drawn = self._attempt(inputs, ceilings, row_of[left], bits[left], range(first, first + at_once))
            for column in drawn.T:
                positions[left] = np.where(positions[left] < 0, column, positions[left])
            left = left[positions[left] < 0]
            if not len(left):
                break

    def _attempt(
        self, inputs: IdArray, ceilings: _Ceilings, row_of: Int64Array, bits: BitArray, numbers: range
    ) -> Int64Array:
        """Return some draws by ceilings of each token, shape (n, numbers): -1 where one is rejected."""
        pairs = bits[:, 2 * numbers.start : 2 * numbers.stop].reshape(-1, 2)
        rows = np.repeat(row_of, len(numbers))
        targets = (pairs[:, 0] >> np.uint64(1)) // ceilings.share[rows]
        picked = _pick_blocks(ceilings.bounds, rows, targets)
        blocks = np.minimum(picked, self.blocks - 1)
        below = np.where(blocks > 0, ceilings.bounds[rows, blocks - 1], np.uint64(0))
        units = ceilings.bounds[rows, blocks] - below
        tops = units * (self._raised / ceilings.scale[rows])
        positions = self._draw_within(inputs, rows, blocks, pairs[:, 1], tops)
        which = np.flatnonzero(positions == OPEN)
        if self._cache is None:  # others are decided again
            which = np.argsort(positions != OPEN, kind="stable")[: max(len(which), 1 + len(positions) // CHECKED)]
        for i in which.tolist():
            token, number = divmod(i, len(numbers))
            top = int(units[i]) * Fraction(self._raised) / Fraction(float(ceilings.scale[rows[i]]))
            draw = Draw(words=bits[token], first=int(pairs[i, 1]), number=numbers[number], ceiling=top)
            low, high = self._edges[blocks[i] : blocks[i] + 2].tolist()
            column = self.ideal.columns(int(inputs[rows[i]]), low, high, [draw])[0]
            positions[i] = column if column < 0 else low + column
        positions[picked == self.blocks] = -1
        return positions.reshape(-1, len(numbers))

    @cached_property
    def _open_error(self) -> float:
        """How far logarithms of the running sums of a block can be from the ideal ones; inf where nothing is known."""
        smallest = 1.0 if self._base is None else float(self._base[self._base > 0].min())
        error = self.weight_error(UNIT)
        if self.rate * self.cap > FARTHEST or smallest * math.exp(-self.rate * self.cap) < SMALLEST or error > 1:
            return math.inf
        return error + 2.0**-40

    def _draw_within(
        self, inputs: IdArray, row_of: Int64Array, block_of: Int64Array, bits: BitArray, tops: Float64Array
    ) -> Int64Array:
        """Draw the position of each token inside its block, computing each needed (input, block) row once.

        By the ceilings of the tokens' blocks: a draw beyond the weights gives -1, and one that is open, OPEN.
        """
        positions = np.full(len(bits), OPEN, dtype=np.int64)
        if math.isinf(self._open_error):
            return positions
        key = block_of * len(inputs) + row_of
        order = np.argsort(key, kind="stable")
        pairs, first = np.unique(key[order], return_index=True)
        blocks, rows = np.divmod(pairs, len(inputs))
        self.lay_out(np.unique(blocks))
        left, starts = self._left(inputs, len(inputs)), np.append(first, len(order))
        for low in range(0, len(pairs), TOGETHER):
            some = slice(low, min(low + TOGETHER, len(pairs)))
            tokens = order[starts[low] : starts[some.stop]]
            row = np.repeat(np.arange(some.stop - low), np.diff(starts[low : some.stop + 1]))
            tile = self._close_weights(left, rows[some], blocks[some])
            columns = _place_points(tile, row, bits[tokens], tops[tokens], self._open_error)
            positions[tokens] = np.where(columns < 0, columns, self._edges[block_of[tokens]] + columns)
        return positions

    def _close_weights(self, left: Float64Array, rows: Int64Array, blocks: Int64Array) -> Float64Array:
        """Return the weights of some (row, block), sorted by block, whatever their last bits: shape (n, width)."""
        tile, left = np.empty((len(rows), self.width)), left[rows]
        begins = [*np.flatnonzero(np.diff(blocks, prepend=-1)).tolist(), len(blocks)]
        for start, stop in itertools.pairwise(begins):
            np.matmul(left[start:stop], self._right[blocks[start]], out=tile[start:stop])
        self.weigh(tile, blocks)
        return tile


def _pick_blocks(bounds: NDArray[np.uint64], row_of: Int64Array, targets: BitArray) -> Int64Array:
    """Return the block that each number falls into, by running sums; `row_of` is sorted."""
    block_of = np.empty(len(targets), dtype=np.int64)
    edges = np.searchsorted(row_of, np.arange(len(bounds) + 1))
    for row in np.flatnonzero(np.diff(edges)).tolist():
        part = slice(edges[row], edges[row + 1])
        block_of[part] = np.searchsorted(bounds[row], targets[part], side="right")
    return block_of


def _place_points(tile: Float64Array, row: Int64Array, bits: BitArray, tops: Float64Array, error: float) -> Int64Array:
    """Return the column of each random word, a share of its ceiling; OPEN where weights may be off by the error."""
    sums, reach = np.cumsum(tile, axis=1), math.exp(error)
    least, most = (end * off for end, off in zip(ends(bits, tops, 0.0), (1 / reach, reach), strict=True))
    low, high = np.zeros(len(bits), dtype=np.int64), np.full(len(bits), tile.shape[1])
    for _ in range(tile.shape[1].bit_length()):  # by halves, the first column whose sum is above the least
        middle = (low + high) // 2
        passed = (low < high) & (sums[row, np.minimum(middle, tile.shape[1] - 1)] <= least)
        low, high = np.where(passed, middle + 1, low), np.where(passed, high, middle)
    beyond = low == tile.shape[1]
    decided = beyond | (sums[row, np.minimum(low, tile.shape[1] - 1)] >= most)
    return np.where(decided, np.where(beyond, -1, low), OPEN)
