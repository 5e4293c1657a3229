"""The league table as a dictionary, as Markdown and as files; the HTML page is made in `page`.

Everything shown is public data, public parameters and numbers; nothing here was ever private.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wordveil import __version__
from wordveil.api import ParameterError
from wordveil_lab.evaluation.base import Task, TaskKind
from wordveil_lab.evaluation.catalogue import data_text
from wordveil_lab.evaluation.cells import Cell
from wordveil_lab.evaluation.curves import LEVELS, READING, CurveValue, equal_attack
from wordveil_lab.evaluation.league import League
from wordveil_lab.evaluation.page import data_lines, league_page
from wordveil_lab.evaluation.promise_text import audit_legend, promise_cells
from wordveil_lab.evaluation.promises import Baseline, Group, Target
from wordveil_lab.tables import markdown_table

__all__ = ["GROUP_TEXT", "NOISE", "SCHEMA", "as_dict", "as_json", "as_markdown", "write_league"]

SCHEMA = "league 1"
"""What the JSON of a league says of its form; raised when that changes."""
NOISE = "seeded test noise on public data: not a release"
"""What it says of its noise."""

GROUP_TEXT = {
    Group.METRIC: "Metric DP, Euclidean: between words at distance t the loss is at most epsilon t",
    Group.RANK: "Metric DP, neighbour rank: the same, in a distance that counts how many words lie nearer",
    Group.LOCAL: "Local DP: between any two words the loss is at most epsilon, outside probability delta",
    Group.NEIGHBOUR: "Neighbour DP: the same, but only between adjacent words of a public graph",
    Group.REFUTED: "No guarantee: the published claim (epsilon shown) has a counter-example",
}
"""Group -> its heading."""


def as_dict(league: League, command: str = "") -> dict[str, Any]:
    """Return the table as a JSON-ready dictionary."""
    plan = league.plan
    return {
        "schema": SCHEMA,
        "version": __version__,
        "command": command,
        "noise": NOISE,
        "vocabulary": league.vocabulary,
        "promises": asdict(plan.promises),
        "audit": asdict(plan.audit),
        "repeats": plan.repeats,
        "seed": plan.seed,
        "groups": {group.value: text for group, text in GROUP_TEXT.items()},
        "tasks": [_task(task) for task in plan.tasks],
        "left_out": dict(plan.left_out),
        "rows": [
            {
                "label": row.label,
                **_place(row.target),
                "guarantee": row.guarantee,
                "note": row.note,
                "audit": row.audit,
                "cells": {cell.task: _cell(cell) for cell in row.cells},
            }
            for row in league.rows
        ],
    }


def _place(target: Target | Baseline) -> dict[str, Any]:
    if isinstance(target, Baseline):
        return {"name": target.label, "group": None, "epsilon": None}
    return {"name": target.name, "group": target.group.value, "epsilon": target.epsilon}


def _cell(cell: Cell) -> dict[str, Any]:
    """Return what a cell found; not how long it took, so that two runs write the same bytes."""
    return {name: value for name, value in cell.as_dict().items() if name not in ("seconds", "row", "task")}


def _task(task: Task) -> dict[str, Any]:
    return {
        "name": task.name,
        "kind": task.kind.value,
        "settings": repr(task),
        "data": data_text(task),
        "scores": [asdict(score) for score in task.scores],
    }


def as_markdown(report: dict[str, Any]) -> str:
    """Return the table as Markdown: for each group one table of utility and one of attacks and measures."""
    vocabulary = report["vocabulary"]
    lines = [
        "# League table",
        "",
        f"Every mechanism at an equal promise on {vocabulary['words']:,} words x {vocabulary['dimensions']} dimensions "
        f"({vocabulary['name']}, checksum {vocabulary['checksum'][:12]}). Mean +- standard error of "
        f"{report['repeats']} runs with fresh noise; a number without +- is exact or needs no noise. Groups make "
        "different promises: compare rows inside a group, at one epsilon. Public data, seeded test noise.",
        "",
    ]
    if report["command"]:
        lines += ["    " + report["command"], ""]
    lines += [f"wordveil {report['version']}.", "", *audit_legend(report), ""]
    for group, text in report["groups"].items():
        rows = [row for row in report["rows"] if row["group"] == group]
        if rows:
            lines += [f"## {text}", "", *_group_tables(report, rows), *_equal_attack(report, group), *_promises(rows)]
    return "\n".join([*lines, "## Data", "", *(f"- {line}" for line in data_lines(report))]).rstrip() + "\n"


def _equal_attack(report: dict[str, Any], group: str) -> list[str]:
    found = [one for one in equal_attack(report) if one.group == group]
    if not found:
        return []
    lines = ["### At equal attack success", "", READING, ""]
    for one in found:
        body = ([name, *map(_reading, values)] for name, values in one.rows.items())
        table = markdown_table(["row", *map(str, LEVELS)], body)
        lines += [f"{one.utility}, where {one.attack} is", "", *table, ""]
    return lines


def _reading(found: CurveValue | None) -> str:
    return "-" if found is None else f"{_number(found.value)} +- {_number(found.error)}"


def _group_tables(report: dict[str, Any], rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    baseline = [row for row in report["rows"] if row["group"] is None]
    for heading, kinds in (("Utility", (TaskKind.UTILITY,)), ("Attacks and measures", _OTHERS)):
        tasks = [task for task in report["tasks"] if task["kind"] in kinds]
        if not tasks:
            continue
        arrows = {"higher": " ^", "lower": " v", "neither": ""}
        names = [f"{task['name']}: {task['scores'][0]['name']}{arrows[task['scores'][0]['better']]}" for task in tasks]
        ordered = [*baseline, *sorted(rows, key=lambda row: row["epsilon"])]
        epsilons = ("" if row["epsilon"] is None else f"{row['epsilon']:g}" for row in ordered)
        body = (
            [row["name"], e, *(_shown(row, task) for task in tasks)] for row, e in zip(ordered, epsilons, strict=True)
        )
        lines += [f"### {heading}", "", *markdown_table(["row", "epsilon", *names], body), ""]
    return lines


_OTHERS = (TaskKind.ATTACK, TaskKind.MEASURE)


def _shown(row: dict[str, Any], task: dict[str, Any]) -> str:
    cell = row["cells"].get(task["name"])
    if cell is None or not cell["applies"]:
        return "-"
    summary = cell["scores"][task["scores"][0]["name"]]
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
    body = ([row["name"], f"{row['epsilon']:g}", *promise_cells(row)] for row in ordered)
    table = markdown_table(["row", "epsilon", "claimed", "standing", "audited"], body)
    lines = ["### What each row promises, and what an audit shows", "", *table, ""]
    for row in ordered:
        said = "" if row["guarantee"] is None else row["guarantee"]["sentence"]
        note = f" ({row['note']})" if row["note"] and said else row["note"]
        lines.append(f"- **{row['label']}**: {said}{note}")
    return [*lines, ""]


def write_league(league: League, path: str | os.PathLike[str], command: str = "") -> dict[str, Any]:
    """Write the table; the ending .json, .md or .html chooses the form. Returns the table as a dictionary.

    Raises:
        ParameterError: If the name has another ending.
    """
    target = Path(path)
    report = as_dict(league, command)
    forms = {".json": as_json, ".md": as_markdown, ".html": league_page}
    if target.suffix not in forms:
        raise ParameterError("report", target.name, "must end in .html, .md or .json.")
    target.write_text(forms[target.suffix](report), encoding="utf-8")
    return report


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
