"""The truncated Laplace law on a box: its half-width A for each calibration, and its exact delta after clipping.

With alpha = epsilon/(2 sqrt(d) C), coordinates have density exp(-alpha |x|)/B on [-A, A]. Two clipped vectors differ by
a shift s with ||s||_2 <= 2C, hence ||s||_1 <= 2 sqrt(d) C: where both densities are positive their ratio is at most
e^epsilon, and delta at epsilon is the probability of leaving the shifted box, 1 - prod(1 - p(|s_i|)), maximized over s.
Lengths here are in units of C; nothing is drawn.
"""

from __future__ import annotations

import math

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.errors import ParameterError
from wordveil.promises.rounding import bracket

LARGE, SMALL = 30.0, 1e-250  # beyond them a quotient or an exponential could overflow
PIECES = 64
UNIT = 2.0**-53
TOLERANCE = 1e-9  # relative, of the branch and bound and of the bracket of A


def published_half_width(dimensions: int, epsilon: float, delta: float) -> float:
    """Return A/C of Theorem 3: -(1/alpha) ln(1 - epsilon/(2 delta^(1/d) sqrt d)).

    `ParameterError` unless epsilon < 2 delta^(1/d) sqrt(d), where the formula has a value.
    """
    limit = 2 * delta ** (1 / dimensions) * math.sqrt(dimensions)
    if epsilon >= limit:
        problem = f"must be below 2 delta^(1/d) sqrt(d) = {limit:.6g} in {dimensions} dimensions."
        raise ParameterError("epsilon", epsilon, problem)
    return -math.log1p(-epsilon / limit) * 2 * math.sqrt(dimensions) / epsilon


def certified_half_width(dimensions: int, epsilon: float, delta: float) -> float:
    """Return A/C = (1/alpha) ln(1 + sqrt(d) (e^(epsilon/sqrt d) - 1)/(2 delta)), for delta < 1/2.

    With p(t) = (e^(alpha t) - 1)/(2 (e^(alpha A) - 1)), convex and 0 at 0, p(s_i) <= (s_i/2C) p(2C), so that the sum
    over coordinates is at most (||s||_1/2C) p(2C) <= sqrt(d) p(2C) = delta. Rounded up.
    """
    root = math.sqrt(dimensions)
    share = epsilon / root
    if share < LARGE:
        inner = root * math.expm1(share) / 2
        log = math.log1p(inner / delta) if delta > SMALL else math.log(inner + delta) - math.log(delta)
    else:  # 1 + r (e^x - 1) <= r e^x for r = sqrt(d)/(2 delta) > 1: no overflow, and next to nothing more
        log = share + math.log(root / 2) - math.log(delta)
    # Share, exponential and logarithm round by a few units each, the first of which the exponential magnifies.
    return log * 2 * root / epsilon * (1 + (32 + 4 * min(share, LARGE)) * UNIT)


def escape(shift: Float64Array, alpha: float, half_width: float) -> Float64Array:
    """Return p(t): the probability that one coordinate's noise leaves the box shifted by t >= 0."""
    inside = np.minimum(shift, half_width)
    beyond = np.minimum(np.maximum(shift - half_width, 0.0), half_width)
    # Up to t = A the lost part lies on one side of the mode; beyond, the far half is lost too, by symmetry.
    total = -math.expm1(-alpha * half_width)
    near = np.exp(-alpha * (half_width - inside)) * -np.expm1(-alpha * inside)
    far = -np.expm1(-alpha * beyond)
    return np.asarray((near + far) / (2 * total))


def largest_delta(dimensions: int, epsilon: float, half_width: float, *, enough: float = math.inf) -> float:
    """Return the exact delta at epsilon of the law with half-width A >= 2C (in units of C), rounded up.

    In s_i^2 the function -ln(1 - p(s_i)) is first concave and then convex: its second derivative has the sign of
    M(alpha s - 1) + e^(alpha s), M = 2 e^(alpha A) - 1, which is increasing. So at a maximum on the sphere of radius 2C
    at most one coordinate is in the convex part, and the others, whose slope at 0 is infinite, are equal: a search over
    one t in [2C/sqrt d, 2C]. Both factors are monotone in t, which bounds each piece of the search, which ends early
    where delta is known to be above `enough`; the answer is then above it too.
    """
    alpha = epsilon / (2 * math.sqrt(dimensions))
    if dimensions == 1:
        return float(escape(np.array([2.0]), alpha, half_width)[0])

    def total(own: Float64Array, rest: Float64Array) -> Float64Array:
        others = np.sqrt(np.maximum(4 - rest**2, 0) / (dimensions - 1))
        with np.errstate(divide="ignore"):
            logs = np.log1p(-escape(own, alpha, half_width))
            logs = logs + (dimensions - 1) * np.log1p(-escape(others, alpha, half_width))
        return np.asarray(-np.expm1(logs))

    edges = np.linspace(2 / math.sqrt(dimensions), 2, PIECES + 1)
    low, high = edges[:-1], edges[1:]
    best = float(total(edges, edges).max())
    while best <= enough:
        ceiling = best * (1 + TOLERANCE)
        if math.isfinite(enough):
            ceiling = max(ceiling, enough)
        keep = total(high, low) > ceiling
        if not keep.any():
            return min(ceiling, 1.0)
        middle = (low[keep] + high[keep]) / 2
        low, high = np.concatenate((low[keep], middle)), np.concatenate((middle, high[keep]))
        best = max(best, float(total(middle, middle).max()))
    return best


def exact_half_width(dimensions: int, epsilon: float, delta: float) -> float:
    """Return the smallest A/C whose exact delta is at most delta < 1/2, rounded up within 1e-9.

    A is above 2C: at A = 2C one coordinate shifted by 2C already leaves with probability 1/2.
    """
    high = certified_half_width(dimensions, epsilon, delta)
    return bracket(lambda a: largest_delta(dimensions, epsilon, a, enough=delta) <= delta, 2.0, high, TOLERANCE)[1]


def noise_deviation(alpha: float, half_width: float) -> float:
    """Return the standard deviation of one coordinate's noise: density exp(-alpha |x|)/B on [-A, A]."""
    a = alpha * half_width
    if a < 1e-4:  # nearly uniform: what follows would be a difference of nearly equal numbers
        return half_width * math.sqrt(1 / 3 - a / 12)
    return math.sqrt(2 - math.exp(-a) * a * (a + 2) / -math.expm1(-a)) / alpha
