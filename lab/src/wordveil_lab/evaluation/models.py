"""The classifiers that tasks and attackers train, and the features they read.

scikit-learn is loaded when a model is first asked for: it is the extra `evaluation`.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from wordveil.api import Embeddings, IdArray, ParameterError
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.evaluation.data import LabelledText
from wordveil_lab.extras import missing_extra

MODELS = ("logistic", "svm")
"""Names of the linear models."""


def load_sklearn(module: str) -> Any:
    """Return a module of scikit-learn."""
    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError:
        raise missing_extra("A task that trains a classifier", "scikit-learn", "evaluation") from None


def linear_model(name: str) -> Any:
    """Return an untrained linear classifier: "logistic" or "svm", deterministic.

    The support vector machine is solved in its primal form, squared hinge loss and C = 1, until it converges.
    """
    if name not in MODELS:
        raise ParameterError("model", name, f"must be one of {', '.join(MODELS)}.")
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
