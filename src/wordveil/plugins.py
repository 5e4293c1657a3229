"""Mechanisms, decoders, document formats and commands by name: wordveil's own, and those of other packages.

A package offers its class under one line of its `pyproject.toml`, and it is found where it is installed:

    [project.entry-points."wordveil.mechanisms"]
    cluster-response = "my_package:ClusterResponse"

The groups are `wordveil.mechanisms`, `wordveil.decoders`, `wordveil.readers` (document formats) and
`wordveil.commands` (`cli.offered`). Nothing is looked up before a name is asked for that is not wordveil's own, whose
names nobody else can take.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from wordveil.errors import ParameterError, WordveilError
from wordveil.names import DECODERS, EXPORTS, MECHANISMS

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def python_value(text: str) -> Any:
    """Return what a text is as a literal of Python; else the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def mechanism_names() -> tuple[str, ...]:
    """Return the names of all mechanisms, wordveil's own first."""
    return (*MECHANISMS, *foreign_names("mechanisms", MECHANISMS))


def mechanism_class(name: str) -> Any:
    """Return the class of a mechanism by its name."""
    return _named("mechanism", name, MECHANISMS, "wordveil.mechanisms.base:Mechanism")


def build_mechanism(name: str, values: Mapping[str, Any]) -> Any:
    """Return the mechanism of a name with these public parameters.

    `ParameterError` if there is no such mechanism, or a parameter is not one it takes, missing, of another type or
    outside its domain; `RefutedClaimError` if a refuted calibration is asked for without `allow_refuted`;
    `WordveilError` if another package's mechanism cannot be used.
    """
    return _built(mechanism_class(name), name, values)


def build_decoder(name: str, values: Mapping[str, Any]) -> Any:
    """Return the decoder of a name with these public parameters; errors as for `build_mechanism`."""
    return _built(decoder_class(name), name, values)


def _built(chosen: Any, name: str, values: Mapping[str, Any]) -> Any:
    known = {field.name: field for field in fields(chosen) if field.init}
    if unknown := sorted(values.keys() - known):
        takes = ", ".join(sorted(known)) or "none"
        raise ParameterError("parameters", unknown, f"are not taken by {name}; it takes {takes}.")
    needed = [f.name for f in known.values() if f.default is MISSING and f.default_factory is MISSING]
    if absent := [each for each in needed if each not in values]:
        raise ParameterError(absent[0], None, f"must be given for {name}.")
    hints = get_type_hints(chosen)
    for each, value in values.items():
        kinds = set(get_args(hints[each])) or {hints[each]}
        if isinstance(value, str) and kinds <= {float, int, bool, type(None)}:
            raise ParameterError(each, value, "must be a number.")
    try:
        return chosen(**values)
    except TypeError as error:
        raise ParameterError("parameters", dict(values), f"hold a value of the wrong type ({error}).") from None


def decoder_class(name: str) -> Any:
    """Return the class of a decoder by its name; errors as for `mechanism_class`."""
    return _named("decoder", name, DECODERS, "wordveil.decoding.base:Decoder")


def foreign_names(group: str, own: Collection[str]) -> tuple[str, ...]:
    """Return the names that other packages offer in a group, sorted, none of them one of wordveil's own."""
    return tuple(foreign_points(group, own))


def foreign_object(group: str, name: str, base: type) -> Any | None:
    """Return the class that another package offers under a name; None where none does.

    `WordveilError` if it cannot be loaded, is no such class, has another name of its own, or two packages offer it.
    """
    points = [point for point in _entry_points(group) if point.name == name]
    if not points:
        return None
    loaded, where = load_foreign(points)
    if not (isinstance(loaded, type) and issubclass(loaded, base)) or getattr(loaded, "__abstractmethods__", None):
        raise WordveilError(f"{where} is no {base.__name__} that can be used.")
    if loaded.name != name:  # type: ignore[attr-defined]  # every base has it
        raise WordveilError(f"{where} calls itself {loaded.name!r}; the names must agree.")  # type: ignore[attr-defined]
    return loaded


def foreign_points(group: str, own: Collection[str]) -> dict[str, list[EntryPoint]]:
    """Return the entry points of other packages in a group by name, none of them one of wordveil's own."""
    points = _entry_points(group)
    names = sorted({point.name for point in points} - set(own))
    return {name: [point for point in points if point.name == name] for name in names}


def load_foreign(points: Sequence[EntryPoint]) -> tuple[Any, str]:
    """Return what the entry points of one name stand for, and words for where it lies."""
    packages = sorted({"an unnamed package" if point.dist is None else point.dist.name for point in points})
    if len(packages) > 1:
        raise WordveilError(f"{points[0].name!r} is offered by {' and '.join(packages)}; uninstall one of them.")
    where = f"{points[0].name!r} of the package {packages[0]}"
    try:
        return points[0].load(), where
    except Exception as problem:
        raise WordveilError(f"{where} cannot be loaded ({type(problem).__name__}: {problem}).") from problem


def object_at(place: str) -> Any:
    """Return what a Python path names: "MODULE:NAME", or "FILE.py:NAME", which is run as a module of its own.

    `ParameterError` if the path leads nowhere.
    """
    module, _, attribute = place.rpartition(":")
    try:
        found = _module_of_file(Path(module)) if module.endswith(".py") else importlib.import_module(module)
        return getattr(found, attribute)
    except (ImportError, AttributeError, OSError, SyntaxError, ValueError, SystemExit) as problem:
        absent = getattr(problem, "name", None) if isinstance(problem, ModuleNotFoundError) else None
        why = type(problem).__name__ + (f": {absent}" if absent else "")
        raise ParameterError("python", place, f"cannot be loaded ({why}).") from problem


def _module_of_file(path: Path) -> ModuleType:
    """Return the module of a file; the same bytes are run once, so that a class of theirs stays one class."""
    code = path.read_bytes()
    name = f"{path.stem}_{hashlib.sha256(code).hexdigest()[:16]}"
    if name not in sys.modules:
        if (folder := str(path.resolve().parent)) not in sys.path:
            sys.path.append(folder)  # what lies beside it, it may import
        module = sys.modules[name] = ModuleType(name)  # dataclasses look their module up
        module.__file__ = str(path)
        try:
            exec(compile(code, str(path), "exec"), vars(module))  # noqa: S102 (the caller named it to be run)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _named(kind: str, name: str, own: Mapping[str, str], base: str) -> Any:
    if name in own:
        return getattr(importlib.import_module(EXPORTS[own[name]]), own[name])
    module, _, attribute = base.partition(":")
    found = foreign_object(f"{kind}s", name, getattr(importlib.import_module(module), attribute))
    if found is None:
        listed = ", ".join((*own, *foreign_names(f"{kind}s", own)))
        raise ParameterError(kind, name, f"must be one of {listed}.")
    return found


def _entry_points(group: str) -> list[EntryPoint]:
    from importlib.metadata import entry_points  # reads every installed package: not before somebody asks

    # A package that lies in two places of the path is listed twice.
    found = {(each.name, each.value): each for each in entry_points(group=f"wordveil.{group}")}
    return list(found.values())
