"""Public projection matrices: drawn from a public seed, principal directions of a public table, or given.

The seed makes a public matrix repeatable; it is not noise, and no privacy rests on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wordveil.arrays import Float64Array, FloatArray
from wordveil.errors import ParameterError
from wordveil.parameters import as_floats

__all__ = ["draw_matrix", "given_matrix", "principal_directions", "random_rows"]


def draw_matrix(m: int, d: int, seed: int) -> Float64Array:
    """Return an (m, d) matrix with N(0, 1/m) entries: variance 1/m, so standard deviation 1/sqrt(m)."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return np.asarray(generator.standard_normal((m, d)) / np.sqrt(m))


def random_rows(m: int, d: int, seed: int) -> Float64Array:
    """Return m <= d random orthonormal rows, shape (m, d)."""
    _check_rows(m, d)
    return np.ascontiguousarray(np.linalg.qr(draw_matrix(m, d, seed).T)[0].T)


def principal_directions(vectors: FloatArray, m: int) -> Float64Array:
    """Return the m <= d directions of largest variance of a public table, shape (m, d), orthonormal."""
    d = vectors.shape[1]
    _check_rows(m, d)
    mean = vectors.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((d, d))
    for start in range(0, len(vectors), 1 << 14):
        centred = vectors[start : start + (1 << 14)] - mean
        scatter += centred.T @ centred
    axes = np.linalg.eigh(scatter)[1][:, ::-1][:, :m]
    # An eigenvector's sign is arbitrary: the largest entry is made positive.
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(m)])
    return np.ascontiguousarray((axes * signs).T)


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
