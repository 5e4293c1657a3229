"""SanText: the exponential mechanism on the distance between words."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from wordveil.embeddings.table import Embeddings
from wordveil.guarantees import MetricDP, PrivacyUnit, Standing
from wordveil.kernels.selection import SelectionRows
from wordveil.mechanisms.base import WordMechanism
from wordveil.mechanisms.exponential import FittedExponential, check_epsilon
from wordveil.metrics import Euclidean, Metric

__all__ = ["TAIL_NATS", "SanText"]

TAIL_NATS = 28.0
"""Weights stop falling at exp(-28): 64-bit sampling can honour no smaller ratio, and the law moves by v * 7e-13."""


@dataclass(frozen=True, kw_only=True)
class SanText(WordMechanism):
    """Select y with probability proportional to exp(-(epsilon/2) dist(x, y)).

    Guarantee:
        epsilon-metric DP for the metric, proved, for any public set of outputs. Arithmetic adds the stated slack.

    Attributes:
        epsilon: Loss per unit of distance, unit 1/distance, in (0, inf).
        metric: The metric, Euclidean unless said otherwise.

    Raises:
        ParameterError: If epsilon is not finite and positive.

    Reference:
        Yue, Du, Wang, Li, Sun, Chow (2021), Differential Privacy for Text Analytics via Natural Text Sanitization,
        Findings of ACL, section 4.1. Deviation: the score is min(dist, 56/epsilon), again a metric and never larger,
        so that a word e^28 times less likely than the nearest keeps a probability that 64-bit arithmetic can honour;
        the law moves by at most v * 7e-13 in total variation and the promise holds where the textbook sampler's
        underflow would break it.
    """

    name: ClassVar[str] = "santext"
    paper: ClassVar[str] = "Yue et al. 2021, section 4.1"
    epsilon: float
    metric: Metric = field(default_factory=Euclidean)

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    def fit(self, embeddings: Embeddings) -> FittedExponential:
        cap = 2 * TAIL_NATS / self.epsilon
        rows = SelectionRows(
            embeddings.vectors, self.metric, embeddings.candidates, embeddings.canonical, rate=self.epsilon / 2, cap=cap
        )
        slack = rows.arithmetic_slack()
        claim = MetricDP(
            epsilon=self.epsilon,
            metric=self.metric.name,
            slack=slack if math.isfinite(slack) else None,
            largest_distance=cap,
            unit=PrivacyUnit.TOKEN,
            standing=Standing.PROVED,
        )
        return FittedExponential(embeddings=embeddings, rows=rows, claim=claim)
