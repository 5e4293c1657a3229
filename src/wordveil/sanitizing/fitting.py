"""Binds any mechanism to a vocabulary, with the certificate its calibration needs.

The embedded vocabulary ships certificates at a grid of epsilons, which make `calibration="certified"` instant there.
`tools/certify_default_vocabulary.py` computes them; `verify` repeats any of them. A shipped certificate is used only
where it names exactly these inputs. This module computes no certificate, so that fitting loads nothing heavy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wordveil.errors import CertificateError
from wordveil.mechanisms.base import WordRandomizer
from wordveil.mechanisms.common import Mechanism, check_mechanism
from wordveil.promises.certificates import Certificate
from wordveil.vocabulary.table import Embeddings

FOLDER = Path(__file__).parents[1] / "certification" / "packaged"


def file_name(mechanism: Mechanism) -> str:
    """Return the name under which the certificate of a mechanism is shipped."""
    from wordveil.mechanisms.exponential import (
        LARGEST_LOSS,  # kernels that a mechanism without certificates never calls
    )

    promise = "-local" if mechanism.certificate_method == LARGEST_LOSS else ""
    return f"{mechanism.name}{promise}-{mechanism.epsilon:g}.json"


def shipped_certificate(mechanism: Mechanism, embeddings: Embeddings) -> Certificate | None:
    """Return the shipped certificate for exactly this mechanism, vocabulary and candidate set, or None.

    A vocabulary whose outputs were narrowed is another one: certify it with `certify`.
    """
    path = FOLDER / file_name(mechanism)
    if not path.is_file():
        return None
    certificate = Certificate.load(path)
    try:
        mechanism.require(certificate, embeddings)
    except CertificateError:
        return None
    return certificate


def certificate_in_use(
    mechanism: Mechanism, embeddings: Embeddings, certificate: Certificate | None
) -> Certificate | None:
    """Return the certificate given, else the shipped one where the mechanism needs one."""
    if check_mechanism(mechanism).needs_certificate and certificate is None:
        return shipped_certificate(mechanism, embeddings)
    return certificate


def fit_words(mechanism: Mechanism, embeddings: Embeddings, certificate: Certificate | None = None) -> WordRandomizer:
    """Bind any mechanism to a vocabulary as a word mechanism, with the certificate its calibration needs.

    Args:
        mechanism: A word mechanism, or a vector mechanism, which is decoded to the nearest word.
        embeddings: The public vocabulary.
        certificate: For calibration="certified"; None looks among the shipped ones.

    Raises:
        CertificateError: If a certificate is needed and none is given or shipped, or one is given and not needed.
        ParameterError: If it is no mechanism.
    """
    words: Any = check_mechanism(mechanism)
    if words.releases == "vectors":
        from wordveil.decoding.decoded import as_words  # a search for nearest words, which only vectors need

        words = as_words(words)
    found: WordRandomizer = words.fit_certified(embeddings, certificate_in_use(words, embeddings, certificate))
    return found
