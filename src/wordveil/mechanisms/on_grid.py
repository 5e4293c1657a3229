"""What vector mechanisms share whose release is the rounding of a real sum to a public grid: nearly all of them.

At the end, what those share that clip vectors to a ball of public radius.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, ReleasedVectors
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import VectorMechanism, VectorRandomizer
from wordveil.mechanisms.common import answered_by
from wordveil.mechanisms.exact_noise import TAIL_WORDS, LaplaceLaw, NoiseLaw, RadialLaw, RealSums, nearest_points
from wordveil.mechanisms.rows import checked_rows, clip_to_ball, row_distances
from wordveil.parameters import check_draws
from wordveil.promises.guarantees import Guarantee, LocalDP, PrivacyUnit, Standing
from wordveil.randomness import Draws, Stream, random_bits

FINER = 8  # the default grid is the noise's standard deviation over 2**8 to 2**9
EXPONENTS = (-100, 100)
FARTHEST = 2.0**33  # steps in the deviation of noise: beyond, floats decide hardly anything


class GridRandomizer(VectorRandomizer):
    """Adds noise of a law and releases the nearest point of a public grid, as if sum and noise were real numbers.

    Attributes:
        law: The law of the noise at scale 1.
        scale: Scale of the noise, in the units of the embedding, where all rows have one.
        deviation: Standard deviation of a coordinate's noise.
    """

    if TYPE_CHECKING:  # it would be the default of a dataclass's field

        @property
        def scale(self) -> float: ...

    @property
    @abstractmethod
    def law(self) -> NoiseLaw: ...

    @property
    def deviation(self) -> float:
        return self.law.deviation * self.scale

    @abstractmethod
    def sums(self, vectors: FloatArray) -> RealSums:
        """Return what noise is added to, after checking it, and at which scale."""

    @cached_property
    def grid(self) -> float:
        return grid_below(self.deviation)

    @cached_property
    def draw_width(self) -> int:
        return self.law.words + TAIL_WORDS

    def sample(self, stream: Stream, n: int) -> Draws:
        # Whole words, and for each row a key of what follows them: so many for any row, whatever is decided by them.
        drawn = random_bits(stream.lane(0), (n, self.draw_width))
        return drawn[:, :-TAIL_WORDS], drawn[:, -TAIL_WORDS:]

    def randomize(self, vectors: FloatArray, draws: Draws) -> ReleasedVectors:
        return self.points(vectors, draws, self.grid)

    def points(self, vectors: FloatArray, draws: Draws, grid: float) -> ReleasedVectors:
        sums = self.sums(vectors)
        check_draws(draws, (len(sums.rows), self.law.words), (len(sums.rows), TAIL_WORDS))
        words, tails = draws
        if not self.deviation <= FARTHEST * grid:
            raise ParameterError("grid", grid, "must be coarser: the noise's deviation is more than 2^33 steps of it.")
        return ReleasedVectors(nearest_points(sums, self.law, words, tails, grid))


class RadialRandomizer(GridRandomizer):
    """Adds multivariate Laplace noise at the rate of its claim."""

    dimensions: int

    @property
    def law(self) -> RadialLaw:
        return RadialLaw(self.dimensions)

    @property
    def laplace_dimensions(self) -> int:
        return self.dimensions

    def log_density(self, outputs: Float64Array, vectors: FloatArray) -> Float64Array:
        return -row_distances(outputs, self.sums(vectors).centres()[0]) / self.scale


def grid_below(deviation: float) -> float:
    """Return the power of two at or below a standard deviation over 2^8, within [2^-100, 2^100]."""
    exponent = math.floor(math.log2(deviation)) - FINER
    return 2.0 ** min(max(exponent, EXPONENTS[0]), EXPONENTS[1])


class ClippedMechanism(VectorMechanism):
    """Parameters of a mechanism that clips to a ball of public radius; it fits vectors of any dimension."""

    clip_norm: float
    delta: float = 0.0

    def promise(self, standing: Standing) -> LocalDP:
        """Return the local DP of one vector that it claims, on these grounds."""
        return LocalDP(epsilon=self.epsilon, delta=self.delta, unit=PrivacyUnit.VECTOR, standing=standing)


@answered_by("mechanism", "clip_norm")
@dataclass(frozen=True, kw_only=True)
class FittedClipped(GridRandomizer):
    """Clipping and noise for vectors of a fixed dimension: as a rule independent Laplace noise in every coordinate."""

    mechanism: ClippedMechanism
    dimensions: int

    def published(self) -> Guarantee:
        stated = self.guarantee()
        return self.mechanism.promise(Standing.REFUTED) if stated.epsilon is None else stated

    def log_density(self, outputs: Float64Array, vectors: FloatArray) -> Float64Array:
        centres, law = self.sums(vectors).rows, self.law
        if isinstance(law, LaplaceLaw):
            from scipy.spatial.distance import cdist  # releasing needs no SciPy

            total, largest = (cdist(outputs, centres, name) for name in ("cityblock", "chebyshev"))
            # Rounding carries sums half a step beyond where the noise is cut off: a point whose cell meets the support
            # is possible; one a hair beyond is not.
            edge = law.reach * self.scale * (1 + 1e-9) + self.grid / 2
            beyond = largest > edge + 1e-9 * float(np.abs(centres).max(initial=0.0))
            return np.where(beyond, -np.inf, -total / self.scale)
        return np.asarray(-np.square(row_distances(outputs, centres)) / (2 * self.scale**2))

    @property
    def law(self) -> NoiseLaw:
        return LaplaceLaw(self.dimensions)

    def sums(self, vectors: FloatArray) -> RealSums:
        rows = clip_to_ball(checked_rows(vectors, self.dimensions), self.mechanism.clip_norm)
        return RealSums(rows=rows, scale=self.scale)
