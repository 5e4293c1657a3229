"""Randomized response within public clusters: a word stays with e^epsilon, or becomes another of its cluster.

A whole mechanism for wordveil in one file: parameters, claim, law and sampler. Clusters hold k neighbours along the
first principal direction of the public table, which is enough for an example and no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from wordveil.api import (
    Draws,
    Embeddings,
    Float64Array,
    Guarantee,
    IdArray,
    NeighbourDP,
    ParameterError,
    Relation,
    ReleasedIds,
    Standing,
    Stream,
    WordMechanism,
    WordRandomizer,
    check_draws,
    check_positive,
    check_whole,
    checked_ids,
    random_bits,
    relation_of,
)
from wordveil.api import FitProgress as Progress

MOST = 12.0  # nats; below it, rounding to 64 bits costs less than the slack
SLACK = 2.0**-30


@dataclass(frozen=True, kw_only=True)
class ClusterResponse(WordMechanism):
    """Keep a word with probability e^epsilon/(e^epsilon + k - 1), else release another of its cluster of k words.

    Guarantee:
        Neighbour DP: between two words of a cluster, epsilon, proved. Nothing between clusters, which show.

    Attributes:
        epsilon: Largest loss between two words of a cluster, nats, in (0, 12].
        k: Words in a cluster, at least 2; the last cluster takes what is left over.
    """

    name: ClassVar[str] = "cluster-response"
    paper: ClassVar[str] = "Kairouz et al. 2014"
    epsilon: float = 2.0
    k: int = 8

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_whole("k", self.k, least=2)
        if self.epsilon > MOST:
            raise ParameterError("epsilon", self.epsilon, f"must be at most {MOST:g}.")

    def fit(self, embeddings: Embeddings) -> FittedClusterResponse:
        chosen = embeddings.candidates
        if len(chosen) < self.k:
            raise ParameterError("k", self.k, f"must be at most {len(chosen)}, the number of words that may be output.")
        rows = embeddings.vectors.astype(np.float64)
        rows -= rows.mean(axis=0)
        along = rows @ np.linalg.eigh(rows.T @ rows)[1][:, -1]
        order = chosen[np.argsort(along[chosen], kind="stable")]
        clusters = np.minimum(np.arange(len(order)) // self.k, len(order) // self.k - 1)
        # A word that may only be input joins the cluster of the output before it.
        places = np.searchsorted(along[order], along, side="right") - 1
        places[order] = np.arange(len(order))
        of = clusters[np.maximum(places, 0)].astype(np.int32)
        return FittedClusterResponse(embeddings=embeddings, mechanism=self, order=order, cluster=of)


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedClusterResponse(WordRandomizer):
    """Cluster response bound to a vocabulary.

    Attributes:
        embeddings: The public vocabulary.
        mechanism: The parameters.
        order: Ids that may be output, cluster after cluster.
        cluster: Number of each word's cluster, shape (number of words,).
    """

    embeddings: Embeddings
    mechanism: ClusterResponse
    order: IdArray = field(repr=False)
    cluster: IdArray = field(repr=False)
    draw_width: int = 1

    def guarantee(self) -> Guarantee:
        graph = f"public clusters of {self.mechanism.k} words"  # of this vocabulary: wordveil adds which it is
        return NeighbourDP(epsilon=self.mechanism.epsilon, slack=SLACK, graph=graph, standing=Standing.PROVED)

    def disclosed(self) -> tuple[str, ...]:
        return ("the public cluster of every word",)

    def related(self, claim: Guarantee | None = None) -> Relation:
        by_cluster = np.argsort(self.cluster, kind="stable")
        groups = np.split(by_cluster, np.flatnonzero(np.diff(self.cluster[by_cluster])) + 1)
        edges = [np.stack(np.triu_indices(len(group), 1), axis=1) for group in groups]
        joined = np.concatenate([group[pairs] for group, pairs in zip(groups, edges, strict=True)])
        return relation_of(self.guarantee() if claim is None else claim, edges=joined)

    def law(self, ids: IdArray) -> Float64Array:
        members = self.cluster[ids][:, None] == self.cluster[self.outputs][None, :]
        own = np.asarray(ids)[:, None] == self.outputs[None, :]
        weights = np.where(own, math.exp(self.mechanism.epsilon), members.astype(np.float64))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def sample(self, stream: Stream, n: int) -> Draws:
        return (random_bits(stream.lane(0), (n,)),)

    def randomize(
        self, ids: IdArray, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> ReleasedIds:
        ids = checked_ids(ids, len(self.embeddings))
        check_draws(draws, (len(ids),))
        of_outputs = self.cluster[self.order]
        first, after = (np.searchsorted(of_outputs, self.cluster[ids], side=side) for side in ("left", "right"))
        size = after - first
        place = np.full(len(self.embeddings), -1)
        place[self.order] = np.arange(len(self.order))
        own = place[ids]
        # 64 random bits fall into size - 1 equal shares of the others, or into the word's own, which is what is left.
        total = size - (own >= 0) + np.where(own >= 0, math.exp(self.mechanism.epsilon), 0.0)
        share = (2.0**64 / total).astype(np.uint64)
        others = (size - (own >= 0)).astype(np.uint64)
        step = np.minimum(draws[0] // share, others).astype(np.int64)
        kept = (own >= 0) & (step == size - 1)
        step = np.minimum(step, size - 1)  # where there is no own share, the last of the others takes the rest
        last = (own >= 0) & (first + step >= own)  # skips the word itself
        released = self.order[np.where(kept, own, np.minimum(first + step + last, after - 1))]
        if progress is not None:
            progress(len(ids))
        return ReleasedIds(np.asarray(released, dtype=np.int32))
