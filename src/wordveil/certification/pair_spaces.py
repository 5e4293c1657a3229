"""All pairs of inputs of one vocabulary under one metric: what `normalizer_lipschitz` runs over.

Closed forms use `DistinctVectors`, which needs coordinates: the distinct vectors, and how much output mass sits on
each. Any other metric uses `WordPairs`, which needs a matrix, twice v**2 distances a rate. The triangle inequality is
what makes the bound one: it is proved, or assumed, elsewhere.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wordveil.arrays import Float64Array, IdArray, Int64Array
from wordveil.errors import ParameterError
from wordveil.kernels.distance_sources import TableSource
from wordveil.kernels.pair_maximum import PairMaximum, PairProblem
from wordveil.kernels.pair_tiles import UNIT, NormaliserSums, PairTiles
from wordveil.kernels.pairwise import PairwiseRows
from wordveil.kernels.passes import Maximum, Sums, WorstPair
from wordveil.metrics.distances import Metric, VocabularyMetric, coordinate_rows, is_known, is_norm
from wordveil.promises.certificates import identity
from wordveil.vocabulary.table import Embeddings


@dataclass(frozen=True, kw_only=True)
class DistinctVectors:
    """The places of a vocabulary, between which pairs are looked at: its distinct vectors, whatever words share one."""

    coordinates: Float64Array  # `metric.coordinates` of the distinct vectors, shape (u, d)
    measure: Float64Array  # output mass on each, shape (u,): the candidates there, or the sum of their base measure
    ids: IdArray  # lowest id with each vector, shape (u,), int32, ascending
    metric: Metric

    @classmethod
    def of(cls, embeddings: Embeddings, metric: Metric, base: Float64Array | None = None) -> DistinctVectors:
        """Collect the distinct vectors of a vocabulary, whose candidates are outputs of measure `base`, None for 1.

        `ParameterError` if the base measure has another shape, a negative or non-finite entry, or no mass.
        """
        if base is None:
            base = np.ones(len(embeddings.candidates))
        if base.shape != embeddings.candidates.shape or not np.all(np.isfinite(base)) or base.min() < 0:
            problem = f"must hold {len(embeddings.candidates)} finite non-negative numbers."
            raise ParameterError("base", base.shape, problem)
        if not base.sum() > 0:
            raise ParameterError("base", 0, "must give some candidate a positive weight.")
        ids = np.unique(embeddings.canonical)
        place = np.searchsorted(ids, embeddings.canonical[embeddings.candidates])
        return cls(
            coordinates=coordinate_rows(metric, embeddings.vectors)(ids),
            measure=np.asarray(np.bincount(place, weights=base, minlength=len(ids)), dtype=np.float64),
            ids=ids,
            metric=metric,
        )

    @cached_property
    def outputs(self) -> Int64Array:
        """Places of the words that may be output, ascending."""
        return np.flatnonzero(self.measure)

    @property
    def distance_error(self) -> float:
        """How far distances that pairs are judged by may be off: of a root or an angle the tolerance covers it."""
        if is_known(self.metric) or is_norm(self.metric):
            return 0.0
        d = self.coordinates.shape[1]
        return self.metric.distance_error((d + 4) * 2.0**-53 * 4 * float(np.square(self.coordinates).sum(axis=1).max()))

    def digest(self) -> str:
        """Return a SHA-256 of all that losses depend on, by which work is resumed; `CertificateError` if unnamed."""
        state = hashlib.sha256(np.ascontiguousarray(self.coordinates).tobytes())
        state.update(self.measure.tobytes())
        state.update(identity(self.metric).encode())
        return state.hexdigest()

    @cached_property
    def _tiles(self) -> PairTiles:
        return PairTiles(self.coordinates, self.metric)

    @property
    def block_error(self) -> float:
        """How far a distance of `block` may be from the metric's own, in its unit."""
        return self._tiles.distance_error()

    def block(self, first: Int64Array, second: Int64Array) -> Float64Array:
        """Return the distances between two lots of places, shape (n, k)."""
        return self._tiles.between(first, second)

    def judged(self, first: Int64Array, second: Int64Array, rough: Float64Array) -> Float64Array:
        """Return the distances of pairs by direct differences, as `block`, which gave the rough ones, hides a hair."""
        return self._tiles.of_pairs(first, second)

    def sums(self, rate: float, cap: float) -> NormaliserSums:
        return NormaliserSums(self._tiles, self.measure, rate=rate, cap=cap)

    def maximum(self, problem: PairProblem, places: Int64Array) -> PairMaximum:
        """Return the pass that finds the worst pair of some places, numbered among themselves; the problem is of all.

        Of a place that is no output what it finds is a bound: the normalizers alone do not say where the loss is most.
        """
        every = len(places) == len(self.ids)
        tiles = self._tiles if every else PairTiles(self.coordinates[places], self.metric)
        return PairMaximum(tiles, problem.among(places))


ROWS = 64  # words of one step


class WordPairs:
    """All pairs of words under a matrix, as `DistinctVectors` answers for them. One rate visits v (v + outputs).

    All words are inputs, the candidates outputs; a metric that belongs to vocabularies is computed for this one here,
    once. `ParameterError` if the metric belongs to another vocabulary or fails an axiom on a sample.
    """

    def __init__(self, embeddings: Embeddings, metric: VocabularyMetric) -> None:
        self.ids = np.arange(len(embeddings), dtype=np.int32)
        self.metric = metric.bind(embeddings.vectors, embeddings.checksum_in_use)
        self.outputs = embeddings.candidates.astype(np.int64)
        self.source = TableSource(self.metric)
        self.distance_error = self.block_error = self.source.error
        self._inputs = (embeddings.checksum_in_use, embeddings.candidates_checksum)

    def block(self, first: Int64Array, second: Int64Array) -> Float64Array:
        return self.source.block(self.source.canonical[first], self.ids[second])

    def judged(self, first: Int64Array, second: Int64Array, rough: Float64Array) -> Float64Array:
        return rough  # a matrix has no others

    def digest(self) -> str:
        return hashlib.sha256("|".join([*self._inputs, identity(self.metric)]).encode()).hexdigest()

    def sums(self, rate: float, cap: float) -> RowSums:
        return RowSums(self, rate=rate, cap=cap)

    def maximum(self, problem: PairProblem, places: Int64Array) -> RowMaximum:
        return RowMaximum(self, problem, places)


class RowSums(Sums):
    """ln Z of every word at a rate, with distances clipped at a cap."""

    def __init__(self, pairs: WordPairs, *, rate: float, cap: float) -> None:
        self._pairs, self._rate = pairs, rate
        self._rows = PairwiseRows(pairs.source, pairs.metric, pairs.ids[pairs.outputs], rate=rate, cap=cap)
        self._longest = min(cap, 745.0 / rate)  # farther words weigh nothing in float64
        self.values = np.zeros(len(pairs.ids))
        self.blocks = -(-len(pairs.ids) // ROWS)

    def pairs(self, block: int) -> int:
        return len(self.values[block * ROWS :][:ROWS]) * len(self._pairs.outputs)

    def visit(self, block: int) -> Float64Array:
        return self._rows.log_normalizers(self._pairs.ids[block * ROWS :][:ROWS], threads=1)

    def take(self, block: int, found: Float64Array) -> None:
        self.values[block * ROWS :][:ROWS] = found

    def logs(self) -> Float64Array:
        return self.values

    def log_error(self) -> float:
        rounding = (4 + 2 * self._rate * self._longest + len(self._pairs.outputs)) * UNIT
        return self._rate * self._pairs.distance_error + rounding


class RowMaximum(Maximum):
    """Search for the worst pair of some words."""

    def __init__(self, pairs: WordPairs, problem: PairProblem, places: Int64Array) -> None:
        self._source, self._problem = pairs.source, problem.among(places)
        self._words = pairs.ids[places]
        self.blocks = -(-len(places) // ROWS)

    def pairs(self, block: int) -> int:
        return len(self._words[block * ROWS :][:ROWS]) * len(self._words)

    def visit(self, block: int) -> WorstPair:
        start, z = block * ROWS, self._problem.values
        rows = self._source.canonical[self._words[start : start + ROWS]]
        gaps = np.abs(z[None, :] - z[start : start + len(rows), None])
        scores = self._problem.score(self._source.block(rows, self._words), gaps)
        first, second = np.unravel_index(int(scores.argmax()), scores.shape)
        return WorstPair(value=float(scores[first, second]), first=start + int(first), second=int(second))
