"""Commands that other packages bring, each under one line of its `pyproject.toml`.

    [project.entry-points."wordveil.commands"]
    evaluate = "wordveil_lab.offers:evaluate"

What stands there is an `OfferedCommand`. The overview shows its line without importing the function.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wordveil.errors import WordveilError
from wordveil.plugins import foreign_points, load_foreign

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["LABORATORY", "OfferedCommand", "offered_commands"]

LABORATORY = ("bench", "evaluate", "reproduce", "score")
"""Commands of the package wordveil-lab, which a mistake names where it is not installed."""

UNUSABLE = "Cannot be used here; calling it says why."


@dataclass(frozen=True, kw_only=True)
class OfferedCommand:
    """A command of another package, under the name of its entry point.

    Attributes:
        function: "MODULE:NAME" of what runs, declared like wordveil's own commands (`wordveil.cli.options`).
        line: What the overview says of it, at most 55 characters.
        examples: Two commands as they are typed, for the end of its help.
        problem: Why it cannot be used; the others can.
    """

    function: str
    line: str
    examples: tuple[str, ...] = ()
    problem: str = ""

    def load(self) -> Callable[..., int | None]:
        """Return the function.

        Raises:
            WordveilError: If the command cannot be used.
        """
        if self.problem:
            raise WordveilError(self.problem)
        module, _, name = self.function.partition(":")
        function: Callable[..., int | None] = getattr(importlib.import_module(module), name)
        return function


def offered_commands(own: Collection[str]) -> dict[str, OfferedCommand]:
    """Return the commands of other packages by name, none one of wordveil's own; reads every installed package."""
    return {name: _offered(points) for name, points in foreign_points("commands", own).items()}


def _offered(points: Sequence[EntryPoint]) -> OfferedCommand:
    try:
        command, where = load_foreign(points)
    except WordveilError as error:
        return OfferedCommand(function="", line=UNUSABLE, problem=str(error))
    if isinstance(command, OfferedCommand):
        return command
    return OfferedCommand(function="", line=UNUSABLE, problem=f"{where} is no OfferedCommand of wordveil.api.")
