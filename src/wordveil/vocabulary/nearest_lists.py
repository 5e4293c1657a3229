"""Exact lists of every word's nearest words, and graphs made from them: that of NADP, and connected components.

All is public data: lists and graphs depend on the vocabulary alone. Memory is a (v, k) table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from wordveil.arrays import BoolArray, Float32Array, Float64Array, IdArray, Int64Array
from wordveil.errors import ParameterError
from wordveil.kernels.nearest import NearestWords
from wordveil.kernels.nearest_outputs import own_first
from wordveil.parameters import check_within
from wordveil.vocabulary.table import Embeddings

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


@dataclass(frozen=True, kw_only=True)
class OverlapGraph:
    """A public graph on the vocabulary."""

    edges: EdgeArray = field(repr=False)  # adjacent pairs, shape (e, 2)
    component: IdArray = field(repr=False)  # component of each word, shape (v,)
    reach: Float64Array = field(repr=False)  # longest edge of each component, rounded up; 0 without different vectors

    @property
    def isolated(self) -> BoolArray:
        """Words of components without an edge between different vectors, shape (v,)."""
        return np.asarray(self.reach[self.component] == 0)


def overlap_graph(embeddings: Embeddings, *, adjacent: int = 2, overlap: int = 10, tau: float = 0.1) -> OverlapGraph:
    """Build the graph: x ~ y if one is among the other's first words and their neighbourhoods overlap.

    The overlap of two words is |S(x) & S(y)|/|S(x) | S(y)| for their lists S of `overlap` nearest words, which start
    with the word itself; it must be at least tau, in [0, 1]. The first words are the `adjacent` nearest, the word
    itself counted. Words with equal vectors are always adjacent: nothing could tell them apart. `ParameterError` if a
    parameter is outside its domain.
    """
    v = len(embeddings)
    if not 2 <= adjacent <= v:
        limit = f"must be in [2, {v}], the number of words." if v > 1 else "needs at least 2 words, and there is one."
        raise ParameterError("adjacent", adjacent, limit)
    if not 1 <= overlap <= v:
        raise ParameterError("overlap", overlap, f"must be in [1, {v}], the number of words.")
    check_within("tau", tau, 1)
    lists = nearest_lists(embeddings.vectors, max(adjacent, overlap))
    near = unique_edges(np.repeat(np.arange(v), adjacent - 1), lists[:, 1:adjacent].ravel())
    shared = np.empty(len(near))
    for low in range(0, len(near), CHUNK):
        left, right = (lists[near[low : low + CHUNK, side], :overlap] for side in (0, 1))
        shared[low : low + CHUNK] = (left[:, :, None] == right[:, None, :]).sum(axis=(1, 2))
    near = near[shared / (2 * overlap - shared) >= tau]
    joined = np.concatenate((near, np.stack((embeddings.canonical, np.arange(v)), axis=1)))
    edges = unique_edges(joined[:, 0], joined[:, 1])
    component = components(v, edges)
    reach = np.zeros(int(component.max()) + 1)
    lengths = edge_lengths(embeddings.vectors, edges) * (1 + (embeddings.dimensions + 4) * 2.0**-53)
    np.maximum.at(reach, component[edges[:, 0]], lengths)
    return OverlapGraph(edges=edges, component=component, reach=reach)
