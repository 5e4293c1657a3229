"""What is put to the test: a fitted mechanism seen as a releaser of words and, where it is one, of vectors.

One subject is one release. A vector mechanism makes two: of its vectors as they are, or of the words that its decoder
turns them into, and then nobody sees the vectors. The vector of a released word stands for its vector.

Of a corpus unknown tokens are replaced by uniform public words before a mechanism that does not take them itself, as in
a release, with the run's own randomness. Released texts are the words of the released ids joined by spaces: what models
and attackers read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wordveil.api as wv
from wordveil.api import Embeddings, Float64Array, IdArray, RandomSource, multiply_high, random_bits
from wordveil_lab.corpora import Corpus

DRAW_VALUES = 1 << 22  # eight-byte values drawn at a time: 32 MiB
ROWS = 16_384  # noisy vectors made at a time


@dataclass(frozen=True, kw_only=True)
class Unprotected(wv.WordRandomizer):
    """No mechanism at all: every word comes back as it was. The baseline of every task."""

    embeddings: wv.Embeddings
    draw_width: int = 0

    def guarantee(self) -> wv.Guarantee:
        return wv.NoGuarantee(reason="nothing is randomized", standing=wv.Standing.REFUTED)

    def sample(self, stream: wv.Stream, n: int) -> wv.Draws:
        return (np.empty((n, 0)),)

    def randomize(
        self, ids: wv.PrivateIds, draws: wv.Draws, *, threads: int | None = None, progress: wv.FitProgress | None = None
    ) -> wv.ReleasedIds:
        return wv.ReleasedIds(np.asarray(ids, dtype=np.int32))  # a baseline: public words, and no promise


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """A mechanism under test."""

    words: wv.WordRandomizer = field(repr=False)  # the word mechanism, decoder included
    vectors: wv.VectorRandomizer | None = field(repr=False)  # the mechanism inside it; None where words are released
    space: wv.Embeddings = field(repr=False)  # the vocabulary with its vectors where the released vectors live
    threads: int | None = 1
    is_baseline: bool = False  # whether nothing is randomized
    # What attackers learnt by running it, by what they know beforehand.
    learnt: dict[bytes, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def embeddings(self) -> wv.Embeddings:
        """The public vocabulary."""
        return self.words.embeddings

    @property
    def exact(self) -> bool:
        """Whether the law of its released words is known exactly."""
        return self.vectors is None and self.words.law(np.zeros(0, dtype=np.int32)) is not None

    @property
    def law_known(self) -> bool:
        """Whether the density of its released vectors is known, and with it the best attack on them."""
        nothing = np.zeros((0, self.space.dimensions))
        return self.vectors is not None and self.vectors.log_density(nothing, self.embeddings.vectors[:1]) is not None

    def release_words(self, ids: wv.IdArray, source: wv.RandomSource, label: str) -> wv.IdArray:
        """Return released ids, shape (n,), for public input ids; the label tells the uses of one source apart."""
        stream, words = source.stream(label), self.words.for_batch_job()
        given = np.asarray(ids, dtype=np.int32)
        parts = [given[:0]]
        size = max(1, DRAW_VALUES // max(1, self.words.draw_width))
        for start in range(0, len(given), size):
            part = given[start : start + size]
            draws = words.sample(stream, len(part))
            parts.append(words.randomize(wv.PrivateIds(part), draws, threads=self.threads))
        return np.concatenate(parts)

    def release_vectors(self, ids: wv.IdArray, source: wv.RandomSource, label: str) -> wv.Float64Array:
        """Return released vectors, shape (n, m): noisy ones, or those of released words."""
        if self.vectors is None:
            return np.asarray(self.space.vectors[self.release_words(ids, source, label)], dtype=np.float64)
        rows = np.asarray(self.embeddings.vectors[ids], dtype=np.float64)
        stream = source.stream(label)
        parts = []
        for start in range(0, len(rows), ROWS):
            part = rows[start : start + ROWS]
            parts.append(self.vectors.randomize(part, self.vectors.sample(stream, len(part))))
        return np.concatenate(parts) if parts else np.empty((0, self.space.dimensions))


def subject_of(randomizer: wv.WordRandomizer, *, decoded: bool = False, threads: int | None = 1) -> Entrant:
    """Return the subject of a fitted mechanism; of a decoded one it releases vectors, or with `decoded` words."""
    if randomizer.vectors is not None and not decoded:
        space = randomizer.vectors.decoding_space(randomizer.embeddings)
        return Entrant(words=randomizer, vectors=randomizer.vectors, space=space, threads=threads)
    return Entrant(words=randomizer, vectors=None, space=randomizer.embeddings, threads=threads)


def unprotected(embeddings: wv.Embeddings, *, threads: int | None = 1) -> Entrant:
    """Return the subject that protects nothing: the baseline without noise."""
    return Entrant(
        words=Unprotected(embeddings=embeddings), vectors=None, space=embeddings, threads=threads, is_baseline=True
    )


def place_unknown(tokens: IdArray, subject: Entrant, source: RandomSource, label: str) -> IdArray:
    """Return the tokens, with a uniform public word in place of unknown ones where the mechanism does not take them."""
    unknown, candidates = np.flatnonzero(tokens < 0), subject.embeddings.candidates
    if not unknown.size or subject.words.answers_unknown:
        return tokens
    drawn = random_bits(source.stream(label + " unknown").lane(0), (len(unknown),))
    placed = tokens.copy()
    placed[unknown] = candidates[multiply_high(drawn, np.uint64(len(candidates)))]
    return placed


def released_tokens(corpus: Corpus, subject: Entrant, source: RandomSource, label: str) -> IdArray:
    """Return the released id of every token; without a mechanism unknown tokens stay unknown."""
    if subject.is_baseline:
        return corpus.tokens
    return subject.release_words(place_unknown(corpus.tokens, subject, source, label), source, label)


def as_texts(tokens: IdArray, corpus: Corpus, embeddings: Embeddings) -> list[str]:
    """Return the texts of released ids, words joined by spaces; unknown tokens are left out."""
    entries = embeddings.words
    spelling = {int(i): entries[int(i)] for i in np.unique(tokens) if i >= 0}
    listed = tokens.tolist()
    return [
        " ".join(spelling[i] for i in listed[start:stop] if i >= 0)
        for start, stop in zip(corpus.offsets[:-1].tolist(), corpus.offsets[1:].tolist(), strict=True)
    ]


def centroids(tokens: IdArray, corpus: Corpus, vectors: NDArray[np.floating]) -> Float64Array:
    """Return the mean vector of each text's known tokens, shape (n, m); of an empty text the zero vector."""
    known = tokens >= 0
    return means(np.asarray(vectors, dtype=np.float64)[tokens[known]], corpus.owners[known], len(corpus))


def means(rows: Float64Array, owner: NDArray[np.int64], n: int) -> Float64Array:
    """Return the mean of the rows of each owner, shape (n, m); zero where there is none."""
    counts = np.bincount(owner, minlength=n)
    total = np.zeros((n, rows.shape[1]))
    filled = np.flatnonzero(counts)
    if filled.size:  # the owners come in order
        starts = np.concatenate(([0], np.cumsum(counts[filled])[:-1]))
        total[filled] = np.add.reduceat(rows, starts, axis=0)
    return np.asarray(total / np.maximum(counts, 1)[:, None])


def distances(first: Float64Array, second: Float64Array) -> Float64Array:
    """Return the Euclidean distances of n rows from m others up to rounding, shape (n, m)."""
    found = np.square(first).sum(axis=1)[:, None] + np.square(second).sum(axis=1)
    found -= 2 * first @ second.T
    return np.asarray(np.sqrt(np.maximum(found, 0.0, out=found), out=found))


def unit_rows(rows: Float64Array) -> Float64Array:
    """Return rows at length 1; zero rows stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1.0, lengths))


def released_centroids(corpus: Corpus, subject: Entrant, source: RandomSource, label: str) -> Float64Array:
    """Return the mean released vector of each text, shape (n, m)."""
    if subject.vectors is None:
        return centroids(released_tokens(corpus, subject, source, label), corpus, subject.space.vectors)
    rows = subject.release_vectors(place_unknown(corpus.tokens, subject, source, label), source, label)
    return means(rows, corpus.owners, len(corpus))
