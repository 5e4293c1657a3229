"""Utility at equal attack success: each mechanism's curve over its epsilons, read at the same attack.

Epsilons of different mechanisms do not compare, what an attacker gets does. Attack and utility are taken on the same
data set. Between two epsilons a curve is a straight line; the standard error is that of the mean over runs with fresh
noise, of attack and utility both, carried along that line. Nothing is read beyond the ends of a curve.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

LEVELS = (0.2, 0.4, 0.6, 0.8)
"""Attack success at which curves are read."""

FEWEST = 3  # epsilons that make a curve

COMPARED = (
    ("inversion-reviews", "centroid-classification", "accuracy"),
    ("inversion-sentences", "sts", "pearson"),
    ("inversion-sentences", "retrieval", "ndcg"),
)
"""Attack, and a task and score of utility on the same data set."""

HOW = ("ahead", "near", "behind")
"""How a row may stand beside another, by `standing`."""

Point = tuple[float, float, float, float]
"""Of a curve: attack, its error, utility, its error."""
Pair = tuple[float, float]
"""A value, and its standard error."""


class CurveComparison(NamedTuple):
    """All curves of one group, one attack and one utility, read at `LEVELS`; None beyond a curve's ends."""

    group: str
    attack: str
    utility: str
    rows: Mapping[str, tuple[Pair | None, ...]]


def read_at(points: Sequence[Point], level: float) -> Pair | None:
    """Return the utility where a curve first reaches an attack success, by linear interpolation; or None.

    With weight w of the right end and slope m, the variance is the sum over both ends of the squared weight times
    (utility's variance + m^2 times the attack's).
    """
    for (x0, dx0, y0, dy0), (x1, dx1, y1, dy1) in pairwise(points):
        if x0 <= level <= x1 and x0 < x1:
            w, slope = (level - x0) / (x1 - x0), (y1 - y0) / (x1 - x0)
            variance = (1 - w) ** 2 * (dy0**2 + (slope * dx0) ** 2) + w**2 * (dy1**2 + (slope * dx1) ** 2)
            return y0 + w * (y1 - y0), math.sqrt(variance)
    return None


def standing(own: Pair, other: Pair) -> str:
    """Return whether a value is "ahead" of another or "behind" by more than two standard errors of both, or "near"."""
    gap, error = own[0] - other[0], math.hypot(own[1], other[1])
    return "near" if abs(gap) <= 2 * error else "ahead" if gap > 0 else "behind"


def equal_attack(report: Mapping[str, Any]) -> list[CurveComparison]:
    """Return the comparisons that a report has curves for: groups in which some row has three epsilons."""
    found = []
    for group, (task, *utility), score in product(report["groups"], COMPARED, ("best", "best-content")):
        rows = [row for row in report["rows"] if row["group"] == group]
        curves = _curves(rows, [(task, score), (utility[0], utility[1])])
        read = {name: tuple(read_at(curve, at) for at in LEVELS) for name, curve in curves.items()}
        read = {name: values for name, values in read.items() if any(values)}
        if read:
            found.append(CurveComparison(group, f"{task}: {score}", ": ".join(utility), read))
    return found


def _curves(rows: Sequence[Mapping[str, Any]], scores: Sequence[tuple[str, str]]) -> dict[str, list[Point]]:
    """Return each mechanism's points, attack and utility, in the order of epsilon."""
    curves: dict[str, list[Point]] = {}
    for row in sorted(rows, key=lambda row: row["epsilon"]):
        pair = [row["cells"].get(task, {}).get("scores", {}).get(score) for task, score in scores]
        if None not in pair:
            x, y = pair
            point = (x["mean"], x["standard_error"], y["mean"], y["standard_error"])
            curves.setdefault(row["name"], []).append(point)
    return {name: curve for name, curve in curves.items() if len(curve) >= FEWEST}
