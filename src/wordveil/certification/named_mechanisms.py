"""The selection mechanism that a certificate names, where the certificate says everything about it."""

from __future__ import annotations

import re

from wordveil.errors import CertificateError
from wordveil.mechanisms.exponential import LARGEST_LOSS, Calibration, SelectionMechanism
from wordveil.mechanisms.santext import SanText
from wordveil.mechanisms.tem import TEM
from wordveil.mechanisms.tight import TightConstraints
from wordveil.metrics.distances import Angular, AnyMetric, Euclidean, Metric
from wordveil.promises.certificates import Certificate, identity
from wordveil.vocabulary.rank_metric import NeighbourRank

__all__ = ["rebuild_mechanism"]


def rebuild_mechanism(certificate: Certificate) -> SelectionMechanism:
    """Return the mechanism that a certificate names.

    Raises:
        CertificateError: If it is of another kind, or its metric has parameters of its own.
    """
    parameters = certificate.parameters
    metric = _rebuild_metric(str(parameters.get("metric")))
    name, epsilon = parameters.get("mechanism"), parameters.get("epsilon")
    calibration: Calibration = "certified-local" if certificate.method == LARGEST_LOSS else "certified"
    if metric is not None and isinstance(epsilon, int | float):
        if name == SanText.name:
            return SanText(epsilon=epsilon, metric=metric, calibration=calibration)
        if name == TEM.name:
            beta, gamma = parameters.get("beta"), parameters.get("gamma")
            if not isinstance(beta, int | float) or isinstance(gamma, str):
                raise CertificateError(
                    f"The certificate gives beta={beta!r} and gamma={gamma!r}, which are no numbers."
                )
            return TEM(epsilon=epsilon, beta=beta, gamma=gamma, metric=metric, calibration=calibration)
        if name == TightConstraints.name and isinstance(metric, Metric):
            return TightConstraints(epsilon=epsilon, metric=metric)
    raise CertificateError(
        f"The certificate is for mechanism={name!r} with metric={parameters.get('metric')!r}, which cannot be "
        "rebuilt from it; pass the mechanism itself."
    )


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
