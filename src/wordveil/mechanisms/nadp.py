"""NADP: Gaussian noise fitted to each component of a nearest-neighbour graph of the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from wordveil.errors import ParameterError
from wordveil.mechanisms.base import VectorMechanism
from wordveil.mechanisms.gaussian_scale import analytic_scale
from wordveil.mechanisms.word_rows import FittedWordNoise, WordRows
from wordveil.mechanisms.worst_pairs import vector_relation
from wordveil.parameters import check_choice, check_delta, check_positive, check_whole, check_within
from wordveil.promises.guarantees import Guarantee, NeighbourDP, PrivacyUnit, Standing
from wordveil.promises.relations import Relation
from wordveil.promises.rounding import round_up
from wordveil.vocabulary.nearest_lists import OverlapGraph, overlap_graph
from wordveil.vocabulary.table import Embeddings


@dataclass(frozen=True, kw_only=True)
class NADP(VectorMechanism):
    """Add N(0, sigma_i^2) to words of component i, sigma_i = u* Delta_i, Delta_i its longest edge.

    Two words are adjacent if one is among the other's `adjacent` first words and their neighbourhoods of `overlap`
    words overlap by at least tau; both lists start with the word itself. The paper's text says adjacent = overlap = 2;
    its released code and all figures use 2 and 10, the defaults here.

    Guarantee:
        (epsilon, delta)-neighbour DP, certified on this vocabulary: the local-DP inequality for adjacent words only.
        Nothing is promised across components: the size of the noise discloses the component. A word without
        neighbours has Delta_i = 0; isolated="global" gives it the largest sigma, isolated="verbatim" releases it
        unchanged, as in the paper, and the guarantee states the share of such words. Inputs are the vocabulary's own
        vectors. The release is the real sum rounded to a public grid.

    Attributes:
        epsilon: Loss in nats between adjacent words, in (0, inf).
        delta: Hockey-stick delta, in (0, 1).
        adjacent: At least 2.
        overlap: At least 1.
        tau: Least overlap of adjacent words, in [0, 1].
        isolated: "global" or "verbatim".

    Raises:
        ParameterError: If a parameter is outside its domain, or (when fitted) no two words are adjacent.

    Reference:
        Bollegala, Machide, Kawarabayashi (2023), A Neighbourhood-Aware Differential Privacy Mechanism for Static
        Word Embeddings, Algorithms 1 to 3. Deviations: words with equal vectors are always adjacent, and isolated
        words get noise by default.

    Example:
        >>> from wordveil import Embeddings, RandomSource
        >>> points = [[0, 0], [1, 0], [0, 1], [4, 4], [5, 4]]
        >>> colours = Embeddings.from_arrays(["red", "green", "blue", "cat", "dog"], points)
        >>> randomizer = NADP(epsilon=4.0, overlap=2).fit(colours)
        >>> randomizer.release(colours.vectors, RandomSource.seeded_for_tests(1)).shape
        (5, 2)
        >>> print(randomizer.guarantee().sentence())  # doctest: +ELLIPSIS
        neighbour DP (certified): between two inputs adjacent in the overlap graph ... at most exp(4), delta 1e-05; ...
        >>> randomizer.isolated_share
        0.0
    """

    certifies_vocabulary: ClassVar[bool] = True
    certificate_method = "overlap-graph"
    name: ClassVar[str] = "nadp"
    paper: ClassVar[str] = "Bollegala et al. 2023, Algorithm 3"
    epsilon: float
    delta: float = 1e-5
    adjacent: int = 2
    overlap: int = 10
    tau: float = 0.1
    isolated: str = "global"

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_delta(self.delta)
        check_whole("adjacent", self.adjacent, 2)
        check_whole("overlap", self.overlap)
        check_within("tau", self.tau, 1)
        check_choice("isolated", self.isolated, ("global", "verbatim"))

    @classmethod
    def examples(cls) -> tuple[NADP, ...]:
        return cls(epsilon=2.0), cls(epsilon=2.0, isolated="verbatim")

    def constants(self, embeddings: Embeddings) -> dict[str, float]:
        fitted = self.fit(embeddings)
        return {
            "isolated_share": fitted.isolated_share,
            "noiseless_share": fitted.noiseless_share,
            "sigma": float(fitted.sigmas.max()),
        }

    def fit(self, embeddings: Embeddings) -> FittedNADP:
        graph = overlap_graph(embeddings, adjacent=self.adjacent, overlap=self.overlap, tau=self.tau)
        if not graph.reach.any():
            raise ParameterError("tau", self.tau, "leaves no two adjacent words in this vocabulary; lower it.")
        reach = graph.reach[graph.component]
        if self.isolated == "global":
            reach = np.where(graph.isolated, graph.reach.max(), reach)
        return FittedNADP(
            mechanism=self,
            dimensions=embeddings.dimensions,
            embeddings=embeddings,
            graph=graph,
            sigmas=reach * analytic_scale(self.epsilon, self.delta) * (1 + 2.0**-50),  # at least the real product
            rows=WordRows(embeddings),
        )


@dataclass(frozen=True, kw_only=True)
class FittedNADP(FittedWordNoise):
    """NADP bound to a vocabulary and its public graph."""

    mechanism: NADP
    graph: OverlapGraph = field(repr=False, compare=False)

    def related(self, claim: Guarantee | None = None) -> Relation:
        stated = self.guarantee() if claim is None else claim
        return vector_relation(stated, self.metric, edges=self.graph.edges, find=self.rows.find)

    @property
    def isolated_share(self) -> float:
        """Share of the vocabulary without any neighbour."""
        return float(self.graph.isolated.mean())

    @property
    def noiseless_share(self) -> float:
        """Share of the vocabulary that is released without noise."""
        return float((self.sigmas == 0).mean())

    def guarantee(self) -> NeighbourDP:
        mechanism = self.mechanism
        return NeighbourDP(
            epsilon=mechanism.epsilon,
            delta=mechanism.delta,
            graph=(
                f"the overlap graph of {self.embeddings.header.name} (table {self.embeddings.checksum_in_use[:12]}, "
                f"adjacent {mechanism.adjacent}, overlap {mechanism.overlap}, tau {mechanism.tau!r})"
            ),
            unit=PrivacyUnit.VECTOR,
            standing=Standing.CERTIFIED,
            assumptions=self.disclosed(),
        )

    def disclosed(self) -> tuple[str, ...]:
        said: tuple[str, ...] = ("the component of every released word is disclosed by the size of its noise",)
        if self.noiseless_share > 0:
            share = f"{round_up(100 * self.noiseless_share, 3)} % of the words have no neighbour and no noise"
            said = (*said, share)
        return said

    def advice(self) -> str:
        v = len(self.embeddings)
        return (
            f"Of {v * (v - 1) // 2} pairs of words, {len(self.graph.edges)} are adjacent and promised anything; "
            f"{round_up(100 * self.isolated_share, 3)} % of the words have no neighbour. Between other pairs the loss "
            "has no stated bound. Where every pair must be covered, use clipped-gaussian (equally) or laplace (by "
            "distance)."
        )
