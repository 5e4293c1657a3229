"""What every selection mechanism shares: P(y | x) proportional to b(y) exp(-rate * min(dist(x, y), cap)).

The mechanisms themselves (TEM, SanText, TightConstraints) live in their own files; each says its cap and its name.
This module fits them, at the textbook rate epsilon/2 or at a certified one, draws, and gives the exact channel.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self, get_args, get_type_hints

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.errors import CertificateError, ParameterError
from wordveil.kernels.selection import SelectionRows
from wordveil.mechanisms.base import Progress, WordMechanism, WordRandomizer
from wordveil.mechanisms.certificate_check import check_certificate
from wordveil.mechanisms.metric_rows import ChannelRows, bound_metric, metric_assumptions, named_metric, rows_for
from wordveil.mechanisms.rows import check_draws, checked_ids
from wordveil.metrics.distances import AnyMetric, VocabularyMetric
from wordveil.parameters import check_positive
from wordveil.promises.certificates import Certificate, Scalar, identity
from wordveil.promises.guarantees import Guarantee, LocalDP, MetricDP, Standing, weakest
from wordveil.promises.pair_loss import PairLoss, channel_pair
from wordveil.randomness import Draws, Stream, words
from wordveil.vocabulary.table import Embeddings

__all__ = [
    "LARGEST_LOSS",
    "LIPSCHITZ",
    "Calibration",
    "FittedExponential",
    "SelectionMechanism",
    "fit_selection",
]

JOB_CACHE_BYTES = 192 << 20
"""Memory that one batch job may keep block masses in."""

Calibration = Literal["textbook", "certified", "certified-local"]
"""The rate is epsilon/2, by theorem, or the one in a certificate, by computation on this vocabulary.

"certified" keeps epsilon metric DP. "certified-local" keeps epsilon local DP: epsilon is then in nats, the largest loss
between any two words of the vocabulary.
"""

LIPSCHITZ = "normaliser-lipschitz"
"""Name of the certificate that bounds the loss per distance by the normalisers of every pair of words."""
LARGEST_LOSS = "largest-loss"
"""Name of the certificate that bounds the loss between any two words in the same way."""


class SelectionMechanism(WordMechanism):
    """Parameters of an exponential mechanism on min(dist, cap).

    Attributes:
        epsilon: Loss per unit of distance, unit 1/distance, or in nats where the promise is local DP.
        metric: The metric.
        calibration: Where the rate comes from; see `Calibration`.
    """

    epsilon: float
    metric: AnyMetric
    calibration: Calibration

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        if self.calibration not in get_args(Calibration):
            known = ", ".join(get_args(Calibration))
            raise ParameterError("calibration", self.calibration, f"must be one of {known}.")
        if not isinstance(self.metric, AnyMetric):
            raise ParameterError("metric", self.metric, "must be a metric, such as Euclidean().")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        choices = get_args(get_type_hints(cls)["calibration"])
        return [cls(epsilon=4.0, calibration=each) for each in choices]  # type: ignore[call-arg]  # no dataclass

    @classmethod
    def rebuild(cls, certificate: Certificate) -> Self:
        parameters = dict(certificate.parameters)
        metric = named_metric(str(parameters.pop("metric", None)))
        if metric is None:
            raise CertificateError(
                f"The certificate is for mechanism={cls.name!r} with metric={certificate.parameters.get('metric')!r}, "
                "which cannot be rebuilt from it; pass the mechanism itself."
            )
        calibration: Calibration = "certified-local" if certificate.method == LARGEST_LOSS else "certified"
        parameters.pop("mechanism", None)
        for solved in ("base", "matrix"):
            parameters.pop(solved, None)
        rebuild: Any = cls
        try:
            found: Self = rebuild(metric=metric, calibration=calibration, **parameters)
        except TypeError:
            raise CertificateError(f"The certificate's parameters are not those of {cls.__name__}.") from None
        return found

    @property
    def needs_certificate(self) -> bool:
        return self.calibration != "textbook"

    @property
    def certificate_method(self) -> str:
        return LARGEST_LOSS if self.calibration == "certified-local" else LIPSCHITZ

    @property
    def highest_rate(self) -> float:
        """A rate above which the promise cannot hold: a score alone loses rate per distance.

        For local DP it depends on the vocabulary's diameter, and `check_certificate` finds it out.
        """
        return math.inf if self.certificate_method == LARGEST_LOSS else self.epsilon

    @abstractmethod
    def cap(self, rate: float, outputs: int) -> float:
        """Return where distances are clipped, in (0, inf), at this rate and number of words that may be output."""

    @abstractmethod
    def fit(self, embeddings: Embeddings, certificate: Certificate | None = None) -> FittedExponential:
        """Bind to a public vocabulary; a certified calibration needs the certificate of `certify`."""

    def fit_certified(self, embeddings: Embeddings, certificate: Certificate | None) -> FittedExponential:
        return self.fit(embeddings, certificate)

    def certified_parameters(self) -> dict[str, Scalar]:
        """Return what a certificate must say that it was made for; a user's metric is not one of ours by its name."""
        own = "" if type(self.metric).__module__.startswith("wordveil.") else "own "
        return {"mechanism": self.name, "epsilon": self.epsilon, "metric": f"{own}{identity(self.metric)}"}

    def parameters_for(self, embeddings: Embeddings) -> dict[str, Scalar]:
        """Return `certified_parameters`, and which matrix a metric that belongs to vocabularies has for this one."""
        parameters = self.certified_parameters()
        if isinstance(self.metric, VocabularyMetric):
            bound = self.metric.bind(embeddings.vectors, embeddings.header.checksum)
            parameters["matrix"] = bound.table.checksum
        return parameters

    def solved_parameters(self, certificate: Certificate) -> Mapping[str, Scalar]:
        """Return what the certificate found besides numbers, and may say without having been asked."""
        return {}

    def require(self, certificate: Certificate, embeddings: Embeddings) -> None:
        """Check that a certificate was made for this mechanism, vocabulary and candidate set.

        Raises:
            CertificateError: Naming what differs.
        """
        certificate.require(
            method=self.certificate_method,
            vocabulary=embeddings.header.checksum,
            candidates=embeddings.candidates_checksum,
            parameters={**self.solved_parameters(certificate), **self.parameters_for(embeddings)},
        )


@dataclass(frozen=True, kw_only=True)
class FittedExponential(WordRandomizer):
    """A selection mechanism bound to a vocabulary.

    Attributes:
        embeddings: The public vocabulary; outputs are its candidates.
        rows: The exact rows that draw.
        claim: The guarantee, computed by the mechanism that was fitted.
        base: Base measure over the outputs, None for 1.
    """

    embeddings: Embeddings
    rows: ChannelRows
    claim: Guarantee
    base: Float64Array | None = None
    draw_width: int = field(init=False)
    draws_by_engine: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "draw_width", self.rows.draw_width)

    @property
    def metric(self) -> AnyMetric:
        return self.rows.metric

    @property
    def outputs(self) -> IdArray:
        return self.rows.outputs

    def guarantee(self) -> Guarantee:
        return self.claim

    def loss_profile(self, diameter: float | None = None) -> PairLoss | None:
        claim = self.claim
        if not isinstance(claim, MetricDP) or claim.slack is None:
            return None
        # The slack separates the sampler from ideal weights; the channel may lie as far on the other side.
        return replace(channel_pair(self.channel(), slack=2 * claim.slack), assumptions=claim.assumptions)

    def on(self, device: str) -> FittedExponential:
        if device == "cpu" or not isinstance(self.rows, SelectionRows):
            return super().on(device)
        from wordveil.kernels.gpu.selection import GpuSelection  # heavy, and an extra

        return replace(self, rows=GpuSelection(self.rows, device=device))

    def law(self, ids: IdArray) -> Float64Array:
        weights = self.rows.weights(checked_ids(ids, len(self.embeddings)))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def sample(self, stream: Stream, n: int) -> Draws:
        return (words(stream.lane(0), (n, self.draw_width)),)

    def randomize(
        self, ids: IdArray, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        ids = checked_ids(ids, len(self.embeddings))
        check_draws(draws, (len(ids), self.draw_width))
        return self.rows.draw(ids, draws[0], threads=threads, progress=progress)

    def for_batch_job(self) -> FittedExponential:
        return replace(self, rows=self.rows.with_cache(JOB_CACHE_BYTES))

    def keep_probabilities(self, ids: IdArray) -> Float64Array:
        kept = np.exp(-self.rows.log_normalisers(ids))  # a word's own weight is its base measure, 1 unless there is one
        return kept if self.base is None else kept * self.base[np.searchsorted(self.rows.outputs, ids)]

    def channel(self) -> Float64Array:
        """Return the exact channel P(output | input), shape (v, number of candidates); for small vocabularies.

        Raises:
            ParameterError: If the matrix would exceed 2 GiB.
        """
        v, outputs = len(self.embeddings), len(self.rows.outputs)
        if 8 * v * outputs > 2**31:
            raise ParameterError("embeddings", f"{v} x {outputs}", "is too large for a whole channel (2 GiB at most).")
        return self.law(np.arange(v, dtype=np.int32))


def fit_selection(
    mechanism: SelectionMechanism,
    embeddings: Embeddings,
    certificate: Certificate | None,
    *,
    base: Float64Array | None = None,
) -> FittedExponential:
    """Bind a selection mechanism to a vocabulary at the rate its calibration gives.

    Args:
        mechanism: The mechanism.
        embeddings: The public vocabulary.
        certificate: Of `certify`; exactly where the calibration needs one.
        base: Base measure over the candidates, of which the certificate speaks; None for 1.

    Raises:
        CertificateError: If a certificate is missing, superfluous, made for other inputs, or refuted by two words.
        ParameterError: If no cap exists, it is so far that 64-bit sampling cannot honour the promise, or the metric
            does not belong to this vocabulary or fails an axiom.
    """
    rate, cap = _rate_and_cap(mechanism, embeddings, certificate)
    metric = bound_metric(mechanism.metric, embeddings)
    rows = rows_for(metric, embeddings, rate=rate, cap=cap, base=base)
    slack, epsilon, local = rows.arithmetic_slack(), mechanism.epsilon, mechanism.certificate_method == LARGEST_LOSS
    if not math.isfinite(slack):
        raise ParameterError(
            "gamma", cap, "makes the farthest words' weights too small for 64-bit sampling at this epsilon; lower it."
        )
    assumptions = metric_assumptions(metric)
    standing = Standing.PUBLISHED if assumptions else Standing.PROVED
    if certificate is not None:
        assumptions += (check_certificate(certificate, rows, embeddings, base, local=local),)
        standing, slack = weakest([standing, Standing.CERTIFIED]), slack + certificate.error
        if local:
            epsilon = certificate.numbers["epsilon"]  # at most what was asked for, and rounded up
    grounds: dict[str, Any] = {"slack": slack, "standing": standing, "assumptions": assumptions}
    claim: MetricDP | LocalDP = (
        LocalDP(epsilon=epsilon, **grounds)
        if local
        else MetricDP(
            epsilon=epsilon,
            metric=metric.name,
            vocabulary=embeddings.header.checksum,
            largest_distance=cap,
            **grounds,
        )
    )
    return FittedExponential(embeddings=embeddings, rows=rows, claim=claim, base=base)


def _rate_and_cap(
    mechanism: SelectionMechanism, embeddings: Embeddings, certificate: Certificate | None
) -> tuple[float, float]:
    """Return the rate and the cap, which the certificate gives where the calibration needs one."""
    outputs = len(embeddings.candidates)
    if not mechanism.needs_certificate:
        if certificate is not None:
            raise CertificateError("A certificate was passed, but calibration='textbook' uses none; say 'certified'.")
        rate = mechanism.epsilon / 2
        return rate, mechanism.cap(rate, outputs)
    if certificate is None:
        raise CertificateError(
            f"calibration={mechanism.calibration!r} needs a certificate: pass certify(mechanism, embeddings)."
        )
    mechanism.require(certificate, embeddings)
    found, rate, cap = (certificate.numbers.get(name, math.nan) for name in ("epsilon", "rate", "cap"))
    if not (found <= mechanism.epsilon and 0 < rate <= mechanism.highest_rate):
        raise CertificateError(
            f"The certificate reaches epsilon={found!r} at rate={rate!r}, which does not "
            f"keep the promised {mechanism.epsilon!r}."
        )
    if not math.isclose(cap, mechanism.cap(rate, outputs), rel_tol=1e-12):
        raise CertificateError(f"The certificate clips distances at {cap!r}, this mechanism elsewhere.")
    return rate, cap
