"""What a mechanism releases of a corpus.

Unknown tokens are replaced by uniform public words before a mechanism that does not take them itself, as in a release,
with the run's own randomness. Released texts are the words of the released ids joined by spaces: what models and
attackers read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Embeddings, Float64Array, IdArray, RandomSource, multiply_high, random_bits
from wordveil_lab.corpora import Corpus
from wordveil_lab.evaluation.subjects import Entrant


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
    squared = np.square(first).sum(axis=1)[:, None] + np.square(second).sum(axis=1) - 2 * first @ second.T
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


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
