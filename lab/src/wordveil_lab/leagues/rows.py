"""One row of a measured league on one set of texts, and the tables that show rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from wordveil.api import round_up
from wordveil_lab.tables import markdown_table, short_number

RANDOM = 1e-3  # nats: as good as no information, and the same outputs


class Row:
    """One row of the run on one set.

    Attributes:
        name: Its name without epsilon.
        group: Of its promise; None for a baseline.
        epsilon: Of its promise; 0 for random words, None for no noise.
        promise: In words.
        named: Content words that the best attacker names: mean and standard error.
        by: Which attacker that is.
        scores: "sentiment", "similarity" (less that of random outputs) and "kept" (of words), mean and standard error.
    """

    def __init__(self, row: dict[str, Any], name: str, report: dict[str, Any]) -> None:
        cells = {kind: row["cells"][f"{name} {kind}"]["scores"] for kind in ("attack", "sentiment", "similarity")}
        attack = cells["attack"]
        self.name, self.group, epsilon = row["name"], row["group"], row["epsilon"]
        if epsilon == RANDOM:
            self.name = "random words, of 4000"
        self.epsilon = 0.0 if epsilon == RANDOM else epsilon
        nats = f"{epsilon or 0:g}" if self.group == "local" else round_up(report["nats"].get(row["label"], 0.0), 3)
        self.promise = f"{nats} nats" + f" ({epsilon:g} a unit)" * (self.group == "metric") if self.epsilon else ""
        self.named = score_pair(attack["best-content"])
        ran = [name.removesuffix("-content") for name in attack if name.endswith("-content") and name != "best-content"]
        best = max(ran, key=lambda each: attack[f"{each}-content"]["mean"])
        self.by = best if 0 < self.named[0] < 1 else ""
        self.scores = {"sentiment": score_pair(cells["sentiment"]["accuracy"])}
        label = OF_4000 if "of-4000" in row["name"] else "random words"
        blind: dict[str, Any] = next((each["cells"] for each in report["rows"] if each["label"] == label), {})
        if cells["similarity"]:
            value, base = (found["content"] for found in (cells["similarity"], blind[f"{name} similarity"]["scores"]))
            self.scores["similarity"] = beyond(value, base)
            self.scores["kept"] = cells["similarity"]["kept"]["mean"], 0.0


def beyond(value: dict[str, Any], base: dict[str, Any]) -> tuple[float, float]:
    """Return by how much a score is above another, and the standard error of that."""
    return value["mean"] - base["mean"], math.hypot(value["standard_error"], base["standard_error"])


OF_4000 = f"neighbours-16-of-4000 @ {RANDOM:g}"


def score_pair(summary: Mapping[str, Any]) -> tuple[float, float]:
    """Return mean and standard error."""
    return summary["mean"], summary["standard_error"]


def sheet(rows: Sequence[Row], columns: Mapping[str, str]) -> list[str]:
    """Return a table of some scores (shown name -> name), metric DP last."""
    ordered = sorted(rows, key=lambda row: (row.group == "metric", row.epsilon is not None, row.epsilon, row.name))
    body = []
    for row in ordered:
        cells = [row.by if name == "by" else shown_score(row.scores.get(name)) for name in columns.values()]
        body.append([row.name, row.promise, shown_score(row.named), *cells])
    return markdown_table(["row", "promise", "content words named", *columns], body)


def shown_score(found: tuple[float, float] | None) -> str:
    """Return a score with its standard error."""
    return "-" if found is None else short_number(found[0]) + (f" +- {short_number(found[1])}" if found[1] else "")
