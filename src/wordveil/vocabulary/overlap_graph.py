"""The graph of NADP: words adjacent when one is near the other and their neighbourhoods overlap."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from wordveil.arrays import BoolArray, Float64Array, IdArray
from wordveil.errors import ParameterError
from wordveil.parameters import check_within
from wordveil.vocabulary.nearest_lists import EdgeArray, components, edge_lengths, nearest_lists, unique_edges
from wordveil.vocabulary.table import Embeddings

CHUNK = 1 << 14


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
    near = near[_overlaps(lists[:, :overlap], near) >= tau]
    joined = np.concatenate((near, np.stack((embeddings.canonical, np.arange(v)), axis=1)))
    edges = unique_edges(joined[:, 0], joined[:, 1])
    component = components(v, edges)
    reach = np.zeros(int(component.max()) + 1)
    lengths = edge_lengths(embeddings.vectors, edges) * (1 + (embeddings.dimensions + 4) * 2.0**-53)
    np.maximum.at(reach, component[edges[:, 0]], lengths)
    return OverlapGraph(edges=edges, component=component, reach=reach)


def _overlaps(lists: IdArray, edges: EdgeArray) -> Float64Array:
    shared = np.empty(len(edges))
    for low in range(0, len(edges), CHUNK):
        left, right = lists[edges[low : low + CHUNK, 0]], lists[edges[low : low + CHUNK, 1]]
        shared[low : low + CHUNK] = (left[:, :, None] == right[:, None, :]).sum(axis=(1, 2))
    return np.asarray(shared / (2 * lists.shape[1] - shared))
