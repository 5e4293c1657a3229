"""What mechanisms share about rows: checks, clipping to a ball, products whose bits do not depend on the batch.

No randomness, no claim.
"""

from __future__ import annotations

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, IdArray
from wordveil.errors import ParameterError
from wordveil.kernels.threads import map_chunks
from wordveil.parameters import as_floats
from wordveil.randomness import Draws

__all__ = [
    "check_draws",
    "checked_ids",
    "checked_rows",
    "clip_to_ball",
    "clipped_row",
    "multiply_rows",
]

LARGEST = 1e100  # of a coordinate: squares and products stay finite
DIGITS = 2.0**40  # a coordinate of so many noise scales leaves the noise 12 bits of a float64 sum
TILE_ROWS = 64  # rows of every product: BLAS may round a short batch differently from a long one


def checked_rows(vectors: FloatArray, dimensions: int, *, scale: float | None = None) -> Float64Array:
    """Return rows as float64 after checking shape, finiteness and size; values are never shown.

    Args:
        vectors: Shape (n, d), any float type; n = 0 is valid.
        dimensions: The d expected.
        scale: Scale of the noise that is added to rows as they are, so that it is not lost beside them; None where
            rows are clipped first.

    Returns:
        Shape (n, d), float64.

    Raises:
        ParameterError: If the shape is not (n, d), or a value is not finite or too large.
    """
    rows = as_floats("vectors", vectors)
    if rows.ndim != 2 or rows.shape[1] != dimensions:
        raise ParameterError("vectors", f"shape {rows.shape}", f"must have shape (n, {dimensions}).")
    if not np.all(np.isfinite(rows)):
        raise ParameterError("vectors", "<hidden>", "must be finite; remove rows that hold NaN or infinity.")
    largest = LARGEST if scale is None else min(LARGEST, DIGITS * scale)
    if max(rows.max(initial=0.0), -rows.min(initial=0.0)) > largest:
        raise ParameterError("vectors", "<hidden>", f"must be within {largest:.3g}; beyond, noise is lost.")
    return rows


def check_draws(draws: Draws, *shapes: tuple[int, ...]) -> None:
    """Check that draws are those of so many rows: stretched over more, one row's noise would serve several.

    Raises:
        ParameterError: If their number or a shape is another.
    """
    found = tuple(np.shape(draw) for draw in draws)
    if found != shapes:
        raise ParameterError("draws", f"shapes {found}", f"must have the shapes {shapes}: one draw a row.")


def checked_ids(ids: IdArray, words: int) -> IdArray:
    """Return word ids after checking that each is one of a vocabulary; they are never shown.

    Raises:
        ParameterError: If they are no whole numbers in one row, or one is not in [0, words).
    """
    given = np.asarray(ids)
    if given.ndim != 1 or not (given.size == 0 or given.dtype.kind in "iu"):
        raise ParameterError("ids", f"{given.dtype} of shape {given.shape}", "must be whole numbers of shape (n,).")
    if given.size and not 0 <= given.min() <= given.max() < words:
        raise ParameterError("ids", "<hidden>", f"must be in [0, {words}), the words of the vocabulary.")
    return np.asarray(given, dtype=np.int32)


def clip_to_ball(rows: Float64Array, radius: float) -> Float64Array:
    """Return rows with their Euclidean norm clipped at `radius`, shape (n, d): a 1-Lipschitz map.

    Rows inside the ball, the zero vector among them, come back unchanged.
    """
    norms = np.linalg.norm(rows, axis=1)
    return np.asarray(rows * (radius / np.maximum(norms, radius))[:, None])


def clipped_row(vector: FloatArray, radius: float) -> Float64Array:
    """Return one vector clipped to the ball, shape (d,)."""
    row: Float64Array = clip_to_ball(np.asarray(vector, dtype=np.float64)[None, :], radius)[0]
    return row


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
