"""Float64 direct differences of (query, word) pairs: what decides between the words that a screen leaves.

The order is that of the oracle: by squared distance, lowest id first on ties.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray

__all__ = ["Pairs", "nearest_pairs", "squared_distances"]

CHUNK = 1 << 12  # pairs whose differences are held at once

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows of queries, and places in the list of outputs."""


def squared_distances(rows: Float64Array, vectors: Float32Array, outputs: IdArray, pairs: Pairs) -> Float64Array:
    """Return the squared Euclidean distance of each pair, by differences."""
    pair_rows, pair_columns = pairs
    squared = np.empty(len(pair_rows))
    for low in range(0, len(pair_rows), CHUNK):
        span = slice(low, low + CHUNK)
        difference = rows[pair_rows[span]] - vectors[outputs[pair_columns[span]]]
        squared[span] = np.einsum("ij,ij->i", difference, difference)
    return squared


def nearest_pairs(pairs: Pairs, squared: Float64Array, n: int, k: int) -> NDArray[np.int64]:
    """Return where each row's k nearest pairs stand, nearest first, shape (n, k); -1 where a row has fewer."""
    pair_rows, pair_columns = pairs
    order = np.lexsort((pair_columns, squared, pair_rows))
    edges = np.searchsorted(pair_rows[order], np.arange(n + 1))
    place = edges[:-1, None] + np.arange(k)
    found = place < edges[1:, None]
    return np.where(found, order[np.where(found, place, 0)], -1) if len(order) else np.full((n, k), -1)
