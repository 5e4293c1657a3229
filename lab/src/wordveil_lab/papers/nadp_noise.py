"""The baselines that Bollegala et al. (2023) compare NADP with: as their text states them and as their code draws them.

Text is the paper; code is the repository named in its footnote 1 (`common/UT.py`, `packages/NADP_package`). Where the
two differ, both are drawn. Only for their figures: what a scale read off as an average or from another vocabulary
promises is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import wordveil.api as wv

DELTA = 1 / 73404
TAU = 0.5  # of figure 2, and of the Gaussian in figure 3
LAPLACE_TAU = 0.1
"""The graph of the L1 sensitivity. The code holds a number, 151.799, and not where it comes from: it exceeds sqrt(300)
times the longest edge at tau = .5, 7.996, and so is none of that graph; at tau = .1 (10.089) it can be one."""
CODE = ("Gaussian, code", "Laplacian, code", "Mahalanobis, lam 1")
"""What NADP is compared with in the authors' figures; their code's Jaccard noise is its Gaussian."""


@dataclass(frozen=True, kw_only=True)
class FlatNoise(wv.VectorMechanism):
    """Independent noise of one size on every coordinate of every word."""

    name: ClassVar[str] = "flat-noise"
    paper: ClassVar[str] = "Bollegala et al. 2023, sections 3.1 and 5"
    law: str  # "gaussian" or "laplace"
    scale: float  # standard deviation of the Gaussian, scale parameter of the Laplace law

    def fit(self, embeddings: wv.Embeddings) -> FittedFlatNoise:
        return FittedFlatNoise(mechanism=self, dimensions=embeddings.dimensions)


@dataclass(frozen=True, kw_only=True)
class FittedFlatNoise(wv.VectorRandomizer):
    """`FlatNoise` for one table."""

    mechanism: FlatNoise
    dimensions: int

    def guarantee(self) -> wv.Guarantee:
        reason = "a baseline of another paper's figures, whose scale is taken as it is given"
        return wv.NoGuarantee(reason=reason, unit=wv.PrivacyUnit.VECTOR)

    def sample(self, stream: wv.Stream, n: int) -> wv.Draws:
        if self.mechanism.law == "gaussian":
            return (stream.lane(0).standard_normal((n, self.dimensions)),)
        uniform = stream.lane(0).random((n, self.dimensions))
        # A Laplace variate is the difference of two exponential ones of equal scale.
        return (np.log1p(-stream.lane(1).random((n, self.dimensions))) - np.log1p(-uniform),)

    def randomize(self, vectors: wv.FloatArray, draws: wv.Draws) -> wv.ReleasedVectors:
        return wv.ReleasedVectors(np.asarray(np.asarray(vectors, dtype=np.float64) + self.mechanism.scale * draws[0]))


def largest_edge(embeddings: wv.Embeddings, tau: float) -> tuple[float, float]:
    """Return the largest Euclidean and the largest L1 distance between adjacent words: the graph's sensitivities."""
    graph = wv.overlap_graph(embeddings, tau=tau)
    first, second = (np.asarray(embeddings.vectors[ends], dtype=np.float64) for ends in graph.edges.T)
    return float(graph.reach.max()), float(np.abs(first - second).sum(axis=1).max())


def contenders(embeddings: wv.Embeddings, epsilon: float) -> Iterator[tuple[str, wv.VectorMechanism]]:
    """Yield the names and mechanisms of figures 2 and 3 at one epsilon."""
    for tau in (0.5, 0.1):
        yield f"NADP, tau {tau:g}", wv.NADP(epsilon=epsilon, delta=DELTA, tau=tau, isolated="verbatim")
    yield "NADP, tau 0.5, isolated words noisy", wv.NADP(epsilon=epsilon, delta=DELTA, tau=0.5)
    reach = largest_edge(embeddings, TAU)[0]
    summed = largest_edge(embeddings, LAPLACE_TAU)[1]
    yield "Gaussian, code", FlatNoise(law="gaussian", scale=reach * wv.analytic_scale(epsilon, DELTA))
    yield "Gaussian, text", FlatNoise(law="gaussian", scale=reach * wv.classical_scale(epsilon, DELTA))
    yield "Jaccard, text", wv.Jaccard(epsilon=epsilon, delta=DELTA, allow_refuted=True)
    yield "Laplacian, code", FlatNoise(law="laplace", scale=summed / epsilon)
    yield "Laplacian, text", FlatNoise(law="laplace", scale=1 / epsilon)
    yield "Mahalanobis, lam 1", wv.Mahalanobis(epsilon=epsilon, lam=1.0)
    yield "multivariate Laplace (not in the paper)", wv.MultivariateLaplace(epsilon=epsilon)
