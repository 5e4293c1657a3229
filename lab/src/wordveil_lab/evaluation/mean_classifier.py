"""A fastText-style classifier in NumPy: the mean of trained word vectors, then one linear layer and a softmax.

Trained by Adam on the words that a batch holds; its start and the order of texts come from the caller's stream.
No character n-grams, no hashing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wordveil.api import Float64Array, FloatArray, IdArray, Stream
from wordveil_lab.corpora import Corpus
from wordveil_lab.evaluation.models import bag_of_words

BETAS = (0.9, 0.999)
TINY = 1e-8


class Adam:
    """Adam's moments for one table; rows that a step does not touch stay as they are."""

    def __init__(self, shape: tuple[int, ...], rate: float) -> None:
        self._first, self._second = np.zeros(shape), np.zeros(shape)
        self._rate, self._steps = rate, 0

    def step(self, table: FloatArray, rows: Any, gradient: FloatArray) -> None:
        """Move the rows against their gradient."""
        self._steps += 1
        first = self._first[rows] = BETAS[0] * self._first[rows] + (1 - BETAS[0]) * gradient
        second = self._second[rows] = BETAS[1] * self._second[rows] + (1 - BETAS[1]) * gradient * gradient
        scale = self._rate * np.sqrt(1 - BETAS[1] ** self._steps) / (1 - BETAS[0] ** self._steps)
        table[rows] -= scale * first / (np.sqrt(second) + TINY)


class MeanClassifier:
    """The model; `fit` trains it in place and returns it."""

    def __init__(self, words: int, classes: int, width: int, stream: Stream, rate: float = 1e-3) -> None:
        self._lane = stream.lane(0)
        self.words = self._lane.standard_normal((words, width))
        self.weights = (2 * self._lane.random((width, classes)) - 1) / np.sqrt(width)
        self.bias = np.zeros(classes)
        self._adams = tuple(Adam(part.shape, rate) for part in (self.words, self.weights, self.bias))

    def fit(
        self, tokens: IdArray, corpus: Corpus, labels: NDArray[np.int64], *, epochs: int, batch: int
    ) -> MeanClassifier:
        """Train on texts given as released ids; texts without any known token count as zero vectors."""
        shares = _shares(tokens, corpus, len(self.words))
        for _ in range(epochs):
            order = np.argsort(self._lane.random(len(labels)), kind="stable")
            for start in range(0, len(order), batch):
                chosen = order[start : start + batch]
                self._step(shares[chosen], labels[chosen])
        return self

    def _step(self, shares: csr_array, labels: NDArray[np.int64]) -> None:
        used, places = np.unique(shares.indices, return_inverse=True)
        compact = csr_array((shares.data, places, shares.indptr), shape=(shares.shape[0], len(used)))
        hidden = compact @ self.words[used]
        error = _softmax(hidden @ self.weights + self.bias)
        error[np.arange(len(labels)), labels] -= 1
        error /= len(labels)
        gradient = compact.T @ (error @ self.weights.T)
        self._adams[1].step(self.weights, slice(None), hidden.T @ error)
        self._adams[2].step(self.bias, slice(None), error.sum(axis=0))
        self._adams[0].step(self.words, used, gradient)

    def probabilities(self, tokens: IdArray, corpus: Corpus) -> Float64Array:
        """Return the probability of every class for every text, shape (n, classes)."""
        return _softmax(_shares(tokens, corpus, len(self.words)) @ self.words @ self.weights + self.bias)


def _shares(tokens: IdArray, corpus: Corpus, v: int) -> csr_array:
    counts = bag_of_words(tokens, corpus, v)
    totals = np.maximum(counts.sum(axis=1), 1)
    counts.data = counts.data / np.repeat(totals, np.diff(counts.indptr))
    return counts


def _softmax(scores: Float64Array) -> Float64Array:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
