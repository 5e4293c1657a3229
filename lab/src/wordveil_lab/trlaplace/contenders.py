"""The mechanisms of the TrLaplace experiments: honestly calibrated, as the paper calibrates, and as its code does."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wordveil.api import (
    ClippedGaussian,
    ClippedLaplace,
    Draws,
    Embeddings,
    Float64Array,
    FloatArray,
    Guarantee,
    IdArray,
    Mahalanobis,
    MultivariateLaplace,
    NoGuarantee,
    PrivacyUnit,
    Projection,
    RandomSource,
    ReleasedVectors,
    Standing,
    Stream,
    TruncatedLaplace,
    VectorMechanism,
    VectorRandomizer,
)
from wordveil_lab.papers.trlaplace import Published

NONE = "none"
GAUSSIAN = "gaussian, analytic"
LAPLACE = "laplace, clipped"
CERTIFIED = "truncated, certified"
PUBLISHED = "truncated, published (refuted)"
CODE = ("laplace, code (no clipping)", "truncated, code (no clipping)")
METRIC = ("CMP", "Mahalanobis", "PTE")
"""The other three methods of figure 4; their epsilon is per unit of distance, and nothing is clipped."""
CODE_NORM = 0.005  # the C of the published code, whose vectors are not clipped to it

Contender = tuple[str, float | None, VectorMechanism | None]
"""Name, epsilon and mechanism of a row."""


@dataclass(frozen=True, kw_only=True)
class Unclipped(VectorMechanism):
    """The published code: noise made for vectors of norm C, added to vectors that were never clipped to it."""

    inner: VectorMechanism
    name = "unclipped"
    paper = "code published with Huang et al. 2024"

    def fit(self, embeddings: Embeddings) -> VectorRandomizer:
        return FittedUnclipped(inner=self.inner.fit(embeddings), dimensions=embeddings.dimensions)


@dataclass(frozen=True, kw_only=True)
class FittedUnclipped(VectorRandomizer):
    """`Unclipped` for one table."""

    inner: VectorRandomizer
    dimensions: int

    def guarantee(self) -> Guarantee:
        reason = "the noise is made for vectors of norm C, and the vectors are not clipped to it"
        return NoGuarantee(reason=reason, unit=PrivacyUnit.VECTOR, standing=Standing.REFUTED)

    def sample(self, stream: Stream, n: int) -> Draws:
        return self.inner.sample(stream, n)

    def randomize(self, vectors: FloatArray, draws: Draws) -> ReleasedVectors:
        rows = np.asarray(vectors, dtype=np.float64)
        return ReleasedVectors(rows + self.inner.randomize(np.zeros_like(rows), draws))

    def log_density(self, outputs: Float64Array, vectors: FloatArray) -> Float64Array:
        # Noise does not depend on where it is added: that of outputs minus vectors, around the origin.
        densities = [self.inner.log_density(outputs - row, np.zeros_like(outputs[:1])) for row in vectors]
        return np.concatenate([density for density in densities if density is not None], axis=1)


def published(epsilon: float, dimensions: int, clip_norm: float = 1.0) -> Published:
    """Return the paper's truncated Laplace, with dummy dimensions where its logarithm needs them."""
    padded = max(dimensions, math.ceil(4.25 * epsilon**2))  # the logarithm exists above 4 epsilon^2 dimensions
    return Published(epsilon=epsilon, padded_dimensions=padded, clip_norm=clip_norm)


def contenders(
    dimensions: int, epsilons: tuple[float, ...], refuted: tuple[float, ...], code: tuple[float, ...]
) -> list[Contender]:
    """Return the rows of a table.

    Args:
        dimensions: The d of the vectors.
        epsilons: For the honest calibrations.
        refuted: For the paper's calibration.
        code: For what the published code does.
    """
    rows: list[Contender] = [(NONE, None, None)]
    for epsilon in epsilons:
        rows.append((GAUSSIAN, epsilon, ClippedGaussian(epsilon=epsilon)))
        rows.append((LAPLACE, epsilon, ClippedLaplace(epsilon=epsilon)))
        rows.append((CERTIFIED, epsilon, TruncatedLaplace(epsilon=epsilon)))
    rows += [(PUBLISHED, epsilon, published(epsilon, dimensions)) for epsilon in refuted]
    for epsilon in code:
        inner = (ClippedLaplace(epsilon=epsilon, clip_norm=CODE_NORM), published(epsilon, dimensions, CODE_NORM))
        rows += [(name, epsilon, Unclipped(inner=each)) for name, each in zip(CODE, inner, strict=True)]
    return rows


def metric_contenders(epsilons: tuple[float, ...]) -> list[Contender]:
    """Return the rows of `METRIC`: noise of Feyisetan et al. 2020, of Xu et al. 2020, and PrivEmb's at beta .9."""
    rows: list[Contender] = []
    for epsilon in epsilons:
        noises = (
            MultivariateLaplace(epsilon=epsilon),
            Mahalanobis(epsilon=epsilon),
            Projection(epsilon=epsilon, sensitivity="published"),
        )
        rows += [(name, epsilon, noise) for name, noise in zip(METRIC, noises, strict=True)]
    return rows


def best_guess(mechanism: VectorMechanism | None, vocabulary: Embeddings, known: IdArray, seen: IdArray) -> float:
    """Return how many words the best guess recovers that looks at one noisy vector and at public word frequencies.

    No training is in it: where it fails, no rewriter that reads one word at a time can do better.

    Args:
        mechanism: The noise; None leaves every word known.
        vocabulary: The public words.
        known: Ids of the words to be guessed, shape (n,).
        seen: Ids of the public training words, which give the frequencies.
    """
    if mechanism is None:
        return 1.0
    prior = np.bincount(seen, minlength=len(vocabulary)) + 0.5
    fitted = mechanism.fit(vocabulary)
    rows = np.asarray(vocabulary.vectors[known], dtype=np.float64)
    likelihoods = fitted.log_density(fitted.release(rows, RandomSource()), vocabulary.vectors)
    assert likelihoods is not None
    return float(((likelihoods + np.log(prior)).argmax(axis=1) == known).mean())
