"""A command that refuses an option given twice instead of taking the last, and whose help ends with examples."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand

from wordveil.cli.examples import EXAMPLES

__all__ = ["USAGE_ERROR", "Command"]

USAGE_ERROR: Any = typer.BadParameter.__mro__[1]  # typer names only this one of the errors it raises


class Command(TyperCommand):
    """Any command of ours."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples as they are typed: a wrapped command cannot be copied."""
        with formatter.section("Examples"):
            for example in EXAMPLES.get(ctx.command_path.removeprefix("wordveil "), ()):
                formatter.write(f"  {example}\n")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as always, having counted how often each option was given."""
        parser = self.make_parser(ctx)
        _, _, order = parser.parse_args(args=list(args))
        single = (param for param in order if not getattr(param, "multiple", False) and param.nargs == 1)
        for param, times in Counter(single).items():
            if times > 1 and not getattr(param, "is_flag", False) and param.param_type_name == "option":
                raise USAGE_ERROR(f"{max(param.opts, key=len)} is given {times} times; give it once.", ctx)
        rest: list[str] = super().parse_args(ctx, args)
        return rest
