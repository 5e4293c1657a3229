"""Multivariate Laplace: noise with density proportional to exp(-epsilon ||z||)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from wordveil.arrays import FloatArray
from wordveil.mechanisms.base import VectorMechanism
from wordveil.mechanisms.exact_noise import RealSums
from wordveil.mechanisms.on_grid import RadialRandomizer
from wordveil.mechanisms.rows import checked_rows
from wordveil.parameters import check_positive, check_whole
from wordveil.promises.guarantees import MetricDP, PrivacyUnit, Standing
from wordveil.promises.rounding import scale_at_least


@dataclass(frozen=True, kw_only=True)
class MultivariateLaplace(VectorMechanism):
    """Add z = r * u, with u uniform on the sphere and r ~ Gamma(d, 1/epsilon).

    Guarantee:
        epsilon-metric DP for the Euclidean distance between input vectors, proved, tight, for every pair of vectors.
        The release is the real sum rounded to a public grid; decoding to words comes after.

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
        factor of exp(5 * t); unit: one vector (row)
    """

    name: ClassVar[str] = "laplace"
    paper: ClassVar[str] = "Feyisetan et al. 2020, Algorithm 1"
    epsilon: float

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)

    def for_dimensions(self, dimensions: int) -> FittedMultivariateLaplace:
        check_whole("dimensions", dimensions)
        return FittedMultivariateLaplace(mechanism=self, dimensions=dimensions)


@dataclass(frozen=True, kw_only=True)
class FittedMultivariateLaplace(RadialRandomizer):
    """Multivariate Laplace for vectors of a fixed dimension."""

    mechanism: MultivariateLaplace
    dimensions: int

    def guarantee(self) -> MetricDP:
        epsilon, standing = self.mechanism.epsilon, Standing.PROVED
        return MetricDP(epsilon=epsilon, metric="euclidean", unit=PrivacyUnit.VECTOR, standing=standing)

    @cached_property
    def scale(self) -> float:
        """1/epsilon, rounded up, in the units of the embedding."""
        return laplace_scale(1.0, self.mechanism.epsilon)

    def sums(self, vectors: FloatArray) -> RealSums:
        return RealSums(rows=checked_rows(vectors, self.dimensions, scale=self.scale), scale=self.scale)


def laplace_scale(stretch: float, epsilon: float) -> float:
    """Return stretch/epsilon, rounded up."""
    return scale_at_least(stretch / epsilon, (Fraction(stretch) / Fraction(epsilon)) ** 2)
