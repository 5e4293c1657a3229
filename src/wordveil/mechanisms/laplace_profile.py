"""The exact privacy profile of multivariate Laplace noise.

Metric DP says that two inputs at distance r are within a loss of epsilon * r with delta = 0. In many dimensions the
loss is far smaller with all but a tiny probability; this module computes that curve. It is not approximated by a
Gaussian's: near as they are, neither bounds the other.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc, gammainc, gammaincc, gammaincinv, gammaln

from wordveil.arrays import Float64Array
from wordveil.parameters import check_delta, check_positive, check_whole, check_within
from wordveil.promises.pair_loss import PairLoss, discretized
from wordveil.promises.rounding import bracket, round_down

_NODES = 32
_UNIT = 2.0**-53
_PANELS = 48
_SPECIAL = 1e-11  # relative error granted to the special functions, far above what they show
_BEYOND = 1e-30  # probability of radii left out; added to the result


def laplace_delta(epsilon: float, *, dimensions: int, loss: float) -> float:
    """Return delta(epsilon') of multivariate Laplace noise between two inputs at distance r, from above.

    With the noise's radius R ~ Gamma(d, 1/rate) and c the cosine between noise and r, the loss is rate * (sqrt(R^2 + 2
    R r c + r^2) - R), and delta(epsilon') = P[loss > epsilon'] - e^epsilon' P[loss < -epsilon'], because the loss has
    the same law, negated, under the other input. Only d and `loss` = rate * r, the loss of pure metric DP in nats,
    matter.

    The allowance for the quadrature's error is four times what a halving of the panels changes, and 1e-11 of P[loss >
    epsilon']. It is an estimate, not a proof; it was never found too small, and is seldom above 1e-8 of the value; with
    few dimensions and large losses it can be most of what is returned. In one dimension there is a closed form, rounded
    up. 0 from epsilon' = loss on. `ParameterError` if a parameter is outside its domain.
    """
    check_within("epsilon", epsilon)
    _check(dimensions, loss)
    if epsilon >= loss:
        return 0.0
    if dimensions == 1:
        return min(1.0, -math.expm1((epsilon - loss) / 2) * (1 + 8 * _UNIT))
    coarse, fine = (_delta(epsilon, dimensions, loss, panels) for panels in (_PANELS, 2 * _PANELS))
    error = 4 * abs(fine[0] - coarse[0]) + _SPECIAL * fine[1] + _BEYOND
    return min(1.0, max(0.0, fine[0]) + error)


def _delta(epsilon: float, d: int, t: float, panels: int) -> tuple[float, float]:
    """Return delta and P[loss > epsilon'] by Gauss-Legendre panels over the radius, in units of 1/rate."""
    # Below this radius every direction loses more than epsilon'.
    certain = (t - epsilon) / 2
    radius, weight = _radii(certain, d, panels)
    above = (2 * radius * epsilon + epsilon * epsilon - t * t) / (2 * radius * t)
    gain = float(gammainc(d, certain)) + float(weight @ _cap_probability(above, d))
    # Below this radius no direction gains more than epsilon'.
    impossible = (t + epsilon) / 2
    radius, weight = _radii(impossible, d, panels)
    below = (epsilon * epsilon - t * t - 2 * radius * epsilon) / (2 * radius * t)
    opposite = _cap_probability(-below, d)
    positive = (opposite > 0) & (weight > 0)
    # e^epsilon' alone may overflow; its product with the probability does not.
    logs = np.log(opposite[positive]) + np.log(weight[positive]) + epsilon
    return gain - float(np.exp(logs).sum()), gain


def _radii(start: float, d: int, panels: int) -> tuple[Float64Array, Float64Array]:
    """Return radii above `start` and their weights under the Gamma(d) density.

    The substitution R = start + u^2 removes the square-root behaviour at `start` that low dimensions have.
    """
    end = max(float(gammaincinv(d, 0.5)), start) + 1.0
    while gammaincc(d, end) > _BEYOND:
        end *= 1.3
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    edges = np.linspace(0.0, math.sqrt(end - start), panels + 1)
    half = np.diff(edges)[:, None] / 2
    u = (edges[:-1, None] + half * (nodes + 1)).ravel()
    radius = start + u * u
    density = np.exp((d - 1) * np.log(radius) - radius - gammaln(d))
    keep = density > 0
    return radius[keep], ((half * weights).ravel() * 2 * u * density)[keep]


def _cap_probability(cosine: Float64Array, d: int) -> Float64Array:
    """Return P[c > cosine] for the cosine c between a uniform direction and a fixed one, in d >= 2 dimensions."""
    share = np.clip((1 - cosine) / 2, 0.0, 1.0)
    return np.asarray(betainc((d - 1) / 2, (d - 1) / 2, share))


def laplace_epsilon(delta: float, *, dimensions: int, loss: float) -> float:
    """Return the smallest epsilon' in [0, loss] with `laplace_delta` <= delta, rounded up by a bracket of 1e-10 of it.

    `ParameterError` if a parameter is outside its domain.
    """
    check_delta(delta)
    _check(dimensions, loss)
    if laplace_delta(0.0, dimensions=dimensions, loss=loss) <= delta:
        return 0.0
    return bracket(lambda e: laplace_delta(e, dimensions=dimensions, loss=loss) <= delta, 0.0, loss, 1e-10)[1]


def laplace_loss(epsilon: float, delta: float, *, dimensions: int) -> float:
    """Return the largest loss = rate * r, in nats, whose delta at epsilon' is at most delta, rounded down.

    At least epsilon'; the lower end of a bracket of relative width 1e-10 whose delta was computed to be small enough.
    """
    check_positive("epsilon", epsilon)
    check_delta(delta)
    low = epsilon  # no loss is above it, so that delta is 0 there
    high = 2 * epsilon
    while laplace_delta(epsilon, dimensions=dimensions, loss=high) <= delta:
        low, high = high, 2 * high
    return bracket(lambda t: laplace_delta(epsilon, dimensions=dimensions, loss=t) > delta, low, high, 1e-10)[0]


def laplace_pair(dimensions: int, loss: float) -> PairLoss:
    """Return the pair of multivariate Laplace noise at a loss of rate times public diameter, by the exact profile."""
    laplace_delta(0.0, dimensions=dimensions, loss=loss)  # checks both
    speaks_of = f"multivariate Laplace noise in {dimensions} dimensions, inputs within a loss of {round_down(loss, 6)}"
    return discretized(lambda e: laplace_delta(e, dimensions=dimensions, loss=loss), slack=0.0, speaks_of=speaks_of)


def _check(dimensions: int, loss: float) -> None:
    check_whole("dimensions", dimensions)
    check_positive("loss", loss)
