"""The standard deviation of Gaussian noise for (epsilon, delta) local DP at sensitivity 1: classical and analytic.

The analytic scale is the root of the exact delta of the Gaussian mechanism, found in log space and returned as the
upper end of its bracket, so that it is never too small. This module draws nothing.
"""

from __future__ import annotations

import math

from scipy.special import log_ndtr

from wordveil.errors import ParameterError
from wordveil.parameters import check_delta, check_positive
from wordveil.promises.pair_loss import PairLoss, discretized
from wordveil.promises.rounding import bracket

UNIT = 2.0**-53
LEAST_EPSILON, LARGEST_EPSILON = 1e-9, 1e12
BRACKET = 1e-12  # relative width at which the bracket of the root is narrow enough


def gaussian_log_delta(epsilon: float, scale: float) -> float:
    """Return ln delta of the Gaussian mechanism at sensitivity 1, rounded up.

    delta = Phi(1/(2u) - epsilon u) - e^epsilon Phi(-1/(2u) - epsilon u), with u the scale, as log_ndtr(a) + log(1 -
    exp(epsilon + log_ndtr(b) - log_ndtr(a))): the two terms cancel to nothing when formed outside the logarithm.

    Reference:
        Balle, Wang (2018), Improving the Gaussian Mechanism for Differential Privacy, Theorem 8.
    """
    half, shift = 1 / (2 * scale), epsilon * scale
    upper, lower = float(log_ndtr(half - shift)), float(log_ndtr(-half - shift))
    # What rounding can hide of the difference of logarithms counts against the mechanism.
    rounding = 64 * UNIT * (epsilon + abs(upper) + abs(lower)) + 8 * UNIT * (half + shift) * (1 + abs(half - shift))
    return upper + math.log(-math.expm1(min(epsilon + lower - upper, 0.0) - rounding)) + rounding


def analytic_scale(epsilon: float, delta: float) -> float:
    """Return u*, the smallest standard deviation over sensitivity for (epsilon, delta) local DP, rounded up.

    That is the upper end of a bracket of relative width 1e-12 around the root of `gaussian_log_delta` = ln delta, for
    epsilon in (0, 1e12] nats. `ParameterError` if a parameter is outside its domain, or delta is so close to 1 that no
    bracket exists.

    Reference:
        Balle, Wang (2018), Algorithm 1, with a bracket in place of its one-sided search.
    """
    check_positive("epsilon", epsilon)
    check_delta(delta)
    if epsilon > LARGEST_EPSILON:
        raise ParameterError("epsilon", epsilon, f"must be at most {LARGEST_EPSILON:g}: float64 holds no root beyond.")
    target = math.log(delta)
    high = 1 / math.sqrt(2 * epsilon)  # a = 0 here: delta is of the order of 1/2
    while gaussian_log_delta(epsilon, high) > target:
        high *= 2
    low = high / 2
    while gaussian_log_delta(epsilon, low) <= target:
        low /= 2
        if low < 1e-150:
            raise ParameterError("delta", delta, f"is too close to 1 for float64 at epsilon={epsilon!r}; lower it.")
    return bracket(lambda scale: gaussian_log_delta(epsilon, scale) <= target, low, high, BRACKET)[1]


def gaussian_epsilon(delta: float, scale: float) -> float:
    """Return the smallest epsilon of the Gaussian mechanism at delta and sensitivity 1, rounded up; at least 1e-9.

    The upper end of a bracket of relative width 1e-12 around the root of `gaussian_log_delta` = ln delta.
    """
    check_delta(delta)
    check_positive("scale", scale)
    target = math.log(delta)
    low = high = LEAST_EPSILON
    while gaussian_log_delta(high, scale) > target:
        low, high = high, 2 * high
    return bracket(lambda epsilon: gaussian_log_delta(epsilon, scale) <= target, low, high, BRACKET)[1]


def classical_scale(epsilon: float, delta: float) -> float:
    """Return sqrt(2 ln(1.25/delta))/epsilon; a theorem for epsilon < 1 only, and too small for large epsilon.

    Reference:
        Dwork, Roth (2014), The Algorithmic Foundations of Differential Privacy, Theorem A.1.
    """
    check_positive("epsilon", epsilon)
    check_delta(delta)
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def gaussian_pair(noise_multiplier: float) -> PairLoss:
    """Return the pair of Gaussian noise: N(0, u^2) against N(1, u^2), which dominates all vectors in any dimension.

    The noise multiplier u is the standard deviation over the largest distance between two inputs, in (0, inf).
    """
    check_positive("noise_multiplier", noise_multiplier)
    speaks_of = f"two Gaussians at 1/{noise_multiplier:.6g} of their standard deviation"
    return discretized(lambda e: math.exp(gaussian_log_delta(e, noise_multiplier)), slack=0.0, speaks_of=speaks_of)
