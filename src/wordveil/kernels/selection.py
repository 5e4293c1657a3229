"""Exact draws from exponential-family rows: P(y | x) proportional to b(y) exp(-rate * min(dist(x, y), cap)).

A draw picks a block of outputs and then a word inside it, each with 64 random bits and integer arithmetic in place of
cumulative rounding. Where the metric is a norm, blocks are picked by the ceilings of `kernels.ceilings`, from narrow
products, and a word is accepted by its exact weight; what is rejected ATTEMPTS times is drawn by exact block masses,
as are all words under other metrics. The words drawn follow the exact weights either way, within `arithmetic_slack`.

Block masses, or their ceilings, of inputs already seen are kept for one batch job on the owner's machine: a cache keyed
by the true word would show in the timing of later requests, so it belongs to a job and dies with it; a service never
uses one. It changes no draw: a kept row holds the same numbers that would be computed again. Threads may share it.
"""

from __future__ import annotations

import copy
import itertools
import math
import os
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple, Self
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, FloatArray, IdArray, Progress
from wordveil.errors import ParameterError
from wordveil.kernels.ceilings import LARGEST, STEEPEST, Ceilings
from wordveil.kernels.compiled.selection import BROKEN_LIMIT
from wordveil.kernels.threads import even_size, map_chunks
from wordveil.kernels.weight_rows import WeightRows
from wordveil.metrics.distances import Metric, is_norm
from wordveil.randomness import BitArray, multiply_high

_CACHES: WeakSet[RowCache] = WeakSet()


class RowCache:
    """Keeps the block masses of the first inputs seen, up to a memory limit; a copy, also by pickling, is empty."""

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
        """Return the masses of inputs that are all kept, shape (n, blocks); None where one of them is not."""
        with self._lock:
            slots = self._slot[ids]
            return None if np.any(slots < 0) else self._rows[slots]

    def keep(self, ids: IdArray, masses: Float32Array) -> None:
        """Keep the masses of inputs, none twice, while there is room; those that are kept already stay as they are."""
        with self._lock:
            new = np.flatnonzero(self._slot[ids] < 0)[: self._capacity - self._used]
            places = np.arange(self._used, self._used + len(new), dtype=np.int32)
            self._rows[places] = masses[new]
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
DRAW_ROWS = 32  # rows of a tile when only a few rows of one block are needed
ATTEMPTS = 3  # draws by ceilings before one by exact masses
MOST_RAISED = 1.15  # where rounding forces ceilings up by more, draws go by exact masses instead


class _Chunk(NamedTuple):
    """Draws of one span of tokens, and the block masses or ceilings computed for it."""

    tokens: NDArray[np.int64]
    positions: NDArray[np.int64]
    inputs: IdArray
    new_rows: Float32Array | None


class SelectionRows(WeightRows):
    """Rows that draw; arguments and attributes are those of `WeightRows`.

    How often a draw is rejected depends on the input (mostly 1 time in 60 on GloVe with bfloat16, 1 in 1 000 with
    float32). A batch job makes only rejected draws again; rows without a cache, as a service has them, make every
    attempt for every word, and its exact row, so that their time does not tell which words were rejected.
    """

    def __init__(
        self,
        vectors: FloatArray,
        metric: Metric,
        outputs: IdArray,
        canonical: IdArray,
        *,
        rate: float,
        cap: float = math.inf,
        base: Float64Array | None = None,
    ) -> None:
        super().__init__(vectors, metric, outputs, canonical, rate=rate, cap=cap, base=base)
        self._ceilings = Ceilings(self._coordinates, outputs, self._edges, base, self.engine)
        self._cache: RowCache | None = None
        self._attempts = ATTEMPTS if is_norm(metric) else 0
        # Units of ceilings: their sum stays below 1.2 * 2**62, and one is a whole number of the units inside any block.
        self._ceiling_unit = min(self._mass_unit / 2, float(self._inner_units.min()))
        self._scales = np.minimum(self._inner_units / self._ceiling_unit, 2.0**62).astype(np.uint64)
        self._spare = np.uint64(2) + np.uint64(self.width) // (2 * self._scales)  # weights round up by half a unit each

    @property
    def draw_width(self) -> int:
        return 2 * self._attempts + 2

    def with_cache(self, limit_bytes: int) -> Self:
        """Return the same rows for one batch job, with a cache and without needless attempts; the draws stay."""
        other = copy.copy(self)
        other._cache = RowCache(len(self.canonical), self.blocks, limit_bytes)
        return other

    def by_masses(self) -> Self:
        """Return the same rows, drawn by exact block masses alone: slower, from two words each, never rejected."""
        other = copy.copy(self)
        other._attempts, other._cache = 0, None
        return other

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
        attempts = self._attempts if self._raised <= MOST_RAISED else 0
        if attempts:
            self._ceilings.pack()
        for chunk in map_chunks(lambda span: self._draw_chunk(span, canonical, bits, attempts), spans, threads):
            answer[chunk.tokens] = self.outputs[chunk.positions]
            if self._cache is not None and chunk.new_rows is not None:
                self._cache.keep(chunk.inputs, chunk.new_rows)
            if progress is not None:
                progress(len(chunk.tokens))
        return answer

    @cached_property
    def _raised(self) -> float:
        """Return what ceilings are raised by to hold the weights as they are rounded; inf beyond float32's range."""
        within = 4 * self._norm_bound**2 <= LARGEST and self.rate <= STEEPEST
        return math.exp(min(2 * self._weight_error, 1.0)) if within else math.inf

    def _spans(self, canonical: IdArray, threads: int | None) -> list[NDArray[np.int64]]:
        """Cut the tokens, sorted by input, into spans of at most 512 inputs, as a rule all of them kept or none."""
        key = canonical.astype(np.int64)
        if self._cache is not None:
            key += len(self.canonical) * self._cache.holds(canonical)
        order = np.argsort(key, kind="stable")
        ordered = key[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        kept = int(np.searchsorted(ordered[starts], len(self.canonical)))
        size = even_size(len(starts) - kept, SPAN, FEWEST, threads)
        edges = [*starts[:kept:SPAN], *starts[kept::size], len(order)]
        return [order[low:high] for low, high in itertools.pairwise(edges)]

    def _draw_chunk(self, tokens: NDArray[np.int64], canonical: IdArray, bits: BitArray, attempts: int) -> _Chunk:
        inputs, row_of = np.unique(canonical[tokens], return_inverse=True)
        bits = bits[tokens]
        rows = new_rows = None
        if self._cache is not None:
            rows = self._cache.rows(inputs)  # all of them or none, whatever other threads have kept since the cut
        if rows is None:
            rows = new_rows = self._ceiling_masses(inputs) if attempts else self.masses(inputs)
        if not attempts:
            return _Chunk(tokens, self._draw_exactly(inputs, rows, row_of, bits[:, -2:]), inputs, new_rows)
        bounds = self._ceiling_sums(rows)
        positions = np.full(len(tokens), -1, dtype=np.int64)
        left = np.arange(len(tokens))
        for attempt in range(attempts):
            pair = bits[left, 2 * attempt : 2 * attempt + 2]
            _fill(positions, left, self._attempt(inputs, bounds, row_of[left], pair))
            if self._cache is not None:
                left = left[positions[left] < 0]
        if len(left):
            some, row = np.unique(row_of[left], return_inverse=True)
            masses = self.masses(inputs[some])
            _fill(positions, left, self._draw_exactly(inputs[some], masses, row, bits[left, -2:]))
        return _Chunk(tokens, positions, inputs, new_rows)

    def _ceiling_masses(self, inputs: IdArray) -> Float32Array:
        """Return ceilings of the mass of every block for each canonical input, shape (n, blocks)."""
        return self._ceilings.above(inputs, rate=self.rate, cap=self.cap, raised=self._raised)

    def _ceiling_sums(self, ceilings: Float32Array) -> NDArray[np.uint64]:
        """Return running sums of ceilings in units, rounded up, with room for the rounding of the weights."""
        units = np.floor(ceilings * np.float64(self._ceiling_unit)).astype(np.uint64) + self._spare
        return np.cumsum(units, axis=1)

    def _attempt(
        self, inputs: IdArray, bounds: NDArray[np.uint64], row_of: NDArray[np.int64], bits: BitArray
    ) -> NDArray[np.int64]:
        """Draw by running sums of ceilings, in units, shape (inputs, blocks): -1 where the draw is rejected."""
        return self._draw_within(inputs, row_of, _pick_blocks(bounds, row_of, bits[:, 0]), bits[:, 1], bounds)

    def _draw_exactly(
        self, inputs: IdArray, masses: Float32Array, row_of: NDArray[np.int64], bits: BitArray
    ) -> NDArray[np.int64]:
        bounds = np.cumsum(np.rint(masses * np.float64(self._mass_unit)).astype(np.uint64), axis=1)
        return self._draw_within(inputs, row_of, _pick_blocks(bounds, row_of, bits[:, 0]), bits[:, 1])

    def _draw_within(
        self,
        inputs: IdArray,
        row_of: NDArray[np.int64],
        block_of: NDArray[np.int64],
        bits: BitArray,
        ceilings: NDArray[np.uint64] | None = None,
    ) -> NDArray[np.int64]:
        """Draw the column of each token inside its block, computing each needed (input, block) row once.

        With running sums of `ceilings`, shape (inputs, blocks), a draw beyond the block's weights gives -1.
        """
        positions = np.empty(len(bits), dtype=np.int64)
        key = block_of * len(inputs) + row_of
        order = np.argsort(key, kind="stable")
        pairs, first, counts = np.unique(key[order], return_index=True, return_counts=True)
        blocks, rows = np.divmod(pairs, len(inputs))
        ranges = None
        if ceilings is not None:
            below = np.where(blocks > 0, ceilings[rows, blocks - 1], np.uint64(0))
            ranges = (ceilings[rows, blocks] - below) * self._scales[blocks]
        self.lay_out(np.unique(blocks))
        left, twins = self._left(inputs, len(inputs)), self._twins(inputs)
        if self._compiled is not None:
            starts = np.append(first, len(order))
            columns = self._compiled.draw(left, twins, (rows, blocks), starts, ranges, self._inner_units, bits[order])
            positions[order] = np.where(columns < 0, -1, self._edges[block_of[order]] + columns)
            return positions
        block_start = np.searchsorted(pairs, np.arange(self.blocks + 1) * len(inputs))
        tiles = self._tiles(DRAW_ROWS)
        twin_rows, twin_columns = twins
        for block in np.flatnonzero(np.diff(block_start)).tolist():
            low, high = np.searchsorted(twin_columns, self._edges[block : block + 2])
            for start in range(block_start[block], block_start[block + 1], DRAW_ROWS):
                stop = min(start + DRAW_ROWS, block_start[block + 1])
                some = rows[start:stop]
                padded = np.zeros((DRAW_ROWS, left.shape[1]))
                padded[: len(some)] = left[some]
                place = np.searchsorted(some, twin_rows[low:high])
                hit = (place < len(some)) & (some[np.minimum(place, len(some) - 1)] == twin_rows[low:high])
                tile = self._weight_tile(padded, block, (place[hit], twin_columns[low:high][hit]), tiles)
                tokens = order[first[start] : first[stop - 1] + counts[stop - 1]]
                row = np.repeat(np.arange(len(some)), counts[start:stop])
                limits = None if ranges is None else ranges[start:stop]
                columns = _pick_columns(tile[: len(some)], self._inner_units[block], row, bits[tokens], limits)
                positions[tokens] = np.where(columns < 0, -1, self._edges[block] + columns)
        return positions


def _fill(positions: NDArray[np.int64], which: NDArray[np.int64], drawn: NDArray[np.int64]) -> None:
    missing = positions[which] < 0
    positions[which[missing]] = drawn[missing]


def _pick_blocks(bounds: NDArray[np.uint64], row_of: NDArray[np.int64], bits: BitArray) -> NDArray[np.int64]:
    """Return the block that each random word falls into, by running sums; `row_of` is sorted."""
    targets = multiply_high(bits, bounds[row_of, -1])
    block_of = np.empty(len(bits), dtype=np.int64)
    edges = np.searchsorted(row_of, np.arange(len(bounds) + 1))
    for row in np.flatnonzero(np.diff(edges)).tolist():
        part = slice(edges[row], edges[row + 1])
        block_of[part] = np.searchsorted(bounds[row], targets[part], side="right")
    return block_of


def _pick_columns(
    tile: NDArray[Any], unit: float, row: NDArray[np.int64], bits: BitArray, limits: NDArray[np.uint64] | None = None
) -> NDArray[np.int64]:
    """Return the column that each random word falls into, by the integer weights of its row of the tile.

    One search over all rows in floating point comes within a column or so; exact integer comparisons settle it. Limits,
    one a row, are what the words are scaled to where given, and those beyond a row's weights give -1. `RuntimeError` if
    a row's weights exceed its limit, which would bias the draw: a fault of this package.
    """
    bounds = np.cumsum(np.rint(tile * np.float64(unit)).astype(np.uint64), axis=1)
    totals = bounds[:, -1]
    if limits is not None and np.any(totals > limits):
        raise RuntimeError(BROKEN_LIMIT)
    targets = multiply_high(bits, (totals if limits is None else limits)[row])
    column = np.full(len(bits), -1, dtype=np.int64)
    inside = targets < totals[row]
    column[inside] = _search(bounds, row[inside], targets[inside])
    return column


def _search(bounds: NDArray[np.uint64], row: NDArray[np.int64], targets: BitArray) -> NDArray[np.int64]:
    """Return the first column whose running sum exceeds the target, for targets below the row's last sum."""
    height, width = bounds.shape
    totals = np.maximum(bounds[:, -1], np.uint64(1)).astype(np.float64)
    shares = bounds / totals[:, None] + np.arange(height)[:, None]
    guess = np.searchsorted(shares.ravel(), targets / totals[row] + row, side="right")
    column: NDArray[np.int64] = np.clip(guess - row * width, 0, width - 1)
    # A share rounds no lower than that of a smaller sum, so the guess is never too far left.
    while (left := (column > 0) & (bounds[row, np.maximum(column - 1, 0)] > targets)).any():
        column -= left
    return column
