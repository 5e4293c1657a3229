"""What mechanisms share about rows: checks, clipping to a ball, products whose bits do not depend on the batch.

No randomness, no claim.
"""

from __future__ import annotations

import numpy as np

from wordveil.arrays import Float64Array, FloatArray
from wordveil.errors import ParameterError
from wordveil.kernels.threads import filled
from wordveil.parameters import as_floats

LARGEST = 1e100  # of a coordinate: squares and products stay finite
DIGITS = 2.0**40  # of the noise's scales: a coordinate beyond is a mistake of units rather than a vector
FEW = 8  # vectors whose distances are taken from differences
TILE_ROWS = 64  # rows of every product: BLAS may round a short batch differently from a long one


def checked_rows(vectors: FloatArray, dimensions: int, *, scale: float | None = None) -> Float64Array:
    """Return rows of any float type as float64, shape (n, d), n = 0 included, after checking; values are never shown.

    The scale is that of the noise that is added to rows as they are; None where they are clipped first.
    `ParameterError` if the shape is not (n, d), or a value is not finite or too large.
    """
    rows = as_floats("vectors", vectors)
    if rows.ndim != 2 or rows.shape[1] != dimensions:
        raise ParameterError("vectors", f"shape {rows.shape}", f"must have shape (n, {dimensions}).")
    if not np.all(np.isfinite(rows)):
        raise ParameterError("vectors", "<hidden>", "must be finite; remove rows that hold NaN or infinity.")
    largest = LARGEST if scale is None else min(LARGEST, DIGITS * scale)
    if max(rows.max(initial=0.0), -rows.min(initial=0.0)) > largest:
        problem = f"must be within {largest:.3g}; beyond, the noise hides nothing of them."
        raise ParameterError("vectors", "<hidden>", problem)
    return rows


def clip_to_ball(vectors: FloatArray, radius: float) -> Float64Array:
    """Return rows whose exact Euclidean norm is at most `radius`, shape (n, d).

    Rows inside the ball, the zero vector among them, come back unchanged, but for a shell of a 2^-40 of its radius: it
    is wider than what rounding makes of d squares and a product.
    """
    rows = np.asarray(vectors, dtype=np.float64)
    inside = 1 - max(2.0**-40, (rows.shape[1] + 16) * 2.0**-52)
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(rows / radius, axis=1)
    return np.asarray(rows * (inside / np.maximum(norms, inside))[:, None])


def multiply_rows(rows: Float64Array, matrix: Float64Array) -> Float64Array:
    """Return `rows @ matrix`, shape (n, m), by padded tiles of 64 rows on one BLAS thread.

    A row's bits therefore depend on that row alone, not on the batch it travels in.
    """

    def product(span: slice) -> Float64Array:
        tile, part = np.zeros((TILE_ROWS, rows.shape[1])), rows[span]
        tile[: len(part)] = part
        return np.asarray((tile @ matrix)[: len(part)])

    return filled(np.empty((len(rows), matrix.shape[1])), TILE_ROWS, product, 1)


def scatter_of(vectors: FloatArray) -> Float64Array:
    """Return the sum of the outer products of rows less their mean, shape (d, d), float64."""
    mean, total = vectors.mean(axis=0, dtype=np.float64), np.zeros((vectors.shape[1], vectors.shape[1]))
    for start in range(0, len(vectors), 1 << 14):
        centred = vectors[start : start + (1 << 14)] - mean
        total += centred.T @ centred
    return total


def row_distances(outputs: Float64Array, vectors: FloatArray) -> Float64Array:
    """Return Euclidean distances, shape (n, k): by direct differences to a few vectors, by a product to more."""
    words = np.asarray(vectors, dtype=np.float64)
    if 0 < len(words) <= FEW:
        return np.stack([np.linalg.norm(outputs - row, axis=1) for row in words], axis=-1)
    squared = np.square(outputs).sum(axis=1)[:, None] + np.square(words).sum(axis=1) - 2 * outputs @ words.T
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))
