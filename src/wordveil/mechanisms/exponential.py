"""What every selection mechanism shares: P(y | x) proportional to b(y) exp(-rate * min(dist(x, y), cap)).

The mechanisms themselves (TEM, SanText) live in their own files; each says its cap and its name. This module fits
them, at the textbook rate epsilon/2 or at a certified one, draws, and gives the exact channel.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.certificates import Certificate, Scalar, identity
from wordveil.embeddings.table import Embeddings
from wordveil.errors import CertificateError, ParameterError
from wordveil.guarantees import Guarantee, MetricDP, PrivacyUnit, Standing
from wordveil.mechanisms.base import Progress, WordMechanism, WordRandomizer
from wordveil.mechanisms.metric_rows import ChannelRows, bound_metric, metric_assumptions, rows_for
from wordveil.metrics import AnyMetric
from wordveil.randomness import Draws, Stream, words

__all__ = [
    "LIPSCHITZ",
    "Calibration",
    "FittedExponential",
    "SelectionMechanism",
    "check_calibration",
    "check_epsilon",
    "fit_selection",
]

JOB_CACHE_BYTES = 192 << 20
"""Memory that one batch job may keep block masses in."""

Calibration = Literal["textbook", "certified"]
"""The rate is epsilon/2, by theorem, or the one in a certificate, by computation on this vocabulary."""

LIPSCHITZ = "normaliser-lipschitz"
"""Name of the certificate that bounds the loss by the normalisers of every pair of words."""


class SelectionMechanism(WordMechanism):
    """Parameters of an exponential mechanism on min(dist, cap).

    Attributes:
        epsilon: Loss per unit of distance, unit 1/distance.
        metric: The metric.
        calibration: "textbook" or "certified".
    """

    epsilon: float
    metric: AnyMetric
    calibration: Calibration

    @abstractmethod
    def cap(self, rate: float, outputs: int) -> float:
        """Return where distances are clipped, in (0, inf), at this rate and number of words that may be output."""

    @abstractmethod
    def fit(self, embeddings: Embeddings, certificate: Certificate | None = None) -> FittedExponential:
        """Bind to a public vocabulary; calibration="certified" needs the certificate of `certify`."""

    def certified_parameters(self) -> dict[str, Scalar]:
        """Return what a certificate must say that it was made for."""
        return {"mechanism": self.name, "epsilon": self.epsilon, "metric": identity(self.metric)}


@dataclass(frozen=True, kw_only=True)
class FittedExponential(WordRandomizer):
    """A selection mechanism bound to a vocabulary.

    Attributes:
        embeddings: The public vocabulary; outputs are its candidates.
        rows: The exact rows that draw.
        claim: The guarantee, computed by the mechanism that was fitted.
    """

    embeddings: Embeddings
    rows: ChannelRows
    claim: Guarantee
    draw_width: int = 2

    def guarantee(self) -> Guarantee:
        return self.claim

    def sample(self, stream: Stream, n: int) -> Draws:
        return (words(stream.lane(0), (n, 2)),)

    def randomize(
        self, ids: IdArray, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        return self.rows.draw(ids, draws[0], threads=threads, progress=progress)

    def for_batch_job(self) -> FittedExponential:
        return replace(self, rows=self.rows.with_cache(JOB_CACHE_BYTES))

    def channel(self) -> Float64Array:
        """Return the exact channel P(output | input), shape (v, number of candidates); for small vocabularies.

        Raises:
            ParameterError: If the matrix would exceed 2 GiB.
        """
        v, outputs = len(self.embeddings), len(self.rows.outputs)
        if 8 * v * outputs > 2**31:
            raise ParameterError("embeddings", f"{v} x {outputs}", "is too large for a whole channel (2 GiB at most).")
        weights = self.rows.weights(np.arange(v, dtype=np.int32))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def fit_selection(
    mechanism: SelectionMechanism, embeddings: Embeddings, certificate: Certificate | None
) -> FittedExponential:
    """Bind a selection mechanism to a vocabulary at the rate its calibration gives.

    Raises:
        CertificateError: If a certificate is missing, superfluous, or made for other inputs.
        ParameterError: If no cap exists, it is so far that 64-bit sampling cannot honour the promise, or the metric
            does not belong to this vocabulary or fails an axiom.
    """
    rate, cap, error = _rate_and_cap(mechanism, embeddings, certificate)
    metric = bound_metric(mechanism.metric, embeddings)
    rows = rows_for(metric, embeddings, rate=rate, cap=cap)
    slack = rows.arithmetic_slack() + error
    if not math.isfinite(slack):
        raise ParameterError(
            "gamma", cap, "makes the farthest words' weights too small for 64-bit sampling at this epsilon; lower it."
        )
    claim = MetricDP(
        epsilon=mechanism.epsilon,
        metric=metric.name,
        slack=slack,
        largest_distance=cap,
        unit=PrivacyUnit.TOKEN,
        standing=Standing.PROVED if certificate is None else Standing.CERTIFIED,
        assumptions=metric_assumptions(metric)
        + (() if certificate is None else (f"certificate: {LIPSCHITZ} of this vocabulary and candidate set",)),
    )
    return FittedExponential(embeddings=embeddings, rows=rows, claim=claim)


def _rate_and_cap(
    mechanism: SelectionMechanism, embeddings: Embeddings, certificate: Certificate | None
) -> tuple[float, float, float]:
    """Return the rate, the cap and the certificate's own error in nats."""
    outputs = len(embeddings.candidates)
    if mechanism.calibration == "textbook":
        if certificate is not None:
            raise CertificateError("A certificate was passed, but calibration='textbook' uses none; say 'certified'.")
        rate = mechanism.epsilon / 2
        return rate, mechanism.cap(rate, outputs), 0.0
    if certificate is None:
        raise CertificateError("calibration='certified' needs a certificate: pass certify(mechanism, embeddings).")
    certificate.require(
        method=LIPSCHITZ,
        vocabulary=embeddings.header.checksum,
        candidates=embeddings.candidates_checksum,
        parameters=mechanism.certified_parameters(),
    )
    rate, cap = certificate.numbers["rate"], certificate.numbers["cap"]
    if certificate.numbers["epsilon"] > mechanism.epsilon or not 0 < rate <= mechanism.epsilon:
        raise CertificateError(
            f"The certificate reaches epsilon={certificate.numbers['epsilon']!r} at rate={rate!r}, which does not "
            f"keep the promised {mechanism.epsilon!r}."
        )
    if not math.isclose(cap, mechanism.cap(rate, outputs), rel_tol=1e-12):
        raise CertificateError(f"The certificate clips distances at {cap!r}, this mechanism elsewhere.")
    return rate, cap, certificate.error


def check_epsilon(epsilon: float) -> None:
    """Raise `ParameterError` unless epsilon is in (0, inf)."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError("epsilon", epsilon, "must be in (0, inf).")


def check_calibration(calibration: str) -> None:
    """Raise `ParameterError` unless the calibration is known."""
    if calibration not in ("textbook", "certified"):
        raise ParameterError("calibration", calibration, "must be one of textbook, certified.")
