"""Tasks on words and their neighbours: similarity, the odd man out, bent distances, and plausible deniability.

For similarity every word is released once a run, with fresh noise, and the task sees its released vector; the vector of
a text is the mean of those of its words. Deniability is how often a word stays itself, and how many words it may turn
into: exact for selection mechanisms, whose rows are known, and counted in repeated draws for the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr, skew, spearmanr

import wordveil.api as wv
from wordveil.api import Embeddings, Float64Array, FloatArray, IdArray, ParameterError, RandomSource
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.evidence import PUBLIC_LIST, draw_words, word_prior
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
        *pair, scores = prepared
        sides = zip(pair, ("first", "second"), strict=True)
        found = cosines(*(released_centroids(corpus, subject, source, f"sts {name}") for corpus, name in sides))
        if np.ptp(found) == 0:
            return {"pearson": 0.0, "spearman": 0.0, "both": 0.0}
        pearson, spearman = (float(test(found, scores).statistic) for test in (pearsonr, spearmanr))
        both = math.sqrt(max(pearson, 0.0) * max(spearman, 0.0))
        return {"pearson": pearson, "spearman": spearman, "both": both}


ROWS = 256


@dataclass(frozen=True, kw_only=True)
class PlausibleDeniability(Task):
    """N_w, the probability that a word is released as itself, and S_w, how many words come out in repeated draws.

    Both are means over public words drawn from the frequency prior. S_w counts distinct outputs in `draws` draws;
    for a selection mechanism both are expectations, computed.

    Reference:
        Feyisetan, Balle, Drake, Diethe (2020), section 4.2.
    """

    name: ClassVar[str] = "deniability"
    words: int = 300
    draws: int = 100
    frequencies: str = PUBLIC_LIST  # the public list, or a file of public text; see `word_prior`

    def prepare(self, embeddings: Embeddings) -> IdArray:
        if self.words < 1 or self.draws < 1:
            raise ParameterError("words", self.words, "and draws must be at least 1.")
        prior = word_prior(embeddings, self.frequencies)
        public = RandomSource.seeded_for_tests(0)  # which words are looked at is fixed and public
        return draw_words(prior, self.words, public, "deniability words")

    def run(self, prepared: IdArray, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        if subject.exact:
            kept, distinct = _from_channel(subject.words, prepared, self.draws)
        else:
            repeated = np.repeat(prepared, self.draws)
            released = subject.release_words(repeated, source, self.name).reshape(len(prepared), self.draws)
            kept = (released == prepared[:, None]).mean(axis=1)
            ordered = np.sort(released, axis=1)
            distinct = 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)
        return {"n_w": float(kept.mean()), "s_w": float(distinct.mean()), "n_w_worst": float(kept.max())}


def _from_channel(words: wv.WordRandomizer, ids: IdArray, draws: int) -> tuple[Float64Array, Float64Array]:
    kept, distinct = np.zeros(len(ids)), np.zeros(len(ids))
    for start in range(0, len(ids), ROWS):
        part = slice(start, start + ROWS)
        rows = words.law(ids[part])
        assert rows is not None
        kept[part] = np.where(ids[part, None] == words.outputs, rows, 0.0).sum(axis=1)
        with np.errstate(divide="ignore"):
            never = np.exp(draws * np.log1p(-np.minimum(rows, 1.0)))
        distinct[part] = (1 - never).sum(axis=1)
    return kept, distinct


@dataclass(frozen=True, kw_only=True)
class OverlapSkewness(Task):
    """Skewness of the neighbourhood overlap over words: how much a mechanism protects some words less than most.

    Reference:
        Bollegala et al. (2023), section 5.2 and appendix B. Deviation: 0 where all overlaps are equal.
    """

    name: ClassVar[str] = "skewness"
    words: int = 1000  # public words, spread evenly over the vocabulary
    neighbours: int = 10  # size of the neighbourhoods compared

    def prepare(self, embeddings: Embeddings) -> IdArray:
        candidates = embeddings.candidates
        if len(candidates) < 3:
            raise ParameterError("embeddings", f"{len(candidates)} words", "must offer at least 3 words.")
        return candidates[np.unique(np.linspace(0, len(candidates) - 1, self.words).astype(np.int64))]

    def run(self, prepared: IdArray, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        search = wv.NearestWords(subject.space.vectors, np.arange(len(subject.space), dtype=np.int32))
        k, released = min(self.neighbours, len(subject.space)), subject.release_vectors(prepared, source, self.name)
        before = search.top(subject.space.vectors[prepared], k, threads=subject.threads)[0]
        after = search.top(released, k, threads=subject.threads)[0]
        shared = (before[:, :, None] == after[:, None, :]).any(axis=2).sum(axis=1)
        shares = shared / (2 * k - shared)  # the Jaccard overlap of each word
        spread = 0.0 if np.ptp(shares) == 0 else float(skew(shares, bias=False))
        return {"overlap": float(shares.mean()), "skewness": spread}
