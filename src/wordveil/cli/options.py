"""Options in groups: a parameter of a command whose type is a dataclass stands for the options that are its fields."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, get_type_hints


def declared(command: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return what a command takes, or a group of options, by name and each with its type: groups are taken apart."""
    hints = get_type_hints(command, include_extras=True)
    found: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        own = parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name])
        found |= declared(hints[name]) if is_dataclass(hints[name]) else {name: own}
    return found


def call(command: Callable[..., int | None], values: dict[str, Any]) -> int | None:
    """Call a command with values by the names that are `declared`, put together into its groups.

    Returns:
        Its exit code; None for success.
    """
    hints = get_type_hints(command)
    taken = {}
    for name in inspect.signature(command).parameters:
        if is_dataclass(hints[name]):
            group: Any = hints[name]
            taken[name] = group(**{own: values[own] for own in declared(group) if own in values})
        elif name in values:
            taken[name] = values[name]
    return command(**taken)
