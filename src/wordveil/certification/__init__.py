"""Certificates: computations on public inputs that prove what a textbook cannot, and that anyone can repeat.

`certify(mechanism, embeddings)` makes one, `certify_rate(mechanism, embeddings, rate)` one for what a rate costs, and
`verify(certificate, embeddings)` repeats it and compares.
"""

from __future__ import annotations

from typing import Any

from wordveil.arrays import Progress
from wordveil.certification.certified_rate import RATE_METHODS, certify_rate, certify_selection, repeat_selection
from wordveil.certification.fitted_constants import PROFILE, certify_constants, certify_profile, repeat_profile
from wordveil.errors import CertificateError
from wordveil.mechanisms.common import Mechanism, check_mechanism
from wordveil.mechanisms.exponential import SelectionMechanism
from wordveil.plugins import mechanism_class, mechanism_names
from wordveil.promises.certificates import Certificate, compare
from wordveil.vocabulary.table import Embeddings

__all__ = ["certify", "certify_profile", "certify_rate", "verify"]


def certify(
    mechanism: object,
    embeddings: Embeddings,
    *,
    rate: float | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    checkpoint: str | None = None,
) -> Certificate:
    """Make the certificate of a mechanism on a public vocabulary.

    Args:
        mechanism: A selection mechanism (TEM, SanText, TightConstraints): a rate that keeps its epsilon, for local DP
            where calibration="certified-local" and for metric DP otherwise. A vector mechanism that computes a
            constant when fitted (Projection, TruncatedLaplace, ClippedGaussian, NADP): that constant.
        embeddings: The public vocabulary.
        rate: For selection mechanisms, the rate to certify; None searches for the largest.
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of pair visits done since the last call; `pair_visits` gives those of one
            rate, of which a search takes at most nine.
        checkpoint: File to save progress to and resume from; removed at the end. For selection mechanisms other than
            tight constraints.

    Returns:
        The certificate; `save` it, pass it to `fit`, `verify` it anywhere.

    Raises:
        CertificateError: If no method certifies this mechanism, or the rate given costs more than its epsilon.
    """
    chosen: Any = check_mechanism(mechanism)
    if chosen.certificate_method in RATE_METHODS:
        return certify_selection(
            chosen, embeddings, rate=rate, threads=threads, progress=progress, checkpoint=checkpoint
        )
    if rate is not None or checkpoint is not None:
        raise CertificateError("A rate and a checkpoint belong to selection mechanisms; leave them out.")
    return certify_constants(chosen, embeddings)


def verify(
    certificate: Certificate,
    embeddings: Embeddings,
    *,
    mechanism: SelectionMechanism | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Repeat the computation of a certificate and compare.

    Args:
        certificate: The certificate.
        embeddings: The public vocabulary it speaks of.
        mechanism: Needed only where the certificate cannot say everything about it (a metric with parameters).
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of pair visits done since the last call.

    Returns:
        The repetition.

    Raises:
        CertificateError: Naming what differs: an input, a number, or a claim below what was found.
    """
    if certificate.method in RATE_METHODS:
        # That it speaks of these inputs is checked before time is spent on them.
        chosen: Any = _rebuilt(certificate) if mechanism is None else mechanism
        chosen.require(certificate, embeddings)
        repeated = repeat_selection(certificate, chosen, embeddings, threads=threads, progress=progress)
    elif certificate.method == PROFILE:
        repeated = repeat_profile(certificate)
    else:
        named: Any = _rebuilt(certificate)
        repeated = certify_constants(named, embeddings)
    compare(certificate, repeated)
    return repeated


def _rebuilt(certificate: Certificate) -> Mechanism:
    """Return the mechanism that a certificate names; `CertificateError` if it does not say all of a known one."""
    name = certificate.parameters.get("mechanism")
    if str(name) in mechanism_names():
        rebuilt: Mechanism = mechanism_class(str(name)).rebuild(certificate)
        if rebuilt.certificate_method == certificate.method:
            return rebuilt
    raise CertificateError(f"No mechanism {name!r} is certified by the method {certificate.method!r}.")
