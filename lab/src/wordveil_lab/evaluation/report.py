"""The league table as a dictionary, as Markdown and as files.

Everything shown is public data, public parameters and numbers; nothing here was ever private.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from wordveil import __version__
from wordveil.api import ParameterError, check_replaced, check_report_path, round_up
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.catalogue import data_text
from wordveil_lab.evaluation.cells import Group, Target
from wordveil_lab.evaluation.curves import COMPARED, LEVELS, Pair, equal_attack
from wordveil_lab.evaluation.league import League, LeagueRow
from wordveil_lab.package import missing_extra, told
from wordveil_lab.plots import Plotted, draw
from wordveil_lab.tables import ARROWS, as_html, latex_table, markdown_table

SCHEMA = "league 1"
"""What the JSON of a league says of its form; raised when that changes."""
NOISE = "seeded test noise on public data: not a release"
"""What it says of its noise."""

SENTENCES = told("evaluation/report.toml")

_ATTACKS = ", ".join(dict.fromkeys(attack for attack, *_ in COMPARED))
_FIGURE = f"is a figure: it needs one of {_ATTACKS} among the tasks, and a task of utility on the same texts."


def new_report(command: str, rows: Iterable[dict[str, Any]], **facts: Any) -> dict[str, Any]:
    """Return the run of a league as its JSON has it, with facts of its own."""
    return {"schema": SCHEMA, "version": __version__, "command": command, "noise": NOISE, **facts, "rows": list(rows)}


def as_dict(league: League, command: str = "") -> dict[str, Any]:
    """Return the table as a JSON-ready dictionary."""
    plan, tasks = league.plan, [_task(task) for task in league.plan.tasks]
    how = {"promises": asdict(plan.promises), "audit": asdict(plan.audit), "repeats": plan.repeats, "seed": plan.seed}
    what = {"groups": SENTENCES["groups"], "tasks": tasks, "left_out": dict(plan.left_out)}
    return new_report(command, map(_row, league.rows), vocabulary=league.vocabulary, **how, **what)


def _row(row: LeagueRow) -> dict[str, Any]:
    target, facts = row.target, {"guarantee": row.guarantee, "note": row.note, "audit": row.audit}
    place: dict[str, Any] = {"label": target.label, "name": target.label, "group": None, "epsilon": None}
    if isinstance(target, Target):
        place |= {"name": target.name, "group": target.group.value, "epsilon": target.epsilon}
    # Not how long they took, so that two runs write the same bytes.
    cells = {c.task: {"key": c.key, "applies": c.applies, "scores": asdict(c)["scores"]} for c in row.cells}
    return {**place, **facts, "cells": cells}


def _task(task: Task) -> dict[str, Any]:
    facts = {"name": task.name, "kind": task.kind, "settings": repr(task), "data": data_text(task)}
    return {**facts, "scores": [asdict(score) for score in task.scores]}


def as_markdown(report: dict[str, Any], *, every: bool = False) -> str:
    """Return the table as Markdown: for each group one table of utility and one of attacks and measures.

    They show every score, or the first of each task.
    """
    intro = SENTENCES["intro"].format(**report["vocabulary"], repeats=report["repeats"])
    audit = SENTENCES["audit"].format(**report["audit"])
    lines = ["# League table", "", intro, ""]
    if report["command"]:
        lines += ["    " + report["command"], ""]
    lines += [f"wordveil {report['version']}.", "", *([audit] if report["audit"]["samples"] else []), ""]
    for group, text in report["groups"].items():
        rows = [row for row in report["rows"] if row["group"] == group]
        if rows:
            lines += [f"## {text}", ""]
            for heading, head, body in group_tables(report, rows, every):
                lines += [f"### {heading}", "", *markdown_table(head, body), ""]
            lines += [*_equal_attack(report, group), *_promises(rows)]
    lines += ["## Data", "", *(f"- {task['name']}: {task['data']}" for task in report["tasks"] if task["data"])]
    lines += [f"- {name}: left out, {reason}" for name, reason in report["left_out"].items()]
    return "\n".join(lines).rstrip() + "\n"


def as_page(report: dict[str, Any]) -> str:
    """Return the table as an HTML page with every score, and a picture of utility against attack where it can be."""
    lines, pictures = as_markdown(report, every=True).splitlines(), {}
    if any(_points(report)) and find_spec("matplotlib"):
        drawn = as_picture(report)
        pictures["attack.svg"] = drawn.decode()[drawn.index(b"<svg") :]
        lines[2:2] = ["![utility against attack](attack.svg)", ""]
    return as_html("wordveil league table", lines, pictures)


def as_picture(report: dict[str, Any], form: str = "svg") -> bytes:
    """Return utility against the best attacker's success, as SVG or PDF."""
    points = list(_points(report))
    if not points:
        raise ParameterError("report", form, _FIGURE)
    across = "words found by the best attacker on the same texts"
    return draw(points, "Utility at equal attack", across=across, form=form)


def _points(report: dict[str, Any]) -> Iterator[Plotted]:
    for group, (task, utility, score), row in product(report["groups"], COMPARED, report["rows"]):
        attack, use = (row["cells"].get(name, {}).get("scores", {}) for name in (task, utility))
        if row["group"] == group and attack and use:
            figure, found = f"{group}: {utility}, {score}", use[score]
            yield Plotted(figure, row["name"], attack["best"]["mean"], found["mean"], found["standard_error"])


def _equal_attack(report: dict[str, Any], group: str) -> list[str]:
    found = [one for one in equal_attack(report) if one.group == group]
    if not found:
        return []
    lines = ["### At equal attack success", "", SENTENCES["reading"], ""]
    for one in found:
        body = ([name, *map(_reading, values)] for name, values in one.rows.items())
        table = markdown_table(["row", *map(str, LEVELS)], body)
        lines += [f"{one.utility}, where {one.attack} is", "", *table, ""]
    return lines


def _reading(found: Pair | None) -> str:
    return "-" if found is None else " +- ".join(map(_number, found))


def group_tables(
    report: dict[str, Any], rows: Sequence[dict[str, Any]], every: bool
) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield the tables of a group: what one is of, its head and its rows."""
    baseline = [row for row in report["rows"] if row["group"] is None]
    ordered = [*baseline, *sorted(rows, key=lambda row: row["epsilon"])]
    for heading, useful in (("Utility", True), ("Attacks and measures", False)):
        tasks = [task for task in report["tasks"] if (task["kind"] == "utility") is useful]
        columns = [(task["name"], score) for task in tasks for score in task["scores"][: None if every else 1]]
        if columns:
            names = [f"{task}: {score['name']}{ARROWS[score['better']]}" for task, score in columns]
            body = [
                [marked(row), "" if row["epsilon"] is None else f"{row['epsilon']:g}"]
                + [_shown(row, task, score["name"]) for task, score in columns]
                for row in ordered
            ]
            yield heading, ["row", "epsilon", *names], body


def is_refuted(row: dict[str, Any]) -> bool:
    """Whether an audit refutes what a row is compared for."""
    return row["group"] not in (None, Group.REFUTED.value) and bool(row["audit"] and row["audit"]["refuted"])


def marked(row: dict[str, Any]) -> str:
    """Return the name of a row, with a mark where its claim is refuted."""
    return f"{row['name']} (claim refuted)" if is_refuted(row) else str(row["name"])


def _shown(row: dict[str, Any], task: str, score: str) -> str:
    cell = row["cells"].get(task)
    if cell is None or not cell["applies"]:
        return "-"
    summary = cell["scores"][score]
    mean = _number(summary["mean"])
    return mean if summary["runs"] == 1 else f"{mean} +- {_number(summary['standard_error'])}"


def _number(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    digits = 3 if abs(value) < 10 else 1
    return f"{value:.{digits}f}" if abs(value) >= 0.0005 else f"{value:.1e}"


def _promises(rows: Sequence[dict[str, Any]]) -> list[str]:
    ordered = sorted(rows, key=lambda row: row["epsilon"])
    body = ([row["name"], f"{row['epsilon']:g}", *_promise_cells(row)] for row in ordered)
    table = markdown_table(["row", "epsilon", "claimed", "standing", "audited"], body)
    lines = ["### What each row promises, and what an audit shows", "", *table, ""]
    for row in ordered:
        said = "" if row["guarantee"] is None else row["guarantee"]["sentence"]
        note = f" ({row['note']})" if row["note"] and said else row["note"]
        lines.append(f"- **{row['label']}**: {said}{note}")
    return [*lines, ""]


def _promise_cells(row: dict[str, Any]) -> tuple[str, str, str]:
    """Return claim, standing and audited bound of a row of a report; a row that could not be fitted has dashes."""
    audit, guarantee = row["audit"], row["guarantee"]
    if guarantee is None:
        return "-", "not possible here", "-"
    epsilon = row["epsilon"] if guarantee.get("epsilon") is None else guarantee["epsilon"]
    delta = guarantee.get("delta") or (0.0 if audit is None else audit["claimed_delta"])
    claimed = f"epsilon {round_up(epsilon)}" + (f", delta {delta:.2g}" if delta else "")
    return claimed, str(guarantee.get("standing", "")), audited(audit)


REFUTED = "**refuted**: "


def audited(audit: dict[str, Any] | None) -> str:
    """Return the audit's result: the least epsilon at the claimed delta, or what refutes the claim."""
    if audit is None:
        return "-"
    if audit["method"] == "draws":
        return f"{REFUTED}draws do not follow the law that it states, and its figures are of that law"
    if audit["method"] == "exact":
        return (REFUTED if audit["refuted"] else "") + f"epsilon is {audit['epsilon_at_least']:.4g} exactly"
    least = audit["epsilon_at_least"]
    at = f" at delta {audit['claimed_delta']:.2g}" if audit["claimed_delta"] else ""
    said = f"no epsilon holds{at}" if least == "inf" else f"epsilon >= {least:.4g}{at}"
    if audit["delta_at_least"] > audit["claimed_delta"]:
        said += f"; delta >= {audit['delta_at_least']:.4g} at epsilon {audit['claimed_epsilon']:.4g}"
    if audit["counted_epsilon"] < (float("inf") if least == "inf" else least):
        said += f"; counted alone: epsilon >= {audit['counted_epsilon']:.3g}"
    return (REFUTED if audit["refuted"] else "") + said


def as_json(report: dict[str, Any]) -> str:
    """Return the report as JSON, a line for each cell: diffs of two runs stay readable, and the file small."""
    text = json.dumps(_finite(report), indent=1, ensure_ascii=False)
    return re.sub(r"\n {5,}|\n {4}(?=[}\]])", " ", text) + "\n"


def _finite(value: Any) -> Any:
    """Return the value with infinities as strings: JSON has none."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def as_csv(report: dict[str, Any]) -> str:
    """Return every score as a line, with its row, and what an audit says of the claim."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["group", "row", "epsilon", "claim", "task", "score", "better", "mean", "standard_error", "runs"])
    for row, task in product(report["rows"], report["tasks"]):
        for score in task["scores"]:
            found = row["cells"].get(task["name"], {}).get("scores", {}).get(score["name"])
            if found is not None:
                numbers = (found["mean"], found["standard_error"], found["runs"])
                claim = "" if row["audit"] is None else "refuted" if row["audit"]["refuted"] else "not refuted"
                place = (row["group"], row["name"], row["epsilon"], claim)
                table.writerow([*place, task["name"], score["name"], score["better"], *numbers])
    return out.getvalue()


def as_latex(report: dict[str, Any]) -> str:
    """Return the tables for LaTeX with the package booktabs, each after a comment that says what it is of."""
    lines = [
        f"% wordveil {report['version']}: {' '.join(report['command'].split())}",
        r"% Needs \usepackage{booktabs}. After +-: the standard error of the mean over runs.",
    ]
    for group, text in report["groups"].items():
        rows = [row for row in report["rows"] if row["group"] == group]
        for heading, head, body in group_tables(report, rows, every=False) if rows else ():
            lines += [f"% {text}. {heading}.", *latex_table(head, body)]
    first = [(task["name"], task["scores"][0]) for task in report["tasks"]]
    lines += [f"% {task}: {score['name']}: {score['meaning']}." for task, score in first]
    return "\n".join(lines) + "\n"


FORMS: dict[str, Callable[[dict[str, Any]], str | bytes]] = {
    ".html": as_page,
    ".md": as_markdown,
    ".json": as_json,
    ".csv": as_csv,
    ".tex": as_latex,
    ".svg": as_picture,
    ".pdf": partial(as_picture, form="pdf"),
}
"""Ending of a file -> what makes it of a league."""
STARTS = {".csv": b"group,row,epsilon,", ".svg": b"<?xml", ".pdf": b"%PDF"}
"""Ending -> what a league's file begins with where no text in it names wordveil."""


def write_league(league: League, path: str | os.PathLike[str], command: str = "") -> dict[str, Any]:
    """Write the table in the form that its ending chooses (`FORMS`). Returns the table as a dictionary."""
    target = Path(path)
    report = as_dict(league, command)
    check_form(target)
    written = FORMS[target.suffix](report)
    target.write_bytes(written if isinstance(written, bytes) else written.encode())
    return report


def check_form(path: Path, tasks: Sequence[str] | None = None) -> None:
    """Refuse a file whose ending is none of `FORMS`, or a figure that these tasks do not make or nothing here draws."""
    if path.suffix in (".svg", ".pdf"):
        if tasks is not None and not any({*pair} <= {*tasks} for *pair, _ in COMPARED):
            raise ParameterError("--report", path.name, _FIGURE)
        if not find_spec("matplotlib"):
            raise missing_extra("A figure", "matplotlib", "plots")
    check_report_path(path, [*FORMS])
    check_replaced(path, STARTS.get(path.suffix, b""))
