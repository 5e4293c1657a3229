"""The league table as one HTML page: tables, and plots of attack success against utility; nothing is fetched.

The script draws from the JSON inside the page. Without it the tables still show everything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from wordveil.api import html_items, html_page, html_row, html_table
from wordveil_lab.evaluation.curves import LEVELS, READING, CurveValue, equal_attack
from wordveil_lab.evaluation.promise_text import audit_legend, promise_cells

__all__ = ["data_lines", "league_page"]


def league_page(report: dict[str, Any]) -> str:
    """Return the page of a table given as its dictionary."""
    vocabulary = report["vocabulary"]
    about = (
        f"{vocabulary['words']:,} words x {vocabulary['dimensions']} dimensions ({vocabulary['name']}, checksum "
        f"{vocabulary['checksum'][:12]}); {report['repeats']} runs of every cell that is not exact; public data and "
        f"seeded test noise, not a release; wordveil {report['version']}."
    )
    parts = [
        "<h1>Mechanisms at equal promise</h1>",
        f"<p>{escape(about)}</p>",
        f"<pre>{escape(report['command'])}</pre>" if report["command"] else "",
        "<p>Groups make different promises and are never ranked against each other: compare rows inside one group, at "
        "one epsilon. Bars are 95 % confidence intervals of the mean. The dashed line is the Pareto front of a group: "
        "rows that no other row of it beats on both axes, at any epsilon shown.</p>",
        '<noscript><p>The plots need scripts; the tables below hold every number.</p></noscript><div id="plot"></div>',
    ]
    for group, text in report["groups"].items():
        rows = sorted((row for row in report["rows"] if row["group"] == group), key=lambda row: row["epsilon"])
        if rows:
            tables = _scores(report, rows) + _equal(report, group) + _promises(report, rows)
            parts.append(f'<section class="{group}"><h2>{escape(text)}</h2>{tables}</section>')
    parts.append(f"<section><h2>Data</h2>{html_items(data_lines(report))}</section>")
    # "</" inside the data would end the script element.
    data = json.dumps(_plot_data(report)).replace("</", "<\\/")
    script = f'<script type="application/json" id="data">{data}</script><script>{_resource("plot.js")}</script>'
    return html_page("wordveil league table", parts, style=_resource("page.css"), script=script)


def data_lines(report: dict[str, Any]) -> list[str]:
    """Return what every task read, and which were left out and why."""
    lines = [f"{task['name']}: {task['data']}" for task in report["tasks"] if task["data"]]
    return lines + [f"{name}: left out, {reason}" for name, reason in report["left_out"].items()]


def _equal(report: dict[str, Any], group: str) -> str:
    """Return the tables of utility at equal attack success."""
    parts = []
    for one in equal_attack(report):
        if one.group == group:
            body = (html_row(name, map(_reading, values), kind=group) for name, values in one.rows.items())
            shown = html_table(body, ["row", *map(str, LEVELS)], kind="scores")
            parts.append(f"<h4>{escape(one.utility)}, where {escape(one.attack)} is</h4>{shown}")
    return f"<h3>At equal attack success</h3><p>{escape(READING)}</p>{''.join(parts)}" if parts else ""


def _reading(found: CurveValue | None) -> str:
    if found is None:
        return "<td>–</td>"
    return f'<td data-value="{found.value:.6g}">{found.value:.3g} <small>± {found.error:.2g}</small></td>'


def _resource(name: str) -> str:
    return files("wordveil_lab.evaluation").joinpath(name).read_text(encoding="utf-8")


def _plot_data(report: dict[str, Any]) -> dict[str, Any]:
    """Return the axes to choose from and the points of every row."""
    axes = [
        {"id": f"{task['name']}/{score['name']}", "kind": task["kind"], **score}
        for task in report["tasks"]
        for score in task["scores"]
    ]
    points = [
        {
            "label": row["label"],
            "name": row["name"],
            "group": row["group"] or "none",
            "epsilon": row["epsilon"],
            "promise": ": ".join(promise_cells(row)[1:]).replace("**", "") if row["group"] else "",
            "values": {
                f"{task}/{score}": [summary["mean"], summary["low"], summary["high"]]
                for task, cell in row["cells"].items()
                for score, summary in cell["scores"].items()
            },
        }
        for row in report["rows"]
    ]
    return {"axes": axes, "points": points, "groups": report["groups"]}


def _scores(report: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    baseline = [row for row in report["rows"] if row["group"] is None]
    parts = []
    for title, kinds in (("Utility", ("utility",)), ("Attacks and measures", ("attack", "measure"))):
        columns = [(task, score) for task in report["tasks"] if task["kind"] in kinds for score in task["scores"]]
        if columns:
            head = (
                f'<th scope="col" title="{escape(score["meaning"])}">{escape(task["name"])}<br>{escape(score["name"])}'
                f"{_ARROWS[score['better']]}</th>"
                for task, score in columns
            )
            body = (_line(row, columns) for row in [*baseline, *rows])
            parts.append(f"<h3>{title}</h3>{html_table(body, ['row', *head], kind='scores')}")
    return "".join(parts)


_ARROWS = {"higher": " ▲", "lower": " ▼", "neither": ""}


def _line(row: dict[str, Any], columns: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    cells = []
    for task, score in columns:
        summary = row["cells"].get(task["name"], {}).get("scores", {}).get(score["name"])
        if summary is None:
            cells.append("<td>–</td>")
            continue
        error = "" if summary["runs"] == 1 else f" <small>± {summary['standard_error']:.2g}</small>"
        interval = f"95 % interval {summary['low']:.4g} to {summary['high']:.4g}, {summary['runs']} runs"
        cells.append(f'<td title="{interval}" data-value="{summary["mean"]:.6g}">{summary["mean"]:.3g}{error}</td>')
    return html_row(row["label"], cells, kind=row["group"] or "none")


def _promises(report: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    body = (
        html_row(row["label"], (_bold(escape(text)) for text in promise_cells(row)), kind=row["group"]) for row in rows
    )
    shown = html_table(body, ["row", "claimed", "standing", "audited"], kind="promises")
    lines = []
    for row in rows:
        said = "" if row["guarantee"] is None else row["guarantee"]["sentence"]
        lines.append(f"<li><b>{escape(row['label'])}</b>: {escape(said)} <i>{escape(row['note'])}</i></li>")
    legend = "".join(f"<p>{escape(text)}</p>" for text in audit_legend(report))
    return (
        f"<h3>Promises, claimed and audited</h3>{shown}<details><summary>The promises in full</summary>{legend}"
        f"<ul>{''.join(lines)}</ul></details>"
    )


def _bold(text: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
