"""The audit report: one verdict, every number behind it, and the chance that the verdict is wrong.

Three forms: lines for a terminal, JSON for machines, and one HTML page without any outside reference. No form shows a
private input; pairs are public words' ids or vectors the audit made up.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from wordveil.auditing.black_box import PairAudit
from wordveil.auditing.exact import ChannelVerdict
from wordveil.auditing.findings import Finding, at_least
from wordveil.auditing.html import page
from wordveil.promises.rounding import round_up


@dataclass(frozen=True, kw_only=True)
class AuditReport:
    """What an audit found."""

    subject: str  # what was audited, with its parameters
    claim: str  # the claim, as a sentence
    alpha: float  # chance, at most, that an honest mechanism is called refuted by anything here
    exact: ChannelVerdict | None = None  # the exact verification, where there was one
    pairs: tuple[PairAudit, ...] = ()  # the statistical audits
    findings: tuple[Finding, ...] = ()  # other checks
    repeated: dict[str, Any] | None = None  # what releases of one word show, where a law says so; it refutes nothing
    settings: dict[str, Any] = field(default_factory=dict)  # how to repeat the audit

    @property
    def refuted(self) -> bool:
        by_exact = self.exact is not None and not self.exact.holds
        return by_exact or any(each.refuted for each in self.pairs) or any(each.refuted for each in self.findings)

    @property
    def tested(self) -> bool:
        """Whether anything is claimed of a pair that was tried."""
        by_exact = self.exact is not None and self.exact.triples > 0
        return by_exact or any(audit.pair.epsilon is not None for audit in self.pairs)

    @property
    def verdict(self) -> str:
        return "REFUTED" if self.refuted else "NOT REFUTED" if self.tested else "NOT TESTED"

    @property
    def exit_code(self) -> int:
        """1 where refuted, 2 where no pair of the claim could be tried, else 0: for pipelines."""
        return {"REFUTED": 1, "NOT TESTED": 2, "NOT REFUTED": 0}[self.verdict]

    def as_dict(self) -> dict[str, Any]:
        return {
            "format": "wordveil audit 1",
            "subject": self.subject,
            "claim": self.claim,
            "refuted": self.refuted,
            "tested": self.tested,
            "alpha": self.alpha,
            "exact": None if self.exact is None else self.exact.as_dict(),
            "pairs": [pair.as_dict() for pair in self.pairs],
            "findings": [finding.as_dict() for finding in self.findings],
            "repeated": self.repeated,
            "settings": self.settings,
        }

    def to_json(self) -> str:
        """Return the report as one JSON object; infinities are written as strings."""
        return json.dumps(_finite(self.as_dict()), indent=2, ensure_ascii=False, allow_nan=False)

    def to_html(self) -> str:
        return page(self.as_dict(), self.summary_lines())

    def summary_lines(self) -> list[str]:
        """Return the verdict first, then its reasons, one line each."""
        lines = [f"{self.verdict}: {self.subject}", f"claim: {self.claim}"]
        if self.verdict == "NOT TESTED":
            lines.append("no pair of the claim could be tried: nothing is claimed of the inputs compared")
        if (exact := self.exact) is not None:
            word = "holds" if exact.holds else "REFUTED"
            lines.append(
                f"exact, by the law it states: {word}; every triple ({exact.triples:.3g}): epsilon is exactly "
                f"{round_up(exact.tight_epsilon, 6)} where {round_up(exact.epsilon, 6)} is claimed; worst pair "
                f"{exact.worst_pair} at distance {exact.worst_distance:.4g}, loss {round_up(exact.worst_loss, 6)} nats"
            )
        lines += [_pair_line(pair) for pair in sorted(self.pairs, key=lambda p: not p.refuted)]
        for found in sorted(self.findings, key=lambda f: not f.refuted):
            status = "REFUTED" if found.refuted else found.status.value
            lines.append(f"{found.check} ({status}): {found.observed}; expected: {found.expected}")
        if self.repeated is not None:
            counts = ", ".join(map(str, self.repeated["releases"]))
            head = f"{self.repeated['words']} words of public text, likeliest word right after {counts} releases"
            for kind, shares in self.repeated["named"].items():
                lines.append(f"{head}: {kind}: {', '.join(f'{share:.2f}' for share in shares)}")
        lines.append(
            f"alpha: an honest mechanism is called refuted with probability at most {round_up(self.alpha)}; "
            "not refuted is no proof"
        )
        return lines


def _pair_line(audit: PairAudit) -> str:
    pair = audit.pair
    head = f"pair ({'REFUTED' if audit.refuted else 'not refuted'}): {pair.label}"
    counts = audit.delta_counts
    if pair.epsilon is None:
        return f"{head}; nothing is claimed; loss at least {at_least(audit.epsilon_at_least)} nats"
    epsilon, delta = round_up(pair.epsilon, 6), round_up(pair.delta, 3)
    text = f"{head}; claimed ({epsilon}, {delta})"
    if audit.refuted:
        favoured, other = ("second", "first") if audit.delta_event.swapped else ("first", "second")
        text += (
            f"; an event seen {counts.hits_first} times in {counts.n} under the {favoured} input and "
            f"{counts.hits_second} times under the {other}"
        )
    return (
        f"{text}; certified: delta at least {at_least(audit.delta_at_least)} at epsilon {epsilon}, epsilon at least "
        f"{at_least(audit.epsilon_at_least)} at delta {delta}; confidence 1 - {round_up(audit.alpha, 2)}"
    )


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
