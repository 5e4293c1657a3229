"""How many dimensions a random projection needs: the union bound over a vocabulary, and the published formula.

Both speak of a matrix with N(0, 1/m) entries that is drawn once, before any result is looked at.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaincc, gammaln

from wordveil.errors import ParameterError
from wordveil.parameters import check_delta, check_positive

LARGEST_PLAN = 1 << 24
CHUNK = 1 << 12


def _log_chi_square_tail(x: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return ln P[chi2_m >= x] for x > m, or a bound above it where the tail underflows."""
    half, shape = x / 2, m / 2
    tail = gammaincc(shape, half)
    # Integrating t^(a-1) e^-t <= x^(a-1) e^-x e^(-(t-x)(1-(a-1)/x)) from x on; the second factor is 1 for a < 1.
    slope = np.maximum(half - np.maximum(shape - 1, 0.0), np.finfo(float).tiny)
    bound = shape * np.log(half) - half - np.log(slope) - gammaln(shape)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(tail > 1e-280, np.log(tail), bound))


def log_union_bound(vocabulary_size: int, dimensions: int, beta: float) -> float:
    """Return ln of v(v-1)/2 * P[chi2_m >= m (1 + beta)^2], rounded up: a bound on an unlucky matrix.

    Args:
        vocabulary_size: v >= 2 words.
        dimensions: m >= 1.
        beta: A pair is bad when it is stretched by more than 1 + beta; in (0, inf), above 1 too.

    Returns:
        ln of a bound on the probability that some pair of words is bad; above 0 where the bound says nothing.
    """
    return float(_log_bounds(vocabulary_size, np.array([float(dimensions)]), beta)[0])


def _log_bounds(vocabulary_size: int, dimensions: np.ndarray, beta: float) -> np.ndarray:
    check_positive("beta", beta)
    if vocabulary_size < 2 or dimensions[0] < 1:
        name, value = ("vocabulary_size", vocabulary_size) if vocabulary_size < 2 else ("dimensions", dimensions[0])
        raise ParameterError(name, value, "must be at least 2 words, or 1 dimension.")
    pairs = math.log(vocabulary_size) + math.log(vocabulary_size - 1) - math.log(2)
    return np.asarray(pairs + _log_chi_square_tail(dimensions * (1 + beta) ** 2, dimensions) + 1e-9)


def plan_dimensions(vocabulary_size: int, beta: float, delta: float) -> int:
    """Return the smallest m at which the union bound over all pairs of words is at most delta.

    Args:
        vocabulary_size: v >= 2 words.
        beta: Stretch allowed beyond 1, in (0, inf).
        delta: Chance of an unlucky matrix, in (0, 1).

    Returns:
        m; at v = 400 000 and delta = 1e-6: 184, 96, 54, 44, 13 for beta = .468, .66, .9, 1, 2.

    Raises:
        ParameterError: If a parameter is outside its domain, or m would exceed 16 million.

    Example:
        >>> plan_dimensions(400_000, 0.9, 1e-6)
        54
    """
    check_delta(delta)
    for start in range(1, LARGEST_PLAN, CHUNK):
        dimensions = np.arange(start, start + CHUNK, dtype=np.float64)
        enough = _log_bounds(vocabulary_size, dimensions, beta) <= math.log(delta)
        if enough.any():
            return start + int(enough.argmax())
    raise ParameterError("beta", beta, "needs more than 16 million dimensions; raise it.")


def published_dimensions(dimensions: int, beta: float, delta: float) -> int:
    """Return ceil((sqrt(log2 d) + sqrt(ln 1/delta))^2/beta^2), the paper's m.

    sqrt(log d) stands for the Gaussian width of a sparse set; it is the paper's choice, not a vocabulary's width.

    Args:
        dimensions: d of the embedding, at least 1.
        beta: Stretch allowed beyond 1, in (0, inf).
        delta: Chance of an unlucky matrix, in (0, 1).

    Reference:
        Feyisetan, Kasiviswanathan (2021), Private Release of Text Embedding Vectors, Algorithm 1 and Theorem 1.
    """
    check_delta(delta)
    check_positive("beta", beta)
    return math.ceil((math.sqrt(math.log2(dimensions)) + math.sqrt(-math.log(delta))) ** 2 / beta**2)
