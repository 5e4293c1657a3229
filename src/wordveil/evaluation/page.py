"""The league table as one HTML page: tables, and a plot of attack success against utility; nothing is fetched.

The script draws from the JSON inside the page. Without it the tables still show everything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

__all__ = ["league_page"]

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 84rem; margin: 2rem auto; padding: 0 1rem; color: #1c2430; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; } h3 { font-size: .95rem; color: #556; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .8rem; }
th, td { border-bottom: 1px solid #d5dae1; padding: .25rem .5rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
tr.none td { background: #f3f5f8; } tr.refuted td:first-child { color: #a3202a; }
td small { color: #778; } label { margin-right: 1.2rem; } select { font: inherit; }
svg { width: 100%; height: auto; border: 1px solid #d5dae1; } svg text { font: 12px system-ui; fill: #1c2430; }
svg circle:focus { outline: 2px solid #000; } #tip { min-height: 3em; } .key { margin-right: 1rem; }
.key b { display: inline-block; width: .8em; height: .8em; border-radius: 50%; }
"""


def league_page(report: dict[str, Any]) -> str:
    """Return the page of a table given as its dictionary."""
    vocabulary = report["vocabulary"]
    about = (
        f"{vocabulary['words']:,} words x {vocabulary['dimensions']} dimensions ({vocabulary['name']}, checksum "
        f"{vocabulary['checksum'][:12]}); {report['repeats']} runs of every cell that is not exact; public data and "
        f"seeded test noise, not a release; wordveil {report['version']}; {report['cell_seconds']:.0f} s "
        "of work in all cells together."
    )
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>wordveil league table</title>',
        f"<style>{STYLE}</style></head><body><h1>Mechanisms at equal promise</h1><p>{escape(about)}</p>",
        f"<pre>{escape(report['command'])}</pre>" if report["command"] else "",
        "<p>Groups make different promises: compare rows inside one group, at one epsilon. Up and to the left is "
        "better: more utility, less success for the attacker. Bars are 95 % confidence intervals of the mean.</p>",
        '<noscript><p>The plot needs scripts; the tables below hold every number.</p></noscript><div id="plot"></div>',
    ]
    for group, text in report["groups"].items():
        rows = [row for row in report["rows"] if row["group"] == group]
        if rows:
            parts.append(f"<h2>{escape(text)}</h2>" + _tables(report, rows) + _promises(rows))
    # "</" inside the data would end the script element.
    data = json.dumps(_plot_data(report)).replace("</", "<\\/")
    script = files("wordveil.evaluation").joinpath("plot.js").read_text(encoding="utf-8")
    parts.append(f'<script type="application/json" id="data">{data}</script><script>{script}</script></body></html>')
    return "\n".join(part for part in parts if part) + "\n"


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
            "group": row["group"] or "none",
            "epsilon": row["epsilon"],
            "values": {
                f"{task}/{score}": [summary["mean"], summary["low"], summary["high"]]
                for task, cell in row["cells"].items()
                for score, summary in cell["scores"].items()
            },
        }
        for row in report["rows"]
    ]
    return {"axes": axes, "points": points, "groups": report["groups"]}


def _tables(report: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    baseline = [row for row in report["rows"] if row["group"] is None]
    parts = []
    for title, kinds in (("Utility", ("utility",)), ("Attacks and measures", ("attack", "measure"))):
        columns = [(task, score) for task in report["tasks"] if task["kind"] in kinds for score in task["scores"]]
        if not columns:
            continue
        head = "".join(
            f'<th scope="col" title="{escape(score["meaning"])}">{escape(task["name"])}<br>{escape(score["name"])}'
            f"{_ARROWS[score['better']]}</th>"
            for task, score in columns
        )
        body = "".join(_line(row, columns) for row in [*baseline, *sorted(rows, key=lambda row: row["epsilon"])])
        parts.append(
            f'<h3>{title}</h3><div class="scroll"><table><thead><tr><th scope="col">row</th>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )
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
        cells.append(f'<td title="{interval}">{summary["mean"]:.3g}{error}</td>')
    kind = row["group"] or "none"
    return f'<tr class="{kind}"><td>{escape(row["label"])}</td>{"".join(cells)}</tr>'


def _promises(rows: Sequence[dict[str, Any]]) -> str:
    lines = []
    for row in sorted(rows, key=lambda row: row["epsilon"]):
        said = "" if row["guarantee"] is None else row["guarantee"]["sentence"]
        lines.append(f"<li><b>{escape(row['label'])}</b>: {escape(said)} <i>{escape(row['note'])}</i></li>")
    return f"<details><summary>What each row promises</summary><ul>{''.join(lines)}</ul></details>"
