"""Exact exponential-family rows for any metric: P(y | x) proportional to exp(-rate * min(dist(x, y), cap)).

Where `SelectionRows` needs coordinates, this needs only distances from one word to all outputs. A draw picks a block
of outputs by its mass and a word inside it, from 128 random bits, with integer arithmetic in place of cumulative
rounding. Each distinct input costs one row of v distances and exponentials; `NearRows` avoids that where it fits.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array, IdArray, Progress
from wordveil.kernels.compiled.library import NUMPY
from wordveil.kernels.distance_sources import DistanceSource
from wordveil.kernels.threads import map_chunks
from wordveil.metrics.distances import AnyMetric
from wordveil.randomness import BitArray, multiply_high

COLUMNS = 512
INPUTS = 32  # distinct inputs of one chunk of work
UNIT = 2.0**-53


class _Chunk(NamedTuple):
    """Some distinct inputs, and the tokens that hold them, sorted by input."""

    inputs: IdArray
    tokens: NDArray[np.int64]
    edges: NDArray[np.int64]


class PairwiseRows:
    """The rows of an exponential-family channel, from distances alone; outputs are sorted, the metric says its name."""

    engine: ClassVar[str] = NUMPY
    base: ClassVar[None] = None
    draw_width: ClassVar[int] = 2

    def __init__(self, source: DistanceSource, metric: AnyMetric, outputs: IdArray, *, rate: float, cap: float) -> None:
        self.source, self.metric, self.outputs = source, metric, outputs
        self.rate, self.cap = rate, cap
        blocks = -(-len(outputs) // COLUMNS)
        self._edges = np.linspace(0, len(outputs), blocks + 1).round().astype(np.int64)
        self._width = int(np.diff(self._edges).max())
        # Weights are at most 1, so these units keep every sum of integers below 2**62.
        self._mass_unit = 2.0 ** (62 - math.ceil(math.log2(len(outputs) + 1)))
        self._inner_unit = 2.0 ** (62 - math.ceil(math.log2(self._width + 1)))

    def with_cache(self, limit_bytes: int) -> PairwiseRows:
        return self

    def _row(self, word: int) -> Float64Array:
        row = self.source.block(np.array([word], dtype=np.int32), self.outputs)[0]
        np.minimum(row, self.cap, out=row)
        row *= -self.rate
        return np.asarray(np.exp(row, out=row))

    def weights(self, ids: IdArray) -> Float64Array:
        rows = [self._row(int(word)) for word in self.source.canonical[ids]]
        return np.stack(rows) if rows else np.empty((0, len(self.outputs)))

    def log_normalizers(
        self, ids: IdArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> Float64Array:
        """Return ln Z(x), shape (n,); -inf where every weight fell below what float64 can hold."""
        canonical = self.source.canonical[ids]
        answer = np.empty(len(ids))
        starts = range(0, len(ids), INPUTS)

        def some(start: int) -> list[float]:
            sums = [float(self._row(int(word)).sum()) for word in canonical[start : start + INPUTS]]
            return [math.log(total) if total > 0 else -math.inf for total in sums]

        for start, part in zip(starts, map_chunks(some, starts, threads), strict=True):
            answer[start : start + len(part)] = part
            if progress is not None:
                progress(len(part))
        return answer

    def draw(
        self, ids: IdArray, bits: BitArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        answer = np.empty(len(ids), dtype=np.int32)
        chunks = self._chunks(self.source.canonical[ids])
        for chunk, columns in zip(chunks, map_chunks(lambda c: self._columns(c, bits), chunks, threads), strict=True):
            answer[chunk.tokens] = self.outputs[columns]
            if progress is not None:
                progress(len(columns))
        return answer

    def _chunks(self, canonical: IdArray) -> list[_Chunk]:
        order = np.argsort(canonical, kind="stable")
        inputs, starts = np.unique(canonical[order], return_index=True)
        edges = np.append(starts, len(order))
        parts = []
        for low in range(0, len(inputs), INPUTS):
            some = edges[low : low + INPUTS + 1]
            parts.append(_Chunk(inputs[low : low + INPUTS], order[some[0] : some[-1]], some - some[0]))
        return parts

    def _columns(self, chunk: _Chunk, bits: BitArray) -> NDArray[np.int64]:
        columns = np.empty(len(chunk.tokens), dtype=np.int64)
        for i, word in enumerate(chunk.inputs.tolist()):
            part = slice(chunk.edges[i], chunk.edges[i + 1])
            columns[part] = self._draw_row(self._row(word), bits[chunk.tokens[part]])
        return columns

    def _draw_row(self, row: Float64Array, bits: BitArray) -> NDArray[np.int64]:
        """Return the column that each pair of random words falls into."""
        masses = np.add.reduceat(row, self._edges[:-1])
        bounds = np.cumsum(np.rint(masses * self._mass_unit).astype(np.uint64))
        block_of = np.searchsorted(bounds, multiply_high(bits[:, 0], bounds[-1]), side="right")
        columns = np.empty(len(bits), dtype=np.int64)
        for block in np.unique(block_of).tolist():
            low, high = self._edges[block], self._edges[block + 1]
            inner = np.cumsum(np.rint(row[low:high] * self._inner_unit).astype(np.uint64))
            here = block_of == block
            columns[here] = low + np.searchsorted(inner, multiply_high(bits[here, 1], inner[-1]), side="right")
        return columns

    def arithmetic_slack(self) -> float:
        """Return a bound on what arithmetic adds to the privacy loss between any two inputs, in nats.

        A draw has probability (M_b / sum M) * (I_y / sum I), with integer masses M of the blocks and integer weights I
        of the words from one and the same row of float64 weights. A weight is off by rate * (error of its distance),
        and by the rounding of product and exponential; numerator and denominator of both picks by half a unit a term,
        and each pick by the 2**-64 grid of its random word; masses by the rounding of a sum. Both inputs count.
        """
        reach = self.rate * self.cap
        farthest = math.exp(-reach)
        if farthest == 0.0:
            return math.inf
        weight = self.rate * self.source.error + (3 + 2 * reach) * UNIT
        block = farthest * float(np.diff(self._edges).min()) * self._mass_unit
        relative = 1.25 / block + 1.25 / (farthest * self._inner_unit)
        if relative >= 0.5:
            return math.inf
        sums = 2 * (self._width + len(self._edges)) * UNIT
        return 2 * (2 * weight + relative / (1 - relative) + sums)
