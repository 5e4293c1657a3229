"""Mahalanobis: multivariate Laplace noise stretched along the public covariance of the vocabulary."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, ReleasedVectors
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import VectorMechanism, VectorRandomizer
from wordveil.mechanisms.multivariate_laplace import laplace_noise
from wordveil.mechanisms.rows import checked_rows, multiply_rows, row_distances
from wordveil.metrics.distances import Mahalanobis as MahalanobisMetric
from wordveil.parameters import check_draws, check_positive, check_within
from wordveil.promises.guarantees import MetricDP, PrivacyUnit, Standing
from wordveil.promises.rounding import round_up
from wordveil.randomness import Draws, Stream
from wordveil.vocabulary.table import Embeddings


@dataclass(frozen=True, kw_only=True)
class Mahalanobis(VectorMechanism):
    """Add z = r * S^(1/2) u, u uniform on the sphere, r ~ Gamma(d, 1/epsilon), S = lam * Sigma + (1 - lam) * I.

    Sigma is the covariance of the public table scaled to trace d.

    Guarantee:
        epsilon-metric DP for ||S^(-1/2)(x - x')||, proved, for every pair of vectors. In Euclidean terms the loss is
        at most epsilon/sqrt(lambda_min(S)) per unit: compare that number with Euclidean mechanisms, not epsilon.
        Float64 rounding of the noise and of the square root of S is not covered.

    Attributes:
        epsilon: Loss per unit of Mahalanobis distance, in (0, inf).
        lam: Weight of the covariance, in [0, 1]; 0 is the plain multivariate Laplace.

    Raises:
        ParameterError: If a parameter is outside its domain, or (when fitted) S is singular.

    Reference:
        Xu, Aggarwal, Feyisetan, Teissier (2020), A Differentially Private Text Perturbation Method Using a
        Regularized Mahalanobis Metric, Algorithm 1.

    Example:
        >>> from wordveil import Embeddings, RandomSource
        >>> points = [[0, 0], [1, 0], [0, 1], [4, 4], [5, 4]]
        >>> colours = Embeddings.from_arrays(["red", "green", "blue", "cat", "dog"], points)
        >>> randomizer = Mahalanobis(epsilon=5.0, lam=0.5).fit(colours)
        >>> randomizer.release(colours.vectors, RandomSource.seeded_for_tests(1)).shape
        (5, 2)
        >>> round(randomizer.euclidean_epsilon, 3)  # what to compare with Euclidean mechanisms, instead of 5
        6.86
    """

    name: ClassVar[str] = "mahalanobis"
    paper: ClassVar[str] = "Xu et al. 2020, Algorithm 1"
    epsilon: float
    lam: float = 0.5

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_within("lam", self.lam, 1)

    def fit(self, embeddings: Embeddings) -> FittedMahalanobis:
        d = embeddings.dimensions
        blend = (1 - self.lam) * np.eye(d)
        if self.lam > 0:
            blend += self.lam * scaled_covariance(embeddings.vectors)
        values, axes = np.linalg.eigh(blend)
        # An eigenvalue of float64 symmetric arithmetic is uncertain by about d units in the last place of the largest.
        smallest = float(values[0] - 8 * d * 2.0**-53 * values[-1])
        if smallest <= 0:
            raise ParameterError(
                "lam", self.lam, "makes the covariance singular on this vocabulary (lambda_min <= 0); lower it."
            )
        whitening = np.ascontiguousarray((axes / np.sqrt(values)) @ axes.T)
        label = f"lam {self.lam!r}, covariance of table {embeddings.checksum_in_use[:12]}"
        return FittedMahalanobis(
            mechanism=self,
            dimensions=d,
            root=np.ascontiguousarray((axes * np.sqrt(values)) @ axes.T),
            distance=MahalanobisMetric(whitening=whitening, label=label),
            smallest_eigenvalue=smallest,
        )


@dataclass(frozen=True, kw_only=True)
class FittedMahalanobis(VectorRandomizer):
    """Mahalanobis noise bound to the covariance of one public table."""

    mechanism: Mahalanobis
    dimensions: int
    root: Float64Array = field(repr=False, compare=False)  # S^(1/2), symmetric, shape (d, d)
    distance: MahalanobisMetric = field(repr=False, compare=False)  # the guarantee's metric: ||S^(-1/2)(x - x')||
    smallest_eigenvalue: float  # lambda_min(S), rounded down

    @property
    def metric(self) -> MahalanobisMetric:
        return self.distance

    @property
    def laplace_dimensions(self) -> int:
        return self.dimensions

    def log_density(self, outputs: Float64Array, vectors: FloatArray) -> Float64Array:
        seen, given = (self.metric.coordinates(rows) for rows in (outputs, vectors))
        return -self.mechanism.epsilon * row_distances(seen, given)

    @property
    def euclidean_epsilon(self) -> float:
        """Loss per unit of Euclidean distance, epsilon/sqrt(lambda_min), rounded up."""
        return math.nextafter(self.mechanism.epsilon / math.sqrt(self.smallest_eigenvalue), math.inf)

    def guarantee(self) -> MetricDP:
        return MetricDP(
            epsilon=self.mechanism.epsilon,
            metric=self.metric.name,
            slack=None,
            unit=PrivacyUnit.VECTOR,
            standing=Standing.PROVED,
            assumptions=(
                f"in Euclidean terms epsilon is {round_up(self.euclidean_epsilon)} per unit: compare that number",
            ),
        )

    def euclidean_guarantee(self) -> MetricDP:
        """Return what the same release promises for the Euclidean distance."""
        return MetricDP(
            epsilon=self.euclidean_epsilon,
            metric="euclidean",
            slack=None,
            unit=PrivacyUnit.VECTOR,
            standing=Standing.PROVED,
        )

    def sample(self, stream: Stream, n: int) -> Draws:
        return laplace_noise(stream, n, self.dimensions)

    def randomize(self, vectors: FloatArray, draws: Draws) -> ReleasedVectors:
        scale = math.sqrt(self.smallest_eigenvalue) / self.mechanism.epsilon  # of its shortest axis
        rows = checked_rows(vectors, self.dimensions, scale=scale)
        check_draws(draws, rows.shape, rows.shape[:1])
        directions, radii = draws
        stretched = multiply_rows(directions, self.root)
        return ReleasedVectors(np.asarray(rows + stretched * (radii / self.mechanism.epsilon)[:, None]))


def scaled_covariance(vectors: FloatArray) -> Float64Array:
    """Return the covariance of a public table, shape (v, d), scaled to trace d, shape (d, d), float64.

    `ParameterError` if all rows are equal, as in a vocabulary of one word: no covariance can be scaled.
    """
    d = vectors.shape[1]
    mean = vectors.mean(axis=0, dtype=np.float64)
    total = np.zeros((d, d))
    for start in range(0, len(vectors), 1 << 14):
        centred = vectors[start : start + (1 << 14)] - mean
        total += centred.T @ centred
    trace = float(np.trace(total))
    if trace <= 1e-300:
        raise ParameterError("embeddings", f"{len(vectors)} words", "have no spread, so no covariance; pass lam=0.")
    return np.asarray(total * (d / trace))
