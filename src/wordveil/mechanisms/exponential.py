"""Selection mechanisms: P(y | x) proportional to b(y) exp(-rate * min(dist(x, y), cap)).

The rate is the textbook epsilon/2, or a certified one. The mechanisms themselves (TEM, SanText, TightConstraints) live
in their own files; each states its cap and its promise. This module has their parameters, the certificates that a rate
can come from, the law, the rows that draw it fast, and what the guarantee rests on.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, get_args, get_type_hints

import numpy as np

from wordveil.arrays import Float64Array, IdArray, PrivateIds, Progress, ReleasedIds
from wordveil.errors import CertificateError, ParameterError
from wordveil.kernels.channel_rows import ChannelRows
from wordveil.kernels.compiled.library import document_bits
from wordveil.kernels.selection import SelectionRows
from wordveil.mechanisms.base import WordMechanism, WordRandomizer
from wordveil.mechanisms.certificate_check import check_certificate
from wordveil.mechanisms.common import answered_by
from wordveil.mechanisms.metric_rows import bound_metric, metric_assumptions, named_metric, rows_for, stated_name
from wordveil.mechanisms.worst_pairs import word_distances
from wordveil.metrics.distances import AnyMetric, Metric, VocabularyMetric, is_known
from wordveil.parameters import check_choice, check_draws, check_positive, checked_ids
from wordveil.promises.certificates import Certificate, Scalar, digest_of, identity
from wordveil.promises.guarantees import LocalDP, MetricDP, Standing, weakest
from wordveil.promises.pair_loss import PairLoss, channel_pair
from wordveil.randomness import DocumentStreams, Draws, Stream, random_bits
from wordveil.vocabulary.table import Embeddings

JOB_CACHE_BYTES = 192 << 20
"""Memory that one batch job may keep block masses in."""

Sizing = Literal["textbook", "certified", "certified-local"]
"""The rate is epsilon/2, by theorem, or the one in a certificate, by computation on this vocabulary.

"certified" keeps epsilon metric DP. "certified-local" keeps epsilon local DP: epsilon is then in nats, the largest loss
between any two words of the vocabulary.
"""

LIPSCHITZ = "normaliser-lipschitz"
"""Name of the certificate that bounds the loss per distance by the normalizers of every pair of words."""
LARGEST_LOSS = "largest-loss"
"""Name of the certificate that bounds the loss between any two words in the same way."""


class SelectionMechanism(WordMechanism):
    """Parameters of an exponential mechanism on min(dist, cap)."""

    epsilon: float  # loss per unit of distance, unit 1/distance, or in nats where the promise is local DP
    metric: AnyMetric  # the metric
    calibration: Sizing  # where the rate comes from; see `Sizing`

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_choice("calibration", self.calibration, get_args(Sizing))
        if not isinstance(self.metric, AnyMetric):
            raise ParameterError("metric", self.metric, "must be a metric, such as Euclidean().")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        choices = get_args(get_type_hints(cls)["calibration"])
        return [cls(epsilon=4.0, calibration=each) for each in choices]  # type: ignore[call-arg]  # no dataclass

    @classmethod
    def rebuild(cls, certificate: Certificate) -> Self:
        found_besides = ("mechanism", "metric", "base", "matrix")
        parameters = {name: value for name, value in certificate.parameters.items() if name not in found_besides}
        metric = named_metric(str(certificate.parameters.get("metric")))
        if metric is None:
            raise CertificateError(
                f"The certificate is for mechanism={cls.name!r} with metric={certificate.parameters.get('metric')!r}, "
                "which cannot be rebuilt from it; pass the mechanism itself."
            )
        calibration: Sizing = "certified-local" if certificate.method == LARGEST_LOSS else "certified"
        return cls._of({**parameters, "metric": metric, "calibration": calibration})

    @property
    def needs_certificate(self) -> bool:
        return self.calibration != "textbook"

    @property
    def certificate_method(self) -> str:  # type: ignore[override]
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

    def measure(self, certificate: Certificate | None, embeddings: Embeddings) -> Float64Array | None:
        """Return the base measure over the candidates that a certificate speaks of; None for 1."""
        return None

    def fit(self, embeddings: Embeddings, certificate: Certificate | None = None) -> FittedExponential:
        """Bind to a public vocabulary; a certified calibration needs the certificate of `certify`.

        `CertificateError` if a certificate is missing, superfluous, made for other inputs, or refuted by two words;
        `ParameterError` if no cap exists, it is so far that 64-bit sampling cannot honour the promise, or the metric
        does not belong to this vocabulary or fails an axiom.
        """
        rate, cap = rate_and_cap(self, embeddings, certificate)
        metric, base = bound_metric(self.metric, embeddings), self.measure(certificate, embeddings)
        rows = rows_for(metric, embeddings, rate=rate, cap=cap, base=base)
        slack, local = rows.arithmetic_slack(), self.certificate_method == LARGEST_LOSS
        if not math.isfinite(slack):
            problem = "makes the farthest words' weights too small for 64-bit sampling at this epsilon; lower it."
            raise ParameterError("gamma", cap, problem)
        assumptions = metric_assumptions(metric)
        standing = Standing.PUBLISHED if assumptions else Standing.PROVED
        if certificate is not None:
            assumptions += (check_certificate(certificate, rows, embeddings, base, local=local),)
            standing, slack = weakest([standing, Standing.CERTIFIED]), slack + certificate.error
        facts: dict[str, Any] = {"slack": slack, "standing": standing, "assumptions": assumptions}
        claim: MetricDP | LocalDP
        if certificate is not None and local:
            claim = LocalDP(epsilon=certificate.numbers["epsilon"], **facts)  # at most what was asked for, rounded up
        else:
            claim = MetricDP(epsilon=self.epsilon, metric=stated_name(metric), largest_distance=cap, **facts)
        return FittedExponential(mechanism=self, embeddings=embeddings, rows=rows, claim=claim, base=base)

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
            bound = self.metric.bind(embeddings.vectors, embeddings.checksum_in_use)
            parameters["matrix"] = bound.table.checksum
        return parameters

    def solved_parameters(self, certificate: Certificate) -> Mapping[str, Scalar]:
        """Return what the certificate found besides numbers, and may say without having been asked."""
        return {}

    def require(self, certificate: Certificate, embeddings: Embeddings) -> None:
        certificate.require(
            method=self.certificate_method,
            vocabulary=embeddings.checksum_in_use,
            candidates=embeddings.candidates_checksum,
            parameters={**self.solved_parameters(certificate), **self.parameters_for(embeddings)},
        )


def rate_and_cap(
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
        problem = "needs a certificate: pass certify(mechanism, embeddings)."
        raise CertificateError(f"calibration={mechanism.calibration!r} {problem}")
    mechanism.require(certificate, embeddings)
    found, rate, cap = (certificate.numbers.get(name, math.nan) for name in ("epsilon", "rate", "cap"))
    if not (found <= mechanism.epsilon and 0 < rate <= mechanism.highest_rate):
        reached = f"The certificate reaches epsilon={found!r} at rate={rate!r}"
        raise CertificateError(f"{reached}, which does not keep the promised {mechanism.epsilon!r}.")
    if not math.isclose(cap, mechanism.cap(rate, outputs), rel_tol=1e-12):
        raise CertificateError(f"The certificate clips distances at {cap!r}, this mechanism elsewhere.")
    return rate, cap


@answered_by("rows", "metric engine outputs draw_width")
@dataclass(frozen=True, kw_only=True)
class FittedExponential(WordRandomizer):
    """A selection mechanism bound to a vocabulary."""

    mechanism: SelectionMechanism  # the parameters
    embeddings: Embeddings  # the public vocabulary; outputs are its candidates
    rows: ChannelRows  # the exact rows that draw
    claim: MetricDP | LocalDP  # what was found out when it was fitted
    base: Float64Array | None = None  # base measure over the outputs, None for 1

    @property
    def public_data(self) -> str:
        return digest_of({"rate": self.rows.rate, "cap": self.rows.cap, "base": self.base})

    @property
    def draws_by_arithmetic(self) -> bool:
        # A user's own metric may have coordinates that another machine rounds otherwise.
        return self.rows.ideal is None or (isinstance(self.metric, Metric) and not is_known(self.metric))

    @property
    def selection(self) -> ChannelRows:
        return self.rows

    @cached_property
    def _size(self) -> int:
        return len(self.embeddings)

    def guarantee(self) -> MetricDP | LocalDP:
        # By the certificate; or, at rate epsilon/2, because score and ln Z each lose at most rate * min(dist, cap).
        return self.claim

    def law(self, ids: IdArray) -> Float64Array:
        weights = np.exp(-self.rows.rate * np.minimum(self.distances(ids), self.rows.cap))
        if self.base is not None:
            weights *= self.base
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def distances(self, ids: IdArray) -> Float64Array:
        return word_distances(self.embeddings, self.metric)(checked_ids(ids, self._size), self.outputs)

    def loss_profile(self, diameter: float | None = None) -> PairLoss | None:
        claim = self.guarantee()
        assert claim.slack is not None
        # The slack separates the sampler from ideal weights, on both sides. The channel is a float's: each of its
        # entries is a weight over a sum of weights, and a loss compares two.
        rounding = 0.0 if self.rows.ideal is None else 4 * self.rows.ideal.error(len(self.outputs))
        return replace(channel_pair(self.channel(), slack=2 * claim.slack + rounding), assumptions=claim.assumptions)

    def on(self, device: str) -> FittedExponential:
        if device == "cpu" or not isinstance(self.rows, SelectionRows):
            return super().on(device)
        from wordveil.kernels.gpu.selection import GpuSelection  # heavy, and an extra

        rows = GpuSelection(self.rows, device=device)
        slack = (self.claim.slack or 0.0) - self.rows.arithmetic_slack() + rows.arithmetic_slack()
        return replace(self, rows=rows, claim=replace(self.claim, slack=slack))

    def sample(self, stream: Stream, n: int) -> Draws:
        # Whole 64-bit words, not floats in [0, 1), which leave out what is rarer than their grid.
        return (random_bits(stream.lane(0), (n, self.draw_width)),)

    def draws(self, documents: DocumentStreams, size: int) -> Iterator[Draws]:
        words = document_bits(documents, 0, size, self.draw_width)  # what `sample` draws, for many documents at once
        return ((some.reshape(-1, self.draw_width),) for some in words)

    def randomize(
        self, ids: PrivateIds, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> ReleasedIds:
        ids = checked_ids(ids, self._size)
        check_draws(draws, (len(ids), self.draw_width))
        return ReleasedIds(self.rows.draw(ids, draws[0], threads=threads, progress=progress))

    def for_batch_job(self) -> FittedExponential:
        return replace(self, rows=self.rows.with_cache(JOB_CACHE_BYTES))

    def keep_probabilities(self, ids: IdArray) -> Float64Array:
        kept = np.exp(-self.rows.log_normalizers(ids))  # a word's own weight is its base measure, 1 unless there is one
        return kept if self.base is None else kept * self.base[np.searchsorted(self.rows.outputs, ids)]

    def likelihoods(self, outputs: IdArray) -> Float64Array:
        words = np.arange(len(self.embeddings), dtype=np.int32)
        found = word_distances(self.embeddings, self.metric)(checked_ids(outputs, len(words)), words)
        np.minimum(found, self.rows.cap, out=found)
        found *= -self.rows.rate
        found -= self._log_normalizers
        np.exp(found, out=found)
        return found if self.base is None else found * self.base[np.searchsorted(self.outputs, outputs)][:, None]

    @cached_property
    def _log_normalizers(self) -> Float64Array:
        return self.rows.log_normalizers(np.arange(len(self.embeddings), dtype=np.int32), threads=1)

    def channel(self) -> Float64Array:
        """Return the channel that `rows` draw from, shape (v, number of candidates), if it takes at most 2 GiB.

        It is `law` but for the rounding of the weights; words are drawn by the law itself where the slack is 0.
        """
        v, outputs = len(self.embeddings), len(self.rows.outputs)
        if 8 * v * outputs > 2**31:
            raise ParameterError("embeddings", f"{v} x {outputs}", "is too large for a whole channel (2 GiB at most).")
        weights = self.rows.weights(np.arange(v, dtype=np.int32))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
