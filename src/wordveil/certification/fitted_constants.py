"""Certificates of the constants that vector mechanisms compute when they are fitted, and of the Laplace profile.

Each mechanism computes its constant itself, next to its claim; a certificate records the parameters and the numbers, so
that a reader can repeat them without drawing any noise. Claims stay where they are: in `guarantee()`.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from wordveil.errors import CertificateError
from wordveil.mechanisms.base import VectorMechanism
from wordveil.mechanisms.laplace_profile import laplace_epsilon
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace
from wordveil.promises.certificates import Certificate, Scalar
from wordveil.vocabulary.table import Embeddings

PROFILE = "laplace-profile"


def certify_constants(mechanism: VectorMechanism, embeddings: Embeddings) -> Certificate:
    """Record the constants that a vector mechanism, such as Projection or NADP, computes for a vocabulary.

    Where only the vocabulary's dimension counts, the certificate names no checksum. `CertificateError` if nothing is
    computed for this kind of mechanism, or a parameter is no single value.
    """
    if not mechanism.certificate_method:
        raise CertificateError(f"Fitting {type(mechanism).__name__} computes nothing: it needs no certificate.")
    held: Any = mechanism  # a dataclass
    values = {field.name: getattr(held, field.name) for field in fields(held)}
    for name, value in values.items():
        if not isinstance(value, str | int | float | None):
            raise CertificateError(f"{name} of {type(mechanism).__name__} is no single value and cannot be recorded.")
    return Certificate(
        method=mechanism.certificate_method,
        vocabulary=embeddings.checksum_in_use if mechanism.certifies_vocabulary else "",
        candidates="",
        parameters={"mechanism": mechanism.name, **values},
        numbers=mechanism.constants(embeddings),
        error=0.0,
    )


def certify_profile(mechanism: MultivariateLaplace, *, dimensions: int, diameter: float, delta: float) -> Certificate:
    """Record the local DP of multivariate Laplace noise at a public diameter, by its exact privacy profile."""
    asked: dict[str, Scalar] = {"dimensions": dimensions, "diameter": diameter, "delta": delta}
    loss = math.nextafter(mechanism.epsilon * diameter, math.inf)
    return Certificate(
        method=PROFILE,
        vocabulary="",
        candidates="",
        parameters={"mechanism": mechanism.name, "epsilon": mechanism.epsilon, **asked},
        numbers={"epsilon_local": laplace_epsilon(delta, dimensions=dimensions, loss=loss)},
        error=0.0,
    )


def repeat_profile(certificate: Certificate) -> Certificate:
    """Repeat the computation of a profile certificate; a `CertificateError` if its parameters are not those of one."""
    values = dict(certificate.parameters)
    name = values.pop("mechanism", None)
    wanted = {"epsilon", "dimensions", "diameter", "delta"}
    if name != MultivariateLaplace.name or values.keys() != wanted:
        raise CertificateError(f"A profile certificate has the parameters mechanism, {', '.join(sorted(wanted))}.")
    numbers = {key: value for key, value in values.items() if isinstance(value, int | float)}
    if numbers.keys() != wanted or not isinstance(numbers["dimensions"], int):
        raise CertificateError("The parameters of a profile certificate must be numbers, dimensions a whole one.")
    mechanism, d = MultivariateLaplace(epsilon=numbers["epsilon"]), int(numbers["dimensions"])
    return certify_profile(mechanism, dimensions=d, diameter=numbers["diameter"], delta=numbers["delta"])
