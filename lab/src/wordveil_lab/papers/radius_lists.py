"""Lists that reach as far from the private word as a noise vector is long, as in RANTEXT: how far that is, exactly.

Written anew from the formulas of Tong et al. (2023), arXiv:2310.12214, and of their public code as we read it.
Everything here errs towards the claim: lengths are rounded up, so that lists are longer and distant words likelier.
"""

from __future__ import annotations

import math

import numpy as np

from wordveil.api import Float64Array


def coordinate_scales(vectors: Float64Array, epsilon: float) -> Float64Array:
    """Return the scale of each coordinate's Laplace noise, for epsilon above 2: its range over a fitted function."""
    fitted = 0.01658160142016071 * math.log(19.064721649556482 * epsilon - 38.1294334077209) + 9.311083811697406
    return np.asarray(np.ptp(vectors, axis=0) / fitted)


def length_law(
    scales: Float64Array, *, longest: float, steps: int = 2**18, kept: int = 256
) -> tuple[Float64Array, Float64Array]:
    """Return lengths and their probabilities, for a vector of independent Laplace noise.

    Squares of coordinates are rounded up to a grid and convolved, and lengths then rounded up to a coarser one. What
    the convolution wraps or rounds, below 1e-12 where `longest` is twice the mean or more, is left to the caller.

    Args:
        scales: Scale of each coordinate.
        longest: Half of the largest squared length on the grid is its square.
        steps: Points of the fine grid up to it; a multiple of kept.
        kept: Points of the coarse one.
    """
    squares = longest**2 * np.arange(1, steps + 1) / steps
    law = np.ones(steps + 1, dtype=np.complex128)
    for scale in scales:
        law *= np.fft.rfft(np.diff(-np.expm1(-np.sqrt(squares) / scale), prepend=0.0), 2 * steps)
    chances = np.maximum(np.fft.irfft(law, 2 * steps), 0.0).reshape(2 * kept, -1)
    chances[-1, -1] += max(1.0 - chances.sum(), 0.0)  # coordinates longer than `longest`
    # The first entry of a law is one step, so that index i of the convolution stands for i + len(scales) steps.
    last = np.arange(1, 2 * kept + 1) * chances.shape[1] - 1 + len(scales)
    return np.sqrt(longest**2 * last / steps), chances.sum(axis=1)


def own_chance(gaps: Float64Array, lengths: Float64Array, chances: Float64Array, epsilon: float) -> float:
    """Return the probability that a word is released as itself; longer lists make it smaller.

    Args:
        gaps: Distances from the word to all words, its own 0 among them.
        lengths: Lengths of the noise.
        chances: Their probabilities.
        epsilon: Of the exponential mechanism inside a list, whose weights are exp(epsilon/2 (1 - distance/length)).
    """
    weights = np.where(gaps < lengths[:, None], np.exp(epsilon / 2 * (1 - gaps / lengths[:, None])), 0.0)
    return float(chances @ (math.exp(epsilon / 2) / weights.sum(axis=1)))
