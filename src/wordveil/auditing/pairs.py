"""Which pairs of inputs to try: the worst ones a public vocabulary or a clipping ball has to offer.

Selection looks at public vectors only, never at outputs, so it costs nothing but the multiplicity correction of the
pairs that are then tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array
from wordveil.auditing.score_channels import input_distances
from wordveil.auditing.subjects import Pair
from wordveil.errors import ParameterError
from wordveil.metrics.distances import AnyMetric, Euclidean
from wordveil.promises.guarantees import Guarantee, LocalDP, MetricDP, NeighbourDP
from wordveil.vocabulary.table import Embeddings

__all__ = ["claimed_loss", "edge_pairs", "noise_class_pair", "vector_pairs", "vocabulary_pairs"]

SEARCHED = 2000  # words searched for extreme pairs


def claimed_loss(guarantee: Guarantee, distance: float) -> tuple[float | None, float]:
    """Return what a guarantee claims for a pair at this distance: (loss in nats, delta); (None, 0) for nothing."""
    if isinstance(guarantee, MetricDP):
        return guarantee.loss(distance), guarantee.delta
    if isinstance(guarantee, LocalDP):
        return guarantee.epsilon + (guarantee.slack or 0.0), guarantee.delta
    return None, 0.0  # neighbour DP speaks of adjacent pairs only, which distances do not show


def vocabulary_pairs(
    embeddings: Embeddings,
    guarantee: Guarantee,
    *,
    metric: AnyMetric | None = None,
    count: int = 8,
    vectors: bool = False,
    seed: int = 0,
) -> list[Pair]:
    """Return nearest, farthest, most isolated and random pairs of a vocabulary.

    Args:
        embeddings: The public vocabulary; at most 2 000 of its words, drawn at random, are searched.
        guarantee: The claim.
        metric: Its metric, Euclidean by default.
        count: Pairs wanted, at least 3; what is left after the three extremes is random.
        vectors: Whether inputs are vectors rather than ids.
        seed: For the random choices.

    Raises:
        ParameterError: If no two of the words have different vectors.
    """
    generator = np.random.default_rng(seed)
    v = len(embeddings)
    ids = np.sort(generator.choice(v, size=min(v, SEARCHED), replace=False)).astype(np.int32)
    table = input_distances(embeddings, metric or Euclidean(), ids)(0, len(ids))
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
        _make(embeddings, label, int(ids[i]), int(ids[j]), float(table[i, j]), guarantee, vectors)
        for label, i, j in found[:count]
    ]


def _make(
    embeddings: Embeddings, label: str, a: int, b: int, distance: float, guarantee: Guarantee, vectors: bool
) -> Pair:
    epsilon, delta = claimed_loss(guarantee, distance)
    first, second = (np.asarray(embeddings.vectors[x], dtype=np.float64) if vectors else x for x in (a, b))
    name = f"{label}: word {a} and word {b}"
    return Pair(first=first, second=second, label=name, epsilon=epsilon, delta=delta, distance=distance)


def edge_pairs(
    embeddings: Embeddings,
    guarantee: NeighbourDP,
    edges: NDArray[Any],
    *,
    count: int,
    vectors: bool = True,
    seed: int = 0,
) -> list[Pair]:
    """Return pairs adjacent in a public graph: the longest edge, the shortest, and random ones.

    Args:
        embeddings: The public vocabulary.
        guarantee: The neighbour-DP claim, which speaks of these pairs only.
        edges: Shape (e, 2); edges between equal vectors are left out.
        count: Pairs wanted.
        vectors: Whether inputs are vectors rather than ids.
        seed: For the random choices.

    Raises:
        ParameterError: If no edge joins two different vectors.
    """
    rows = embeddings.vectors.astype(np.float64)
    lengths = np.linalg.norm(rows[edges[:, 0]] - rows[edges[:, 1]], axis=1)
    edges, lengths = edges[lengths > 0], lengths[lengths > 0]
    if not len(edges):
        raise ParameterError("edges", 0, "leaves nothing to audit: no two different vectors are adjacent.")
    order = np.random.default_rng(seed).permutation(len(edges))[: max(0, count - 2)]
    chosen = [("longest edge", int(lengths.argmax())), ("shortest edge", int(lengths.argmin()))]
    chosen += [("random edge", int(i)) for i in order]
    local = LocalDP(epsilon=guarantee.epsilon, delta=guarantee.delta, slack=None, standing=guarantee.standing)
    return [
        _make(embeddings, label, int(edges[i, 0]), int(edges[i, 1]), float(lengths[i]), local, vectors)
        for label, i in chosen[:count]
    ]


def noise_class_pair(embeddings: Embeddings, guarantee: Guarantee, sigmas: Float64Array) -> Pair:
    """Return, as vectors, a word with the widest noise and the word nearest to it among those with the narrowest."""
    wide, narrow = int(sigmas.argmax()), np.flatnonzero(sigmas == sigmas.min())
    rows = embeddings.vectors.astype(np.float64)
    lengths = np.linalg.norm(rows[narrow] - rows[wide], axis=1)
    i = int(lengths.argmin())
    return _make(embeddings, "widest and narrowest noise", wide, int(narrow[i]), float(lengths[i]), guarantee, True)


def vector_pairs(
    dimensions: int,
    claim: Callable[[float], tuple[float | None, float]],
    *,
    clip_norm: float | None = None,
    epsilon: float = 1.0,
) -> list[Pair]:
    """Return pairs of vectors for a mechanism that needs no vocabulary.

    Args:
        dimensions: d of the input vectors.
        claim: Euclidean distance to (loss in nats, delta).
        clip_norm: Radius of the ball inputs are clipped to: pairs are then its diameters, spread over all coordinates
            or along one; None makes pairs at distances 1/epsilon and sqrt(d)/epsilon from the origin.
        epsilon: Loss per unit of distance, for those.
    """
    axis = np.zeros(dimensions)
    axis[0] = 1.0
    spread = np.full(dimensions, 1 / math.sqrt(dimensions))
    ends: list[tuple[str, Float64Array, Float64Array]] = []
    if clip_norm is not None:
        for label, unit in (("a diameter spread over all coordinates", spread), ("a diameter along one axis", axis)):
            ends.append((label, clip_norm * unit, -clip_norm * unit))
    else:
        for loss in sorted({1.0, math.sqrt(dimensions)}):
            ends.append((f"distance {loss / epsilon:.4g}", np.zeros(dimensions), loss / epsilon * axis))
    pairs = []
    for label, a, b in ends if dimensions > 1 else ends[:1]:
        distance = float(np.linalg.norm(a - b))
        nats, delta = claim(distance)
        pairs.append(Pair(first=a, second=b, label=label, epsilon=nats, delta=delta, distance=distance))
    return pairs
