"""Mahalanobis: multivariate Laplace noise stretched along the public covariance of the vocabulary."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from wordveil.arrays import Float64Array, FloatArray
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import VectorMechanism
from wordveil.mechanisms.exact_noise import RealSums
from wordveil.mechanisms.multivariate_laplace import laplace_scale
from wordveil.mechanisms.on_grid import RadialRandomizer
from wordveil.mechanisms.rows import checked_rows, row_distances, scatter_of
from wordveil.mechanisms.stretch import spectral_stretch
from wordveil.metrics.distances import Mahalanobis as MahalanobisMetric
from wordveil.parameters import check_positive, check_within
from wordveil.promises.guarantees import MetricDP, PrivacyUnit, Standing
from wordveil.promises.rounding import round_up
from wordveil.vocabulary.table import Embeddings


@dataclass(frozen=True, kw_only=True)
class Mahalanobis(VectorMechanism):
    """Add z = r * S^(1/2) u, u uniform on the sphere, r ~ Gamma(d, 1/epsilon), S = lam * Sigma + (1 - lam) * I.

    Sigma is the covariance of the public table scaled to trace d.

    Guarantee:
        epsilon-metric DP for ||S^(-1/2)(x - x')||, proved, for every pair of vectors. In Euclidean terms the loss is
        at most epsilon/sqrt(lambda_min(S)) per unit: compare that number with Euclidean mechanisms, not epsilon.
        The matrices W and R that are computed for S^(-1/2) and S^(1/2) are taken as they are: the distance is ||W(x -
        x')||, the noise R z is wider by what W R lacks of the identity, and the release is the real sum rounded to a
        public grid.

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
            problem = "makes the covariance singular on this vocabulary (lambda_min <= 0); lower it."
            raise ParameterError("lam", self.lam, problem)
        whitening = np.ascontiguousarray((axes / np.sqrt(values)) @ axes.T)
        root = np.ascontiguousarray((axes * np.sqrt(values)) @ axes.T)
        label = f"lam {self.lam!r}, covariance of table {embeddings.checksum_in_use[:12]}"
        return FittedMahalanobis(
            mechanism=self,
            dimensions=d,
            root=root,
            scale=laplace_scale(1 / (1 - _departure(whitening, root)), self.epsilon),
            distance=MahalanobisMetric(whitening=whitening, label=label),
            smallest_eigenvalue=smallest,
        )


@dataclass(frozen=True, kw_only=True)
class FittedMahalanobis(RadialRandomizer):
    """Mahalanobis noise bound to the covariance of one public table."""

    mechanism: Mahalanobis
    dimensions: int
    root: Float64Array = field(repr=False, compare=False)  # R near S^(1/2), shape (d, d)
    scale: float  # of the noise before it is stretched, on average by 1, as the trace of S is d: 1/epsilon and a little
    distance: MahalanobisMetric = field(repr=False, compare=False)  # the guarantee's metric: ||S^(-1/2)(x - x')||
    smallest_eigenvalue: float  # lambda_min(S), rounded down

    @property
    def metric(self) -> MahalanobisMetric:
        return self.distance

    def log_density(self, outputs: Float64Array, vectors: FloatArray) -> Float64Array:
        seen, given = (self.metric.coordinates(rows) for rows in (outputs, vectors))
        return -self.mechanism.epsilon * row_distances(seen, given)

    @cached_property
    def euclidean_epsilon(self) -> float:
        """Loss per unit of Euclidean distance, epsilon times the largest stretch of W, rounded up."""
        return math.nextafter(self.mechanism.epsilon * spectral_stretch(self.metric.whitening), math.inf)

    def guarantee(self) -> MetricDP:
        compared = f"in Euclidean terms epsilon is {round_up(self.euclidean_epsilon)} per unit: compare that number"
        return MetricDP(
            epsilon=self.mechanism.epsilon,
            metric=self.metric.name,
            unit=PrivacyUnit.VECTOR,
            standing=Standing.PROVED,
            assumptions=(compared,),
        )

    def euclidean_guarantee(self) -> MetricDP:
        """Return what the same release promises for the Euclidean distance."""
        epsilon, standing = self.euclidean_epsilon, Standing.PROVED
        return MetricDP(epsilon=epsilon, metric="euclidean", unit=PrivacyUnit.VECTOR, standing=standing)

    def sums(self, vectors: FloatArray) -> RealSums:
        shortest = math.sqrt(self.smallest_eigenvalue) * self.scale  # of its axes
        rows = checked_rows(vectors, self.dimensions, scale=shortest)
        return RealSums(rows=rows, scale=self.scale, mixing=np.ascontiguousarray(self.root.T))


def _departure(whitening: Float64Array, root: Float64Array) -> float:
    """Return a bound on ||W R - I||: then ||R^(-1) v|| <= ||W v||/(1 - it), as R^(-1) = (W R)^(-1) W."""
    d = len(root)
    norms = float(np.linalg.norm(whitening) * np.linalg.norm(root))
    return float(np.linalg.norm(whitening @ root - np.eye(d))) * (1 + d * d * 2.0**-52) + (d + 8) * 2.0**-52 * norms


def scaled_covariance(vectors: FloatArray) -> Float64Array:
    """Return the covariance of a public table, shape (v, d), scaled to trace d, shape (d, d), float64.

    `ParameterError` if all rows are equal, as in a vocabulary of one word: no covariance can be scaled.
    """
    d, total = vectors.shape[1], scatter_of(vectors)
    trace = float(np.trace(total))
    if trace <= 1e-300:
        raise ParameterError("embeddings", f"{len(vectors)} words", "have no spread, so no covariance; pass lam=0.")
    return np.asarray(total * (d / trace))
