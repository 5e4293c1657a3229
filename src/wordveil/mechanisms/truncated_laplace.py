"""Truncated Laplace: clip to a ball, then independent Laplace noise cut off at [-A, A] in every coordinate.

The published half-width A is refuted; the certified and exact ones hold and gain nothing over the plain clipped
Laplace: in 300 dimensions at epsilon = 1, delta = 1e-5 the noise's standard deviation is 48.957 C against 48.990 C,
with a delta on top, and the analytic Gaussian has 7.461 C. Use `ClippedGaussian` from some 50 dimensions up and
`ClippedLaplace` below 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from wordveil.errors import ParameterError, RefutedClaimError
from wordveil.mechanisms.exact_noise import LaplaceLaw
from wordveil.mechanisms.gaussian_scale import analytic_scale
from wordveil.mechanisms.on_grid import ClippedMechanism, FittedClipped
from wordveil.mechanisms.truncated_law import (
    certified_half_width,
    exact_half_width,
    largest_delta,
    published_half_width,
)
from wordveil.parameters import check_choice, check_delta, check_positive, check_whole
from wordveil.promises.guarantees import LocalDP, NoGuarantee, PrivacyUnit, Standing
from wordveil.promises.pair_loss import PairLoss, generic_pair
from wordveil.promises.rounding import round_up, scale_at_least
from wordveil.vocabulary.table import Embeddings

ADVICE = "Use calibration='certified', or ClippedGaussian, or pass allow_refuted=True for an experiment."
NO_GAIN = 0.01  # a smaller relative gain in standard deviation is called none


@dataclass(frozen=True, kw_only=True)
class TruncatedLaplace(ClippedMechanism):
    """Clip to norm C, then add noise of density exp(-alpha |x|)/B on [-A, A], alpha = epsilon/(2 sqrt(d) C).

    calibration="certified": A = (1/alpha) ln(1 + sqrt(d) (e^(epsilon/sqrt d) - 1)/(2 delta)), a theorem.
    calibration="exact": the smallest A whose exact delta is at most delta, found by a bounded search.
    calibration="published": A = -(1/alpha) ln(1 - epsilon/(2 delta^(1/d) sqrt d)). Refuted.

    Guarantee:
        (epsilon, delta)-local DP for any two vectors: proved for "certified", certified by computation for "exact".
        For "published" the exact delta is computed and reported: at the paper's setting (d = 300, delta = 4^-300,
        epsilon = 0.1) it is .987, because the proof bounds the volume of a union of slabs by the product of the gaps.
        The release is the real sum rounded to a public grid.

    Attributes:
        epsilon: Loss in nats between any two vectors, in (0, inf).
        delta: Hockey-stick delta, in (0, 1/2); in (0, 1) for "published".
        clip_norm: Public C, in the units of the embedding, in (0, inf).
        calibration: "certified", "exact" or "published".
        padded_dimensions: Dimensions the published formula is evaluated at, to reproduce the paper; at least d.
        allow_refuted: Needed for "published".

    Raises:
        ParameterError: If a parameter is outside its domain, or (when fitted) the published formula has no value.
        RefutedClaimError: For "published" without `allow_refuted`.

    Reference:
        Huang et al. (2024), TrLaplace, Theorem 3 and Appendix B (published). In one dimension the certified law is
        that of Geng, Ding, Guo, Kumar (2020), Tight Analysis of Privacy and Utility Tradeoff in Approximate DP.

    Example:
        >>> import numpy as np
        >>> from wordveil.randomness import RandomSource
        >>> randomizer = TruncatedLaplace(epsilon=1.0, delta=1e-5).for_dimensions(300)
        >>> randomizer.release(np.ones((3, 300)), RandomSource.seeded_for_tests(1)).shape
        (3, 300)
        >>> print(randomizer.advice())
        No gain over the plain clipped Laplace, and a delta on top: in 300 dimensions the noise of one coordinate has
        standard deviation 48.957, that of clipped-laplace 48.99 with delta 0, that of the analytic clipped-gaussian
        7.462. Use clipped-gaussian here; in general clipped-gaussian from 50 dimensions up and clipped-laplace up to
        5.
        >>> published = TruncatedLaplace(epsilon=0.1, delta=4.0**-300, calibration="published", allow_refuted=True)
        >>> print(published.for_dimensions(300).guarantee().sentence())
        no guarantee (refuted): the published calibration claims delta 2.41e-181 at epsilon 0.1; its exact delta in 300
        dimensions is 0.9866
    """

    certificate_method = "truncated-laplace"
    name: ClassVar[str] = "truncated-laplace"
    paper: ClassVar[str] = "Huang et al. 2024, Theorem 3"
    epsilon: float
    delta: float = 1e-5
    clip_norm: float = 1.0
    calibration: Literal["certified", "exact", "published"] = "certified"
    padded_dimensions: int | None = None
    allow_refuted: bool = False

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_positive("clip_norm", self.clip_norm)
        published = self.calibration == "published"
        check_choice("calibration", self.calibration, ("certified", "exact", "published"))
        check_delta(self.delta, 1.0 if published else 0.5)
        if published and self.allow_refuted is not True:
            raise RefutedClaimError(
                "The published truncated Laplace calibration is refuted: at its paper's setting (d = 300, "
                f"delta = 4^-300, epsilon = 0.1) the exact delta is .987. {ADVICE}"
            )
        if self.padded_dimensions is not None:
            if not published:
                problem = "only reproduces calibration='published'; omit it."
                raise ParameterError("padded_dimensions", self.padded_dimensions, problem)
            check_whole("padded_dimensions", self.padded_dimensions)

    @classmethod
    def examples(cls) -> tuple[TruncatedLaplace, ...]:
        published = cls(epsilon=0.5, delta=0.3, calibration="published", allow_refuted=True)
        return cls(epsilon=2.0), cls(epsilon=2.0, calibration="exact"), published

    def constants(self, embeddings: Embeddings) -> dict[str, float]:
        fitted = self.for_dimensions(embeddings.dimensions)
        return {"dimensions": float(fitted.dimensions), "alpha": fitted.alpha, "half_width": fitted.half_width}

    def for_dimensions(self, dimensions: int) -> FittedTruncatedLaplace:
        check_whole("dimensions", dimensions)
        calibrated = dimensions if self.padded_dimensions is None else self.padded_dimensions
        check_whole("padded_dimensions", calibrated, dimensions)
        half_width = {"certified": certified_half_width, "exact": exact_half_width, "published": published_half_width}[
            self.calibration
        ](calibrated, self.epsilon, self.delta)
        least = 4 * calibrated * (Fraction(self.clip_norm) / Fraction(self.epsilon)) ** 2
        return FittedTruncatedLaplace(
            mechanism=self,
            dimensions=dimensions,
            scale=scale_at_least(2 * math.sqrt(calibrated) * self.clip_norm / self.epsilon, least),
            reach=half_width * self.epsilon / (2 * math.sqrt(calibrated)) * (1 + 2.0**-50),
            claim=self._claim(dimensions, calibrated, half_width),
        )

    def _claim(self, dimensions: int, calibrated: int, half_width: float) -> LocalDP | NoGuarantee:
        standing = Standing.PROVED if self.calibration == "certified" else Standing.CERTIFIED
        if self.calibration == "published":
            # Coordinates beyond the d real ones are zero in every input and are thrown away: alpha alone feels them.
            exact = largest_delta(dimensions, self.epsilon * math.sqrt(dimensions / calibrated), half_width)
            # Below 2C the search has no proof, and a shift of 2C leaves the box with probability 1/2 or more.
            if exact > self.delta or half_width < 2:
                return NoGuarantee(
                    reason=(
                        f"the published calibration claims delta {round_up(self.delta)} at epsilon "
                        f"{round_up(self.epsilon)}; its exact delta in {dimensions} dimensions is {round_up(exact)}"
                    ),
                    unit=PrivacyUnit.VECTOR,
                    standing=Standing.REFUTED,
                )
        return self.promise(standing)


@dataclass(frozen=True, kw_only=True)
class FittedTruncatedLaplace(FittedClipped):
    """Truncated Laplace for vectors of a fixed dimension."""

    mechanism: TruncatedLaplace
    scale: float  # 1/alpha, rounded up, in the units of the embedding
    reach: float  # alpha A, rounded up
    claim: LocalDP | NoGuarantee  # the guarantee

    @property
    def alpha(self) -> float:
        """Rate of the density, 1/(units of the embedding)."""
        return 1 / self.scale

    @property
    def half_width(self) -> float:
        """A, in the units of the embedding."""
        return self.reach * self.scale

    @property
    def law(self) -> LaplaceLaw:
        return LaplaceLaw(self.dimensions, self.reach)

    def guarantee(self) -> LocalDP | NoGuarantee:
        return self.claim

    def loss_profile(self, diameter: float | None = None) -> PairLoss | None:
        if self.claim.epsilon is None:
            return None
        # Losses are bounded by epsilon but where the noise leaves the shifted box; how often it does is known exactly.
        clip_norm = self.mechanism.clip_norm
        largest = 2 * math.sqrt(self.dimensions) * clip_norm * self.alpha
        left = largest_delta(self.dimensions, largest, self.half_width / clip_norm)
        return generic_pair(self.claim.epsilon, min(left, self.claim.delta))

    def advice(self) -> str:
        mechanism, d = self.mechanism, self.dimensions
        if self.claim.epsilon is None:
            return "Use clipped-gaussian, or calibration='certified', which holds but needs a far wider box."
        plain = math.sqrt(8 * d) * mechanism.clip_norm / mechanism.epsilon
        own = self.deviation
        gaussian = 2 * mechanism.clip_norm * analytic_scale(mechanism.epsilon, mechanism.delta)
        better = "clipped-gaussian" if gaussian < own else "clipped-laplace"
        gain = 1 - own / plain
        return (
            f"{'No gain' if gain < NO_GAIN else f'A gain of at most {round_up(100 * gain, 2)} %'} over the plain "
            f"clipped Laplace, and a delta on top: in {d} dimensions the noise of one coordinate has standard "
            f"deviation {round_up(own, 5)}, that of clipped-laplace {round_up(plain, 5)} with delta 0, that of the "
            f"analytic clipped-gaussian {round_up(gaussian)}. Use {better} here; in general clipped-gaussian from 50 "
            "dimensions up and clipped-laplace up to 5."
        )
