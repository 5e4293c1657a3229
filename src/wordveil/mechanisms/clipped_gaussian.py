"""Clipped Gaussian: clip to a ball, then Gaussian noise, calibrated exactly or by the classical bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

from wordveil.errors import RefutedClaimError
from wordveil.mechanisms.exact_noise import NormalLaw
from wordveil.mechanisms.gaussian_scale import (
    analytic_scale,
    classical_scale,
    gaussian_epsilon,
    gaussian_log_delta,
    gaussian_pair,
)
from wordveil.mechanisms.on_grid import ClippedMechanism, FittedClipped
from wordveil.parameters import check_choice, check_delta, check_positive, check_whole
from wordveil.promises.guarantees import Guarantee, LocalDP, NoGuarantee, PrivacyUnit, Standing
from wordveil.promises.pair_loss import PairLoss
from wordveil.promises.rounding import round_up, scale_at_least
from wordveil.vocabulary.table import Embeddings


@dataclass(frozen=True, kw_only=True)
class ClippedGaussian(ClippedMechanism):
    """Clip to norm C, then add N(0, sigma^2) to every coordinate.

    calibration="analytic": sigma = 2C u*, with u* the root of the exact delta of the Gaussian mechanism.
    calibration="classical": sigma = 2C sqrt(2 ln(1.25/delta))/epsilon.

    Guarantee:
        (epsilon, delta)-local DP for any two vectors, proved, when sigma is at least the analytic one. The classical
        sigma is a theorem for epsilon < 1; beyond, it is compared with the analytic one, and where it is smaller the
        claim is refuted, because the analytic delta is exact. The release is the real sum rounded to a public grid.

    Attributes:
        epsilon: Loss in nats between any two vectors, in (0, inf).
        delta: Hockey-stick delta, in (0, 1).
        clip_norm: Public C, in the units of the embedding, in (0, inf).
        calibration: "analytic" or "classical".
        allow_refuted: Accept a classical sigma that is known to be too small, with no guarantee.

    Raises:
        ParameterError: If a parameter is outside its domain.
        RefutedClaimError: If the classical sigma is too small at this epsilon and delta, without `allow_refuted`.

    Reference:
        Huang et al. (2024), TrLaplace, Theorem 2 (classical); Balle, Wang (2018), Theorem 8 (analytic).

    Example:
        >>> import numpy as np
        >>> from wordveil.randomness import RandomSource
        >>> randomizer = ClippedGaussian(epsilon=8.0, delta=1e-5).for_dimensions(300)
        >>> randomizer.release(np.ones((3, 300)), RandomSource.seeded_for_tests(1)).shape
        (3, 300)
        >>> round(randomizer.sigma, 4)
        1.2005
        >>> print(randomizer.guarantee().sentence())
        local DP (proved): between any two inputs, the probability of any output changes by a factor of at most
        exp(8), delta 1e-05; unit: one vector (row)
    """

    certificate_method = "gaussian-scale"
    name: ClassVar[str] = "clipped-gaussian"
    paper: ClassVar[str] = "Huang et al. 2024, Theorem 2; Balle & Wang 2018"
    epsilon: float
    delta: float = 1e-5
    clip_norm: float = 1.0
    calibration: Literal["analytic", "classical"] = "analytic"
    allow_refuted: bool = False

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_delta(self.delta)
        check_positive("clip_norm", self.clip_norm)
        check_choice("calibration", self.calibration, ("analytic", "classical"))
        if not self.holds and self.allow_refuted is not True:
            raise RefutedClaimError(self._refutation() + " Use calibration='analytic', or pass allow_refuted=True.")

    @property
    def unit_scale(self) -> float:
        """Standard deviation over the sensitivity 2C."""
        scale = analytic_scale if self.calibration == "analytic" else classical_scale
        return scale(self.epsilon, self.delta)

    @property
    def holds(self) -> bool:
        """Whether the noise is at least what the exact delta asks for."""
        return self.calibration == "analytic" or self.unit_scale >= analytic_scale(self.epsilon, self.delta)

    def _refutation(self) -> str:
        exact = math.exp(gaussian_log_delta(self.epsilon, self.unit_scale))
        return (
            f"The classical Gaussian calibration claims delta {round_up(self.delta)} at epsilon "
            f"{round_up(self.epsilon)}, but two vectors at distance 2C have delta {round_up(exact)} exactly."
        )

    @classmethod
    def examples(cls) -> tuple[ClippedGaussian, ...]:
        return cls(epsilon=2.0), cls(epsilon=20.0, calibration="classical", allow_refuted=True)

    def constants(self, embeddings: Embeddings) -> dict[str, float]:
        delta = math.exp(gaussian_log_delta(self.epsilon, self.unit_scale))
        return {"scale": self.unit_scale, "sigma": self.for_dimensions(embeddings.dimensions).sigma, "delta": delta}

    def for_dimensions(self, dimensions: int) -> FittedClippedGaussian:
        check_whole("dimensions", dimensions)
        claim: LocalDP | NoGuarantee = self.promise(Standing.PROVED)
        if not self.holds:
            claim = NoGuarantee(reason=self._refutation(), unit=PrivacyUnit.VECTOR, standing=Standing.REFUTED)
        least = (2 * Fraction(self.clip_norm) * Fraction(self.unit_scale)) ** 2
        sigma = scale_at_least(2 * self.clip_norm * self.unit_scale, least)
        return FittedClippedGaussian(mechanism=self, dimensions=dimensions, sigma=sigma, claim=claim)


@dataclass(frozen=True, kw_only=True)
class FittedClippedGaussian(FittedClipped):
    """Clipped Gaussian for vectors of a fixed dimension; `sigma` is one coordinate's, in the units of the embedding."""

    mechanism: ClippedGaussian
    sigma: float
    claim: LocalDP | NoGuarantee

    @cached_property
    def scale(self) -> float:
        return self.sigma

    @property
    def law(self) -> NormalLaw:
        return NormalLaw(self.dimensions)

    def guarantee(self) -> LocalDP | NoGuarantee:
        return self.claim

    def loss_profile(self, diameter: float | None = None) -> PairLoss | None:
        return None if self.claim.epsilon is None else gaussian_pair(self.mechanism.unit_scale)

    def together(self, claim: Guarantee, draws: int) -> Guarantee:
        """Return the sum of deltas at the epsilon of one draw with the standard deviation over the root of `draws`.

        Reference:
            Dong, Roth, Su (2022), Gaussian Differential Privacy, Corollary 3.3.
        """
        added = super().together(claim, draws)
        if draws == 1 or added.epsilon is None:
            return added
        scale = math.nextafter(self.mechanism.unit_scale / math.sqrt(draws) * (1 - 2.0**-52), 0.0)
        epsilon = min(added.epsilon, gaussian_epsilon(added.delta, scale))
        tighter: Guarantee = replace(added, epsilon=epsilon)  # type: ignore[type-var]  # every promise is a dataclass
        return tighter

    def advice(self) -> str:
        if self.claim.epsilon is None:
            return "Use calibration='analytic': its sigma is the smallest that keeps epsilon and delta."
        return ""
