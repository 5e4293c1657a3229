"""The largest rate whose exact loss stays within epsilon: what a selection mechanism gains over the textbook epsilon/2.

The textbook halves the rate because the normaliser may lose as much as the score; on a real vocabulary it loses far
less. The loss is not known to be monotone in the rate, so the search only proposes rates; the one it returns has
itself been certified over all pairs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import wordveil
from wordveil.certificates import Certificate, identity
from wordveil.certification.normaliser_lipschitz import ExactLoss, LossComputation, Progress
from wordveil.certification.pairwise_loss import PairwiseLoss
from wordveil.certification.vocabulary import DistinctVectors
from wordveil.embeddings.table import Embeddings
from wordveil.errors import CertificateError
from wordveil.graphs.rank_metric import NeighbourRank
from wordveil.mechanisms.exponential import LIPSCHITZ, SelectionMechanism
from wordveil.mechanisms.santext import SanText
from wordveil.mechanisms.tem import TEM
from wordveil.metrics import Angular, AnyMetric, Euclidean, Metric

__all__ = ["SEARCH_TOLERANCE", "certify_selection", "largest_rate", "rebuild_mechanism", "repeat_selection"]

SEARCH_TOLERANCE = 2e-3
"""The search stops once the exact epsilon is within 0.2 % below the target."""
_MOST_EVALUATIONS = 8


def largest_rate(
    loss: Callable[[float], ExactLoss], epsilon: float, *, tolerance: float = SEARCH_TOLERANCE
) -> ExactLoss:
    """Return the exact loss at the largest rate found whose epsilon is at most the target.

    Secant steps on logarithms, kept inside a shrinking bracket: from epsilon/2, where the textbook theorem holds, to
    epsilon, above which no rate can keep the promise. At most eight rates are evaluated, usually three or four.

    Args:
        loss: Exact loss at a rate.
        epsilon: Target, in (0, inf).
        tolerance: Relative shortfall at which to stop.

    Returns:
        The loss at a rate in [epsilon/2 (1 - 1e-8), epsilon], with `.epsilon <= epsilon`.
    """
    aim = math.log(epsilon * (1 - tolerance / 2))
    low, high = math.log(epsilon / 2), math.log(epsilon)
    point, slope = math.log(0.75 * epsilon), 0.9  # where real vocabularies lie, and how steep they are there
    best: ExactLoss | None = None
    before: tuple[float, float] | None = None
    for _ in range(_MOST_EVALUATIONS):
        found = loss(math.exp(point))
        value = math.log(found.epsilon)
        if found.epsilon <= epsilon:
            low = max(low, point)
            if best is None or found.rate > best.rate:
                best = found
            if found.epsilon >= epsilon * (1 - tolerance):
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
        best = loss(epsilon / 2 * (1 - 1e-8))
    if best.epsilon > epsilon:
        raise CertificateError(f"The textbook rate was found to lose {best.epsilon!r}, above {epsilon!r}: a defect.")
    return best


def certify_selection(
    mechanism: SelectionMechanism,
    embeddings: Embeddings,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    checkpoint: str | None = None,
) -> Certificate:
    """Find and certify the largest rate at which a selection mechanism keeps its epsilon on this vocabulary.

    Args:
        mechanism: TEM, SanText or another selection mechanism; its calibration does not matter here.
        embeddings: The public vocabulary: all words are inputs, its candidates outputs.
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of pair visits done.
        checkpoint: File to resume from; removed at the end. Only closed-form metrics use it.

    Returns:
        A certificate for `fit` with calibration="certified".
    """
    work = _losses(mechanism.metric, embeddings, threads, progress, checkpoint)
    outputs = len(embeddings.candidates)
    best = largest_rate(lambda rate: work.metric(rate, mechanism.cap(rate, outputs)), mechanism.epsilon)
    work.finish()
    return _certificate(mechanism, embeddings, best)


def repeat_selection(
    certificate: Certificate,
    mechanism: SelectionMechanism,
    embeddings: Embeddings,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Repeat the computation of a certificate at its rate; the search is not repeated.

    Raises:
        CertificateError: If the certificate has no rate, or its cap is not the one of this mechanism.
    """
    rate = certificate.numbers.get("rate")
    if rate is None or not 0 < rate <= mechanism.epsilon:
        raise CertificateError(f"The certificate's rate={rate!r} must be in (0, {mechanism.epsilon!r}].")
    work = _losses(mechanism.metric, embeddings, threads, progress)
    found = work.metric(rate, mechanism.cap(rate, len(embeddings.candidates)))
    if found.epsilon > mechanism.epsilon * (1 + 2e-9):
        raise CertificateError(f"The repetition found epsilon={found.epsilon!r}, above {mechanism.epsilon!r}.")
    return _certificate(mechanism, embeddings, found)


def _losses(
    metric: AnyMetric,
    embeddings: Embeddings,
    threads: int | None,
    progress: Progress | None,
    checkpoint: str | None = None,
) -> LossComputation | PairwiseLoss:
    """Return the computation of losses that suits the metric."""
    if isinstance(metric, Metric):
        vocabulary = DistinctVectors.of(embeddings, metric)
        return LossComputation(vocabulary, threads=threads, progress=progress, checkpoint=checkpoint)
    return PairwiseLoss(embeddings, metric, threads=threads, progress=progress)


def _certificate(mechanism: SelectionMechanism, embeddings: Embeddings, loss: ExactLoss) -> Certificate:
    return Certificate(
        method=LIPSCHITZ,
        vocabulary=embeddings.header.checksum,
        candidates=embeddings.candidates_checksum,
        parameters=mechanism.certified_parameters(),
        numbers={"rate": loss.rate, "cap": loss.cap, "epsilon": loss.epsilon},
        error=loss.error,
        version=wordveil.__version__,
    )


def rebuild_mechanism(certificate: Certificate) -> SelectionMechanism:
    """Return the mechanism that a certificate names, where the certificate says everything about it.

    Raises:
        CertificateError: If it is not TEM or SanText, or its metric has parameters of its own.
    """
    parameters = certificate.parameters
    metric = _rebuild_metric(str(parameters.get("metric")))
    name, epsilon = parameters.get("mechanism"), parameters.get("epsilon")
    if metric is None or name not in (TEM.name, SanText.name) or not isinstance(epsilon, int | float):
        raise CertificateError(
            f"The certificate is for mechanism={name!r} with metric={parameters.get('metric')!r}, which cannot be "
            "rebuilt from it; pass the mechanism itself."
        )
    if name == SanText.name:
        return SanText(epsilon=epsilon, metric=metric, calibration="certified")
    beta, gamma = parameters.get("beta"), parameters.get("gamma")
    if not isinstance(beta, int | float) or isinstance(gamma, str):
        raise CertificateError(f"The certificate gives beta={beta!r} and gamma={gamma!r}, which are no numbers.")
    return TEM(epsilon=epsilon, beta=beta, gamma=gamma, metric=metric, calibration="certified")


def _rebuild_metric(name: str) -> AnyMetric | None:
    """Return the metric of this identity, or None where its name does not say everything about it."""
    metrics: dict[str, AnyMetric] = {identity(metric): metric for metric in (Euclidean(), Angular())}
    rank = re.fullmatch(r"NeighbourRank\(k=(\d{1,9}), cap=(None|[\d.e+-]+)\)", name)
    if rank is None:
        return metrics.get(name)
    try:
        return NeighbourRank(k=int(rank[1]), cap=None if rank[2] == "None" else float(rank[2]))
    except ValueError:
        return None
