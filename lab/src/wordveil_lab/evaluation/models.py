"""The classifiers that tasks and attackers train, and the features they read.

scikit-learn is loaded when a model is first asked for: it is the extra `evaluation`. The fastText-style classifier is
of NumPy: the mean of trained word vectors, then one linear layer and a softmax. It is trained by Adam on the words that
a batch holds; its start and the order of texts come from the caller's stream. No character n-grams, no hashing.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from wordveil.api import Embeddings, Float64Array, FloatArray, IdArray, Stream, check_choice
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.package import from_extra
from wordveil_lab.rows import LabelledText

MODELS = ("logistic", "svm")
"""Names of the linear models."""


def load_sklearn(module: str) -> Any:
    """Return a module of scikit-learn."""
    return from_extra(f"sklearn.{module}", "A task that trains a classifier", "evaluation", "scikit-learn")


def linear_model(name: str) -> Any:
    """Return an untrained linear classifier: "logistic" or "svm", deterministic.

    The support vector machine is solved in its primal form, squared hinge loss and C = 1, until it converges.
    """
    check_choice("model", name, MODELS)
    if name == "logistic":
        return load_sklearn("linear_model").LogisticRegression(C=10.0, max_iter=1000)
    return load_sklearn("svm").LinearSVC(C=1.0, dual=False, max_iter=10_000)


def fit_quietly(model: Any, features: Any, labels: Any) -> Any:
    """Return the model trained; that it stopped at its limit of steps is part of its settings and no news.

    Except of the support vector machine: one that has not converged is another classifier, and its scores mean nothing.
    One thread: cells run side by side, and threads that wait for each other cost far more than they save.
    """
    must = isinstance(model, load_sklearn("svm").LinearSVC)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("error" if must else "ignore", category=load_sklearn("exceptions").ConvergenceWarning)
        return model.fit(features, labels)


def standardized(train: Any, *others: Any) -> list[Any]:
    """Return feature matrices centred and scaled by the first one's mean and deviation."""
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread = np.where(spread == 0, 1.0, spread)
    return [(part - mean) / spread for part in (train, *others)]


def bag_of_words(tokens: IdArray, corpus: Corpus, v: int) -> csr_array:
    """Return token counts, shape (n, v), one row a text; unknown tokens do not count."""
    known = tokens >= 0
    counts = csr_array((np.ones(int(known.sum())), (corpus.owners[known], tokens[known])), shape=(len(corpus), v))
    counts.sum_duplicates()
    # scikit-learn's stochastic models take 32-bit indices only.
    counts.indices, counts.indptr = counts.indices.astype(np.int32), counts.indptr.astype(np.int32)
    return counts


def bag_of_texts(embeddings: Embeddings, texts: Sequence[str]) -> csr_array:
    """Return the token counts of texts that a vocabulary reads, shape (n, v)."""
    corpus = encode(embeddings, texts)
    return bag_of_words(corpus.tokens, corpus, len(embeddings))


def weighted_bag(counts: csr_array, weights: NDArray[np.float64] | None = None) -> tuple[csr_array, Any]:
    """Return rows of 1 + ln(count) times inverse document frequency, of norm 1, and the weights used.

    The weights are those of another corpus where they are given.
    """
    bag = counts.copy()
    bag.data = 1 + np.log(bag.data)
    if weights is None:
        frequency = np.bincount(bag.indices, minlength=bag.shape[1])
        weights = np.log((1 + bag.shape[0]) / (1 + frequency)) + 1
    bag.data = bag.data * weights[bag.indices]
    norms = np.sqrt(np.bincount(np.repeat(np.arange(bag.shape[0]), np.diff(bag.indptr)), bag.data**2, bag.shape[0]))
    bag.data = bag.data / np.repeat(np.where(norms == 0, 1.0, norms), np.diff(bag.indptr))
    return bag, weights


def encode_labelled(
    embeddings: Embeddings, items: Sequence[LabelledText], classes: Sequence[str]
) -> tuple[Corpus, NDArray[np.int64]]:
    """Return texts as ids, and their classes as numbers."""
    return encode(embeddings, [item.text for item in items]), as_numbers([item.label for item in items], classes)


def as_numbers(labels: Sequence[str], classes: Sequence[str]) -> NDArray[np.int64]:
    """Return the place of each label among the classes; -1 for a label that is not there."""
    place = {label: i for i, label in enumerate(classes)}
    return np.array([place.get(label, -1) for label in labels], dtype=np.int64)


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
