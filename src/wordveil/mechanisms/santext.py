"""SanText: the exponential mechanism on the distance between words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from wordveil.mechanisms.exponential import SelectionMechanism, Sizing
from wordveil.metrics.distances import AnyMetric, Euclidean

TAIL_NATS = 28.0
"""Weights stop falling at exp(-28): 64-bit sampling can honour no smaller ratio; the law moves by v * 7e-13 at most."""


@dataclass(frozen=True, kw_only=True)
class SanText(SelectionMechanism):
    """Select y with probability proportional to exp(-rate * dist(x, y)), textbook rate epsilon/2.

    Guarantee:
        epsilon-metric DP for the metric, proved, for any public set of outputs. Arithmetic adds nothing; a
        matrix adds what its entries may be off by. With
        calibration="certified" the rate is the one in the certificate, between epsilon/2 and epsilon; the same
        promise, for this vocabulary and candidate set, by computation over all pairs of words. With
        calibration="certified-local" it is the largest rate found whose loss between any two words is at most epsilon
        nats: local DP at what was found, by the same computation. In a metric of a user's own, or a matrix of more than
        3 000 words, which are checked on a sample, every promise is unverified.

    Attributes:
        epsilon: Loss per unit of distance, unit 1/distance (with calibration="certified-local": loss between any two
            words, nats), in (0, inf).
        metric: The metric, Euclidean unless said otherwise; any other, a user's own or a matrix included.
        calibration: "textbook"; or "certified" or "certified-local", for which `fit` needs a certificate.

    Raises:
        ParameterError: If epsilon is not finite and positive.
        CertificateError: When fitted, if the certificate is missing or was made for other inputs.

    Reference:
        Yue, Du, Wang, Li, Sun, Chow (2021), Differential Privacy for Text Analytics via Natural Text Sanitization,
        Findings of ACL, section 4.1. Deviation: the score is min(dist, 28/rate), again a metric and never larger,
        so that a word e^28 times less likely than the nearest keeps a probability that 64-bit arithmetic can honour;
        the law moves by at most v * 7e-13 in total variation and the promise holds where the textbook sampler's
        underflow would break it. That holds for an input that may be output, or has an output at distance 0. One that
        lies farther than 28/rate from every output becomes uniform over them; the promise holds for it as well.

    Example:
        >>> from wordveil import Embeddings, RandomSource
        >>> points = [[0, 0], [1, 0], [0, 1], [4, 4], [5, 4]]
        >>> colours = Embeddings.from_arrays(["red", "green", "blue", "cat", "dog"], points)
        >>> randomizer = SanText(epsilon=2.0).fit(colours)
        >>> randomizer.release(colours.ids(["red", "cat"]), RandomSource.seeded_for_tests(1)).shape
        (2,)
        >>> randomizer.channel()[0].round(3)  # the exact law of the output for "red"
        array([0.574, 0.211, 0.211, 0.002, 0.001])
        >>> print(randomizer.guarantee().sentence())  # doctest: +ELLIPSIS
        metric DP (proved): between two inputs at euclidean distance t, ... by a factor of exp(2 * t), ...
    """

    name: ClassVar[str] = "santext"
    paper: ClassVar[str] = "Yue et al. 2021, section 4.1"
    epsilon: float
    metric: AnyMetric = field(default_factory=Euclidean)
    calibration: Sizing = "textbook"

    def cap(self, rate: float, outputs: int) -> float:
        return TAIL_NATS / rate
