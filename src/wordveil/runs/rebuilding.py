"""Mechanisms from their names in a report: `shown` turned around, for wordveil's own classes and installed plugins."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from typing import Any

from wordveil.errors import ParameterError
from wordveil.mechanisms.common import Mechanism
from wordveil.names import EXPORTS, MECHANISMS
from wordveil.plugins import foreign_names, foreign_object

_CLASS = re.compile(r"\bclass=('[^']*')")  # a plugin's release, under a name that no argument can have


def rebuilt(shown: str) -> Any:
    """Return the mechanism that a report names.

    Raises:
        ParameterError: If the name does not say all of it, or its class is none of wordveil's and no plugin brings it.
    """
    try:
        return _rebuilt(ast.parse(_CLASS.sub(r"class_=\1", shown), mode="eval").body)
    except (ValueError, TypeError, SyntaxError, KeyError):
        raise ParameterError(
            "report",
            shown,
            "does not say all of the mechanism, or a package that brings it is not installed; install that, or in "
            "Python use the mechanism itself.",
        ) from None


def _rebuilt(node: ast.expr) -> Any:
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    if not isinstance(node.func, ast.Name) or node.args:
        raise ValueError
    given = {str(keyword.arg): _rebuilt(keyword.value) for keyword in node.keywords}
    kind = _class(node.func.id)
    wanted = {field.name for field in fields(kind) if field.init}
    if node.func.id not in EXPORTS:  # a plugin's class: what was rebuilt of it is to be held against the report
        given = {name: value for name, value in given.items() if name in wanted or name not in ("name", "class_")}
    if given.keys() != wanted:
        raise ValueError
    return kind(**given)


def _class(name: str) -> Any:
    import wordveil

    if name in EXPORTS:
        kind = getattr(wordveil, name)
        if isinstance(kind, type):
            return kind
        raise ValueError
    for each in foreign_names("mechanisms", MECHANISMS):
        kind = foreign_object("mechanisms", each, Mechanism)
        if kind is not None and kind.__name__ == name:
            return kind
    raise ValueError
