"""Multivariate Laplace: noise with density proportional to exp(-epsilon ||z||)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, ReleasedVectors
from wordveil.mechanisms.base import VectorMechanism, VectorRandomizer
from wordveil.mechanisms.rows import checked_rows, row_distances
from wordveil.parameters import check_draws, check_positive, check_whole
from wordveil.promises.guarantees import MetricDP, PrivacyUnit, Standing
from wordveil.randomness import Draws, Stream


@dataclass(frozen=True, kw_only=True)
class MultivariateLaplace(VectorMechanism):
    """Add z = r * u, with u uniform on the sphere and r ~ Gamma(d, 1/epsilon).

    Guarantee:
        epsilon-metric DP for the Euclidean distance between input vectors, proved, tight, for every pair of vectors.
        The proof speaks of real numbers: float64 rounding of the noise is outside it. Decoding to words comes after.

    Attributes:
        epsilon: Loss per unit of Euclidean distance, in (0, inf). The noise norm is d/epsilon on average.

    Raises:
        ParameterError: If epsilon is not finite and positive.

    Reference:
        Feyisetan, Balle, Drake, Diethe (2020), Privacy- and Utility-Preserving Textual Analysis via Calibrated
        Multivariate Perturbations, Algorithm 1; Asghar et al. (2025), section 3.2.

    Example:
        >>> import numpy as np
        >>> from wordveil.randomness import RandomSource
        >>> randomizer = MultivariateLaplace(epsilon=5.0).for_dimensions(50)
        >>> randomizer.release(np.zeros((3, 50)), RandomSource.seeded_for_tests(1)).shape
        (3, 50)
        >>> print(randomizer.guarantee().sentence())
        metric DP (proved): between two inputs at euclidean distance t, the probability of any output changes by a
        factor of exp(5 * t) (for ideal real noise: float64 rounding is outside the proof); unit: one vector (row)
    """

    name: ClassVar[str] = "laplace"
    paper: ClassVar[str] = "Feyisetan et al. 2020, Algorithm 1"
    epsilon: float

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)

    def for_dimensions(self, dimensions: int) -> FittedMultivariateLaplace:
        """Return the randomizer for vectors of d >= 1 dimensions; no vocabulary is needed."""
        check_whole("dimensions", dimensions)
        return FittedMultivariateLaplace(mechanism=self, dimensions=dimensions)


@dataclass(frozen=True, kw_only=True)
class FittedMultivariateLaplace(VectorRandomizer):
    """Multivariate Laplace for vectors of a fixed dimension."""

    mechanism: MultivariateLaplace
    dimensions: int

    @property
    def laplace_dimensions(self) -> int:
        return self.dimensions

    def guarantee(self) -> MetricDP:
        return MetricDP(
            epsilon=self.mechanism.epsilon,
            metric="euclidean",
            slack=None,
            unit=PrivacyUnit.VECTOR,
            standing=Standing.PROVED,
        )

    def log_density(self, outputs: Float64Array, vectors: FloatArray) -> Float64Array:
        return -self.mechanism.epsilon * row_distances(outputs, vectors)

    def sample(self, stream: Stream, n: int) -> Draws:
        return laplace_noise(stream, n, self.dimensions)

    def randomize(self, vectors: FloatArray, draws: Draws) -> ReleasedVectors:
        rows = checked_rows(vectors, self.dimensions, scale=1 / self.mechanism.epsilon)
        check_draws(draws, rows.shape, rows.shape[:1])
        directions, radii = draws
        return ReleasedVectors(np.asarray(rows + directions * (radii / self.mechanism.epsilon)[:, None]))


def laplace_noise(stream: Stream, n: int, d: int) -> Draws:
    """Draw n unit directions, shape (n, d), and n radii ~ Gamma(d, 1), shape (n,), from lanes 0 and 1.

    A direction is a normal vector over its norm; the norm is 0 with probability below 2**-50 d even at d = 1, and
    such a row is given the first axis rather than a NaN.
    """
    # Two lanes: a direction must tell nothing of the radius beside it, and each is drawn whole for any n. The radius of
    # density proportional to exp(-|z|) in d dimensions is Gamma(d, 1): the sphere's surface brings in r^(d - 1).
    directions = stream.lane(0).standard_normal((n, d))
    norms = np.linalg.norm(directions, axis=1)
    directions[norms == 0, 0] = 1.0
    directions /= np.where(norms == 0, 1.0, norms)[:, None]
    return directions, stream.lane(1).standard_gamma(float(d), n)
