"""Draws by integer arithmetic: 64 random bits against cumulative integer weights, without cumulative rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BROKEN_LIMIT", "BitArray", "multiply_high", "pick_columns"]

BROKEN_LIMIT = "A ceiling lies below the weights it stands for, so a draw could be biased: please report this."

BitArray = NDArray[np.uint64]
"""Random 64-bit integers."""


def multiply_high(a: BitArray, b: BitArray | np.uint64) -> BitArray:
    """Return floor(a * b / 2**64) elementwise for 64-bit words: a uniform word times a count, without bias."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + ((a0 * b0) >> half)
    other = a0 * b1 + (middle & low)
    high: BitArray = a1 * b1 + (middle >> half) + (other >> half)
    return high


def pick_columns(
    tile: NDArray[Any],
    unit: float,
    row: NDArray[np.int64],
    bits: BitArray,
    limits: NDArray[np.uint64] | None = None,
) -> NDArray[np.int64]:
    """Return the column that each random word falls into, by the integer weights of its row of the tile.

    One search over all rows in floating point comes within a column or so; exact integer comparisons settle it.

    Args:
        tile: Weights, shape (rows, columns).
        unit: Units of weight.
        row: Row of each word, shape (n,).
        bits: Random 64-bit integers, shape (n,).
        limits: Where given, they are scaled to these units, shape (rows,), and those beyond a row's weights give -1.

    Raises:
        RuntimeError: If a row's weights exceed its limit, which would bias the draw: a fault of this package.
    """
    bounds = np.cumsum(np.rint(tile * np.float64(unit)).astype(np.uint64), axis=1)
    totals = bounds[:, -1]
    if limits is not None and np.any(totals > limits):
        raise RuntimeError(BROKEN_LIMIT)
    targets = multiply_high(bits, (totals if limits is None else limits)[row])
    column = np.full(len(bits), -1, dtype=np.int64)
    inside = targets < totals[row]
    column[inside] = _search(bounds, row[inside], targets[inside])
    return column


def _search(bounds: NDArray[np.uint64], row: NDArray[np.int64], targets: BitArray) -> NDArray[np.int64]:
    """Return the first column whose running sum exceeds the target, for targets below the row's last sum."""
    height, width = bounds.shape
    totals = np.maximum(bounds[:, -1], np.uint64(1)).astype(np.float64)
    shares = bounds / totals[:, None] + np.arange(height)[:, None]
    guess = np.searchsorted(shares.ravel(), targets / totals[row] + row, side="right")
    column: NDArray[np.int64] = np.clip(guess - row * width, 0, width - 1)
    # A share rounds no lower than that of a smaller sum, so the guess is never too far left.
    while (left := (column > 0) & (bounds[row, np.maximum(column - 1, 0)] > targets)).any():
        column -= left
    return column
