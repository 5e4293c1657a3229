"""The report as one HTML page: tables of what was tried, the trade-off as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from wordveil.auditing.findings import at_least
from wordveil.promises import html
from wordveil.promises.rounding import round_up

WIDTH, HEIGHT, MARGIN = 640, 320, 48
COLOURS = ("rule", "refuted")


def page(report: dict[str, Any], lines: Sequence[str]) -> str:
    """Return the page of a report given as its dictionary and its summary lines."""
    kind = "kept" if report["tested"] and not report["refuted"] else "refuted"
    cells = [_cells(pair) for pair in report["pairs"]]
    pairs = [([*own.values()], pair["refuted"]) for own, pair in zip(cells, report["pairs"], strict=True)]
    named = ("check", "status", "observed", "expected")
    findings = [([found[name] for name in named], found["status"] == "refuted") for found in report["findings"]]
    parts = [
        f'<h1 class="{kind}">{escape(lines[0])}</h1>',
        f"<p>{escape(lines[1])}</p>",
        f"<p>{escape(lines[-1])}</p>",
        _table("Pairs of inputs", [*cells[0]] if cells else (), pairs),
        *(_figure(pair) for pair in report["pairs"] if pair["curve"] is not None),
        _facts("Exact verification", "number", report["exact"] or {}),
        _repeated(report["repeated"]),
        _table("Other checks", ["check", "result", "observed", "expected"], findings),
        _facts("Settings", "setting", report["settings"]),
    ]
    return html.page(f"Audit by wordveil: {report['subject']}", parts)


def _table(title: str, header: Sequence[str], rows: Sequence[tuple[Sequence[str], bool]]) -> str:
    marked = (html.row(cells[0], map(escape, cells[1:]), kind="refuted" if bad else "") for cells, bad in rows)
    return f"<h2>{escape(title)}</h2>{html.table(marked, header)}" if rows else ""


def _facts(title: str, what: str, facts: dict[str, Any]) -> str:
    return _table(title, [what, "value"], [([name, str(value)], False) for name, value in facts.items()])


def _cells(pair: dict[str, Any]) -> dict[str, str]:
    claimed, delta, event = pair["claimed_epsilon_nats"], pair["claimed_delta"], pair["delta_event"]
    counts = f"{event['hits_first']} against {event['hits_second']} of {event['samples_each']}"
    return {
        "pair": pair["pair"],
        "claimed epsilon (nats), delta": "nothing" if claimed is None else f"{claimed:.6g}, {delta:.3g}",
        "epsilon at least": at_least(pair["epsilon_at_least"]),
        "delta at least": at_least(pair["delta_at_least"]),
        "samples": f"2 x {pair['samples_each']}",
        "alpha": round_up(pair["alpha"], 2),
        "event": f"{event['scorer']}: {counts}",
    }


def _repeated(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    releases, lines, names = found["releases"], [], []
    for i, (kind, shares) in enumerate(found["named"].items()):
        xs = [MARGIN + (WIDTH - 2 * MARGIN) * j / (len(releases) - 1) for j in range(len(releases))]
        ys = [HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * share for share in shares]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
        lines.append(f'<polyline points="{points}" fill="none" stroke="var(--{COLOURS[i]})" stroke-width="2"/>')
        names.append(f'<text x="{xs[-1]:.1f}" y="{ys[-1] - 8 + 22 * i:.1f}" text-anchor="end">{escape(kind)}</text>')
    ticks = (
        f'<text x="{x:.1f}" y="{HEIGHT - 30}" text-anchor="middle">{n}</text>'
        for x, n in zip(xs, releases, strict=True)
    )
    axes = f"{MARGIN},{MARGIN} {MARGIN},{HEIGHT - MARGIN} {WIDTH - MARGIN},{HEIGHT - MARGIN}"
    picture = "".join([
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="share of words named after several releases">',
        f'<polyline points="{axes}" fill="none" stroke="var(--text)"/>',
        *lines, *names, *ticks,
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">releases of the word</text>',
        f'<text x="8" y="{MARGIN - 8}">share named, up to 1</text></svg>',
    ])  # fmt: skip
    about = f"{found['words']} words as they occur in public text, attacked by who knows the law and word frequencies."
    rows = [([kind, *(f"{share:.2f}" for share in shares)], False) for kind, shares in found["named"].items()]
    table = _table("Releases of one word, together", ["words", *map(str, releases)], rows)
    return f"{table}<figure>{picture}<figcaption>{escape(about)}</figcaption></figure>"


def _figure(pair: dict[str, Any]) -> str:
    curve = pair["curve"]
    text = (
        f"{pair['pair']}: what (epsilon, delta) statements are possible. Below the lower line none holds, with "
        f"confidence 1 - {round_up(curve['alpha'], 2)} for the whole curve"
        + ("; the upper line trusts the claimed law" if curve["upper"] is not None else "")
        + ("." if pair["claimed_epsilon_nats"] is None else ". The dot is the claim.")
    )
    claim = (pair["claimed_epsilon_nats"], pair["claimed_delta"])
    return f"<figure>{trade_off_svg(curve, claim)}<figcaption>{escape(text)}</figcaption></figure>"


def trade_off_svg(curve: dict[str, Any], claim: tuple[float | None, float]) -> str:
    """Return the band as SVG, the claimed (epsilon, delta) as a dot where there is a claim."""
    top_epsilon = max(curve["epsilon"][-1], 1e-12)
    top_delta = max(max(curve["upper"] or curve["lower"]), max(curve["lower"]), claim[1], 1e-6)

    def at(epsilon: float, delta: float) -> str:
        x = MARGIN + (WIDTH - 2 * MARGIN) * min(epsilon / top_epsilon, 1.0)
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * min(delta / top_delta, 1.0)
        return f"{x:.1f},{y:.1f}"

    lower = [at(e, d) for e, d in zip(curve["epsilon"], curve["lower"], strict=True)]
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="trade-off of epsilon and delta">']
    if curve["upper"] is not None:
        upper = [at(e, d) for e, d in zip(curve["epsilon"], curve["upper"], strict=True)]
        parts.append(f'<polygon points="{" ".join(lower + upper[::-1])}" fill="var(--area)"/>')
        parts.append(f'<polyline points="{" ".join(upper)}" fill="none" stroke="var(--rule)"/>')
    parts.append(f'<polyline points="{" ".join(lower)}" fill="none" stroke="var(--rule)" stroke-width="2"/>')
    origin, right, up = at(0, 0), at(top_epsilon, 0), at(0, top_delta)
    parts.append(f'<polyline points="{up} {origin} {right}" fill="none" stroke="var(--text)"/>')
    if claim[0] is not None:
        x, y = at(claim[0], claim[1]).split(",")
        parts.append(f'<circle cx="{x}" cy="{y}" r="5" fill="var(--refuted)"><title>the claim</title></circle>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">epsilon, nats</text>')
    parts.append(f'<text x="{WIDTH - MARGIN}" y="{HEIGHT - 28}" text-anchor="end">{top_epsilon:.3g}</text>')
    parts.append(f'<text x="8" y="{MARGIN - 8}">delta, up to {top_delta:.3g}</text>')
    return "".join([*parts, "</svg>"])
