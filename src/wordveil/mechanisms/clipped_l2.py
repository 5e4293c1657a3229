"""Clipped l2 mechanism: clip to a ball, then noise with density proportional to exp(-rate ||z||)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from wordveil.arrays import Float64Array, FloatArray
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import InputDomain
from wordveil.mechanisms.exact_noise import RadialLaw
from wordveil.mechanisms.multivariate_laplace import FittedMultivariateLaplace, MultivariateLaplace
from wordveil.mechanisms.on_grid import ClippedMechanism, FittedClipped
from wordveil.mechanisms.rows import clip_to_ball
from wordveil.parameters import check_choice, check_number, check_positive, check_whole
from wordveil.promises.guarantees import LocalDP, Standing
from wordveil.promises.pair_loss import PairLoss
from wordveil.vocabulary.table import Embeddings

OF_WORDS = "both inputs are words of the vocabulary whose pairs were searched"
UNIT = 2.0**-53


@dataclass(frozen=True, kw_only=True)
class ClippedL2(ClippedMechanism):
    """Clip to norm C, then add multivariate Laplace noise: density proportional to exp(-rate ||z||_2).

    With delta = 0 the rate is epsilon over the diameter of the inputs. With delta > 0 it is the largest whose exact
    privacy profile at that diameter stays within delta at epsilon; from a few dimensions up that is far larger.

    The diameter is 2C for any vectors, diameter="ball". With diameter="vocabulary" it is the largest distance between
    the clipped vectors of two words of a vocabulary, over all pairs, rounded up; inputs are then its words alone.

    The standard deviation of a coordinate is sqrt(d + 1)/rate. With delta = 0 that is less than clipped Laplace noise
    has, by up to 29 % in many dimensions, and with delta > 0 it was below the analytic Gaussian's wherever tried: at
    epsilon 8 and delta 1e-5 by half in 5 dimensions, 10 % in 50, 2 % in 300.

    Guarantee:
        (epsilon, delta)-local DP for any two vectors (or two words): with delta = 0 proved, because norms differ by at
        most the diameter; with delta > 0 certified, by the profile, which never falls with the distance. An exact
        diameter is certified by computation. The release is the real sum rounded to a public grid.

    Attributes:
        epsilon: Loss in nats between any two inputs, in (0, inf).
        delta: Hockey-stick delta, in [0, 1).
        clip_norm: Public C, in the units of the embedding, in (0, inf).
        diameter: "ball" or "vocabulary".

    Raises:
        ParameterError: If a parameter is outside its domain, or (when fitted) no two words are apart.

    Reference:
        Hardt, Talwar (2010), On the Geometry of Differential Privacy (the mechanism); Joseph, Kulesza, Yu (2025),
        Privately Releasing with the l2 Mechanism, arXiv:2502.15929 (that it beats the Gaussian). The profile is ours.

    Example:
        >>> import numpy as np
        >>> from wordveil.randomness import RandomSource
        >>> randomizer = ClippedL2(epsilon=8.0, delta=1e-5).for_dimensions(300)
        >>> randomizer.release(np.ones((3, 300)), RandomSource.seeded_for_tests(1)).shape
        (3, 300)
        >>> round(randomizer.deviation, 3)
        1.18
        >>> print(ClippedL2(epsilon=8.0, delta=0.0).for_dimensions(4).guarantee().sentence())
        local DP (proved): between any two inputs, the probability of any output changes by a factor of at most exp(8);
        unit: one vector (row)
    """

    certificate_method = "l2-rate"
    name: ClassVar[str] = "clipped-l2"
    paper: ClassVar[str] = "Hardt & Talwar 2010; Joseph, Kulesza & Yu 2025"
    epsilon: float
    delta: float = 1e-5
    clip_norm: float = 1.0
    diameter: Literal["ball", "vocabulary"] = "ball"

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_positive("clip_norm", self.clip_norm)
        check_number("delta", self.delta, lambda x: 0 <= x < 1, "[0, 1)")
        check_choice("diameter", self.diameter, ("ball", "vocabulary"))

    @classmethod
    def examples(cls) -> tuple[ClippedL2, ...]:
        return cls(epsilon=2.0), cls(epsilon=2.0, delta=0.0), cls(epsilon=2.0, clip_norm=2.0, diameter="vocabulary")

    @property
    def needs_vocabulary(self) -> bool:
        return self.diameter == "vocabulary"

    certifies_vocabulary = needs_vocabulary

    def constants(self, embeddings: Embeddings) -> dict[str, float]:
        fitted = self.fit(embeddings)
        return {"dimensions": float(fitted.dimensions), "diameter": fitted.diameter, "rate": fitted.noise.epsilon}

    def fit(self, embeddings: Embeddings) -> FittedClippedL2:
        if self.diameter == "ball":
            return self.for_dimensions(embeddings.dimensions)
        found = clipped_diameter(embeddings.vectors[np.unique(embeddings.canonical)], self.clip_norm)
        if found == 0:
            raise ParameterError("diameter", "vocabulary", "finds no two words apart from each other; use 'ball'.")
        return self._bind(embeddings.dimensions, found)

    def for_dimensions(self, dimensions: int) -> FittedClippedL2:
        """Return the randomizer for any vectors of d >= 1 dimensions, unless the diameter is a vocabulary's."""
        if self.diameter == "vocabulary":
            problem = "covers the words of a vocabulary; for any vectors use 'ball'."
            raise ParameterError("diameter", "vocabulary", problem)
        check_whole("dimensions", dimensions)
        return self._bind(dimensions, 2 * self.clip_norm)

    def _bind(self, dimensions: int, diameter: float) -> FittedClippedL2:
        loss = self.epsilon
        if self.delta > 0:
            from wordveil.mechanisms.laplace_profile import laplace_loss  # SciPy, which drawing does not need

            loss = laplace_loss(self.epsilon, self.delta, dimensions=dimensions)
        rate = math.nextafter(loss / diameter, 0.0)
        return FittedClippedL2(
            mechanism=self, dimensions=dimensions, diameter=diameter, noise=MultivariateLaplace(epsilon=rate)
        )


@dataclass(frozen=True, kw_only=True)
class FittedClippedL2(FittedClipped):
    """The clipped l2 mechanism for vectors of a fixed dimension."""

    mechanism: ClippedL2
    diameter: float  # largest distance between two clipped inputs
    noise: MultivariateLaplace  # the noise; its epsilon is the rate

    @property
    def inputs(self) -> InputDomain:
        return "vocabulary vectors" if self.mechanism.diameter == "vocabulary" else "any vectors"

    @property
    def deviation(self) -> float:
        """Standard deviation of one coordinate's noise, in the units of the embedding."""
        return math.sqrt(self.dimensions + 1) / self.noise.epsilon

    @cached_property
    def _noise(self) -> FittedMultivariateLaplace:
        return self.noise.for_dimensions(self.dimensions)

    def guarantee(self) -> LocalDP:
        of_words = self.mechanism.diameter == "vocabulary"
        certified = of_words or self.mechanism.delta > 0
        claim = self.mechanism.promise(Standing.CERTIFIED if certified else Standing.PROVED)
        return replace(claim, assumptions=(OF_WORDS,)) if of_words else claim

    def loss_profile(self, diameter: float | None = None) -> PairLoss:
        from wordveil.mechanisms.laplace_profile import laplace_pair

        pair = laplace_pair(self.dimensions, math.nextafter(self.noise.epsilon * self.diameter, math.inf))
        return replace(pair, assumptions=self.guarantee().assumptions)

    def log_density(self, outputs: Float64Array, vectors: FloatArray) -> Float64Array:
        return self._noise.log_density(outputs, self.sums(vectors).rows)

    @property
    def law(self) -> RadialLaw:
        return RadialLaw(self.dimensions)

    @cached_property
    def scale(self) -> float:
        return self._noise.scale


def clipped_diameter(vectors: FloatArray, clip_norm: float) -> float:
    """Return the largest Euclidean distance between two rows after clipping, over all pairs, rounded up; at most 2C.

    Distances of the pairs that may be largest are taken from float64 differences. Each is off by at most d + 4
    roundings of its square, and each row by 4 of its norm from clipping; both are added.
    """
    from wordveil.kernels.pair_maximum import PairMaximum, PairProblem
    from wordveil.kernels.pair_tiles import PairTiles
    from wordveil.metrics.distances import Euclidean

    rows = clip_to_ball(vectors, clip_norm)
    problem = PairProblem(values=np.zeros(len(rows)), rate=1.0, cap=math.inf, tolerance=0.0, per_distance=False)
    search = PairMaximum(PairTiles(rows, Euclidean()), problem)
    for _ in search.steps():
        pass
    if search.best.value == 0:
        return 0.0
    d = rows.shape[1]
    return float(min(2 * clip_norm, search.best.value * (1 + (d + 8) * UNIT) + 16 * (d + 4) * UNIT * clip_norm))
