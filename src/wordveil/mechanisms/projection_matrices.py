"""Public projection matrices: drawn from a public seed, principal directions of a public table, or given.

The seed makes a public matrix repeatable; it is not noise, and no privacy rests on it. Orthonormal rows are the same to
the last bit on nearly every machine: equal variances have one basis, and entries lie on a grid far coarser than what
machines compute differently. Where two still differ, so does the place of the noise (`Randomizer.public_data`).

How many dimensions a random projection needs follows from a union bound over the vocabulary or the published formula:
both speak of a matrix with N(0, 1/m) entries that is drawn once, before any result is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.special import gammaincc, gammaln

from wordveil.arrays import Float64Array, FloatArray
from wordveil.errors import ParameterError
from wordveil.mechanisms.rows import scatter_of
from wordveil.parameters import as_floats, check_delta, check_positive

STEP = 2.0**-20
"""Machines differ by some 1e-14 in an entry: one in a hundred million lies that near to the edge of a step."""
SAME = 1e-6  # relative: lengths of images that differ by less count as equal
EQUAL = 1e-9  # relative to the largest: variances that differ by less count as equal


def draw_matrix(m: int, d: int, seed: int) -> Float64Array:
    """Return an (m, d) matrix with N(0, 1/m) entries: variance 1/m, so standard deviation 1/sqrt(m)."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return np.asarray(generator.standard_normal((m, d)) / np.sqrt(m))


def random_rows(m: int, d: int, seed: int) -> Float64Array:
    """Return m <= d random orthonormal rows, shape (m, d), on the grid of `_on_grid`."""
    _check_rows(m, d)
    return _on_grid(np.linalg.qr(draw_matrix(m, d, seed).T)[0].T)


def principal_directions(vectors: FloatArray, m: int) -> Float64Array:
    """Return the m <= d directions of largest variance of a public table, shape (m, d), orthonormal.

    Directions of equal variance (to a billionth of the largest), and those without any, are chosen by a rule and not by
    an eigensolver: `_rows_of_space`. Entries lie on the grid of `_on_grid`.
    """
    d = vectors.shape[1]
    _check_rows(m, d)
    values, axes = np.linalg.eigh(scatter_of(vectors))
    values, axes = values[::-1], axes[:, ::-1].T
    starts = np.flatnonzero(np.diff(values, prepend=np.inf) < -EQUAL * values[0]).tolist()
    rows = np.empty((0, d))
    for low, high in pairwise([*starts, d]):
        rows = np.concatenate((rows, _rows_of_space(axes[low:high], min(high, m) - low)))
        if high >= m:
            break
    return _on_grid(rows)


def _rows_of_space(axes: Float64Array, count: int) -> Float64Array:
    """Return orthonormal rows, shape (count, d), of the space that axes, shape (k, d), span, whichever axes they are.

    The first is the image of the coordinate axis whose image is the longest, the lowest of those that tie; the next one
    likewise in what is left.
    """
    rest, rows = axes.copy(), np.empty((count, axes.shape[1]))
    for row in rows:
        squares = np.square(rest).sum(axis=0)
        longest = int(np.flatnonzero(squares >= (1 - SAME) * squares.max())[0])
        image = rest[:, longest] @ rest
        row[:] = image / np.linalg.norm(image)
        rest -= np.outer(rest @ row, row)
    return rows


def _on_grid(rows: Float64Array) -> Float64Array:
    """Return orthonormal rows on a public grid, shrunk so that their largest singular value is at most 1.

    Rounding m*d entries moves the matrix by at most sqrt(m*d) half steps; shrinking by as many whole ones pays for it.
    """
    shrunk = rows * (1 - math.sqrt(rows.size) * STEP)
    return np.ascontiguousarray(np.rint(shrunk / STEP) * STEP + 0.0)


def given_matrix(rows: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    """Return a matrix as a hashable tuple of rows; a `ParameterError` unless it is finite and not all zero."""
    matrix = as_floats("matrix", rows)
    if matrix.ndim != 2 or 0 in matrix.shape or not np.all(np.isfinite(matrix)) or not matrix.any():
        raise ParameterError("matrix", f"shape {matrix.shape}", "must be finite, not all zero, of shape (m, d).")
    return tuple(tuple(row) for row in matrix.tolist())


def _check_rows(m: int, d: int) -> None:
    if m > d:
        raise ParameterError("dimensions", m, f"must be at most {d}: no more orthonormal rows exist.")


LARGEST_PLAN = 1 << 24
CHUNK = 1 << 12


def log_union_bound(vocabulary_size: int, dimensions: int, beta: float) -> float:
    """Return ln of v(v-1)/2 * P[chi2_m >= m (1 + beta)^2], rounded up: a bound on an unlucky matrix.

    A pair is bad when it is stretched by more than 1 + beta, for any beta > 0. Above 0 the bound says nothing.
    """
    return float(_log_bounds(vocabulary_size, np.array([float(dimensions)]), beta)[0])


def _log_bounds(vocabulary_size: int, dimensions: np.ndarray, beta: float) -> np.ndarray:
    check_positive("beta", beta)
    if vocabulary_size < 2 or dimensions[0] < 1:
        name, value = ("vocabulary_size", vocabulary_size) if vocabulary_size < 2 else ("dimensions", dimensions[0])
        raise ParameterError(name, value, "must be at least 2 words, or 1 dimension.")
    pairs = math.log(vocabulary_size) + math.log(vocabulary_size - 1) - math.log(2)
    # ln P[chi2_m >= x] for x > m, or a bound above it where the tail underflows: integrating t^(a-1) e^-t <= x^(a-1)
    # e^-x e^(-(t-x)(1-(a-1)/x)) from x on; the second factor is 1 for a < 1.
    half, shape = dimensions * (1 + beta) ** 2 / 2, dimensions / 2
    tail = gammaincc(shape, half)
    slope = np.maximum(half - np.maximum(shape - 1, 0.0), np.finfo(float).tiny)
    bound = shape * np.log(half) - half - np.log(slope) - gammaln(shape)
    with np.errstate(divide="ignore"):
        return np.asarray(pairs + np.where(tail > 1e-280, np.log(tail), bound) + 1e-9)


def plan_dimensions(vocabulary_size: int, beta: float, delta: float) -> int:
    """Return the smallest m at which the union bound over all pairs of words is at most delta.

    At v = 400 000 and delta = 1e-6 that is 184, 96, 54, 44, 13 for beta = .468, .66, .9, 1, 2.

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
    """Return ceil((sqrt(log2 d) + sqrt(ln 1/delta))^2/beta^2), the paper's m, for a stretch of 1 + beta.

    sqrt(log d) stands for the Gaussian width of a sparse set; it is the paper's choice, not a vocabulary's width.

    Reference:
        Feyisetan, Kasiviswanathan (2021), Private Release of Text Embedding Vectors, Algorithm 1 and Theorem 1.
    """
    check_delta(delta)
    check_positive("beta", beta)
    return math.ceil((math.sqrt(math.log2(dimensions)) + math.sqrt(-math.log(delta))) ** 2 / beta**2)
