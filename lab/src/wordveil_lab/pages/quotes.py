"""Puts the numbers of the stored runs into the sentences and tables that quote them.

The phrases stand in quotes.toml with {} where a number stands: the words are written by hand, and must be
read again when a number moves. The tests check that running this changes nothing.

    python -m wordveil_lab.pages.quotes
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from wordveil_lab.leagues import default_page
from wordveil_lab.leagues import together_page as together
from wordveil_lab.leagues.stored import read_run
from wordveil_lab.package import ROOT, told
from wordveil_lab.tables import read_table, short_number

RESULTS, FACTS = ROOT / "docs/results", ROOT / "docs/explanation/facts.json"
RANKS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000)
"""Of the neighbours whose distances are among the facts."""
NUMBER = r"-?\d*\.?\d+"
TOLD = {"topic": ("news", "released"), "intent": ("bank", "released"), "search": ("bank", "search")}
"""Number of the run that chose the default -> set and score; others are means over sets."""


@cache
def stored(name: str) -> dict[str, Any]:
    """Return a stored run of the repository."""
    return read_run(RESULTS / f"{name}.json")


written = partial(short_number, digits=2)
"""Returns .05, -.05 or 1.00."""


def _row(report: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Return the row of this label; that of another group is another row, metric DP comes first."""
    found: dict[str, Any] = next(row for row in report["rows"] if row["label"] == label)
    return found


def _audited(label: str) -> str:
    """Return the smallest true epsilon, rounded up."""
    audit = _row(stored("league"), label)["audit"]
    assert audit["method"] == "exact", "a lower bound is quoted as such"
    return f"{math.ceil(audit['epsilon_at_least'] * 100) / 100:.2f}"


def _redaction(heading: str, name: str, place: str) -> str:
    """Return a number in a row of the page on redaction, two digits of three."""
    rows = read_table((RESULTS / "redaction.md").read_text(encoding="utf-8"), f"## {heading}")
    cell = next(row for row in rows if row[0].startswith(name))[int(place)].split(" / ")[0]
    return re.sub(r"(?<![\d.])\.\d{3}", lambda number: written(float(number[0])), cell)


def _default(label: str, score: str) -> str:
    report = stored("default")
    name, epsilon = default_page.chosen(report)
    own = _row(report, f"{name} @ {epsilon:g}" if label == "chosen" else label)
    score, _, only = score.partition(" of ")
    if score == "sentiment":
        return written(default_page.mean(own, "released", default_page.REVIEWS)[0])
    if score in TOLD:
        return written(default_page.scores(own, TOLD[score][0])[TOLD[score][1]][0])
    return written(default_page.mean(own, score, (only,) if only else default_page.SHOWN_ON)[0])


def _together(domain: str, label: str, score: str, kind: str = "scores") -> str:
    rows = {f"{row.series} @ {row.epsilon:g}": row for row in together.rows_of(stored("together"), domain)}
    row = rows[label]
    return written((row.scores if kind == "scores" else row.random)[score][0])


@cache
def facts() -> dict[str, Any]:
    """Return what wordveil_lab.pages.explanations has computed."""
    found: dict[str, Any] = json.loads(FACTS.read_text(encoding="utf-8"))
    return found


def _sure(nats: str, digits: str) -> str:
    """Return how sure an even guess becomes at most, in per cent, rounded up."""
    step = 10 ** int(digits)
    return f"{math.ceil(100 / (1 + math.exp(-int(nats))) * step) / step:.{digits}f}"


KINDS: dict[str, Callable[..., str]] = {
    "rows": lambda: str(len(stored("league")["rows"]) - 2),
    "tasks": lambda: str(len(stored("league")["tasks"])),
    "league": lambda label, task, score: written(_row(stored("league"), label)["cells"][task]["scores"][score]["mean"]),
    "audited": _audited,
    "redaction": _redaction,
    "default": _default,
    "together": _together,
    "fact": lambda name, digits: f"{facts()[name]:.{digits}f}",
    "spread": lambda dimensions, rank: written(facts()["spread"][dimensions][RANKS.index(int(rank))]),
    "sure": _sure,
    "meanings": lambda nats: f"{math.floor(math.exp(int(nats))) + 1}",
    "nats": lambda meanings: f"{math.log(int(meanings) - 1):.1f}",
}
"""Where a number is found -> what returns it as it is written."""


def number(place: str) -> str:
    """Return the number at a place, as "league: tem @ 4 | deniability | n_w"."""
    kind, _, parts = place.partition(": ")
    return KINDS[kind](*(parts.split(" | ") if parts else ()))


def quotations() -> list[tuple[Path, str, list[str]]]:
    """Return the phrases of all pages, each with its page and its numbers."""
    return [
        (ROOT / page, phrase, [number(place) for place in places])
        for page, phrases in told("pages/quotes.toml")["pages"].items()
        for phrase, places in phrases.items()
    ]


def quoted(page: str, phrase: str, numbers: list[str]) -> str:
    """Return the page with these numbers in the place of those in its only occurrence of a phrase."""
    parts = [r"\s+".join(map(re.escape, part.split(" "))) for part in phrase.split("{}")]
    pattern = "(" + f"){NUMBER}(".join(parts) + ")"
    found = re.findall(pattern, page)
    if len(found) != 1:
        raise ValueError(f"{len(found)} places for: {phrase}")
    pieces = iter([*numbers, ""])
    return re.sub(pattern, lambda match: "".join(part + next(pieces) for part in match.groups()), page)


def pages() -> dict[Path, str]:
    """Return the pages with the numbers of the runs."""
    found: dict[Path, str] = {}
    for path, phrase, numbers in quotations():
        found[path] = quoted(found.get(path) or path.read_text(encoding="utf-8"), phrase, numbers)
    return found


def main() -> None:
    """Writes the pages."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
