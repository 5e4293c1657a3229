"""Which pairs of inputs a claim speaks of, and what it claims of each.

    Relation
    ├── EveryPair    local DP: any two inputs, equally
    ├── AtDistance   metric DP: any two inputs, by their distance
    ├── Adjacent     neighbour DP: two inputs joined by an edge of a public graph, and no others
    └── NoPairs      no promise, or one whose pairs cannot be told apart here

Inputs are what the randomizer takes that a relation comes from: word ids, or vectors, one a row.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array, IdArray, Int64Array
from wordveil.errors import ParameterError
from wordveil.promises.guarantees import Guarantee, LocalDP, MetricDP, NeighbourDP

Inputs = NDArray[Any]
"""Word ids, shape (n,), or vectors, shape (n, d)."""

DistanceFunction = Callable[[Inputs, Inputs], Float64Array]
"""n inputs and m others to their distances, shape (n, m)."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two inputs and what is claimed between them."""

    first: Any  # a vector, a word id or a text
    second: Any  # another of the same kind
    label: str  # what the pair is, in public terms
    epsilon: float | None  # claimed loss between the two, in nats, slack included; None where nothing is claimed
    delta: float = 0.0  # claimed delta
    distance: float | None = None  # in the claim's metric; None where it has none

    def __post_init__(self) -> None:
        if self.epsilon is not None and not self.epsilon >= 0:
            raise ParameterError("epsilon", self.epsilon, "must be in [0, inf), or None where nothing is claimed.")
        if not 0 <= self.delta < 1:
            raise ParameterError("delta", self.delta, "must be in [0, 1).")


@dataclass(frozen=True, kw_only=True)
class Relation(ABC):
    """Which pairs a claim speaks of."""

    claim: Guarantee

    @property
    def delta(self) -> float:
        """The claimed delta, the same for every pair spoken of."""
        return self.claim.delta

    @property
    def edges(self) -> NDArray[np.integer] | None:
        """The edges between word ids, shape (e, 2), where only adjacent pairs are spoken of; None elsewhere."""
        return None

    @abstractmethod
    def units(self, first: Inputs, second: Inputs) -> Float64Array:
        """Return how many epsilons are claimed between n inputs and m others, shape (n, m); inf for nothing."""

    def losses(self, first: Inputs, second: Inputs) -> Float64Array:
        """Return what is claimed between n inputs and m others, in nats with slack, shape (n, m); inf for nothing."""
        epsilon, slack = self.claim.epsilon or 1.0, self.claim.slack
        return np.asarray(epsilon * self.units(first, second) + (slack or 0.0))

    def loss(self, first: Any, second: Any) -> tuple[float, float] | None:
        """Return the (epsilon, delta) claimed between two inputs, slack included; None where nothing is claimed."""
        nats = float(self.losses(np.asarray(first)[None], np.asarray(second)[None])[0, 0])
        return None if nats == math.inf else (nats, self.delta)


@dataclass(frozen=True, kw_only=True)
class NoPairs(Relation):
    """Nothing is claimed of any pair."""

    def units(self, first: Inputs, second: Inputs) -> Float64Array:
        return np.full((len(first), len(second)), math.inf)


@dataclass(frozen=True, kw_only=True)
class EveryPair(Relation):
    """Any two inputs, equally."""

    def units(self, first: Inputs, second: Inputs) -> Float64Array:
        return np.ones((len(first), len(second)))


@dataclass(frozen=True, kw_only=True)
class AtDistance(Relation):
    """Any two inputs, by their distance."""

    distances: DistanceFunction = field(repr=False, compare=False)

    def units(self, first: Inputs, second: Inputs) -> Float64Array:
        cap = math.inf if self.claim.largest_distance is None else self.claim.largest_distance
        return np.minimum(self.distances(first, second), cap)


@dataclass(frozen=True, kw_only=True)
class Adjacent(Relation):
    """Two inputs joined by an edge, and no others; of an input and itself the same is claimed."""

    joined: NDArray[np.integer] = field(repr=False, compare=False)  # pairs of word ids, shape (e, 2)
    # the word ids of vectors, where inputs are vectors; None where they are ids
    find: Callable[[Inputs], IdArray] | None = field(default=None, repr=False, compare=False)

    @property
    def edges(self) -> NDArray[np.integer]:
        return self.joined

    def units(self, first: Inputs, second: Inputs) -> Float64Array:
        left, right = (np.asarray(x if self.find is None else self.find(x), dtype=np.int64) for x in (first, second))
        spoken = np.isin(_keys(left[:, None], right[None, :]), _keys(self.joined[:, 0], self.joined[:, 1]))
        spoken |= left[:, None] == right[None, :]
        return np.where(spoken, 1.0, math.inf)


def _keys(a: NDArray[np.integer], b: NDArray[np.integer]) -> Int64Array:
    """Return one number for each unordered pair of ids."""
    low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
    return np.asarray((high << 32) + low)


def relation_of(
    claim: Guarantee,
    *,
    distances: DistanceFunction | None = None,
    edges: NDArray[np.integer] | None = None,
    find: Callable[[Inputs], IdArray] | None = None,
) -> Relation:
    """Return which pairs a claim speaks of; no pair where what would tell is not given."""
    if isinstance(claim, LocalDP):
        return EveryPair(claim=claim)
    if isinstance(claim, MetricDP) and distances is not None:
        return AtDistance(claim=claim, distances=distances)
    if isinstance(claim, NeighbourDP) and edges is not None:
        return Adjacent(claim=claim, joined=edges, find=find)
    return NoPairs(claim=claim)
