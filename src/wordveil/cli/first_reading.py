"""Options of the commands that read a file once before they release it: a bound for each person, ids of documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from typer import Option

if TYPE_CHECKING:
    from wordveil.randomness import RandomSource
    from wordveil.runs.beforehand import Over, UserBudget


@dataclass(frozen=True, kw_only=True)
class PerUser:
    """A bound for each person."""

    user_column: Annotated[
        str | None, Option("--user-column", metavar="NAME", help="The column that names the person behind a document.")
    ] = None
    max_nats_per_user: Annotated[
        float | None,
        Option("--max-nats-per-user", help="The most that all documents of one person may lose in this release."),
    ] = None
    over_budget: Annotated[
        str | None,
        Option(
            "--over-budget",
            help="For persons above it: stop the run (the default), drop all they wrote, or truncate (keep the first).",
        ),
    ] = None

    def budget(self) -> UserBudget | None:
        from wordveil.errors import ParameterError
        from wordveil.runs.beforehand import UserBudget

        if self.user_column is None and self.max_nats_per_user is None and self.over_budget is None:
            return None
        if self.user_column is None or self.max_nats_per_user is None:
            raise ParameterError("--user-column", self.user_column, "must come together with --max-nats-per-user.")
        over = cast("Over", self.over_budget or "stop")
        return UserBudget(user=self.user_column, max_nats=self.max_nats_per_user, over=over)


@dataclass(frozen=True, kw_only=True)
class Lasting:
    """A key that outlives the run, so that a document which did not change is released as it was."""

    key_file: Annotated[
        Path | None,
        Option("--key-file", metavar="FILE", help="Your own key, 16 bytes of mode 0600, instead of a fresh one a run."),
    ] = None
    ids: Annotated[
        str | None,
        Option("--ids", metavar="NAME", help="With --key-file: the column whose value names each document for good."),
    ] = None

    def source(self, output: str, *, resume: bool) -> RandomSource:
        from wordveil.errors import ParameterError
        from wordveil.files.run_key import run_source

        if self.ids is not None and self.key_file is None:
            raise ParameterError("--ids", self.ids, "must come together with --key-file: a fresh key repeats nothing.")
        if self.key_file is not None and Path(output).exists() and Path(output).resolve() == self.key_file.resolve():
            raise ParameterError("destination", output, "is the key: name another file.")
        return run_source(output, resume=resume, key_file=self.key_file)
