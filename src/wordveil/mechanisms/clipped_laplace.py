"""Clipped Laplace: clip to a ball, then independent Laplace noise in every coordinate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from wordveil.mechanisms.on_grid import ClippedMechanism, FittedClipped
from wordveil.parameters import check_positive, check_whole
from wordveil.promises.guarantees import LocalDP, Standing
from wordveil.promises.rounding import scale_at_least


@dataclass(frozen=True, kw_only=True)
class ClippedLaplace(ClippedMechanism):
    """Clip to norm C, then add independent Laplace noise of scale 2 sqrt(d) C/epsilon to every coordinate.

    Guarantee:
        epsilon-local DP for any two vectors, proved: clipped vectors lie within 2C in Euclidean and hence within
        2 sqrt(d) C in L1 distance. The release is the real sum rounded to a public grid.

    Attributes:
        epsilon: Loss in nats between any two vectors, in (0, inf).
        clip_norm: Public C, in the units of the embedding, in (0, inf).

    Raises:
        ParameterError: If a parameter is not finite and positive.

    Reference:
        Huang et al. (2024), TrLaplace, Theorem 1. The decoder searches the unclipped words, as their equation 2.

    Example:
        >>> import numpy as np
        >>> from wordveil.randomness import RandomSource
        >>> randomizer = ClippedLaplace(epsilon=8.0, clip_norm=1.0).for_dimensions(4)
        >>> randomizer.release(np.ones((3, 4)), RandomSource.seeded_for_tests(1)).shape
        (3, 4)
        >>> randomizer.scale
        0.5
        >>> print(randomizer.guarantee().sentence())
        local DP (proved): between any two inputs, the probability of any output changes by a factor of at most exp(8);
        unit: one vector (row)
    """

    name: ClassVar[str] = "clipped-laplace"
    paper: ClassVar[str] = "Huang et al. 2024, Theorem 1"
    epsilon: float
    clip_norm: float = 1.0

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_positive("clip_norm", self.clip_norm)

    def for_dimensions(self, dimensions: int) -> FittedClippedLaplace:
        check_whole("dimensions", dimensions)
        return FittedClippedLaplace(mechanism=self, dimensions=dimensions)


@dataclass(frozen=True, kw_only=True)
class FittedClippedLaplace(FittedClipped):
    """Clipped Laplace for vectors of a fixed dimension.

    It has no `loss_profile`: a shift within a ball spreads over the coordinates, and no one-dimensional Laplace pair is
    known to dominate it.
    """

    mechanism: ClippedLaplace

    @cached_property
    def scale(self) -> float:
        """Scale of the Laplace noise of one coordinate, in the units of the embedding."""
        d, radius, epsilon = self.dimensions, self.mechanism.clip_norm, self.mechanism.epsilon
        least = 4 * d * (Fraction(radius) / Fraction(epsilon)) ** 2
        return scale_at_least(2 * math.sqrt(d) * radius / epsilon, least)

    def guarantee(self) -> LocalDP:
        return self.mechanism.promise(Standing.PROVED)
