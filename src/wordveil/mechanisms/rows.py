"""Row arithmetic that mechanisms share: checks, clipping to a ball, products whose bits do not depend on the batch.

No randomness, no claim.
"""

from __future__ import annotations

import math

import numpy as np

from wordveil.arrays import Float64Array, FloatArray
from wordveil.errors import ParameterError
from wordveil.kernels.threads import map_chunks

__all__ = [
    "check_delta",
    "check_dimensions",
    "check_positive",
    "checked_rows",
    "clip_to_ball",
    "multiply_rows",
]

TILE_ROWS = 64  # rows of every product: BLAS may round a short batch differently from a long one


def check_positive(name: str, value: float) -> None:
    """Raise `ParameterError` unless the parameter is in (0, inf)."""
    if not (math.isfinite(value) and value > 0):
        raise ParameterError(name, value, "must be in (0, inf).")


def check_delta(delta: float, upper: float = 1.0) -> None:
    """Raise `ParameterError` unless delta is in (0, upper)."""
    if not 0 < delta < upper:
        raise ParameterError("delta", delta, f"must be in (0, {upper:g}).")


def check_dimensions(dimensions: int) -> None:
    """Raise `ParameterError` unless a number of dimensions is a whole number, at least 1."""
    if not isinstance(dimensions, int | np.integer) or dimensions < 1:
        raise ParameterError("dimensions", dimensions, "must be a whole number, at least 1.")


def checked_rows(vectors: FloatArray, dimensions: int) -> Float64Array:
    """Return rows as float64 after checking shape and finiteness; values are never shown.

    Args:
        vectors: Shape (n, d), any float type; n = 0 is valid.
        dimensions: The d expected.

    Returns:
        Shape (n, d), float64.

    Raises:
        ParameterError: If the shape is not (n, d) or a value is not finite.
    """
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != dimensions:
        raise ParameterError("vectors", f"shape {rows.shape}", f"must have shape (n, {dimensions}).")
    if not np.all(np.isfinite(rows)):
        raise ParameterError("vectors", "<hidden>", "must be finite; remove rows that hold NaN or infinity.")
    return rows


def clip_to_ball(rows: Float64Array, radius: float) -> Float64Array:
    """Return rows with their Euclidean norm clipped at `radius`, shape (n, d): a 1-Lipschitz map.

    Rows inside the ball, the zero vector among them, come back unchanged.
    """
    norms = np.linalg.norm(rows, axis=1)
    return np.asarray(rows * (radius / np.maximum(norms, radius))[:, None])


def multiply_rows(rows: Float64Array, matrix: Float64Array) -> Float64Array:
    """Return `rows @ matrix`, shape (n, m), by padded tiles of 64 rows on one BLAS thread.

    A row's bits therefore depend on that row alone, not on the batch it travels in.
    """
    out = np.empty((len(rows), matrix.shape[1]))

    def product(start: int) -> Float64Array:
        tile = np.zeros((TILE_ROWS, rows.shape[1]))
        part = rows[start : start + TILE_ROWS]
        tile[: len(part)] = part
        return np.asarray((tile @ matrix)[: len(part)])

    starts = range(0, len(rows), TILE_ROWS)
    for start, part in zip(starts, map_chunks(product, starts, 1), strict=True):
        out[start : start + len(part)] = part
    return out
