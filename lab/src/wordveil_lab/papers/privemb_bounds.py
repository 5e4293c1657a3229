"""[PE] The utility bounds of section 4 as functions, and what is drawn beside each.

With m dimensions, noise of density exp(-epsilon |z|/(1 + beta)) and vectors of norm at most tau, each bound holds with
probability 1 - delta over matrix and noise: Claim 6 for one vector, Propositions 7 and 8 for all pairs of n vectors,
Proposition 9 for the smallest mean loss of a linear model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from wordveil.api import Embeddings, Float64Array, ParameterError, Projection, RandomSource, check_positive, check_whole
from wordveil_lab.papers.base import Comparison, Options, verdict

DELTA = 0.05  # of the bounds beside draws: what happens with probability 1e-6 no draw shows


def published(epsilon: float, beta: float, seed: int = 0) -> Projection:
    """Return M2 with the paper's delta = 1e-6 and its formula for the number of dimensions."""
    return Projection(epsilon=epsilon, beta=beta, delta=1e-6, sensitivity="published", seed=seed)


def norm_bound(m: int, epsilon: float, beta: float, gamma: float) -> float:
    """Return Claim 6: the noise is longer than m ln(m/gamma)(1 + beta)/epsilon with probability gamma at most.

    Args:
        m: Dimensions of the projection, at least 1.
        epsilon: Loss per unit of distance, in (0, inf).
        beta: Stretch allowed beyond 1, in (0, inf).
        gamma: Probability, in (0, 1).
    """
    check_whole("m", m)
    check_positive("epsilon", epsilon)
    check_positive("beta", beta)
    if not 0 < gamma < 1:
        raise ParameterError("gamma", gamma, "must be in (0, 1).")
    return m * math.log(m / gamma) * (1 + beta) / epsilon


def distance_bound(m: int, epsilon: float, beta: float, delta: float, *, n: int, tau: float) -> float:
    """Return Proposition 7, of | |w_i - w_j| - |x_i - x_j| |: 2 beta tau + 4 m ln(2 n m/delta)/epsilon."""
    return 2 * beta * tau + 2 * _noise(m, epsilon, delta, n)


def inner_product_bound(m: int, epsilon: float, beta: float, delta: float, *, n: int, tau: float) -> float:
    """Return Proposition 8, of |<w_i, w_j> - <x_i, x_j>|.

    beta tau^2 + 4 tau R + R^2 with R = 2 m ln(2 n m/delta)/epsilon.
    """
    noise = _noise(m, epsilon, delta, n)
    return beta * tau**2 + 4 * tau * noise + noise**2


def linear_loss_bound(
    m: int, epsilon: float, beta: float, delta: float, *, n: int, tau: float, lipschitz: float, diameter: float
) -> float:
    """Return Proposition 9: how much larger the smallest mean loss of a linear model may become.

    4 lambda m ln(2 n m/delta) |Theta|/epsilon + lambda beta tau |Theta|, lambda the Lipschitz constant of the loss.
    """
    return lipschitz * diameter * (2 * _noise(m, epsilon, delta, n) + beta * tau)


def _noise(m: int, epsilon: float, delta: float, n: int) -> float:
    """Return the length that no noise vector of n exceeds in the propositions, 2 m ln(2 n m/delta)/epsilon."""
    return norm_bound(m, epsilon, 1.0, delta / (2 * n))


def bound_rows(table: Embeddings, options: Options) -> Iterator[Comparison]:
    """Yield each bound beside the largest value in draws, at epsilon 5 and beta .7, over 100 words."""
    ids = np.unique(np.linspace(0, len(table) - 1, options.pick(100, 100, 10)).astype(np.int32))
    rows = np.asarray(table.vectors[ids], dtype=np.float64)
    n, tau = len(rows), float(np.linalg.norm(rows, axis=1).max())
    epsilon, beta = 5.0, 0.7
    fitted = [published(epsilon, beta, seed).fit(table) for seed in range(options.repeats)]
    m = fitted[0].dimensions
    drawn = [_drawn(rows, one, options.source(f"bounds {i}")) for i, one in enumerate(fitted)]
    norms, distances, products = map(max, zip(*drawn, strict=True))
    for what, bound, measured in (
        ("Claim 6, length of the noise", norm_bound(m, epsilon, beta, DELTA / n), norms),
        ("Proposition 7, distances", distance_bound(m, epsilon, beta, DELTA, n=n, tau=tau), distances),
        ("Proposition 8, inner products", inner_product_bound(m, epsilon, beta, DELTA, n=n, tau=tau), products),
    ):
        yield Comparison(
            what=f"{what}: bound / largest of {options.repeats} draws (epsilon 5, beta .7, m = {m}, {n} words)",
            paper=f"at most {bound:.4g}, with probability {1 - DELTA:g}",
            ours=f"{measured:.4g}, {bound / measured:.1f} times less",
            verdict=verdict(measured <= bound, full=False),
        )
    loss = linear_loss_bound(m, epsilon, beta, DELTA, n=n, tau=tau, lipschitz=1.0, diameter=1.0)
    yield Comparison(
        what=f"Proposition 9, mean loss of a linear model (epsilon 5, beta .7, m = {m}, {n} words)",
        paper=f"the smallest one grows by at most {loss:.4g} times lambda and the size of Theta",
        ours="the smallest logistic loss is ln 2 at most, so where both are 1 the bound holds, and says nothing",
        verdict=verdict(loss >= math.log(2), full=False),
    )


def _drawn(rows: Float64Array, fitted: Any, source: RandomSource) -> tuple[float, float, float]:
    """Return the largest noise, and differences of distances and inner products over all pairs of rows."""
    released = np.asarray(fitted.randomize(rows, fitted.sample(source.stream("bounds"), len(rows))), dtype=np.float64)
    noise = released - rows @ fitted.matrix.T
    gaps = [np.linalg.norm(part[:, None] - part[None], axis=2) for part in (released, rows)]
    products = np.abs(released @ released.T - rows @ rows.T)[np.triu_indices(len(rows), 1)]
    return float(np.linalg.norm(noise, axis=1).max()), float(np.abs(gaps[0] - gaps[1]).max()), float(products.max())
