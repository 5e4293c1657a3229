"""Parameters of every selection mechanism, and the certificates that its rate can come from.

P(y | x) is proportional to b(y) exp(-rate * min(dist(x, y), cap)). The rate is the textbook epsilon/2, or a certified
one. What is fitted, and draws, is `exponential`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Literal, Self, get_args, get_type_hints

from wordveil.errors import CertificateError, ParameterError
from wordveil.mechanisms.base import WordMechanism, WordRandomizer
from wordveil.mechanisms.metric_rows import named_metric
from wordveil.metrics.distances import AnyMetric, VocabularyMetric
from wordveil.parameters import check_choice, check_positive
from wordveil.promises.certificates import Certificate, Scalar, identity
from wordveil.vocabulary.table import Embeddings

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

    @abstractmethod
    def fit(self, embeddings: Embeddings, certificate: Certificate | None = None) -> WordRandomizer:
        """Bind to a public vocabulary; a certified calibration needs the certificate of `certify`."""

    def fit_certified(self, embeddings: Embeddings, certificate: Certificate | None) -> WordRandomizer:
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
