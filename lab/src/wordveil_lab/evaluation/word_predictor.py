"""A log-bilinear model of a word given the words around it: ln P(w | context) = ln P(w) + u_w . h(context) - ln Z.

h joins the features of the two words on either side and the mean of those farther away. A word's features are its
public vector at unit length, centred and reduced, so that a context word known only in distribution enters as its
mean: with growing noise h goes to 0 and the model to plain word frequencies. Trained by a sampled softmax whose
negatives come from P(w). Not a language model: word order beyond two words is not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wordveil.api import Embeddings, Float32Array, Float64Array, FloatArray, IdArray, RandomSource
from wordveil_lab.corpora import Corpus
from wordveil_lab.evaluation.mean_classifier import Adam
from wordveil_lab.evaluation.priors import SMOOTHING

__all__ = ["WordPredictor", "context_features", "word_features"]

NEAR = (-2, -1, 1, 2)
FAR = (-5, -4, -3, 3, 4, 5)
REDUCED = 48  # dimensions of a word's features
NEGATIVES = 512
BATCH = 512
RATE = 0.01


def word_features(embeddings: Embeddings, prior: Float64Array) -> Float64Array:
    """Return a row for every word, shape (v, min(d, 48)): of mean zero under the prior, mean squared length one."""
    rows = np.asarray(embeddings.vectors, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths == 0, 1.0, lengths)
    rows = rows - prior @ rows
    _, axes = np.linalg.eigh((rows * prior[:, None]).T @ rows)
    reduced = rows @ axes[:, ::-1][:, :REDUCED]
    return np.asarray(reduced / max(float(np.sqrt(prior @ np.square(reduced).sum(axis=1))), 1e-12))


def context_features(rows: FloatArray, corpus: Corpus) -> FloatArray:
    """Return h for every token, shape (t, 5 m), dtype of the rows; what lies beyond a text's ends counts as zero.

    Args:
        rows: Features of every token, shape (t, m).
        corpus: Where the texts begin.
    """
    owner = np.repeat(np.arange(len(corpus)), np.diff(corpus.offsets))
    parts = [_shifted(rows, owner, offset) for offset in NEAR]
    parts.append(sum((_shifted(rows, owner, offset) for offset in FAR), np.zeros_like(rows)) / len(FAR))
    return np.concatenate(parts, axis=1)


def _shifted(rows: FloatArray, owner: NDArray[np.int64], offset: int) -> FloatArray:
    """Return for every token the row of the token `offset` places on, zero in another text."""
    moved = np.zeros_like(rows)
    t = len(rows)
    if abs(offset) >= t:
        return moved
    to, of = (slice(0, t - offset), slice(offset, t)) if offset > 0 else (slice(-offset, t), slice(0, t + offset))
    same = owner[to] == owner[of]
    moved[to][same] = rows[of][same]
    return moved


@dataclass(frozen=True)
class WordPredictor:
    """The trained model.

    Attributes:
        prior: P(w), shape (v,).
        features: Features of every word, shape (v, m).
        weights: u, shape (v, 5 m), float32: half the time and memory of training, and ample.
    """

    prior: Float64Array = field(repr=False)
    features: Float64Array = field(repr=False)
    weights: Float32Array = field(repr=False)

    @classmethod
    def of(cls, corpus: Corpus, embeddings: Embeddings, *, epochs: int) -> WordPredictor:
        """Train on public text, the same way every time."""
        known = np.flatnonzero(corpus.tokens >= 0)
        counts = np.bincount(corpus.tokens[known], minlength=len(embeddings)) + SMOOTHING
        prior = np.asarray(counts / counts.sum(), dtype=np.float64)
        features = word_features(embeddings, prior)
        rows = np.where((corpus.tokens >= 0)[:, None], features[corpus.tokens], 0.0).astype(np.float32)
        contexts = context_features(rows, corpus)
        weights = np.zeros((len(embeddings), contexts.shape[1]), dtype=np.float32)
        lane = RandomSource.seeded_for_tests(0).stream("word predictor").lane(0)
        adam, bounds = Adam(weights.shape, RATE, np.float32), np.cumsum(prior)
        for _ in range(epochs):
            order = known[np.argsort(lane.random(len(known)), kind="stable")]
            for start in range(0, len(order), BATCH):
                chosen = order[start : start + BATCH]
                others = np.minimum(np.searchsorted(bounds, lane.random(NEGATIVES) * bounds[-1]), len(prior) - 1)
                _step(weights, adam, contexts[chosen], corpus.tokens[chosen], others)
        return cls(prior, features, weights)

    def scores(self, contexts: FloatArray, ids: IdArray) -> Float64Array:
        """Return ln P(w | context) of k words of each context up to a constant per row, shape (n, k)."""
        own = np.matmul(self.weights[ids], contexts.astype(np.float32)[:, :, None])[:, :, 0]
        return np.asarray(np.log(self.prior)[ids] + own)


def _step(weights: Float32Array, adam: Adam, contexts: FloatArray, words: IdArray, others: NDArray[np.int64]) -> None:
    """One step of the sampled softmax: each word against the same public draws.

    The draws come from P(w), so that the correction by the sampling probability cancels ln P(w).
    """
    own = np.einsum("ij,ij->i", contexts, weights[words])
    rest = contexts @ weights[others].T
    top = np.maximum(own, rest.max(axis=1))
    own, rest = np.exp(own - top), np.exp(rest - top[:, None])
    total = own + rest.sum(axis=1)
    n = len(words)
    used, places = np.unique(np.concatenate((words, others)), return_inverse=True)
    pull = csr_array(((own / total - 1) / n, (places[:n], np.arange(n))), shape=(len(used), n))
    push = csr_array(
        (np.ones(len(others), np.float32), (places[n:], np.arange(len(others)))), shape=(len(used), len(others))
    )
    gradient = pull @ contexts + push @ ((rest / total[:, None] / n).T @ contexts)
    adam.step(weights, used, gradient)
