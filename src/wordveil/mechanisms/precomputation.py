"""Algorithm 3 of the TEM paper: selection from rows made beforehand, at the cost of a bisection a word.

Beyond the truncation distance all words of TEM weigh the same, so sparse rows of the words within it hold all that its
law depends on. Their size is counted in a pass of its own, because the number of pairs can come out anywhere between v
and v**2. A number of 128 random bits, and further ones where an edge lies there, is a share of the sum of the row's
ideal weights: running sums of the near words, and whole words beyond between them, tell where it falls unless within
their bound of an edge, where decimal numbers of the whole row decide (`kernels.ideal`).

Worth it for batch work where few words lie within the truncation distance of another: TEM at a large epsilon. The
bisections take as many steps for every word, but which memory they touch depends on it, so a service that answers
strangers should not use this form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from wordveil.arrays import Float64Array, IdArray, Int64Array, Progress
from wordveil.errors import ParameterError
from wordveil.kernels.channel_rows import ChannelRows
from wordveil.kernels.distance_sources import DistanceSource
from wordveil.kernels.ideal import IdealRows, ends
from wordveil.kernels.pairwise import PairwiseRows
from wordveil.kernels.selection import SelectionRows
from wordveil.kernels.threads import by_spans, filled
from wordveil.mechanisms.exponential import FittedExponential
from wordveil.mechanisms.metric_rows import distance_source
from wordveil.randomness import BitArray

TILE = 1 << 21  # distances of one block: 16 MB
PAIR_BYTES = 4 + 8  # position, running sum of weights
WORD_BYTES = 8 + 8  # start of the row, normalizer


@dataclass(frozen=True, kw_only=True)
class NearSize:
    """How large the rows are, before they are made."""

    words: int  # number of inputs v
    pairs: int  # pairs (input, output) closer than the truncation distance; inputs that share a row are counted once

    @property
    def bytes(self) -> int:
        """Memory that rows ready to draw from take, in bytes."""
        return PAIR_BYTES * self.pairs + WORD_BYTES * (self.words + 1)

    def __str__(self) -> str:
        return f"{self.pairs:,} pairs of {self.words:,} words, {self.bytes / 2**20:,.1f} MiB"


def near_pairs(
    source: DistanceSource, outputs: IdArray, cap: float, threads: int | None, progress: Progress | None
) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield (words, output positions) of the pairs closer than the cap, or that may be, sorted."""
    words = np.unique(source.canonical)

    def near(span: slice) -> tuple[Int64Array, Int64Array]:
        rows, columns = np.nonzero(source.block(words[span], outputs) < cap + 2 * source.error)
        return words[span][rows].astype(np.int64), columns

    for _, found in by_spans(len(words), max(1, TILE // len(outputs)), near, threads, progress):
        yield found


TOKENS = 1 << 14


class NearRows(ChannelRows):
    """Rows whose scores are all equal beyond the cap, which draw as others do.

    `pairs` is the number of `near_pairs` for the same source, outputs and cap. Row x is the entries starts[x] to
    starts[x + 1] of positions in the outputs, ascending, and of running sums over all outputs up to there; it is empty
    where x is not canonical.
    """

    ideal: IdealRows

    def __init__(
        self,
        rows: SelectionRows | PairwiseRows,
        source: DistanceSource,
        *,
        pairs: int,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._rows, self._canonical, self.ideal = rows, source.canonical, rows.ideal
        self.metric, self.outputs, self.rate, self.cap = rows.metric, rows.outputs, rows.rate, rows.cap
        v, done = len(source.canonical), 0
        counts = np.zeros(v, dtype=np.int64)
        self._positions, self._sums = np.full(pairs + 1, len(self.outputs), dtype=np.int32), np.zeros(pairs + 1)
        for words, columns in near_pairs(source, self.outputs, self.cap, threads, progress):
            counts += np.bincount(words, minlength=v)
            self._positions[done : done + len(columns)] = columns
            done += len(columns)
        self._starts = np.concatenate(([0], np.cumsum(counts)))
        self._far = math.exp(-self.rate * self.cap)
        self._totals = np.zeros(v)
        self._steps = int(counts.max()).bit_length()
        for word in np.unique(source.canonical).tolist():
            span = slice(self._starts[word], self._starts[word + 1])
            positions = self._positions[span]
            near = np.cumsum(self.ideal.weights(np.array([word]), positions))
            self._sums[span] = near + (positions - np.arange(len(near))) * self._far
            self._totals[word] = near[-1:].sum() + (len(self.outputs) - len(near)) * self._far

    def weights(self, ids: IdArray) -> Float64Array:
        return self._rows.weights(ids)

    def log_normalizers(
        self, ids: IdArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> Float64Array:
        if progress is not None:
            progress(len(ids))
        return np.asarray(np.log(self._totals[self._canonical[ids]]))

    def draw(
        self, ids: IdArray, bits: BitArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        error = self.ideal.error(len(self.outputs))

        def some(span: slice) -> IdArray:
            inputs = self._canonical[ids[span]]
            least, most = ends(bits[span, 0], self._totals[inputs], error)
            columns, edges = self._place(inputs, least / (1 + error))
            for i in np.flatnonzero(edges <= most / (1 - error)).tolist():
                columns[i] = self.ideal.exact_column(int(inputs[i]), bits[span][i])
            return self.outputs[columns]

        return filled(np.empty(len(ids), dtype=np.int32), TOKENS, some, threads, progress)

    def _place(self, inputs: IdArray, points: Float64Array) -> tuple[Int64Array, Float64Array]:
        """Return the first place whose running sum is above each point, and that sum.

        The place is a near word's, or one of those before it; past the last one the sum is 0.
        """
        first, end = self._starts[inputs], self._starts[inputs + 1]
        low, high = first, end
        for _ in range(self._steps):  # for every word as many
            middle = (low + high) >> 1
            passed = (low < high) & (self._sums[middle] <= points)
            low, high = np.where(passed, middle + 1, low), np.where(passed, high, middle)
        behind = np.where(low > first, self._positions[low - 1] + 1, 0)
        beyond = np.where(low < end, self._positions[low], len(self.outputs)) - behind
        below = np.where(low > first, self._sums[low - 1], 0.0)
        rank = np.clip((points - below) / self._far, 0, beyond).astype(np.int64)
        above = np.where(low < end, self._sums[low], 0.0)
        return behind + rank, np.where(rank < beyond, below + (rank + 1) * self._far, above)

    def arithmetic_slack(self) -> float:
        return self._rows.arithmetic_slack()


LIMIT_BYTES = 1 << 30
"""Memory that precomputed rows take without being asked for more: 1 GiB."""


def precomputed_size(
    fitted: FittedExponential, *, threads: int | None = None, progress: Progress | None = None
) -> NearSize:
    """Count the pairs within the truncation distance, without keeping them.

    Args:
        fitted: TEM or another selection mechanism with any metric.
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of words done since the last call.

    Returns:
        Pairs and bytes; `str` of it is one line for people.
    """
    rows = fitted.rows
    source = distance_source(rows.metric, fitted.embeddings)
    pairs = sum(len(words) for words, _ in near_pairs(source, rows.outputs, rows.cap, threads, progress))
    return NearSize(words=len(source.canonical), pairs=pairs)


def precompute(
    fitted: FittedExponential,
    *,
    limit_bytes: int = LIMIT_BYTES,
    threads: int | None = None,
    progress: Progress | None = None,
) -> FittedExponential:
    """Return the same mechanism drawing from precomputed rows.

    Guarantee:
        That of the mechanism given.

    Args:
        fitted: TEM or another selection mechanism with any metric, exactly as `fit` returned it.
        limit_bytes: Most memory to take; `precomputed_size` says beforehand what is needed.
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of words done since the last call; every word is passed twice.

    Raises:
        ParameterError: If the rows would exceed the limit, the mechanism claims no metric DP or has been fitted
            otherwise, or words have a base measure, so that those beyond the distance differ.
    """
    rows, claim = fitted.rows, fitted.guarantee()
    if not claim.metric or claim.slack is None:
        raise ParameterError("fitted", claim.promise, "must be a mechanism with metric DP and a stated slack.")
    if not isinstance(rows, SelectionRows | PairwiseRows):
        raise ParameterError("fitted", type(rows).__name__, "must be exactly what `fit` returned.")
    if fitted.base is not None:
        raise ParameterError("fitted", "<a base measure>", "must draw without one: precomputed rows would not hold it.")
    size = precomputed_size(fitted, threads=threads, progress=progress)
    if size.bytes > limit_bytes:
        problem = f"is less than {size.bytes}: {size}. Raise it, or draw without precomputing."
        raise ParameterError("limit_bytes", limit_bytes, problem)
    source = distance_source(rows.metric, fitted.embeddings)
    made = NearRows(rows, source, pairs=size.pairs, threads=threads, progress=progress)
    return replace(fitted, rows=made)
