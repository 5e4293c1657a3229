"""Distances between inputs, and which pairs to try: the worst ones a public vocabulary or a clipping ball has to offer.

Selection looks at public vectors only, never at outputs, so it costs nothing but the multiplicity correction of the
pairs that are then tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array, FloatArray, IdArray
from wordveil.errors import ParameterError, printable
from wordveil.mechanisms.metric_rows import distance_source
from wordveil.metrics.distances import AnyMetric, Euclidean, Metric, coordinate_rows, is_norm
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.relations import EveryPair, Pair, Relation, relation_of
from wordveil.vocabulary.table import Embeddings

SEARCHED = 2000  # words searched for extreme pairs
CLOSE = 1e-6  # squared distances below this share of the largest squared norm are recomputed from differences


def word_distances(embeddings: Embeddings, metric: AnyMetric) -> Callable[[IdArray, IdArray], Float64Array]:
    """Return the function from n word ids and m others to their distances, shape (n, m)."""
    if isinstance(metric, Metric):
        rows = coordinate_rows(metric, embeddings.vectors)
        return lambda first, second: _between(metric, rows(first), rows(second))
    source = distance_source(metric, embeddings)
    return lambda first, second: source.block(source.canonical[first], np.asarray(second))


def distances_error(embeddings: Embeddings, metric: AnyMetric) -> float:
    """Return how far a distance of `word_distances` may be from that of the coordinates; 0 where claims count it.

    A norm's squares are off by a few roundings for each term, and those of close words by less than products have.
    """
    if not isinstance(metric, Metric) or not is_norm(metric):
        return 0.0
    rows = coordinate_rows(metric, embeddings.vectors)
    parts = (rows(slice(low, low + SEARCHED)) for low in range(0, len(embeddings), SEARCHED))
    longest = 2 * max(math.sqrt(float(np.einsum("ij,ij->i", part, part).max())) for part in parts)
    return float(4 * (rows(slice(1)).shape[1] + 4) * 2.0**-53 * longest / math.sqrt(CLOSE))


def _between(metric: Metric, left: Float64Array, right: Float64Array) -> Float64Array:
    """Return the distances between n rows of coordinates and m others, those of close ones from direct differences."""
    middle = right.mean(axis=0)  # distances do not change, and less cancels
    left, right = left - middle, right - middle
    norms = np.einsum("ij,ij->i", left, left), np.einsum("ij,ij->i", right, right)
    squared = norms[0][:, None] + norms[1][None, :] - 2.0 * (left @ right.T)
    largest = max(float(each.max(initial=0.0)) for each in norms)
    i, j = np.nonzero(squared <= CLOSE * largest)
    for low in range(0, len(i), 4096):
        a, b = i[low : low + 4096], j[low : low + 4096]
        gap = left[a] - right[b]
        squared[a, b] = np.einsum("ij,ij->i", gap, gap)
    metric.from_squared(squared)
    return np.asarray(squared)


def word_relation(
    claim: Guarantee, embeddings: Embeddings, metric: AnyMetric, *, edges: NDArray[np.integer] | None = None
) -> Relation:
    """Return which pairs of words a claim speaks of, that of metric DP in this metric, or in the Euclidean one."""
    return relation_of(claim, distances=word_distances(embeddings, _spoken_of(claim, metric)), edges=edges)


def vector_relation(
    claim: Guarantee,
    metric: AnyMetric,
    *,
    edges: NDArray[np.integer] | None = None,
    find: Callable[[FloatArray], IdArray] | None = None,
) -> Relation:
    """Return which pairs of vectors a claim speaks of, as for words; no pair where a metric knows no vectors."""
    found = _spoken_of(claim, metric)
    if not isinstance(found, Metric):
        return relation_of(claim, edges=edges, find=find)

    def between(first: FloatArray, second: FloatArray) -> Float64Array:
        return _between(found, found.coordinates(first), found.coordinates(second))

    return relation_of(claim, distances=between, edges=edges, find=find)


def _spoken_of(claim: Guarantee, metric: AnyMetric) -> AnyMetric:
    """Return the mechanism's own metric, or the Euclidean one where the claim names that."""
    return Euclidean() if claim.metric == Euclidean.name else metric


def worst_words(
    embeddings: Embeddings,
    relation: Relation,
    *,
    metric: AnyMetric | None = None,
    count: int = 8,
    vectors: bool = False,
    seed: int = 0,
) -> list[Pair]:
    """Return nearest, farthest, most isolated and random pairs of a vocabulary; of a graph, edges.

    At most 2 000 words, drawn at random, are searched. Of `count` pairs, at least 3, all beyond the extremes are
    random; `metric` says what near and far mean, and `vectors` makes inputs vectors rather than ids. `ParameterError`
    if no two of the words, or of the edges' ends, have different vectors.
    """
    if relation.edges is not None:
        return _edges(embeddings, relation, count, vectors, seed)
    generator = np.random.default_rng(seed)
    v = len(embeddings)
    ids = np.sort(generator.choice(v, size=min(v, SEARCHED), replace=False)).astype(np.int32)
    table = word_distances(embeddings, metric or Euclidean())(ids, ids)
    if not table.any():
        raise ParameterError("embeddings", f"{v} words", "must hold two words at a distance from each other.")
    upper = np.where(table > 0, table, np.inf)
    nearest: tuple[Any, ...] = np.unravel_index(int(upper.argmin()), table.shape)
    farthest: tuple[Any, ...] = np.unravel_index(int(table.argmax()), table.shape)
    lonely = int(np.where(np.isfinite(upper.min(axis=1)), upper.min(axis=1), -1).argmax())
    found: list[tuple[str, Any, Any]] = [
        ("nearest", nearest[0], nearest[1]),
        ("farthest", farthest[0], farthest[1]),
        ("most isolated word and its nearest", lonely, int(upper[lonely].argmin())),
        ("most isolated word and its farthest", lonely, int(table[lonely].argmax())),
    ]
    while len(found) < count:
        i, j = generator.choice(len(ids), size=2, replace=False)
        if table[i, j] > 0:
            found.append(("random", i, j))
    return [
        _make(embeddings, label, int(ids[i]), int(ids[j]), float(table[i, j]), relation, vectors)
        for label, i, j in found[:count]
    ]


def _make(
    embeddings: Embeddings, label: str, a: int, b: int, distance: float, relation: Relation, vectors: bool
) -> Pair:
    first, second = (np.asarray(embeddings.vectors[x], dtype=np.float64) if vectors else x for x in (a, b))
    epsilon, delta = relation.loss(first, second) or (None, 0.0)
    name = f"{label}: {printable(embeddings.words[a])} and {printable(embeddings.words[b])}"
    return Pair(first=first, second=second, label=name, epsilon=epsilon, delta=delta, distance=distance)


def _edges(embeddings: Embeddings, relation: Relation, count: int, vectors: bool, seed: int) -> list[Pair]:
    """Return the longest edge of a graph, the shortest, and random ones; none between equal vectors."""
    edges = np.asarray(relation.edges)
    rows = embeddings.vectors.astype(np.float64)
    lengths = np.linalg.norm(rows[edges[:, 0]] - rows[edges[:, 1]], axis=1)
    edges, lengths = edges[lengths > 0], lengths[lengths > 0]
    if not len(edges):
        raise ParameterError("edges", 0, "leaves nothing to audit: no two different vectors are adjacent.")
    order = np.random.default_rng(seed).permutation(len(edges))[: max(0, count - 2)]
    chosen = [("longest edge", int(lengths.argmax())), ("shortest edge", int(lengths.argmin()))]
    chosen += [("random edge", int(i)) for i in order]
    return [
        _make(embeddings, label, int(edges[i, 0]), int(edges[i, 1]), float(lengths[i]), relation, vectors)
        for label, i in chosen[:count]
    ]


def noise_classes_first(
    embeddings: Embeddings, relation: Relation, sigmas: Float64Array, pairs: list[Pair]
) -> list[Pair]:
    """Return pairs, the first of them a word with the widest noise and the nearest of those with the narrowest."""
    wide, narrow = int(sigmas.argmax()), np.flatnonzero(sigmas == sigmas.min())
    rows = embeddings.vectors.astype(np.float64)
    lengths = np.linalg.norm(rows[narrow] - rows[wide], axis=1)
    i = int(lengths.argmin())
    label = "widest and narrowest noise"
    return [_make(embeddings, label, wide, int(narrow[i]), float(lengths[i]), relation, True), *pairs[1:]]


def worst_vectors(
    relation: Relation,
    dimensions: int,
    embeddings: Embeddings | None,
    *,
    clip_norm: float | None = None,
    metric: AnyMetric | None = None,
    count: int = 8,
    seed: int = 0,
) -> list[Pair]:
    """Return diameters of the ball that inputs are clipped to, or extreme words, or vectors at stated distances.

    Diameters are spread over all coordinates or along one; without a vocabulary, distances from the origin are
    1/epsilon and sqrt(d)/epsilon.
    """
    is_ball = isinstance(relation, EveryPair) and clip_norm is not None
    if embeddings is not None and not is_ball:
        return worst_words(embeddings, relation, metric=metric, count=count, vectors=True, seed=seed)
    axis, root = np.eye(1, dimensions)[0], math.sqrt(dimensions)
    if clip_norm is not None and is_ball:
        spread = np.full(dimensions, 1 / root)
        units = {"a diameter spread over all coordinates": spread, "a diameter along one axis": axis}
        ends = [(label, clip_norm * unit, -clip_norm * unit) for label, unit in units.items()]
    else:
        far = [loss / (relation.claim.epsilon or 1.0) for loss in (1.0, root)]
        ends = [(f"distance {distance:.4g}", np.zeros(dimensions), distance * axis) for distance in far]
    pairs = []
    for label, a, b in ends if dimensions > 1 else ends[:1]:
        distance = float(np.linalg.norm(a - b))
        nats, delta = relation.loss(a, b) or (None, 0.0)
        pairs.append(Pair(first=a, second=b, label=label, epsilon=nats, delta=delta, distance=distance))
    return pairs
