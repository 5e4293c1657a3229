"""What mechanisms share that clip vectors to a ball and add independent noise of one law to every coordinate."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, ReleasedVectors
from wordveil.mechanisms.base import VectorMechanism, VectorRandomizer
from wordveil.mechanisms.rows import CoordinateNoise, checked_rows, clip_to_ball
from wordveil.parameters import check_draws
from wordveil.promises.guarantees import Guarantee, LocalDP, PrivacyUnit, Standing
from wordveil.randomness import Draws


class ClippedMechanism(VectorMechanism):
    """Parameters of a mechanism that clips to a ball of public radius; it fits vectors of any dimension."""

    clip_norm: float
    delta: float = 0.0

    def promise(self, standing: Standing) -> LocalDP:
        """Return the local DP of one vector that it claims, on these grounds."""
        return LocalDP(epsilon=self.epsilon, delta=self.delta, slack=None, unit=PrivacyUnit.VECTOR, standing=standing)


@dataclass(frozen=True, kw_only=True)
class FittedClipped(VectorRandomizer):
    """Clipping and coordinate noise for vectors of a fixed dimension."""

    mechanism: ClippedMechanism
    dimensions: int

    @property
    def clip_norm(self) -> float:
        return self.mechanism.clip_norm

    @property
    @abstractmethod
    def coordinate_noise(self) -> CoordinateNoise: ...

    def published(self) -> Guarantee:
        stated = self.guarantee()
        return self.mechanism.promise(Standing.REFUTED) if stated.epsilon is None else stated

    def log_density(self, outputs: Float64Array, vectors: FloatArray) -> Float64Array:
        return self.coordinate_noise.log_density(outputs, clip_to_ball(vectors, self.clip_norm))

    def noise(self, draws: Float64Array) -> Float64Array:
        """Turn standard draws, shape (n, d), into noise."""
        return np.asarray(draws * self.coordinate_noise.scale)

    def randomize(self, vectors: FloatArray, draws: Draws) -> ReleasedVectors:
        clipped = clip_to_ball(checked_rows(vectors, self.dimensions), self.clip_norm)
        check_draws(draws, clipped.shape)
        return ReleasedVectors(np.asarray(clipped + self.noise(draws[0])))
