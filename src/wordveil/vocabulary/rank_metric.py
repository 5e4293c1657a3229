"""The neighbour-rank metric: shortest paths in a nearest-neighbour graph whose edges are weighted by ranks.

Distances in an embedding say that every word is far from all others; ranks do not. An edge joins two words if either is
among the other's k nearest, with weight ln(1 + the larger of their two full ranks), and distance is the shortest path.
Weights are rounded to 2^-35: sums are exact, and the same on every machine. That is a metric on each connected
component. It belongs to one vocabulary: adding a word changes ranks, and with them the unit of every epsilon. Work and
memory are quadratic in v: for vocabularies of some 10 000 words.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from decimal import Context
from fractions import Fraction
from threading import Lock

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist

from wordveil.arrays import Float64Array, FloatArray, IdArray, Int64Array
from wordveil.errors import ParameterError
from wordveil.kernels.threads import by_spans, filled
from wordveil.metrics.distances import PathMatrix, Precomputed, VocabularyMetric
from wordveil.metrics.table import DistanceTable
from wordveil.parameters import check_positive, check_whole
from wordveil.vocabulary.nearest_lists import EdgeArray, components, unique_edges

ROWS = 128
LARGEST_VOCABULARY = 20_000
PARTS = 1 << 35  # of one, that weights are counted in: a path is shorter than 20 000 ln 20 001 < 2^18
_DIGITS = Context(prec=40)


@dataclass(frozen=True, kw_only=True)
class RankGraph:
    """The weighted nearest-neighbour graph of one public vocabulary."""

    words: int
    edges: EdgeArray = field(repr=False)  # pairs with an edge, shape (e, 2)
    ranks: Int64Array = field(repr=False)  # the larger of both full ranks of each, shape (e,)
    component: IdArray = field(repr=False)  # component of each word, shape (v,)

    @property
    def weights(self) -> Float64Array:
        """ln(1 + the larger of both full ranks) to the nearest 2^-35, shape (e,)."""
        ranks, places = np.unique(self.ranks, return_inverse=True)
        logs = [round(Fraction(_DIGITS.ln(1 + rank)) * PARTS) / PARTS for rank in ranks.tolist()]
        return np.array(logs)[places]

    @property
    def connected(self) -> bool:
        return bool(np.all(self.component == self.component[0]))


@dataclass(frozen=True, kw_only=True)
class NeighbourRank(VocabularyMetric):
    """The neighbour-rank metric, for selection mechanisms; computed when a mechanism is fitted.

    The matrix takes 8 v**2 bytes and, at 6 000 words, about a minute and a half of one processor; the last one made is
    kept. Several vocabularies at a time: `bind` each once and pass the results to mechanisms.

    Attributes:
        k: Neighbours of each word in the graph, >= 1; fewer where the vocabulary has no more.
        cap: Distances are min(path, cap), again a metric; None refuses a graph that is not connected.

    Raises:
        ParameterError: If k or cap is out of range; when bound, if the vocabulary has more than 20 000 words, or its
            graph is not connected and there is no cap.
    """

    k: int = 100
    cap: float | None = None

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        if self.cap is not None:
            check_positive("cap", self.cap)

    @property
    def name(self) -> str:
        return f"neighbour-rank(k={self.k}" + (")" if self.cap is None else f", cap={self.cap:g})")

    def bind(self, vectors: FloatArray, checksum: str) -> Precomputed:
        if len(vectors) > LARGEST_VOCABULARY:
            limit = f"is for at most {LARGEST_VOCABULARY} words, the vocabulary has {len(vectors)}; use another metric."
            raise ParameterError("metric", self.name, limit)
        key = (self, checksum, hashlib.sha256(np.ascontiguousarray(vectors).data).hexdigest())
        with _COMPUTING:
            found = _LAST.get(key)
            if found is None:
                if len(vectors) == 1:
                    distances = np.zeros((1, 1))
                else:
                    graph = rank_graph(vectors, min(self.k, len(vectors) - 1))
                    distances = rank_distances(graph, cap=math.inf if self.cap is None else self.cap)
                table = DistanceTable.taking(distances)
                found = PathMatrix(label=self.name, vocabulary=checksum, table=table)
                _LAST.clear()
                _LAST[key] = found
            return found


# The last matrix, because certifying and then fitting need the same one and 6 000 words take a minute and a half.
_LAST: dict[tuple[NeighbourRank, str, str], Precomputed] = {}
_COMPUTING = Lock()  # threads that want the same matrix wait for one of them: each takes 8 v**2 bytes


def rank_graph(vectors: FloatArray, k: int = 100, *, threads: int | None = None) -> RankGraph:
    """Build the graph of a public table of at most 20 000 words: the union of all k-nearest relations, by full ranks.

    The rank of y from x is 1 for the nearest other word, 2 for the next, with ties by id; the word itself is not
    counted. Equal vectors that are each other's nearest are ln 2 apart.
    """
    rows = np.ascontiguousarray(vectors, dtype=np.float64)
    v = len(rows)
    if v > LARGEST_VOCABULARY:
        raise ParameterError("vectors", f"{v} words", f"must be at most {LARGEST_VOCABULARY}: work is quadratic.")
    if not 1 <= k < v:
        raise ParameterError("k", k, f"must be in [1, {v - 1}], the number of other words.")
    near = np.empty((v, k), dtype=np.int64)
    filled(near, ROWS, lambda s: _ranked(rows, s.start)[:, 1 : k + 1].copy(), threads)
    edges = unique_edges(np.repeat(np.arange(v), k), near.ravel())
    ranks = _larger_ranks(rows, edges, threads)
    return RankGraph(words=v, edges=edges, ranks=ranks, component=components(v, edges))


def rank_distances(graph: RankGraph, *, cap: float = math.inf, threads: int | None = None) -> Float64Array:
    """Return the metric as a matrix, shape (v, v): shortest paths up to a cap, symmetric, diagonal 0.

    With a cap, min(path, cap) is again a metric, and the promise is made in that. `ParameterError` if cap is not
    positive, or the graph falls apart and no cap is given: some distances would be infinite and no finite epsilon could
    speak of them.
    """
    if not cap > 0:
        raise ParameterError("cap", cap, "must be in (0, inf].")
    if not graph.connected and not math.isfinite(cap):
        count = len(np.unique(graph.component))
        raise ParameterError("graph", f"{count} components", "is not connected; raise k, or promise in min(d, cap).")
    both = np.concatenate((graph.edges, graph.edges[:, ::-1])).astype(np.int32)  # SciPy 1.11 walks no other
    matrix = csr_array((np.tile(graph.weights, 2), (both[:, 0], both[:, 1])), shape=(graph.words, graph.words))
    distances = np.empty((graph.words, graph.words))
    filled(distances, ROWS, lambda s: dijkstra(matrix, indices=np.arange(s.start, s.stop), limit=cap), threads)
    # Both directions of a path add its weights in a different order.
    np.minimum(distances, distances.T.copy(), out=distances)
    return np.asarray(np.minimum(distances, cap, out=distances))


def _ranked(rows: Float64Array, start: int) -> Int64Array:
    """Return all words by distance from each of 128 words, itself first, then ties by id."""
    squared = cdist(rows[start : start + ROWS], rows, "sqeuclidean")
    own = np.arange(len(squared))
    squared[own, start + own] = -1.0
    return np.asarray(np.argsort(squared, axis=1, kind="stable"))


def _larger_ranks(rows: Float64Array, edges: EdgeArray, threads: int | None) -> Int64Array:
    v = len(rows)
    both = np.concatenate((edges, edges[:, ::-1]))
    order = np.argsort(both[:, 0], kind="stable")
    ranks = np.empty(len(both), dtype=np.int64)

    def some(span: slice) -> tuple[Int64Array, Int64Array]:
        start, ordered = span.start, _ranked(rows, span.start)
        rank = np.empty_like(ordered)
        np.put_along_axis(rank, ordered, np.arange(v)[None, :].repeat(len(ordered), axis=0), axis=1)
        low, high = np.searchsorted(both[order, 0], [start, start + len(ordered)])
        which = order[low:high]
        return which, rank[both[which, 0] - start, both[which, 1]]

    for _, (which, found) in by_spans(v, ROWS, some, threads):
        ranks[which] = found
    return np.maximum(ranks[: len(edges)], ranks[len(edges) :])
