"""What a command says when it has released something: four lines, or every line with --explain.

The four are what was released, what is promised, what passed unchanged, and the strongest warning. The last one counts
what was left unsaid and names where it can be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from wordveil.cli.common import counted, say
from wordveil.errors import printable

ExplainOption = Annotated[
    bool, Option("--explain", help="Say all that is assumed and disclosed, and every warning, instead of four lines.")
]


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
        """Print the four lines, or all lines, on standard error."""
        for line in self.lines if explained else self.four():
            say(line)

    def four(self) -> tuple[str, str, str, str]:
        """Return the four lines."""
        others = [counted(len(self.warnings) - 1, "more warning")] if len(self.warnings) > 1 else []
        where = "--explain" if self.destination == "-" else "--resume --explain, which releases nothing again"
        more = f"{', '.join([*others, counted(len(self.lines), 'line')])} in full: {where}; or --report FILE"
        return (
            f"released: {self.released}",
            f"guarantee: {self.guarantee}",
            f"passed unchanged: {'; '.join(self.unchanged)}",
            f"{self.warned}: {self.warnings[0]} ({more})" if self.warnings else f"more: {more}",
        )


def copied_columns(names: Sequence[str], *, tree: bool) -> list[str]:
    """Return what was copied beside the texts, as it stands among what passed unchanged."""
    columns = [f"column{'' if len(names) == 1 else 's'} {', '.join(map(printable, names))}"] if names else []
    return columns + ["file names and folders"] * tree
