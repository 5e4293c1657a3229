"""Public projection matrices: drawn from a public seed, principal directions of a public table, or given.

The seed makes a public matrix repeatable; it is not noise, and no privacy rests on it. Orthonormal rows are the same to
the last bit on nearly every machine: equal variances have one basis, and entries lie on a grid far coarser than what
machines compute differently. Where two still differ, so does the place of the noise (`Randomizer.public_data`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from wordveil.arrays import Float64Array, FloatArray
from wordveil.errors import ParameterError
from wordveil.parameters import as_floats

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
    mean = vectors.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((d, d))
    for start in range(0, len(vectors), 1 << 14):
        centred = vectors[start : start + (1 << 14)] - mean
        scatter += centred.T @ centred
    values, axes = np.linalg.eigh(scatter)
    values, axes = values[::-1], axes[:, ::-1].T
    starts = np.flatnonzero(np.diff(values, prepend=np.inf) < -EQUAL * values[0]).tolist()
    rows = np.empty((0, d))
    for low, high in pairwise([*starts, d]):
        rows = np.concatenate((rows, _rows_of_space(axes[low:high], min(high, m) - low)))
        if high >= m:
            break
    return _on_grid(rows)


def _rows_of_space(axes: Float64Array, count: int) -> Float64Array:
    """Return orthonormal rows of the space that orthonormal axes span, the same for any axes that span it.

    The first is the image of the coordinate axis whose image is the longest, the lowest of those that tie; the next one
    likewise in what is left.

    Args:
        axes: Shape (k, d).
        count: At most k.

    Returns:
        Shape (count, d).
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
    """Return a given matrix as a hashable tuple of rows.

    Raises:
        ParameterError: Unless it is a finite matrix with at least one row and one column, not all zero.
    """
    matrix = as_floats("matrix", rows)
    if matrix.ndim != 2 or 0 in matrix.shape or not np.all(np.isfinite(matrix)) or not matrix.any():
        raise ParameterError("matrix", f"shape {matrix.shape}", "must be finite, not all zero, of shape (m, d).")
    return tuple(tuple(row) for row in matrix.tolist())


def _check_rows(m: int, d: int) -> None:
    if m > d:
        raise ParameterError("dimensions", m, f"must be at most {d}: no more orthonormal rows exist.")
