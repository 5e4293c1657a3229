"""What passes through Gaussian noise come to, by SciPy alone: k passes of sigma are one of sigma over the root of k."""

import math

from scipy.optimize import brentq
from scipy.special import log_ndtr


def log_delta(epsilon: float, mu: float) -> float:
    """Return ln delta at epsilon of two unit Gaussians mu apart."""
    upper, lower = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return float(upper + math.log(-math.expm1(lower - upper)))


def epsilon_of(passes: int, *, epsilon: float, delta: float = 1e-5) -> float:
    """Return epsilon of so many passes at the sum of their deltas, where one promises epsilon and delta."""
    mu = brentq(lambda mu: log_delta(epsilon, mu) - math.log(delta), 1e-3, 3 * math.sqrt(2 * epsilon) + 1, rtol=1e-14)
    if passes == 1:
        return epsilon
    together = mu * math.sqrt(passes)
    return float(
        brentq(lambda e: log_delta(e, together) - math.log(passes * delta), 1e-6, passes * epsilon, rtol=1e-14)
    )
