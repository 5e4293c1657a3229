"""The mechanism that a certificate names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from wordveil.errors import CertificateError
from wordveil.mechanisms.base import Mechanism
from wordveil.names import EXPORTS, MECHANISMS
from wordveil.promises.certificates import Certificate

__all__ = ["rebuild_mechanism"]


def rebuild_mechanism(certificate: Certificate) -> Mechanism:
    """Return the mechanism that a certificate names.

    Raises:
        CertificateError: If there is none of that name and method, or the certificate does not say all of it.
    """
    name = certificate.parameters.get("mechanism")
    public = MECHANISMS.get(str(name))
    if public is not None:
        kind: Any = getattr(import_module(EXPORTS[public]), public)
        rebuilt: Mechanism = kind.rebuild(certificate)
        if rebuilt.certificate_method == certificate.method:
            return rebuilt
    raise CertificateError(f"No mechanism {name!r} is certified by the method {certificate.method!r}.")
