"""Options as commands declare them without typer, whose import alone takes a good part of a first sentence.

`plain_use` reads a command line that holds nothing but known options, each with its value, and file names. Everything
else, mistakes and --help included, is for typer, which is given the same declarations (`app`).

A command may take options in groups: a parameter whose type is a dataclass stands for the options that are its fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, get_args, get_type_hints

__all__ = ["Argument", "Option", "argument", "call", "declared", "option", "plain_use"]


@dataclass(frozen=True, slots=True)
class Option:
    """An option by its names; see `typer.Option`."""

    names: tuple[str, ...]
    help: str
    metavar: str | None


@dataclass(frozen=True, slots=True)
class Argument:
    """A file name; see `typer.Argument`."""

    help: str
    metavar: str


def option(*names: str, help: str, metavar: str | None = None) -> Option:
    """Declare an option of a command."""
    return Option(names, help, metavar)


def argument(*, help: str, metavar: str) -> Argument:
    """Declare a file name that a command takes."""
    return Argument(help, metavar)


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


def plain_use(command: Callable[..., int | None], given: Sequence[str]) -> dict[str, Any] | None:
    """Return what to `call` a command with, or None where typer has to look at it.

    Args:
        command: A function whose parameters are all declared with `option` or `argument`.
        given: The words after the command's name.
    """
    known = {name: get_args(parameter.annotation) for name, parameter in declared(command).items()}
    named = {flag: name for name, (_, own) in known.items() if isinstance(own, Option) for flag in own.names}
    files = [name for name, (_, own) in known.items() if isinstance(own, Argument)]
    values: dict[str, Any] = {}
    words = iter(given)
    for word in words:
        flag, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word == "-" or not word.startswith("-"):
            name, text = (files.pop(0) if files else ""), word
        elif flag not in named:
            return None
        else:
            name = named[flag]
            text = value if equals or known[name][0] is bool else next(words, "-?")
        if not name or (equals and known[name][0] is bool) or (text.startswith("-") and text != "-"):
            return None
        if not _taken(values, name, known[name][0], text):
            return None
    return values


def _taken(values: dict[str, Any], name: str, kind: Any, text: str) -> bool:
    """Put a value where it belongs; whether it could be."""
    if kind is bool:
        text, kind = "", lambda _: True
    kinds = [own for own in get_args(kind) if own is not type(None)] or [kind]
    if kinds == [list[str]]:
        values.setdefault(name, []).append(text)
        return True
    if name in values:
        return False
    try:
        values[name] = kinds[0](text)
    except ValueError:
        return False
    return True
