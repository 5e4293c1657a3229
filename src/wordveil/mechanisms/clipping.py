"""What mechanisms share that clip vectors to a ball and add independent noise of one law to every coordinate."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

from wordveil.arrays import Float64Array, FloatArray
from wordveil.mechanisms.base import VectorMechanism
from wordveil.mechanisms.common import answered_by
from wordveil.mechanisms.exact_noise import LaplaceLaw, NoiseLaw, NormalLaw, RealSums
from wordveil.mechanisms.on_grid import GridRandomizer
from wordveil.mechanisms.rows import CoordinateNoise, checked_rows, clip_to_ball
from wordveil.promises.guarantees import Guarantee, LocalDP, PrivacyUnit, Standing


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
    """Clipping and coordinate noise for vectors of a fixed dimension."""

    mechanism: ClippedMechanism
    dimensions: int

    @property
    @abstractmethod
    def coordinate_noise(self) -> CoordinateNoise: ...

    def published(self) -> Guarantee:
        stated = self.guarantee()
        return self.mechanism.promise(Standing.REFUTED) if stated.epsilon is None else stated

    def log_density(self, outputs: Float64Array, vectors: FloatArray) -> Float64Array:
        return replace(self.coordinate_noise, step=self.grid).log_density(
            outputs, clip_to_ball(vectors, self.mechanism.clip_norm)
        )

    @property
    def law(self) -> NoiseLaw:
        return NormalLaw(self.dimensions) if self.coordinate_noise.law == "gaussian" else LaplaceLaw(self.dimensions)

    @property
    def deviation(self) -> float:
        return self.law.deviation * self.coordinate_noise.scale

    def sums(self, vectors: FloatArray) -> RealSums:
        rows = clip_to_ball(checked_rows(vectors, self.dimensions), self.mechanism.clip_norm)
        return RealSums(rows=rows, scale=self.coordinate_noise.scale)
