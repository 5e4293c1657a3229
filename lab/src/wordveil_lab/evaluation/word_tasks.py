"""Tasks on similarity: words and sentences that humans have judged, the odd man out, and how far distances are bent.

Every word is released once a run, with fresh noise, and the task sees its released vector; the vector of a text is the
mean of those of its words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Embeddings, Float64Array, FloatArray, IdArray, ParameterError, RandomSource
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.subjects import Entrant, distances, released_centroids, unit_rows
from wordveil_lab.rows import read_rows, scored_pairs, thinned


def word_ids(embeddings: Embeddings, words: list[str]) -> IdArray:
    """Return ids of words as listed, or in lower case where only that is an entry; -1 where neither is."""
    given = embeddings.ids(words)
    return np.where(given < 0, embeddings.ids([word.lower() for word in words]), given).astype(np.int32)


def cosines(first: FloatArray, second: FloatArray) -> Float64Array:
    """Return the cosine of each pair of rows, shape (n,); 0 where a row is zero."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray(np.einsum("ij,ij->i", a, b) / np.where(lengths == 0, 1.0, lengths))


@dataclass(frozen=True, kw_only=True)
class WordSimilarity(Task):
    """Spearman correlation of cosines with human similarity scores."""

    name: ClassVar[str] = "word-similarity"
    path: str = "wordsim/men3k.tsv"  # file with columns word1, word2, score

    def prepare(self, embeddings: Embeddings) -> tuple[IdArray, NDArray[np.int64], Float64Array]:
        """Return distinct words, the two places of each covered pair among them, shape (2, pairs), and human scores."""
        pairs = scored_pairs(self.path, ("word1", "word2"))
        sides = [pair.first for pair in pairs], [pair.second for pair in pairs]
        both = np.stack([word_ids(embeddings, words) for words in sides])
        covered = (both >= 0).all(axis=0)
        if covered.sum() < 3:
            raise ParameterError("path", self.path, f"has {covered.sum()} pairs of vocabulary words; 3 are needed.")
        ids, places = np.unique(both[:, covered], return_inverse=True)
        return ids.astype(np.int32), places.reshape(2, -1), np.array([pair.score for pair in pairs])[covered]

    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        from scipy.stats import spearmanr

        ids, (first, second), scores = prepared
        rows = subject.release_vectors(ids, source, self.name)
        found = cosines(rows[first], rows[second])
        return {"spearman": float(spearmanr(found, scores).statistic) if np.ptp(found) else 0.0}


@dataclass(frozen=True, kw_only=True)
class OddManOut(Task):
    """Share of word sets whose intruder is found by leaving out one word at a time.

    The word whose removal leaves the highest mean cosine between the others is taken for the intruder; sets with a
    word outside the vocabulary are not counted.
    """

    name: ClassVar[str] = "odd-man-out"
    path: str = "wordsim/odd-man-out.tsv"  # file with columns odd and others, the latter joined by "|"

    def prepare(self, embeddings: Embeddings) -> IdArray:
        sets: dict[int, list[list[str]]] = {}
        for row in read_rows(self.path, ("odd", "others")):
            words = [str(row["odd"]), *str(row["others"]).split("|")]
            sets.setdefault(len(words), []).append(words)
        if not sets:
            raise ParameterError("path", self.path, "holds no sets.")
        size = max(sets, key=lambda n: len(sets[n]))
        flat = word_ids(embeddings, [word for words in sets[size] for word in words])
        table = flat.reshape(-1, size)
        known = table[(table >= 0).all(axis=1)]
        if not len(known) or size < 3:
            raise ParameterError("path", self.path, "has no set of at least 3 vocabulary words.")
        return known

    def run(self, prepared: IdArray, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        ids, places = np.unique(prepared, return_inverse=True)
        rows = subject.release_vectors(ids.astype(np.int32), source, self.name)
        unit = unit_rows(rows)[places.reshape(prepared.shape)]
        gram = np.einsum("sid,sjd->sij", unit, unit)
        # Leaving word i out removes its row and column: the mean cosine is highest where their sum is lowest.
        ties = gram.sum(axis=2) - np.einsum("sii->si", gram)
        lowest = ties.min(axis=1, keepdims=True)
        winners = ties <= lowest + 1e-12
        return {"accuracy": float((winners[:, 0] / winners.sum(axis=1)).mean())}


@dataclass(frozen=True, kw_only=True)
class DistanceDistortion(Task):
    """Mean absolute change of distances and inner products between released vectors.

    Two sets of candidate words, spread evenly over the vocabulary, give words x words pairs; the relative figures
    divide by the mean distance and the mean absolute inner product of the original vectors.
    """

    name: ClassVar[str] = "distortion"
    words: int = 100  # words in each of the two sets

    def prepare(self, embeddings: Embeddings) -> tuple[IdArray, IdArray]:
        candidates = embeddings.candidates
        size = min(self.words, len(candidates) // 2)
        if size < 2:
            raise ParameterError("words", self.words, "must leave two sets of at least 2 words in this vocabulary.")
        chosen = candidates[np.linspace(0, len(candidates) - 1, 2 * size).astype(np.int64)]
        return chosen[::2], chosen[1::2]

    def run(self, prepared: tuple[IdArray, IdArray], subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        first, second = prepared
        original = [np.asarray(subject.embeddings.vectors[ids], dtype=np.float64) for ids in prepared]
        released = subject.release_vectors(np.concatenate((first, second)), source, self.name)
        halves = (released[: len(first)], released[len(first) :])
        true, seen = distances(*original), distances(*halves)
        moved = float(np.abs(seen - true).mean())
        products = float(np.abs(halves[0] @ halves[1].T - original[0] @ original[1].T).mean())
        return {"distance-relative": moved / float(true.mean()), "distance": moved, "inner-product": products}


@dataclass(frozen=True, kw_only=True)
class SentenceSimilarity(Task):
    """Correlation of the cosines of two released texts' centroids with human scores."""

    name: ClassVar[str] = "sts"
    path: str = "sentences/stsb.dev.tsv"  # file with columns sentence1, sentence2, score
    limit: int | None = None

    def prepare(self, embeddings: Embeddings) -> tuple[Corpus, Corpus, Float64Array]:
        """Return the first texts, the second ones, and human scores."""
        pairs = thinned(scored_pairs(self.path, ("sentence1", "sentence2")), self.limit)
        if len(pairs) < 3:
            raise ParameterError("path", self.path, "must hold at least 3 pairs.")
        first, second = [pair.first for pair in pairs], [pair.second for pair in pairs]
        return encode(embeddings, first), encode(embeddings, second), np.array([pair.score for pair in pairs])

    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        from scipy.stats import pearsonr, spearmanr

        *pair, scores = prepared
        sides = zip(pair, ("first", "second"), strict=True)
        found = cosines(*(released_centroids(corpus, subject, source, f"sts {name}") for corpus, name in sides))
        if np.ptp(found) == 0:
            return {"pearson": 0.0, "spearman": 0.0, "both": 0.0}
        pearson, spearman = (float(test(found, scores).statistic) for test in (pearsonr, spearmanr))
        both = math.sqrt(max(pearson, 0.0) * max(spearman, 0.0))
        return {"pearson": pearson, "spearman": spearman, "both": both}
