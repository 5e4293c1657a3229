"""Log-likelihood ratios of laws that are known in closed form, for choosing events where a classifier would be blind.

The law is the one the mechanism *claims* to draw from. An event chosen with it is counted on real samples, so a
mechanism that draws from another law is not given any credit; only the upper edge of a trade-off band trusts it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np

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

__all__ = ["LogRatio", "claimed_log_ratio"]

LogRatio = Callable[[Float64Array], Float64Array]
"""Outputs, shape (n, d), to ln p(y | first)/p(y | second), shape (n,); +-inf where one law cannot give y."""


@singledispatch
def claimed_log_ratio(randomizer: Any, first: Any, second: Any) -> LogRatio | None:
    """Return the log-likelihood ratio between two inputs, or None where this mechanism's density is not known.

    A mechanism of any origin may offer `log_density(outputs, vector)`, which is used as it is.
    """
    density = getattr(randomizer, "log_density", None)
    if density is None:
        return None
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)

    def ratio(outputs: Float64Array) -> Float64Array:
        with np.errstate(invalid="ignore"):  # impossible under both: no evidence
            gap = np.asarray(density(outputs, a) - density(outputs, b), dtype=np.float64)
        return np.where(np.isnan(gap), 0.0, gap)

    return ratio


def _norms(rows: Float64Array) -> Float64Array:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


@claimed_log_ratio.register
def _laplace(randomizer: FittedMultivariateLaplace, first: Any, second: Any) -> LogRatio:
    epsilon = randomizer.mechanism.epsilon
    return lambda y: epsilon * (_norms(y - second) - _norms(y - first))


@claimed_log_ratio.register
def _mahalanobis(randomizer: FittedMahalanobis, first: Any, second: Any) -> LogRatio:
    epsilon, metric = randomizer.mechanism.epsilon, randomizer.metric
    return lambda y: epsilon * (_norms(metric.coordinates(y - second)) - _norms(metric.coordinates(y - first)))


def _clipped(vector: Any, norm: float) -> Float64Array:
    row = clip_to_ball(np.asarray(vector, dtype=np.float64)[None, :], norm)[0]
    return np.asarray(row, dtype=np.float64)


@claimed_log_ratio.register
def _clipped_laplace(randomizer: FittedClippedLaplace, first: Any, second: Any) -> LogRatio:
    norm = randomizer.mechanism.clip_norm
    a, b = _clipped(first, norm), _clipped(second, norm)
    return lambda y: np.asarray((np.abs(y - b).sum(axis=1) - np.abs(y - a).sum(axis=1)) / randomizer.scale)


@claimed_log_ratio.register
def _clipped_gaussian(randomizer: FittedClippedGaussian, first: Any, second: Any) -> LogRatio:
    norm = randomizer.mechanism.clip_norm
    a, b = _clipped(first, norm), _clipped(second, norm)
    return lambda y: np.asarray(
        (np.square(y - b).sum(axis=1) - np.square(y - a).sum(axis=1)) / (2 * randomizer.sigma**2)
    )


@claimed_log_ratio.register
def _projection(randomizer: FittedProjection, first: Any, second: Any) -> LogRatio:
    rate = randomizer.mechanism.epsilon / randomizer.stretch
    a, b = (np.asarray(x, dtype=np.float64) @ randomizer.matrix.T for x in (first, second))
    return lambda y: rate * (_norms(y - b) - _norms(y - a))


@claimed_log_ratio.register
def _truncated_laplace(randomizer: FittedTruncatedLaplace, first: Any, second: Any) -> LogRatio:
    norm, alpha, width = randomizer.mechanism.clip_norm, randomizer.alpha, randomizer.half_width
    a, b = _clipped(first, norm), _clipped(second, norm)
    # The edge itself is within rounding of the support; a hair beyond it is not.
    edge = width * (1 + 1e-9) + 1e-9 * norm

    def ratio(y: Float64Array) -> Float64Array:
        near, far = np.abs(y - a), np.abs(y - b)
        inside = alpha * (far.sum(axis=1) - near.sum(axis=1))
        outside = (far.max(axis=1) > edge).astype(np.int8) - (near.max(axis=1) > edge).astype(np.int8)
        return np.where(outside > 0, np.inf, np.where(outside < 0, -np.inf, inside))

    return ratio


@claimed_log_ratio.register(FittedJaccard)
@claimed_log_ratio.register(FittedNADP)
def _gaussians_by_word(randomizer: FittedJaccard | FittedNADP, first: Any, second: Any) -> LogRatio | None:
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    wide = randomizer.sigmas[randomizer.rows.find(np.stack([a, b]))]
    if wide.min() == 0:  # no noise: no density
        return None

    def log_density(y: Float64Array, centre: Float64Array, sigma: float) -> Float64Array:
        return np.asarray(-np.square(y - centre).sum(axis=1) / (2 * sigma**2) - y.shape[1] * np.log(sigma))

    return lambda y: log_density(y, a, float(wide[0])) - log_density(y, b, float(wide[1]))
