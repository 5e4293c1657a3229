"""TEM, the truncated exponential mechanism: the exponential mechanism on min(distance, gamma)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from wordveil.embeddings.table import Embeddings
from wordveil.errors import ParameterError
from wordveil.guarantees import MetricDP, PrivacyUnit, Standing
from wordveil.kernels.selection import SelectionRows
from wordveil.mechanisms.base import WordMechanism
from wordveil.mechanisms.exponential import FittedExponential, check_epsilon
from wordveil.metrics import Euclidean, Metric

__all__ = ["TEM", "truncation_distance"]


@dataclass(frozen=True, kw_only=True)
class TEM(WordMechanism):
    """Select y with probability proportional to exp(-(epsilon/2) min(dist(x, y), gamma)).

    The paper draws from the words within gamma and one "bottom" element of score -gamma + 2 ln(v - |L|)/epsilon,
    by Gumbel noise of scale 2/epsilon, and a uniform word beyond gamma when bottom wins. That is this law exactly:
    the bottom's weight is the sum of the far words' weights.

    Guarantee:
        epsilon-metric DP for min(dist, gamma), proved: the score is 1-Lipschitz in x and so is, at rate epsilon/2,
        the log of the normaliser, for any public set of outputs. Hence loss at most epsilon * min(dist, gamma),
        and epsilon * gamma local DP. Arithmetic adds the stated slack.

    Attributes:
        epsilon: Loss per unit of distance, unit 1/distance, in (0, inf).
        beta: Public; probability, per the paper's bound, of leaving the words within gamma. In (0, 1).
        gamma: Public truncation distance; None computes (2/epsilon) ln((1 - beta)(v - 1)/beta).
        metric: The metric, Euclidean unless said otherwise.

    Raises:
        ParameterError: If a parameter is outside its domain, or (when fitted) the vocabulary is so small that the
            formula for gamma is not positive.

    Reference:
        Carvalho, Vasiloudis, Feyisetan (2021), TEM: High Utility Metric Differential Privacy on Text,
        arXiv:2107.07928, Algorithm 1 and Theorem 2. Deviation: v counts the words that may be output.
    """

    name: ClassVar[str] = "tem"
    paper: ClassVar[str] = "Carvalho et al. 2021, Algorithm 1"
    epsilon: float
    beta: float = 0.001
    gamma: float | None = None
    metric: Metric = field(default_factory=Euclidean)

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not 0 < self.beta < 1:
            raise ParameterError("beta", self.beta, "must be in (0, 1).")
        if self.gamma is not None and not (math.isfinite(self.gamma) and self.gamma > 0):
            raise ParameterError("gamma", self.gamma, "must be in (0, inf), or None to compute it.")

    def fit(self, embeddings: Embeddings) -> FittedExponential:
        gamma = self.gamma
        if gamma is None:
            gamma = truncation_distance(self.epsilon, self.beta, len(embeddings.candidates))
        rows = SelectionRows(
            embeddings.vectors,
            self.metric,
            embeddings.candidates,
            embeddings.canonical,
            rate=self.epsilon / 2,
            cap=gamma,
        )
        slack = rows.arithmetic_slack()
        if not math.isfinite(slack):
            raise ParameterError(
                "gamma",
                gamma,
                "makes the farthest words' weights too small for 64-bit sampling at this epsilon; lower it.",
            )
        claim = MetricDP(
            epsilon=self.epsilon,
            metric=self.metric.name,
            slack=slack,
            largest_distance=gamma,
            unit=PrivacyUnit.TOKEN,
            standing=Standing.PROVED,
        )
        return FittedExponential(embeddings=embeddings, rows=rows, claim=claim)


def truncation_distance(epsilon: float, beta: float, outputs: int) -> float:
    """Return gamma = (2/epsilon) ln((1 - beta)(v - 1)/beta), for v words that may be output.

    Raises:
        ParameterError: If the logarithm is not positive, so that no truncation distance exists.
    """
    ratio = (1 - beta) * (outputs - 1) / beta
    if ratio <= 1:
        raise ParameterError(
            "beta", beta, f"gives no positive truncation distance for {outputs} output words; pass gamma explicitly."
        )
    return 2 / epsilon * math.log(ratio)
