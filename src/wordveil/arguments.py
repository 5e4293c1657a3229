"""Checks of what a program hands in: errors name the argument, a position and a type, never a private value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wordveil.errors import ParameterError

__all__ = ["check_kind", "strings", "unique_ids"]


def check_kind(name: str, value: object, kind: type) -> None:
    """Raise `ParameterError` unless the value is of the kind; the value is not shown."""
    if not isinstance(value, kind):
        raise ParameterError(name, f"<{type(value).__name__}>", f"must be of type {kind.__name__}.")


def strings(name: str, values: Sequence[str]) -> list[Any]:
    """Return the values as a list; errors name a position and a type, never a value."""
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise ParameterError(name, f"<{type(values).__name__}>", "must be a list of str; put a single one in brackets.")
    listed = list(values)
    for place, value in enumerate(listed):
        if not isinstance(value, str):
            raise ParameterError(
                name, f"<{len(listed)} entries>", f"must be str; position {place} holds {type(value).__name__}."
            )
    return listed


def unique_ids(ids: Sequence[str], n: int) -> list[str]:
    """Return the ids of n documents as a list, each one of its own."""
    names = strings("ids", ids)
    if len(names) != n:
        raise ParameterError("ids", f"<{len(names)} entries>", f"must hold one id for each of {n} documents.")
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        if first.setdefault(name, place) != place:
            raise ParameterError(
                "ids", f"<{n} entries>", f"must be unique in a run; positions {first[name]} and {place} hold one id."
            )
    return names
