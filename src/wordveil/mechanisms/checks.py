"""Checks that something is a mechanism, where a user hands one in."""

from __future__ import annotations

from wordveil.errors import GuaranteeError, ParameterError
from wordveil.mechanisms.base import VectorMechanism
from wordveil.mechanisms.common import Mechanism, Randomizer


def check_mechanism(thing: object) -> Mechanism:
    """Return what was given if it is a mechanism; raise `ParameterError` for a class, a fitted form or others."""
    if isinstance(thing, Mechanism):
        return thing
    raise ParameterError("mechanism", f"<{type(thing).__name__}>", "must be a mechanism, such as TEM(epsilon=9).")


def check_fitted(thing: object) -> Randomizer:
    """Return what was given if it is a fitted mechanism; raise `GuaranteeError` for a promise or anything else."""
    if isinstance(thing, Randomizer):
        return thing
    raise GuaranteeError(f"<{type(thing).__name__}> does not say what is drawn: pass the fitted mechanism.")


def vector_mechanism(thing: object) -> VectorMechanism:
    """Return what was given if it is a mechanism of vectors; raise `ParameterError` otherwise."""
    if isinstance(thing, VectorMechanism):
        return thing
    raise ParameterError("mechanism", check_mechanism(thing).name, "must be a vector mechanism, such as laplace.")
