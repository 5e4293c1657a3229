"""A row's promise in a few words for tables: what is claimed, on what standing, and what the audit shows.

Nothing here is computed: it words the dictionaries of a report.
"""

from __future__ import annotations

from typing import Any

from wordveil.api import round_up

__all__ = ["audit_legend", "audited", "promise_cells"]


def promise_cells(row: dict[str, Any]) -> tuple[str, str, str]:
    """Return claim, standing and audited bound of a row of a report; a row that could not be fitted has dashes."""
    guarantee = row["guarantee"]
    if guarantee is None:
        return "-", "not possible here", "-"
    return _claimed(row), str(guarantee.get("standing", "")), audited(row["audit"])


def _claimed(row: dict[str, Any]) -> str:
    audit, guarantee = row["audit"], row["guarantee"]
    epsilon = row["epsilon"] if guarantee.get("epsilon") is None else guarantee["epsilon"]
    delta = guarantee.get("delta") or 0.0
    if audit is not None:
        delta = delta or audit["claimed_delta"]
    return f"epsilon {round_up(epsilon)}" + (f", delta {delta:.2g}" if delta else "")


def audited(audit: dict[str, Any] | None) -> str:
    """Return the audit's result: the least epsilon at the claimed delta, or what refutes the claim."""
    if audit is None:
        return "-"
    if audit["method"] == "exact":
        return f"epsilon is {audit['epsilon_at_least']:.4g} exactly"
    least = audit["epsilon_at_least"]
    at = f" at delta {audit['claimed_delta']:.2g}" if audit["claimed_delta"] else ""
    said = f"no epsilon holds{at}" if least == "inf" else f"epsilon >= {least:.4g}{at}"
    if audit["delta_at_least"] > audit["claimed_delta"]:
        said += f"; delta >= {audit['delta_at_least']:.4g} at epsilon {audit['claimed_epsilon']:.4g}"
    if audit["counted_epsilon"] < (float("inf") if least == "inf" else least):
        said += f"; counted alone: epsilon >= {audit['counted_epsilon']:.3g}"
    return ("**refuted**: " if audit["refuted"] else "") + said


def audit_legend(report: dict[str, Any]) -> list[str]:
    """Return what the audited column means, one sentence per line; nothing where no row was audited."""
    settings = report["audit"]
    if not settings["samples"]:
        return []
    return [
        "Audited: for selection mechanisms the smallest true epsilon, from every triple of words; for the others lower "
        f"bounds from {settings['samples']:,} samples of each word of the worst pairs of the public vocabulary, each "
        f"wrong with probability at most {settings['alpha']:g}. They trust the mechanism's density, which sees events "
        "rarer than one sample in all; the bound from counted events alone trusts nothing. A bound below the claim "
        "proves nothing. Rows of decoded words (+) show the audit of the vectors that the words were read from."
    ]
