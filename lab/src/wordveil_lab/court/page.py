"""The score as one HTML page: a table and a picture of every group of measures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import Any

from wordveil_lab.html import as_html
from wordveil_lab.tables import markdown_table

WIDTH, ROW, NAME = 640, 34, 270
SAID = {"refuted": "CONTRADICTED", "disclosed": "SEEN", "passed": "nothing found"}
"""Status of a finding -> what a score calls it."""

_ARROWS = {"higher": " ^", "lower": " v", "neither": ""}


def page(report: dict[str, Any], lines: Sequence[str]) -> str:
    """Return the page of a score given as its dictionary and its summary lines."""
    findings = ([one["check"], SAID[one["status"]], one["observed"], one["expected"]] for one in report["findings"])
    shown, pictures = (
        [f"# {lines[0]}", f"{lines[-1]}. ^: higher is better for the owner of the texts; v: lower is."],
        {},
    )
    shown += ["## Findings", *markdown_table(["check", "result", "observed", "expected"], findings)]
    for name, group in groupby(report["measures"], key=lambda one: one["group"]):
        measures = list(group)
        pictures[name] = _bars(name, measures)
        body = (
            [
                one["name"] + _ARROWS[one["better"]],
                f"{one['value']:.4g}",
                "" if one["beside"] is None else f"{one['beside']:.4g} ({one['baseline']})",
                f"{one['n']:,}",
            ]
            for one in measures
        )
        table = markdown_table(["measure", "value", "beside", "counted"], body)
        shown += [f"## {name.capitalize()}", *table, f"![{name}]({name})"]
    if report["left_out"]:
        shown += ["## Left out", *(f"- {reason}" for reason in report["left_out"])]
    return as_html("wordveil score", shown, pictures)


def _bars(name: str, measures: Sequence[dict[str, Any]]) -> str:
    """Return a bar for every value, with a mark where what stands beside it lies."""
    top = max(1.0, *(max(one["value"], one["beside"] or 0.0) for one in measures))
    height = ROW * len(measures) + 24
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(name)}: values and baselines">']
    for i, one in enumerate(measures):
        y, wide = ROW * i, (WIDTH - NAME) * max(one["value"], 0.0) / top
        parts.append(f'<text x="{NAME - 8}" y="{y + 19}" text-anchor="end">{escape(one["name"])}</text>')
        parts.append(f'<rect x="{NAME}" y="{y + 6}" width="{wide:.1f}" height="18" fill="var(--area)"/>')
        if one["beside"] is not None:
            x = NAME + (WIDTH - NAME) * max(one["beside"], 0.0) / top
            parts.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y + 2}" y2="{y + 28}" stroke="var(--rule)" stroke-width="2">'
                f"<title>{escape(one['baseline'])}</title></line>"
            )
    parts.append(f'<text x="{NAME}" y="{height - 4}">0</text>')
    parts.append(f'<text x="{WIDTH}" y="{height - 4}" text-anchor="end">{top:.4g}</text></svg>')
    return "".join(parts)
