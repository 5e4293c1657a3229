"""Statistical checks of noise laws, each with a stated false-alarm probability and a power twin.

A check returns a p-value; `assert_law` demands p >= alpha = 1e-9 for the noise and p < alpha for the same noise
scaled by 0.9 and by 1.1, for twenty seeds. n = 20 000 rows is enough for both.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

import seeds
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


def direction_p_value(noise: np.ndarray) -> float:
    """Smallest Bonferroni-corrected p-value of uniform directions: every axis' marginal, and every pair's product."""
    noise = noise[noise.any(axis=1)]  # the origin, a point of the grid, has none
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
        noise = draw(seeds.source(seed))
        assert len(noise) == ROWS
        assert check(noise) >= ALPHA, f"seed {seed}: the noise does not follow its law"
        for scale in TWINS:
            assert check(scale * noise) < ALPHA, f"seed {seed}: scale x{scale} goes unnoticed"


def noise_of(randomizer, source: RandomSource, dimensions: int) -> np.ndarray:
    """Return what a vector randomizer adds to the zero vector, shape (20 000, d)."""
    zeros = np.zeros((ROWS, dimensions))
    return randomizer.randomize(zeros, randomizer.sample(source.stream("noise"), ROWS))


def counts_p_value(law: np.ndarray, counts: np.ndarray) -> float:
    """A p-value of counts under a law: chi-square over cells of 10 expected or more, and of the mean of ln P."""
    if counts[law == 0].any():
        return 0.0
    n, order = counts.sum(), np.argsort(-law)
    cell = np.minimum(np.arange(len(law)), max(0, np.count_nonzero(n * law >= 10) - 1))  # rare outputs join the last
    seen, expected = np.bincount(cell, counts[order]), np.bincount(cell, n * law[order])
    chi = float(stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), max(1, len(seen) - 1)))
    logs = np.log(np.maximum(law, 1e-300))
    mean = float(law @ logs)
    variance = float(law @ (logs - mean) ** 2)
    if variance < 1e-12:
        return chi
    z = (float(counts @ logs) / n - mean) / np.sqrt(variance / n)
    return min(1.0, 2 * min(chi, 2 * float(stats.norm.sf(abs(z)))))


def excess(channel: np.ndarray, s: np.ndarray, claim: Any) -> float:
    """Return how far the loss of any triple (x, x', y) exceeds epsilon * s(x, x') + slack, in nats."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = np.log(channel)
        gaps = [np.nan_to_num(np.abs(log_p - row), nan=0.0, posinf=np.inf).max(axis=1) for row in log_p]
    return float((np.stack(gaps) - claim.epsilon * s).max()) - claim.slack


def logits(randomizer: Any, outputs: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """ln p(y | first)/p(y | second) of outputs, within +-40."""
    return _ratios(randomizer.log_density(outputs, inputs))


def _ratios(logs: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.clip(np.nan_to_num(logs[:, 0] - logs[:, 1], nan=0.0, posinf=40, neginf=-40), -40, 40)


def calibration_p_value(randomizer: Any, outputs: list[np.ndarray], inputs: np.ndarray) -> float:
    """A p-value of the density: how likely it says each of the mixed outputs of two inputs is to be the first's."""
    logs = randomizer.log_density(np.concatenate(outputs), inputs)
    ratios = _ratios(logs)
    first = np.repeat([1.0, 0.0], [len(part) for part in outputs])
    chance = 1 / (1 + np.exp(-ratios))
    if np.isneginf(np.where(first > 0.5, *logs.T)).any():
        return 0.0  # an output that its input cannot give
    score, variance = float(ratios @ (first - chance)), float((ratios**2) @ (chance * (1 - chance)))
    return 2 * float(stats.norm.sf(abs(score) / np.sqrt(variance)))
