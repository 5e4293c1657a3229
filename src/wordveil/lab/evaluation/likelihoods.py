"""ln p(released vector | word) for every word of the vocabulary: what the best attacker on vectors computes.

The laws are those the mechanisms state and sample from; a mechanism that is not listed has no such attack.
Constants that do not depend on the word are left out.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from wordveil.arrays import Float64Array
from wordveil.mechanisms.clipped_gaussian import FittedClippedGaussian
from wordveil.mechanisms.clipped_laplace import FittedClippedLaplace
from wordveil.mechanisms.jaccard import FittedJaccard
from wordveil.mechanisms.mahalanobis import FittedMahalanobis
from wordveil.mechanisms.multivariate_laplace import FittedMultivariateLaplace
from wordveil.mechanisms.nadp import FittedNADP
from wordveil.mechanisms.projection import FittedProjection
from wordveil.mechanisms.rows import clip_to_ball
from wordveil.mechanisms.truncated_laplace import FittedTruncatedLaplace
from wordveil.vocabulary.table import Embeddings

__all__ = ["law_known", "log_likelihoods"]


@singledispatch
def log_likelihoods(randomizer: Any, outputs: Float64Array, embeddings: Embeddings) -> Float64Array | None:
    """Return ln p(output | word) up to a constant per output, shape (n, v), or None where the law is not known.

    Args:
        randomizer: A fitted vector mechanism.
        outputs: Released vectors, shape (n, m).
        embeddings: The public vocabulary.
    """
    return None


def law_known(randomizer: Any) -> bool:
    """Return whether `log_likelihoods` knows the law of a vector mechanism."""
    return log_likelihoods.dispatch(type(randomizer)) is not log_likelihoods.dispatch(object)


def _rows(embeddings: Embeddings) -> Float64Array:
    return np.asarray(embeddings.vectors, dtype=np.float64)


def _euclidean(outputs: Float64Array, words: Float64Array) -> Float64Array:
    squared = np.square(outputs).sum(axis=1)[:, None] + np.square(words).sum(axis=1) - 2 * outputs @ words.T
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


@log_likelihoods.register
def _laplace(randomizer: FittedMultivariateLaplace, outputs: Float64Array, embeddings: Embeddings) -> Float64Array:
    return -randomizer.mechanism.epsilon * _euclidean(outputs, _rows(embeddings))


@log_likelihoods.register
def _mahalanobis(randomizer: FittedMahalanobis, outputs: Float64Array, embeddings: Embeddings) -> Float64Array:
    seen, words = (randomizer.metric.coordinates(rows) for rows in (outputs, _rows(embeddings)))
    return -randomizer.mechanism.epsilon * _euclidean(seen, words)


@log_likelihoods.register
def _projection(randomizer: FittedProjection, outputs: Float64Array, embeddings: Embeddings) -> Float64Array:
    rate = randomizer.mechanism.epsilon / randomizer.stretch
    return -rate * _euclidean(outputs, _rows(embeddings) @ randomizer.matrix.T)


@log_likelihoods.register
def _clipped_gaussian(randomizer: FittedClippedGaussian, outputs: Float64Array, embeddings: Embeddings) -> Float64Array:
    words = clip_to_ball(_rows(embeddings), randomizer.mechanism.clip_norm)
    return np.asarray(-np.square(_euclidean(outputs, words)) / (2 * randomizer.sigma**2))


@log_likelihoods.register
def _clipped_laplace(randomizer: FittedClippedLaplace, outputs: Float64Array, embeddings: Embeddings) -> Float64Array:
    words = clip_to_ball(_rows(embeddings), randomizer.mechanism.clip_norm)
    return np.asarray(-cdist(outputs, words, "cityblock") / randomizer.scale)


@log_likelihoods.register
def _truncated(randomizer: FittedTruncatedLaplace, outputs: Float64Array, embeddings: Embeddings) -> Float64Array:
    words = clip_to_ball(_rows(embeddings), randomizer.mechanism.clip_norm)
    # A hair beyond the edge is rounding; farther is impossible, and that is what refutes the published width.
    edge = randomizer.half_width * (1 + 1e-9)
    inside = -randomizer.alpha * cdist(outputs, words, "cityblock")
    return np.where(cdist(outputs, words, "chebyshev") <= edge, inside, -np.inf)


@log_likelihoods.register(FittedNADP)
@log_likelihoods.register(FittedJaccard)
def _by_word(randomizer: Any, outputs: Float64Array, embeddings: Embeddings) -> Float64Array:
    sigmas = np.asarray(randomizer.sigmas, dtype=np.float64)
    silent = sigmas == 0
    safe = np.where(silent, 1.0, sigmas)
    distances = _euclidean(outputs, _rows(embeddings))
    logs = -np.square(distances / safe) / 2 - outputs.shape[1] * np.log(safe)
    if silent.any():  # a word without noise explains its own vector and nothing else
        exact = (outputs[:, None, :] == _rows(embeddings)[silent][None, :, :]).all(axis=2)
        logs[:, silent] = np.where(exact, np.inf, -np.inf)
    return np.asarray(logs)
