"""TEM, the truncated exponential mechanism: the exponential mechanism on min(distance, gamma)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from wordveil.errors import CertificateError, ParameterError
from wordveil.mechanisms.exponential import SelectionMechanism, Sizing
from wordveil.metrics.distances import AnyMetric, Euclidean
from wordveil.parameters import check_delta, check_positive, natural_logarithm
from wordveil.promises.certificates import Certificate, Scalar


@dataclass(frozen=True, kw_only=True)
class TEM(SelectionMechanism):
    """Select y with probability proportional to exp(-rate * min(dist(x, y), gamma)), textbook rate epsilon/2.

    The paper draws from the words within gamma and one "bottom" element of score -gamma + 2 ln(v - |L|)/epsilon,
    by Gumbel noise of scale 2/epsilon, and a uniform word beyond gamma when bottom wins. That is this law exactly:
    the bottom's weight is the sum of the far words' weights.

    Where few words lie within gamma of another, rows can be made beforehand: `precomputed_size(fitted)` counts what
    they take, and `precompute(fitted)` returns the same law, drawn from them by a bisection a word. Which memory a
    draw touches depends on the word: for batch work on the owner's machine, not for a service that answers strangers.

    Guarantee:
        epsilon-metric DP for min(dist, gamma), proved: the score is 1-Lipschitz in x and so is, at rate epsilon/2,
        the log of the normalizer, for any public set of outputs. Hence loss at most epsilon * min(dist, gamma),
        and epsilon * gamma local DP. Arithmetic adds nothing; a matrix adds what its entries may be off by. With
        calibration="certified" the rate is the one in the certificate, between epsilon/2 and epsilon; the same
        promise, for this vocabulary and candidate set, by computation over all pairs of words. With
        calibration="certified-local" it is the largest rate found whose loss between any two words is at most epsilon
        nats: local DP at what was found, by the same computation. In a metric of a user's own, or a matrix of more
        than 3 000 words, which are checked on a sample, every promise is unverified.

        At the textbook rate, with gamma computed, the loss is capped at epsilon * gamma = 2 ln((1 - beta)(v - 1)/beta),
        the same at every epsilon, because a larger epsilon cuts off nearer. The words beyond gamma may get at most beta
        together, so each must be that much less likely than the word itself. The cap depends on beta, on the number of
        words that may be output, and on a gamma of your own. Epsilon says how fast the loss grows up to the cap.

    Attributes:
        epsilon: Loss per unit of distance, unit 1/distance (with calibration="certified-local": loss between any two
            words, nats), in (0, inf).
        beta: Public; probability, per the paper's bound, of leaving the words within gamma, for an input that may be
            output; one that may not, and lies far from all that may, leaves them oftener. In (0, 1).
        gamma: Public truncation distance; None computes (1/rate) ln((1 - beta)(v - 1)/beta).
        metric: The metric, Euclidean unless said otherwise; any other, a user's own or a matrix included.
        calibration: "textbook"; or "certified" or "certified-local", for which `fit` needs a certificate.

    Raises:
        ParameterError: If a parameter is outside its domain, or (when fitted) the vocabulary is so small that the
            formula for gamma is not positive.
        CertificateError: When fitted, if the certificate is missing or was made for other inputs.

    Reference:
        Carvalho, Vasiloudis, Feyisetan (2021), TEM: High Utility Metric Differential Privacy on Text,
        arXiv:2107.07928, Algorithm 2 and Theorem 2. Deviation: v counts the words that may be output.

    Example:
        >>> from wordveil import Embeddings, RandomSource
        >>> points = [[0, 0], [1, 0], [0, 1], [4, 4], [5, 4]]
        >>> colours = Embeddings.from_arrays(["red", "green", "blue", "cat", "dog"], points)
        >>> randomizer = TEM(epsilon=2.0, beta=0.1).fit(colours)
        >>> randomizer.release(colours.ids(["red", "cat"]), RandomSource.seeded_for_tests(1)).shape
        (2,)
        >>> randomizer.channel()[0].round(3)  # the exact law of the output for "red"
        array([0.558, 0.205, 0.205, 0.016, 0.016])
        >>> print(randomizer.guarantee().sentence())  # doctest: +ELLIPSIS
        metric DP (proved): between two inputs at euclidean distance t, ... by a factor of exp(2 * t), ...
    """

    name: ClassVar[str] = "tem"
    paper: ClassVar[str] = "Carvalho et al. 2021, Algorithm 2"
    epsilon: float
    beta: float = 0.001
    gamma: float | None = None
    metric: AnyMetric = field(default_factory=Euclidean)
    calibration: Sizing = "textbook"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_delta(self.beta, name="beta")
        if self.gamma is not None:
            check_positive("gamma", self.gamma)

    @classmethod
    def rebuild(cls, certificate: Certificate) -> TEM:
        beta, gamma = certificate.parameters.get("beta"), certificate.parameters.get("gamma")
        if not isinstance(beta, int | float) or isinstance(gamma, str):
            raise CertificateError(f"The certificate gives beta={beta!r} and gamma={gamma!r}, which are no numbers.")
        return super().rebuild(certificate)

    def cap(self, rate: float, outputs: int) -> float:
        return truncation_distance(2 * rate, self.beta, outputs) if self.gamma is None else self.gamma

    def certified_parameters(self) -> dict[str, Scalar]:
        return {**super().certified_parameters(), "beta": self.beta, "gamma": self.gamma}


def truncation_distance(epsilon: float, beta: float, outputs: int) -> float:
    """Return gamma = (2/epsilon) ln((1 - beta)(v - 1)/beta), for v words that may be output; it must be positive."""
    ratio = (1 - beta) * (outputs - 1) / beta
    if ratio <= 1:
        problem = f"gives no positive truncation distance for {outputs} output words; pass gamma explicitly."
        raise ParameterError("beta", beta, problem)
    return 2 / epsilon * natural_logarithm(ratio)
