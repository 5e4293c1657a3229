"""Exact lists of every word's nearest words, and connected components of graphs made from them.

All is public data: lists and graphs depend on the vocabulary alone. Memory is a (v, k) table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from wordveil.arrays import Float32Array, Float64Array, IdArray, Int64Array
from wordveil.errors import ParameterError
from wordveil.kernels.nearest import NearestWords
from wordveil.kernels.nearest_outputs import own_first

EdgeArray = Int64Array
"""Edges of an undirected graph, shape (e, 2), first id below second, sorted, each once."""

CHUNK = 1 << 14


def nearest_lists(vectors: Float32Array, k: int, *, threads: int | None = None) -> IdArray:
    """Return each word's k nearest words, (v, k), int32: itself, then by distance, lowest id on ties; k in [1, v]."""
    v = len(vectors)
    if not 1 <= k <= v:
        raise ParameterError("k", k, f"must be in [1, {v}], the number of words.")
    own = np.arange(v, dtype=np.int32)
    return own_first(own, NearestWords(vectors, own).top(vectors, k, threads=threads)[0])


def unique_edges(first: NDArray[np.integer], second: NDArray[np.integer]) -> EdgeArray:
    """Return the undirected edges between two arrays of ids, shape (e, 2), without loops and repeats."""
    pairs = np.stack((np.minimum(first, second), np.maximum(first, second)), axis=1).astype(np.int64)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def edge_lengths(vectors: Float32Array, edges: EdgeArray) -> Float64Array:
    """Return the Euclidean length of every edge, shape (e,), by float64 differences."""
    lengths = np.empty(len(edges))
    for low in range(0, len(edges), CHUNK):
        span = slice(low, low + CHUNK)
        difference = vectors[edges[span, 0]].astype(np.float64) - vectors[edges[span, 1]]
        lengths[span] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return lengths


def components(v: int, edges: EdgeArray) -> IdArray:
    """Return the number of each word's connected component, shape (v,), int32; isolated words have their own."""
    ends = edges.astype(np.int32)  # SciPy 1.11 takes no other
    graph = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(v, v))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int32)
