"""The rate of a selection mechanism whose exact loss stays within epsilon: what it gains over the textbook epsilon/2.

The textbook halves the rate because the normalizer may lose as much as the score; on a real vocabulary it loses far
less. One rate is certified as it is, or the largest is searched for. The loss is not known to be monotone in the rate,
so the search only proposes rates; the one it returns has itself been certified over all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Unpack

from wordveil.certification.normalizer_lipschitz import ExactLoss, PassOptions
from wordveil.certification.rate_losses import RateLosses
from wordveil.errors import CertificateError
from wordveil.mechanisms.exponential import LARGEST_LOSS, LIPSCHITZ, SelectionMechanism
from wordveil.mechanisms.tight import TIGHT
from wordveil.promises.certificates import Certificate, Scalar
from wordveil.promises.rounding import round_up
from wordveil.vocabulary.table import Embeddings

RATE_METHODS = (LIPSCHITZ, LARGEST_LOSS, TIGHT)
"""Names of the certificates of a rate: those of mechanisms that select."""

SEARCH_TOLERANCE = 2e-3
"""The search stops once the exact epsilon is within 0.2 % below the target."""
_MOST_EVALUATIONS = 8


def largest_rate(
    loss: Callable[[float], ExactLoss], epsilon: float, *, within: tuple[float, float] | None = None
) -> ExactLoss:
    """Return the exact loss at the largest rate found whose epsilon is at most the target.

    Secant steps on logarithms, kept inside a shrinking bracket. At most eight rates are evaluated, usually three or
    four, until epsilon falls short by `SEARCH_TOLERANCE`. `within` is a rate at which a theorem keeps the target,
    and one above which to look no further; None is for metric DP: epsilon/2, the textbook's, and epsilon. The rate
    returned lies within, or 1e-8 below.
    """
    aim = math.log(epsilon * (1 - SEARCH_TOLERANCE / 2))
    least, most = (epsilon / 2, epsilon) if within is None else within
    low, high = math.log(least), math.log(most)
    # Measured on real vocabularies: where the rate sought lies between the two bounds, and how steep the loss is there.
    point, slope = low + 0.585 * (high - low), 0.9
    best: ExactLoss | None = None
    before: tuple[float, float] | None = None
    for _ in range(_MOST_EVALUATIONS):
        found = loss(math.exp(point))
        value = math.log(found.epsilon)
        if found.epsilon <= epsilon:
            low = max(low, point)
            if best is None or found.rate > best.rate:
                best = found
            if found.epsilon >= epsilon * (1 - SEARCH_TOLERANCE):
                break
        else:
            high = min(high, point)
        if before is not None and abs(point - before[0]) > 0:
            slope = min(max((value - before[1]) / (point - before[0]), 0.2), 5.0)
        before = (point, value)
        step = point + (aim - value) / slope
        margin = 0.02 * (high - low)
        point = min(max(step, low + margin), high - margin)
    if best is None:
        # Rounding up must not carry the textbook rate's certificate above the target.
        best = loss(least * (1 - 1e-8))
    if best.epsilon > epsilon:
        raise CertificateError(f"The textbook rate was found to lose {best.epsilon!r}, above {epsilon!r}: a defect.")
    return best


def certify_selection(
    mechanism: SelectionMechanism, embeddings: Embeddings, *, rate: float | None = None, **options: Unpack[PassOptions]
) -> Certificate:
    """Certify that a selection mechanism keeps its epsilon on this vocabulary at a rate, as `certify` says.

    `CertificateError` if the rate given costs more than epsilon; the checkpoint is kept, so that asking again with a
    larger epsilon takes no time.
    """
    work = RateLosses(mechanism, embeddings, **options)
    best = largest_rate(work.at, mechanism.epsilon, within=work.within()) if rate is None else work.at(rate)
    if best.epsilon > mechanism.epsilon:
        raise CertificateError(
            f"The rate {best.rate!r} costs epsilon={round_up(best.epsilon, 6)}, more than the promised "
            f"{mechanism.epsilon!r}; lower the rate, or promise that much."
        )
    work.finish()
    return _certificate(mechanism, embeddings, best, work.solved(best.rate))


def certify_rate(
    mechanism: SelectionMechanism, embeddings: Embeddings, rate: float, **options: Unpack[PassOptions]
) -> Certificate:
    """Certify what one rate costs: the certificate is for the mechanism with that epsilon.

    Args:
        mechanism: The mechanism; its epsilon does not matter.
        embeddings: The public vocabulary.
        rate: The rate, 1/distance, in (0, inf).
        **options: `threads`, `progress` and `checkpoint`, as for `certify`.

    Returns:
        A certificate whose parameter epsilon is the exact loss, rounded up to six digits so that it can be typed.

    Raises:
        CertificateError: If the mechanism has no rate.
    """
    if mechanism.certificate_method not in RATE_METHODS:
        raise CertificateError(f"A rate belongs to mechanisms that select words; {mechanism.name} adds noise.")
    work = RateLosses(mechanism, embeddings, **options)
    found = work.at(rate)
    work.finish()
    costing = mechanism.with_epsilon(max(float(round_up(found.epsilon, 6)), found.epsilon))
    return _certificate(costing, embeddings, found, work.solved(rate))


def repeat_selection(
    certificate: Certificate, mechanism: SelectionMechanism, embeddings: Embeddings, **options: Unpack[PassOptions]
) -> Certificate:
    """Certify again at the rate a certificate names; a base measure is taken from the certificate.

    `CertificateError` if the certificate has no rate, or the rate does not keep its epsilon.
    """
    rate = certificate.numbers.get("rate")
    if rate is None or not 0 < rate <= mechanism.highest_rate:
        raise CertificateError(f"The certificate's rate={rate!r} must be in (0, {mechanism.highest_rate!r}].")
    work = RateLosses(mechanism, embeddings, repeat=certificate, **options)
    found = work.at(rate)
    if found.epsilon > mechanism.epsilon * (1 + 2e-9):
        raise CertificateError(f"The repetition found epsilon={found.epsilon!r}, above {mechanism.epsilon!r}.")
    return _certificate(mechanism, embeddings, found, work.solved(rate))


def _certificate(
    mechanism: SelectionMechanism, embeddings: Embeddings, loss: ExactLoss, solved: Mapping[str, Scalar]
) -> Certificate:
    return Certificate(
        method=mechanism.certificate_method,
        vocabulary=embeddings.checksum_in_use,
        candidates=embeddings.candidates_checksum,
        parameters={**solved, **mechanism.parameters_for(embeddings)},
        numbers={"rate": loss.rate, "cap": loss.cap, "epsilon": loss.epsilon},
        error=loss.error,
    )
