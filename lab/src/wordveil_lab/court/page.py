"""The score as one HTML page: a table and a picture of every group of measures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import Any

from wordveil.api import html_items, html_page, html_row, html_table

__all__ = ["SAID", "page"]

WIDTH, ROW, NAME = 640, 34, 270
SAID = {"refuted": "CONTRADICTED", "disclosed": "SEEN", "passed": "nothing found"}
"""Status of a finding -> what a score calls it."""

_ARROWS = {"higher": " ▲", "lower": " ▼", "neither": ""}


def page(report: dict[str, Any], lines: Sequence[str]) -> str:
    """Return the page of a score given as its dictionary and its summary lines."""
    rows = [
        html_row(one["check"], map(escape, (SAID[one["status"]], one["observed"], one["expected"])), kind=_kind(one))
        for one in report["findings"]
    ]
    parts = [
        f'<h1 class="{"refuted" if report["contradicted"] else "kept"}">{escape(lines[0])}</h1>',
        f"<p>{escape(lines[-1])}. ▲: higher is better for the owner of the texts; ▼: lower is.</p>",
        "<h2>Findings</h2>" + html_table(rows, ["check", "result", "observed", "expected"]),
    ]
    for name, group in groupby(report["measures"], key=lambda one: one["group"]):
        parts.append(_group(name, list(group)))
    parts.append(f"<h2>Left out</h2>{html_items(report['left_out'])}" if report["left_out"] else "")
    return html_page("wordveil score", parts)


def _kind(finding: dict[str, Any]) -> str:
    return "refuted" if finding["status"] == "refuted" else ""


def _group(name: str, measures: Sequence[dict[str, Any]]) -> str:
    rows = [
        html_row(
            one["name"] + _ARROWS[one["better"]],
            [
                f"{one['value']:.4g}",
                "" if one["beside"] is None else f"{one['beside']:.4g} ({escape(one['baseline'])})",
                f"{one['n']:,}",
            ],
        )
        for one in measures
    ]
    table = html_table(rows, ["measure", "value", "beside", "counted"])
    return f"<h2>{escape(name.capitalize())}</h2>{table}<figure>{_bars(name, measures)}</figure>"


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
