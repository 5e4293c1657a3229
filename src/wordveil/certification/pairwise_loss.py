"""All pairs of words of a vocabulary under a matrix, from distances alone: what `normalizer_lipschitz` runs over.

Closed forms use `vocabulary.DistinctVectors`, which needs coordinates; this needs a matrix, twice
v**2 distances a rate. The triangle inequality is what makes the bound one: it is proved, or assumed, elsewhere.
"""

from __future__ import annotations

import hashlib

import numpy as np

from wordveil.arrays import Float64Array, Int64Array
from wordveil.kernels.distance_sources import TableSource
from wordveil.kernels.pair_maximum import PairProblem
from wordveil.kernels.pair_tiles import UNIT
from wordveil.kernels.pairwise import PairwiseRows
from wordveil.kernels.passes import Maximum, Sums, WorstPair
from wordveil.metrics.distances import VocabularyMetric
from wordveil.promises.certificates import identity
from wordveil.vocabulary.table import Embeddings

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
