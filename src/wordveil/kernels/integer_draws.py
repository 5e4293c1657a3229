"""Draws by integer arithmetic: 64 random bits against cumulative integer weights, without cumulative rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["WordArray", "multiply_high", "pick_columns"]

WordArray = NDArray[np.uint64]
"""Random 64-bit words."""


def multiply_high(a: WordArray, b: WordArray | np.uint64) -> WordArray:
    """Return floor(a * b / 2**64) elementwise for 64-bit words: a uniform word times a count, without bias."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + ((a0 * b0) >> half)
    other = a0 * b1 + (middle & low)
    high: WordArray = a1 * b1 + (middle >> half) + (other >> half)
    return high


def pick_columns(tile: NDArray[Any], unit: float, row: NDArray[np.int64], words: WordArray) -> NDArray[np.int64]:
    """Return the column that each random word falls into, by the integer weights of its row of the tile.

    One search over all rows in floating point comes within a column or so; exact integer comparisons settle it.
    """
    bounds = np.cumsum(np.rint(tile * np.float64(unit)).astype(np.uint64), axis=1)
    totals = bounds[:, -1]
    targets = multiply_high(words, totals[row])
    height, width = bounds.shape
    shares = bounds / totals[:, None].astype(np.float64) + np.arange(height)[:, None]
    guess = np.searchsorted(shares.ravel(), targets / totals[row].astype(np.float64) + row, side="right")
    column: NDArray[np.int64] = np.clip(guess - row * width, 0, width - 1)
    while True:
        right = bounds[row, column] <= targets
        left = (column > 0) & (bounds[row, np.maximum(column - 1, 0)] > targets)
        if not (right.any() or left.any()):
            return column
        column += right
        column -= left
