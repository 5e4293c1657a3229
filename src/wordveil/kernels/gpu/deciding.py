"""Decides on the processor which candidates are nearest: float64 direct differences, lowest id on ties.

The same arithmetic in the same order as the processor's search, so that the answers are the same to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray

__all__ = ["Pairs", "decide", "decide_all"]

BLOCK = 1 << 14


class Pairs(NamedTuple):
    """Candidates: (row, column in the list of outputs), at least k for each row, sorted by row."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]


def decide(
    queries: Float64Array, pairs: Pairs, vectors: Float32Array, outputs: IdArray, k: int
) -> tuple[IdArray, Float64Array]:
    """Return the k nearest candidates of each query and their squared distances, both of shape (n, k)."""
    squared = np.empty(len(pairs.rows))
    for low in range(0, len(squared), BLOCK):
        span = slice(low, low + BLOCK)
        difference = queries[pairs.rows[span]] - vectors[outputs[pairs.columns[span]]]
        squared[span] = np.einsum("ij,ij->i", difference, difference)
    order = np.lexsort((pairs.columns, squared, pairs.rows))
    first = np.searchsorted(pairs.rows[order], np.arange(len(queries)))
    chosen = order[first[:, None] + np.arange(k)]
    return outputs[pairs.columns[chosen]], squared[chosen]


def decide_all(queries: Float64Array, vectors: Float32Array, outputs: IdArray, k: int) -> tuple[IdArray, Float64Array]:
    """The same among all words, for queries or words beyond what a screen can hold."""
    ids = np.empty((len(queries), k), dtype=np.int32)
    squared = np.empty((len(queries), k))
    words = vectors[outputs].astype(np.float64)
    for i, query in enumerate(queries):
        difference = query - words
        with np.errstate(over="ignore"):
            scores = np.einsum("ij,ij->i", difference, difference)
        order = np.lexsort((outputs, scores))[:k]
        ids[i], squared[i] = outputs[order], scores[order]
    return ids, squared
