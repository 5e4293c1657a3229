"""What a command says when it has released something: four lines, or every line with --explain.

The four are what was released, what is promised, what passed unchanged, and the strongest warning. The last one counts
what was left unsaid and names where it can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordveil.cli.common import say
from wordveil.errors import counted, printable

if TYPE_CHECKING:
    from wordveil.integrations.conversation import Conversation
    from wordveil.runs.frame import DocumentReport
    from wordveil.runs.vectors.values import VectorReport


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What is said of a release."""

    released: str
    guarantee: str
    unchanged: Sequence[str]
    warnings: Sequence[str]
    lines: Sequence[str]
    destination: str
    warned: str = "warning"

    def say(self, *, explained: bool) -> None:
        for line in self.lines if explained else self.four():
            say(line)

    def four(self) -> tuple[str, str, str, str]:
        others = [counted(len(self.warnings) - 1, "more warning")] if len(self.warnings) > 1 else []
        where = "--explain" if self.destination == "-" else "--resume --explain, which releases nothing again"
        more = f"{', '.join([*others, counted(len(self.lines), 'line')])} in full: {where}; or --report FILE"
        return (
            f"released: {self.released}",
            f"guarantee: {self.guarantee}",
            f"passed unchanged: {'; '.join(self.unchanged)}",
            f"{self.warned}: {self.warnings[0]} ({more})" if self.warnings else f"more: {more}",
        )


def copied(facts: Mapping[str, Any]) -> list[str]:
    """Return what a run copied beside the texts, by its report, as it stands among what passed unchanged."""
    names = facts["copied"]
    columns = [f"column{'' if len(names) == 1 else 's'} {', '.join(map(printable, names))}"] if names else []
    return columns + ["file names and folders"] * facts["tree"]


def missed(facts: Mapping[str, Any]) -> list[str]:
    """Return the line of a run's report on what was not released; none where all was."""
    from wordveil.runs.report import left_out

    counts = left_out(facts)
    return [f"left out or replaced: {counts}"] if counts else []


def promised(
    release: DocumentReport | VectorReport | Conversation, warnings: Iterable[str] = (), between: Iterable[str] = ()
) -> list[str]:
    """Return every line on what a release promises, assumes and discloses, with lines between promise and warnings."""
    from wordveil.runs.warnings import shown

    return [
        f"guarantee: {release.guarantee.sentence()}",
        *between,
        *shown(warnings),
        *(f"assumes: {line}" for line in release.guarantee.assumptions),
        *(f"disclosed: {line}" for line in release.disclosed),
    ]
