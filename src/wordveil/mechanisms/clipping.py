"""What mechanisms share that clip vectors to a ball of public radius."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordveil.arrays import Float64Array, FloatArray
from wordveil.mechanisms.base import VectorMechanism
from wordveil.mechanisms.common import answered_by
from wordveil.mechanisms.exact_noise import LaplaceLaw, NoiseLaw, RealSums
from wordveil.mechanisms.on_grid import GridRandomizer
from wordveil.mechanisms.rows import checked_rows, clip_to_ball, laplace_log_density, row_distances
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
    """Clipping and noise for vectors of a fixed dimension: as a rule independent Laplace noise in every coordinate."""

    mechanism: ClippedMechanism
    dimensions: int

    def published(self) -> Guarantee:
        stated = self.guarantee()
        return self.mechanism.promise(Standing.REFUTED) if stated.epsilon is None else stated

    def log_density(self, outputs: Float64Array, vectors: FloatArray) -> Float64Array:
        centres, law = self.sums(vectors).rows, self.law
        if isinstance(law, LaplaceLaw):
            reach = law.reach * self.scale
            return laplace_log_density(outputs, centres, scale=self.scale, reach=reach, step=self.grid)
        return np.asarray(-np.square(row_distances(outputs, centres)) / (2 * self.scale**2))

    @property
    def law(self) -> NoiseLaw:
        return LaplaceLaw(self.dimensions)

    def sums(self, vectors: FloatArray) -> RealSums:
        rows = clip_to_ball(checked_rows(vectors, self.dimensions), self.mechanism.clip_norm)
        return RealSums(rows=rows, scale=self.scale)
