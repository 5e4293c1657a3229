"""Statistical checks of noise laws, each with a stated false-alarm probability and a power twin.

A check returns a p-value; `assert_law` demands p >= alpha = 1e-9 for the noise and p < alpha for the same noise
scaled by 0.9 and by 1.1, for twenty seeds. n = 20 000 rows is enough for both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

from wordveil.randomness import RandomSource

ALPHA = 1e-9
ROWS = 20_000
TWINS = (0.9, 1.1)
SEEDS = range(20)

Check = Callable[[np.ndarray], float]
"""Noise, shape (n, d), to a p-value."""


def radii(cdf: Callable[[np.ndarray], np.ndarray], order: int = 2) -> Check:
    """Kolmogorov-Smirnov test of the rows' norms."""
    return lambda noise: float(stats.kstest(np.linalg.norm(noise, ord=order, axis=1), cdf, method="asymp").pvalue)


def magnitudes(cdf: Callable[[np.ndarray], np.ndarray]) -> Check:
    """Kolmogorov-Smirnov test of the coordinates' absolute values, for laws with independent coordinates."""
    return lambda noise: float(stats.kstest(np.abs(noise).ravel(), cdf, method="asymp").pvalue)


def direction_p_value(noise: np.ndarray) -> float:
    """Smallest Bonferroni-corrected p-value of uniform directions: every axis' marginal, and every pair's product."""
    n, d = noise.shape
    units = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    if d == 1:
        return float(stats.binomtest(int((units > 0).sum()), n).pvalue)
    marginal = stats.beta((d - 1) / 2, (d - 1) / 2, loc=-1, scale=2)
    values = [stats.kstest(units[:, i], marginal.cdf, method="asymp").pvalue for i in range(d)]
    second = units.T @ units / n
    deviation = np.sqrt(1 / (d * (d + 2)) / n)  # E[u_i^2 u_j^2] = 1/(d (d + 2))
    values += [2 * stats.norm.sf(abs(second[i, j]) / deviation) for i in range(d) for j in range(i)]
    return float(min(1.0, min(values) * len(values)))


def sign_p_value(noise: np.ndarray) -> float:
    """Smallest Bonferroni-corrected p-value of symmetric, pairwise independent signs."""
    n, d = noise.shape
    signs = noise > 0
    counts = [signs[:, i].sum() for i in range(d)]
    counts += [(signs[:, i] == signs[:, j]).sum() for i in range(d) for j in range(i)]
    return float(min(1.0, min(stats.binomtest(int(count), n).pvalue for count in counts) * len(counts)))


def assert_law(draw: Callable[[RandomSource], np.ndarray], check: Check) -> None:
    """Assert that noise follows its law, and that too little and too much of it is noticed.

    Args:
        draw: Source to noise, shape (20 000, d).
        check: One that depends on the scale.
    """
    for seed in SEEDS:
        noise = draw(RandomSource.seeded_for_tests(seed))
        assert len(noise) == ROWS
        assert check(noise) >= ALPHA, f"seed {seed}: the noise does not follow its law"
        for scale in TWINS:
            assert check(scale * noise) < ALPHA, f"seed {seed}: scale x{scale} goes unnoticed"


def noise_of(randomizer, source: RandomSource, dimensions: int) -> np.ndarray:
    """Return what a vector randomizer adds to the zero vector, shape (20 000, d)."""
    zeros = np.zeros((ROWS, dimensions))
    return randomizer.randomize(zeros, randomizer.sample(source.stream("noise"), ROWS))
