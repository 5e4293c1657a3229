"""`wordveil evaluate`: utility and attacks of mechanisms at equal promise, as one table."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from wordveil.api import ParameterError, VocabularyOption, load_embeddings, say
from wordveil_lab.rows import DATA_VARIABLE

if TYPE_CHECKING:
    from wordveil_lab.evaluation.base import Task
    from wordveil_lab.evaluation.cells import Target
    from wordveil_lab.evaluation.league import Plan


DEFAULTS = (2.0, 5.0, 10.0), (4.0, 6.0, 8.0, 10.0, 12.0), (2.0,)  # per unit of distance, nats, per unit of rank


@dataclass(frozen=True, kw_only=True)
class ComparedRows:
    """Which promises are compared."""

    mechanisms: Annotated[
        str,
        Option(
            "--mechanisms",
            "-m",
            help="all of ours, or names joined by commas, of plugins too; tem includes tem-certified. Rows of a table "
            "go by their names, too: 'tem @ 8' is that one alone.",
        ),
    ] = "all"
    python: Annotated[
        list[str] | None,
        Option("--python", metavar="FILE.py:CLASS", help="A mechanism of your own beside them; repeat for several."),
    ] = None
    epsilon: Annotated[
        list[float] | None, Option("--epsilon", "-e", help="Loss per unit of distance; repeat for several.")
    ] = None
    local_epsilon: Annotated[
        list[float] | None,
        Option("--local-epsilon", help="Loss in nats, for local and neighbour DP; repeat for several."),
    ] = None
    rank_epsilon: Annotated[
        list[float] | None,
        Option("--rank-epsilon", help="Loss per unit of neighbour-rank distance; repeat for several."),
    ] = None

    def targets(self) -> tuple[Target, ...]:
        """Return the rows."""
        from wordveil_lab.evaluation.recipes import contenders

        names = None if self.mechanisms == "all" else tuple(name.strip() for name in self.mechanisms.split(","))
        given = (self.epsilon or (), self.local_epsilon or (), self.rank_epsilon or ())
        return contenders(names, *map(tuple, given if any(given) else DEFAULTS), places=tuple(self.python or ()))


@dataclass(frozen=True, kw_only=True)
class WorkOptions:
    """How much is worked out, and where it is kept."""

    delta: Annotated[float, Option("--delta", help="Delta of the promises that have one.")] = 1e-5
    repeats: Annotated[int, Option("--repeats", help="Number of runs of each cell that is not exact.")] = 3
    audit_samples: Annotated[
        int, Option("--audit-samples", help="Number of samples to audit each promise with; 0 means no audit.")
    ] = 20_000
    seed: Annotated[int, Option("--seed", help="Seed of the test noise.")] = 0
    workers: Annotated[int | None, Option("--workers", help="Processes; default: one per processor.")] = None
    cache: Annotated[Path | None, Option("--cache", help="Folder of finished cells; default: REPORT.cells.")] = None

    def plan(self, targets: tuple[Target, ...], tasks: tuple[Task, ...], left_out: dict[str, str]) -> Plan:
        """Return what is to be compared."""
        from wordveil_lab.evaluation.audits import AuditSettings
        from wordveil_lab.evaluation.cells import PromiseSettings
        from wordveil_lab.evaluation.league import Plan

        return Plan(
            targets=targets,
            tasks=tasks,
            promises=PromiseSettings(delta=self.delta),
            audit=AuditSettings(samples=self.audit_samples),
            left_out=left_out,
            repeats=self.repeats,
            seed=self.seed,
        )


def evaluate(
    *,
    rows: ComparedRows,
    task: Annotated[list[str] | None, Option("--task", "-t", help="A task; repeat for several. Default: all.")] = None,
    size: Annotated[str, Option("--size", help="full, reduced or miniature: see below.")] = "reduced",
    vocabulary: VocabularyOption = None,
    words: Annotated[
        int, Option("--words", help="Number of output words to use, from the start of the vocabulary; 0 means all.")
    ] = 10_000,
    data: Annotated[
        list[str] | None, Option("--data", metavar="TASK[.FIELD]=FILE", help="A file of your own; repeat for several.")
    ] = None,
    work: WorkOptions,
    report: Annotated[
        list[Path] | None,
        Option(help="Write .html, .md, .json, .csv, .tex, .svg or .pdf; repeat for several. Default: league.html."),
    ] = None,
) -> int:
    """Compare mechanisms at equal promise: utility, attacks and measures on public data, with confidence intervals.

    The data sets are files in the folder named by the environment variable WORDVEIL_DATA, or your own (--data);
    nothing is downloaded. Tasks whose files or packages are not here are left out and listed with the reason;
    docs/measure.md lists the files. A file given to a task that trains and tests is split.

    Only promises whose epsilon is given are compared; without any: 2, 5 and 10 (metric), 4, 6, 8, 10 and 12 nats
    (local), 2 (ranks). With all tasks and 10 000 words a row takes about a minute of one processor at --size reduced,
    a quarter of that at --size miniature, more at full. An interrupted run goes on where it stopped. Where an audit
    refutes the claim of a row, the row says so, and the exit code is 1; it is 2 where a mechanism of others has no row.
    """
    from wordveil_lab.evaluation.catalogue import chosen_tasks, runnable
    from wordveil_lab.evaluation.cells import OfferedTarget
    from wordveil_lab.evaluation.league import run_league
    from wordveil_lab.evaluation.report import REFUTED, audited, check_form, is_refuted, marked, write_league

    reports = report or [Path("league.html")]
    for each in reports:
        check_form(each)
    targets = rows.targets()
    tasks, left_out = runnable(chosen_tasks(tuple(task) if task else None, size=size, data=_own_files(data or [])))
    for name, reason in left_out.items():
        say(f"left out: {name}: {reason}")
    if not tasks:
        needed = f"need files or packages that are not here, see above: set {DATA_VARIABLE} or give --data."
        raise ParameterError("--task", ",".join(left_out), needed)
    for each in reports:
        check_form(each, [task.name for task in tasks])
    league = run_league(
        work.plan(targets, tasks, left_out),
        load_embeddings(vocabulary).first(words or None),
        cache=work.cache or reports[0].with_suffix(reports[0].suffix + ".cells"),
        workers=work.workers or len(os.sched_getaffinity(0)),
        progress=lambda done, total, row: say(f"{done:5,} of {total:,} cells: {row}"),
    )
    for each in reports:
        written = write_league(league, each, command=shlex.join(["wordveil", *sys.argv[1:]]))
    worked = sum(cell.seconds for row in league.rows for cell in row.cells)
    where = ", ".join(map(str, reports))
    say(
        f"{where}: {len(league.rows)} rows x {len(tasks)} tasks, {league.seconds:.0f} s, {league.cached} cells "
        f"cached; {worked:.0f} s of work in all cells together"
    )
    empty = [row for row in league.rows if row.guarantee is None and row.note]
    for row in empty:
        say(f"no row: {row.target.label}: {row.note}")
    refuted = [row for row in written["rows"] if is_refuted(row)]
    for row in refuted:
        say(f"{marked(row)} at {row['epsilon']:g}: {audited(row['audit']).removeprefix(REFUTED)}")
    return 1 if refuted else 2 * any(isinstance(row.target, OfferedTarget) for row in empty)


def _own_files(given: list[str]) -> dict[str, str]:
    files = {}
    for setting in given:
        name, separator, path = setting.partition("=")
        if not separator or not path:
            raise ParameterError("--data", setting, "must be TASK=FILE or TASK.FIELD=FILE.")
        files[name] = path
    return files
