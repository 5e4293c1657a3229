"""All pairs of words of a vocabulary under a matrix, from distances alone: what `normalizer_lipschitz` runs over.

Closed forms use `vocabulary.DistinctVectors`, which needs coordinates; this needs a matrix, twice
v**2 distances a rate. The triangle inequality is what makes the bound one: it is proved, or assumed, elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array
from wordveil.kernels.distance_sources import TableSource
from wordveil.kernels.pair_maximum import PairProblem, WorstPair
from wordveil.kernels.pair_tiles import UNIT
from wordveil.kernels.pairwise import PairwiseRows
from wordveil.kernels.threads import map_chunks
from wordveil.metrics.distances import VocabularyMetric
from wordveil.promises.certificates import identity
from wordveil.vocabulary.table import Embeddings

ROWS = 64  # words of one step


class WordPairs:
    """All pairs of words under a matrix: a `PairSpace`. One rate visits v * (v + outputs) pairs.

    All words are inputs, the candidates outputs; a metric that belongs to vocabularies is computed for this one here,
    once. `ParameterError` if the metric belongs to another vocabulary or fails an axiom on a sample.
    """

    def __init__(self, embeddings: Embeddings, metric: VocabularyMetric) -> None:
        self.ids = np.arange(len(embeddings), dtype=np.int32)
        self.metric = metric.bind(embeddings.vectors, embeddings.checksum_in_use)
        self.outputs = embeddings.candidates.astype(np.int64)
        self.source = TableSource(self.metric)
        self._inputs = (embeddings.checksum_in_use, embeddings.candidates_checksum)

    @property
    def distance_error(self) -> float:
        return self.source.error

    @property
    def block_error(self) -> float:
        return self.source.error

    def block(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Float64Array:
        return self.source.block(self.source.canonical[first], self.ids[second])

    def judged(self, first: NDArray[np.int64], second: NDArray[np.int64], rough: Float64Array) -> Float64Array:
        return rough  # a matrix has no others

    def digest(self) -> str:
        return hashlib.sha256("|".join([*self._inputs, identity(self.metric)]).encode()).hexdigest()

    def sums(self, rate: float, cap: float) -> RowSums:
        return RowSums(self, rate=rate, cap=cap)

    def maximum(self, problem: PairProblem, places: NDArray[np.int64]) -> RowMaximum:
        return RowMaximum(self, problem, places)


class RowSums:
    """ln Z of every word at a rate, with distances clipped at a cap, resumable after any step."""

    def __init__(self, pairs: WordPairs, *, rate: float, cap: float) -> None:
        self._pairs, self._rate = pairs, rate
        self._rows = PairwiseRows(pairs.source, pairs.metric, pairs.ids[pairs.outputs], rate=rate, cap=cap)
        self._longest = min(cap, 745.0 / rate)  # farther words weigh nothing in float64
        self._logs = np.zeros(len(pairs.ids))
        self._next = 0

    @property
    def visited(self) -> int:
        return self._next * len(self._pairs.outputs)

    def steps(self, threads: int | None = None) -> Iterator[int]:
        starts = range(self._next, len(self._logs), ROWS)

        def some(start: int) -> Float64Array:
            return self._rows.log_normalizers(self._pairs.ids[start : start + ROWS], threads=1)

        for start, part in zip(starts, map_chunks(some, starts, threads), strict=True):
            self._next = start + len(part)
            self._logs[start : self._next] = part
            yield len(part) * len(self._pairs.outputs)

    def state(self) -> dict[str, Any]:
        return {"logs": self._logs, "next": self._next}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._logs[:], self._next = state["logs"], int(state["next"])

    def logs(self) -> Float64Array:
        return self._logs

    def log_error(self) -> float:
        rounding = (4 + 2 * self._rate * self._longest + len(self._pairs.outputs)) * UNIT
        return self._rate * self._pairs.distance_error + rounding


class RowMaximum:
    """Search for the worst pair of some words, the best known so far, resumable after any step."""

    def __init__(self, pairs: WordPairs, problem: PairProblem, places: NDArray[np.int64]) -> None:
        self._source, self._problem = pairs.source, problem.among(places)
        self._words = pairs.ids[places]
        self.best = WorstPair(value=0.0, first=0, second=0)
        self._next = 0

    @property
    def visited(self) -> int:
        return self._next * len(self._words)

    def _worst_of(self, start: int) -> WorstPair:
        rows = self._source.canonical[self._words[start : start + ROWS]]
        z = self._problem.values
        gaps = np.abs(z[None, :] - z[start : start + len(rows), None])
        scores = self._problem.score(self._source.block(rows, self._words), gaps)
        first, second = np.unravel_index(int(scores.argmax()), scores.shape)
        return WorstPair(value=float(scores[first, second]), first=start + int(first), second=int(second))

    def steps(self, threads: int | None = None) -> Iterator[int]:
        v = len(self._words)
        starts = range(self._next, v, ROWS)
        for start, found in zip(starts, map_chunks(self._worst_of, starts, threads), strict=True):
            if found.value > self.best.value:
                self.best = found
            done = min(ROWS, v - start)
            self._next = start + done
            yield done * v

    def state(self) -> dict[str, Any]:
        return {**self.best.as_dict(), "next": self._next}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.best, self._next = WorstPair.from_dict(state), int(state["next"])
