"""Float64 direct differences of (query, word) pairs: what decides between the words that a screen leaves.

The order is that of the oracle: by squared distance, lowest id first on ties. The processor and a card decide by the
same arithmetic in the same order, so that their answers are the same to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wordveil.arrays import Float32Array, Float64Array, IdArray, Int64Array

CHUNK = 1 << 12  # pairs whose differences are held at once


class Pairs(NamedTuple):
    """Candidates: rows of queries, and places in the list of outputs."""

    rows: Int64Array
    columns: Int64Array


def decide(
    queries: Float64Array, vectors: Float32Array, outputs: IdArray, pairs: Pairs, k: int
) -> tuple[IdArray, Float64Array]:
    """Return the k nearest candidates of each query and their squared distances, both of shape (n, k)."""
    squared = squared_distances(queries, vectors, outputs, pairs)
    chosen = nearest_pairs(pairs, squared, len(queries), k)
    if chosen.min() < 0:
        return decide_all(queries, vectors, outputs, k)  # a screen that kept too few is not trusted with any row
    return outputs[pairs.columns[chosen]], squared[chosen]


def decide_all(queries: Float64Array, vectors: Float32Array, outputs: IdArray, k: int) -> tuple[IdArray, Float64Array]:
    """Return the same among all words, one query at a time: for queries or words beyond what a screen can hold."""
    ids, squared = np.empty((len(queries), k), dtype=np.int32), np.empty((len(queries), k))
    words = vectors[outputs].astype(np.float64)
    for i, query in enumerate(queries):
        difference = query - words
        with np.errstate(over="ignore"):
            scores = np.einsum("ij,ij->i", difference, difference)
        order = np.lexsort((outputs, scores))[:k]
        ids[i], squared[i] = outputs[order], scores[order]
    return ids, squared


def squared_distances(rows: Float64Array, vectors: Float32Array, outputs: IdArray, pairs: Pairs) -> Float64Array:
    """Return the squared Euclidean distance of each pair, by differences."""
    pair_rows, pair_columns = pairs
    squared = np.empty(len(pair_rows))
    for low in range(0, len(pair_rows), CHUNK):
        span = slice(low, low + CHUNK)
        difference = rows[pair_rows[span]] - vectors[outputs[pair_columns[span]]]
        squared[span] = np.einsum("ij,ij->i", difference, difference)
    return squared


def nearest_pairs(pairs: Pairs, squared: Float64Array, n: int, k: int) -> Int64Array:
    """Return where each row's k nearest pairs stand, nearest first, shape (n, k); -1 where a row has fewer."""
    pair_rows, pair_columns = pairs
    order = np.lexsort((pair_columns, squared, pair_rows))
    edges = np.searchsorted(pair_rows[order], np.arange(n + 1))
    place = edges[:-1, None] + np.arange(k)
    found = place < edges[1:, None]
    return np.where(found, order[np.where(found, place, 0)], -1) if len(order) else np.full((n, k), -1)
