"""Certificates: computations on public inputs that prove what a textbook cannot, and that anyone can repeat.

`certify(mechanism, embeddings)` makes one; `verify(certificate, embeddings)` repeats it and compares.
"""

from __future__ import annotations

from wordveil.certificates import Certificate, compare
from wordveil.certification.certified_rate import certify_selection, rebuild_mechanism, repeat_selection
from wordveil.certification.normaliser_lipschitz import Progress
from wordveil.embeddings.table import Embeddings
from wordveil.errors import CertificateError
from wordveil.mechanisms.exponential import LIPSCHITZ, SelectionMechanism

__all__ = ["certify", "verify"]


def certify(
    mechanism: object,
    embeddings: Embeddings,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    checkpoint: str | None = None,
) -> Certificate:
    """Make the certificate of a mechanism on a public vocabulary.

    Args:
        mechanism: A selection mechanism (TEM, SanText): its largest certified rate.
        embeddings: The public vocabulary.
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of pair visits done since the last call; `pair_visits` gives those of one
            rate, of which a search takes at most nine.
        checkpoint: File to save progress to and resume from; removed at the end.

    Returns:
        The certificate; `save` it, pass it to `fit`, `verify` it anywhere.

    Raises:
        CertificateError: If no method certifies this mechanism.
    """
    if isinstance(mechanism, SelectionMechanism):
        return certify_selection(mechanism, embeddings, threads=threads, progress=progress, checkpoint=checkpoint)
    raise CertificateError(f"No method certifies {type(mechanism).__name__}; selection mechanisms have one.")


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
    if certificate.method != LIPSCHITZ:
        raise CertificateError(f"Unknown method {certificate.method!r}; it must be one of {LIPSCHITZ}.")
    chosen = rebuild_mechanism(certificate) if mechanism is None else mechanism
    certificate.require(
        method=LIPSCHITZ,
        vocabulary=embeddings.header.checksum,
        candidates=embeddings.candidates_checksum,
        parameters=chosen.certified_parameters(),
    )
    repeated = repeat_selection(certificate, chosen, embeddings, threads=threads, progress=progress)
    compare(certificate, repeated)
    return repeated
