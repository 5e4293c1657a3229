"""The noisy dot product of multivariate Laplace noise: how far noise moves a vector along one direction.

For z = L u with L ~ Gamma(d, 1/epsilon) and u uniform on the sphere, X = u . a for a unit vector a; the noisy dot
product is L X. It equals sqrt(G) N with G ~ Gamma((d + 1)/2, scale 2/epsilon^2) and N standard normal, which gives
density and cdf in closed or one-dimensional form. X itself has no density at d = 1 (it is a sign); L X has one.
With it the chance that one word is closer to the noisy vector than another is exact, and so bounds what is output.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, kve, ndtr

from wordveil.arrays import Float64Array
from wordveil.errors import ParameterError
from wordveil.parameters import as_floats, check_positive, check_whole

__all__ = [
    "closer_probability",
    "dot_product_cdf",
    "dot_product_log_density",
    "dot_product_variance",
    "output_bound",
]

_NODES = 16
_UNIT = 2.0**-53
_QUADRATURE = 1e-12  # absolute error granted to the cdf, ten times what it shows
_PANELS = 32
_CHUNK = 4096
_DEBYE_ORDER = 100.0


def dot_product_variance(*, dimensions: int, epsilon: float) -> float:
    """Return Var[L X] = (d + 1)/epsilon^2; the mean is 0.

    Args:
        dimensions: d, at least 1.
        epsilon: Rate of the noise, 1/distance, in (0, inf).

    Raises:
        ParameterError: If a parameter is outside its domain.
    """
    _check(dimensions, epsilon)
    return (dimensions + 1) / epsilon**2


def dot_product_log_density(t: ArrayLike, *, dimensions: int, epsilon: float) -> Float64Array:
    """Return ln of the density of L X, epsilon (x/2)^(d/2) K_{d/2}(x) / (sqrt(pi) Gamma((d + 1)/2)), x = epsilon |t|.

    Args:
        t: Where, unit of distance, any shape.
        dimensions: d, at least 1; d = 1 gives the Laplace density.
        epsilon: Rate of the noise, 1/distance, in (0, inf).

    Returns:
        Shape of `t`, relative error of the density below 1e-9.

    Raises:
        ParameterError: If a parameter is outside its domain.

    Reference:
        Asghar, Carpentier, Zhao, Kaafar (2025), d_X-Privacy for Text and the Curse of Dimensionality, section 5.1;
        the Bessel form is ours.
    """
    _check(dimensions, epsilon)
    x = epsilon * np.abs(_points(t))
    order = dimensions / 2
    constant = math.log(epsilon) - 0.5 * math.log(math.pi) - float(gammaln((dimensions + 1) / 2))
    return np.asarray(constant + _log_scaled_bessel(order, x))


def _log_scaled_bessel(order: float, x: Float64Array) -> Float64Array:
    """Return ln((x/2)^order K_order(x)), finite down to x = 0, where it is ln(Gamma(order)/2)."""
    safe = np.where(x > 0, x, 1.0)
    with np.errstate(over="ignore"):
        scaled = kve(order, safe)
    direct = np.isfinite(scaled) & (scaled > 0) & (x > 0)
    logs = np.log(np.where(direct, scaled, 1.0)) - safe + order * np.log(safe / 2)
    return np.where(direct, logs, _debye(order, x) if order > _DEBYE_ORDER else _series(order, x))


def _series(order: float, x: Float64Array) -> Float64Array:
    """Return the logarithm by the power series near 0; used only where the Bessel function itself overflows."""
    quarter = x * x / 4
    total, term = np.ones_like(quarter), np.ones_like(quarter)
    for k in range(1, min(8, math.ceil(order))):
        term = term * -quarter / (k * (order - k)) if order != k else np.zeros_like(term)
        total += np.where(np.abs(term) < 1, term, 0.0)
    return np.asarray(float(gammaln(order)) - math.log(2) + np.log(np.maximum(total, 1e-300)))


def _debye(order: float, x: Float64Array) -> Float64Array:
    """Return the logarithm by the uniform expansion for large orders, five terms: error below order^-5."""
    z = x / order
    root = np.sqrt(1 + z * z)
    p = 1 / root
    # order * (eta - ln(z)) stays finite at z = 0, where eta itself does not.
    eta_less_log = root - np.log1p(root)
    u1 = (3 * p - 5 * p**3) / 24
    u2 = (81 * p**2 - 462 * p**4 + 385 * p**6) / 1152
    u3 = (30375 * p**3 - 369603 * p**5 + 765765 * p**7 - 425425 * p**9) / 414720
    u4 = (4465125 * p**4 - 94121676 * p**6 + 349922430 * p**8 - 446185740 * p**10 + 185910725 * p**12) / 39813120
    terms = -u1 / order + u2 / order**2 - u3 / order**3 + u4 / order**4
    return np.asarray(
        order * math.log(order / 2)
        + 0.5 * math.log(math.pi / (2 * order))
        - order * eta_less_log
        - 0.5 * np.log(root)
        + np.log1p(terms)
    )


def dot_product_cdf(t: ArrayLike, *, dimensions: int, epsilon: float) -> Float64Array:
    """Return P[L X <= t] = E[Phi(epsilon t / S)], S having the chi law with d + 1 degrees of freedom.

    Args:
        t: Where, unit of distance, any shape.
        dimensions: d, at least 1.
        epsilon: Rate of the noise, 1/distance, in (0, inf).

    Returns:
        Shape of `t`, in [0, 1], absolute error below 1e-12 (measured against 25 digits, not proved).

    Raises:
        ParameterError: If a parameter is outside its domain.
    """
    _check(dimensions, epsilon)
    x = epsilon * _points(t)
    if dimensions == 1:  # the Laplace law itself, whose quadrature is the least exact
        tail = 0.5 * np.exp(-np.abs(x))
        return np.asarray(np.where(x < 0, tail, 1 - tail))
    degrees = dimensions + 1
    middle = math.sqrt(degrees)
    low, high = max(0.0, middle - 9.0), middle + 9.0
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    # Near S = 0 the integrand turns sharply around |x|; the square crowds the nodes there.
    edges = low + (high - low) * np.linspace(0.0, 1.0, _PANELS + 1) ** (2 if low == 0 else 1)
    half = np.diff(edges)[:, None] / 2
    s = (edges[:-1, None] + half * (nodes + 1)).ravel()
    log_density = (degrees - 1) * np.log(s) - s * s / 2 - (degrees / 2 - 1) * math.log(2) - float(gammaln(degrees / 2))
    mass = (half * weights).ravel() * np.exp(log_density)
    mass /= mass.sum()
    flat = x.reshape(-1)
    parts = [ndtr(flat[i : i + _CHUNK, None] / s) @ mass for i in range(0, len(flat), _CHUNK)]
    return np.asarray(np.clip(np.concatenate([np.empty(0), *parts]), 0.0, 1.0).reshape(x.shape))


def closer_probability(original: ArrayLike, first: ArrayLike, second: ArrayLike, *, epsilon: float) -> Float64Array:
    """Return the exact probability that the noisy vector of a word is closer to `first` than to `second`.

    P[L X <= (||x - b||^2 - ||x - a||^2) / (2 ||a - b||)], for x the original, a the first and b the second vector.

    Args:
        original: The word's vectors, shape (..., d).
        first: Shape (..., d).
        second: Shape (..., d), nowhere equal to `first`.
        epsilon: Rate of the noise, 1/distance, in (0, inf).

    Returns:
        Shape (...).

    Raises:
        ParameterError: If a parameter is outside its domain, or two compared vectors are equal.

    Reference:
        Asghar et al. (2025), Theorem 1 of section 6 and Equations (17) to (19).
    """
    parts = (("original", original), ("first", first), ("second", second))
    threshold, _ = _threshold(*(_finite(name, part) for name, part in parts))
    return dot_product_cdf(threshold, dimensions=np.shape(original)[-1], epsilon=epsilon)


def _threshold(x: Float64Array, a: Float64Array, b: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return where L X must stay below for x to end nearer to a than to b, and by how much that may be rounded.

    Each squared difference has a relative error of d + 2 roundings, their difference one more, the gap d + 2, and the
    quotient one: all are counted of the sum of both squares.
    """
    gap = np.linalg.norm(a - b, axis=-1)
    if not np.all(gap > 0):  # a NaN included
        raise ParameterError("second", "<equal rows>", "must differ from `first` everywhere; equal vectors always tie.")
    farther, nearer = np.square(x - b).sum(axis=-1), np.square(x - a).sum(axis=-1)
    return (farther - nearer) / (2 * gap), (2 * x.shape[-1] + 8) * _UNIT * (farther + nearer) / gap


def output_bound(neighbours: ArrayLike, *, epsilon: float) -> Float64Array:
    """Return upper bounds on the probability that nearest decoding outputs a word, or its i-th neighbour.

    Output i needs the noisy vector to be closer to neighbour i than to every other; each comparison alone has an
    exact probability, and the smallest of them bounds it. Rounding is added: that of the thresholds, and 1e-12 for the
    quadrature.

    Args:
        neighbours: The word's own vector first, then its neighbours, nearest first, all different, shape (k + 1, d).
        epsilon: Rate of the noise, 1/distance, in (0, inf).

    Returns:
        Shape (k + 1,).

    Raises:
        ParameterError: If fewer than two vectors are given, two are equal, or epsilon is outside its domain.

    Reference:
        Asghar et al. (2025), Equations (20) and (21), with every listed word as the competitor, not only the next.
    """
    rows = _finite("neighbours", neighbours)
    if rows.ndim != 2 or len(rows) < 2:
        raise ParameterError("neighbours", rows.shape, "must hold the word's vector and at least one neighbour.")
    bounds = np.empty(len(rows))
    for i in range(len(rows)):
        others = np.delete(rows, i, axis=0)
        threshold, error = _threshold(rows[0], rows[i], others)
        bounds[i] = dot_product_cdf(threshold + error, dimensions=rows.shape[1], epsilon=epsilon).min()
    return np.minimum(bounds + _QUADRATURE, 1.0)


def _points(t: ArrayLike) -> Float64Array:
    """Return points of the line, infinite ones included."""
    points = as_floats("t", t)
    if np.isnan(points).any():
        raise ParameterError("t", "<array>", "must not hold NaN.")
    return points


def _finite(name: str, rows: ArrayLike) -> Float64Array:
    found = as_floats(name, rows)
    if not np.all(np.isfinite(found)):
        raise ParameterError(name, "<array>", "must be finite.")
    return found


def _check(dimensions: int, epsilon: float) -> None:
    check_whole("dimensions", dimensions)
    check_positive("epsilon", epsilon)
