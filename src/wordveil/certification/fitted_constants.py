"""Certificates of the constants that vector mechanisms compute when they are fitted, and of the Laplace profile.

Each mechanism computes its constant itself, next to its claim; a certificate records the parameters and the numbers, so
that a reader can repeat them without drawing any noise. Claims stay where they are: in `guarantee()`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import wordveil
from wordveil.errors import CertificateError
from wordveil.mechanisms.base import VectorMechanism
from wordveil.mechanisms.clipped_gaussian import ClippedGaussian
from wordveil.mechanisms.gaussian_scale import gaussian_log_delta
from wordveil.mechanisms.laplace_profile import laplace_epsilon
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace
from wordveil.mechanisms.nadp import NADP
from wordveil.mechanisms.projection import Projection
from wordveil.mechanisms.projection_planning import log_union_bound
from wordveil.mechanisms.truncated_laplace import TruncatedLaplace
from wordveil.promises.certificates import Certificate, Scalar
from wordveil.vocabulary.table import Embeddings

__all__ = ["METHODS", "PROFILE", "certify_constants", "certify_profile", "rebuild_constants", "repeat_profile"]

PROFILE = "laplace-profile"


@dataclass(frozen=True, kw_only=True)
class _Method:
    """How one kind of mechanism is certified.

    Attributes:
        name: The certificate's method.
        numbers: The numbers found, from the mechanism and the vocabulary.
        needs_vocabulary: Whether words and matrix enter the computation.
    """

    name: str
    numbers: Callable[[Any, Embeddings], dict[str, float]]
    needs_vocabulary: bool


def _stretch(mechanism: Projection, embeddings: Embeddings) -> dict[str, float]:
    fitted = mechanism.fit(embeddings)
    numbers = {"dimensions": float(fitted.dimensions), "stretch": fitted.stretch}
    if mechanism.sensitivity == "union-bound":
        numbers["delta"] = math.exp(log_union_bound(len(embeddings), fitted.dimensions, mechanism.beta))
    return numbers


def _half_width(mechanism: TruncatedLaplace, embeddings: Embeddings) -> dict[str, float]:
    fitted = mechanism.fit(embeddings)
    return {"dimensions": float(fitted.dimensions), "alpha": fitted.alpha, "half_width": fitted.half_width}


def _scale(mechanism: ClippedGaussian, embeddings: Embeddings) -> dict[str, float]:
    scale = mechanism.unit_scale
    delta = math.exp(gaussian_log_delta(mechanism.epsilon, scale))
    return {"scale": scale, "sigma": mechanism.fit(embeddings).sigma, "delta": delta}


def _noiseless(mechanism: NADP, embeddings: Embeddings) -> dict[str, float]:
    fitted = mechanism.fit(embeddings)
    return {
        "isolated_share": fitted.isolated_share,
        "noiseless_share": fitted.noiseless_share,
        "sigma": float(fitted.sigmas.max()),
    }


METHODS: Mapping[type[VectorMechanism], _Method] = {
    Projection: _Method(name="stretch", numbers=_stretch, needs_vocabulary=True),
    TruncatedLaplace: _Method(name="truncated-laplace", numbers=_half_width, needs_vocabulary=False),
    ClippedGaussian: _Method(name="gaussian-scale", numbers=_scale, needs_vocabulary=False),
    NADP: _Method(name="overlap-graph", numbers=_noiseless, needs_vocabulary=True),
}
"""Vector mechanism -> how it is certified."""


def certify_constants(mechanism: VectorMechanism, embeddings: Embeddings) -> Certificate:
    """Record the constants that a vector mechanism computes for a vocabulary.

    Args:
        mechanism: Projection, TruncatedLaplace, ClippedGaussian or NADP.
        embeddings: The public vocabulary; where only its dimension counts, the certificate names no checksum.

    Raises:
        CertificateError: If nothing is computed for this kind of mechanism, or a parameter is no single value.
    """
    method = METHODS.get(type(mechanism))
    if method is None:
        raise CertificateError(f"Fitting {type(mechanism).__name__} computes nothing: it needs no certificate.")
    return Certificate(
        method=method.name,
        vocabulary=embeddings.header.checksum if method.needs_vocabulary else "",
        candidates="",
        parameters={"mechanism": mechanism.name, **_scalars(mechanism)},
        numbers=method.numbers(mechanism, embeddings),
        error=0.0,
        version=wordveil.__version__,
    )


def _scalars(mechanism: Any) -> dict[str, Scalar]:
    values = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    for name, value in values.items():
        if not isinstance(value, str | int | float | None):
            raise CertificateError(f"{name} of {type(mechanism).__name__} is no single value and cannot be recorded.")
    return values


def rebuild_constants(certificate: Certificate) -> VectorMechanism:
    """Return the vector mechanism that a certificate names.

    Raises:
        CertificateError: If its method or parameters belong to no mechanism.
    """
    parameters = dict(certificate.parameters)
    name = parameters.pop("mechanism", None)
    for kind, method in METHODS.items():
        if kind.name == name and method.name == certificate.method:
            try:
                return kind(**parameters)
            except TypeError:
                raise CertificateError(f"The certificate's parameters are not those of {kind.__name__}.") from None
    raise CertificateError(f"No mechanism {name!r} is certified by the method {certificate.method!r}.")


def certify_profile(mechanism: MultivariateLaplace, *, dimensions: int, diameter: float, delta: float) -> Certificate:
    """Record the local DP of multivariate Laplace noise at a public diameter, by its exact privacy profile.

    Args:
        mechanism: The mechanism.
        dimensions: Dimensions of the noise, at least 1.
        diameter: Largest distance between two inputs, public, in (0, inf).
        delta: In (0, 1).

    Raises:
        ParameterError: If a parameter is outside its domain.
    """
    loss = math.nextafter(mechanism.epsilon * diameter, math.inf)
    return Certificate(
        method=PROFILE,
        vocabulary="",
        candidates="",
        parameters={
            "mechanism": mechanism.name,
            "epsilon": mechanism.epsilon,
            "dimensions": dimensions,
            "diameter": diameter,
            "delta": delta,
        },
        numbers={"epsilon_local": laplace_epsilon(delta, dimensions=dimensions, loss=loss)},
        error=0.0,
        version=wordveil.__version__,
    )


def repeat_profile(certificate: Certificate) -> Certificate:
    """Repeat the computation of a profile certificate.

    Raises:
        CertificateError: If its parameters are not numbers, or not those of a profile.
        ParameterError: If one is outside its domain.
    """
    values = dict(certificate.parameters)
    name = values.pop("mechanism", None)
    wanted = {"epsilon", "dimensions", "diameter", "delta"}
    if name != MultivariateLaplace.name or values.keys() != wanted:
        raise CertificateError(f"A profile certificate has the parameters mechanism, {', '.join(sorted(wanted))}.")
    numbers = {key: value for key, value in values.items() if isinstance(value, int | float)}
    if numbers.keys() != wanted or not isinstance(numbers["dimensions"], int):
        raise CertificateError("The parameters of a profile certificate must be numbers, dimensions a whole one.")
    return certify_profile(
        MultivariateLaplace(epsilon=numbers["epsilon"]),
        dimensions=int(numbers["dimensions"]),
        diameter=numbers["diameter"],
        delta=numbers["delta"],
    )
