"""The page and the figure of wordveil_lab.leagues.together, from its stored run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from wordveil_lab.evaluation.curves import HOW, Pair, read_at, standing
from wordveil_lab.leagues.stored import less, score_pair
from wordveil_lab.package import told
from wordveil_lab.plots import SMALL, svg
from wordveil_lab.tables import markdown_table, short_number

ORIGINAL, PERSONS = "original", "persons"
KEPT = ("similarity", "BERTScore", "task", "perplexity")
ATTACKS = {"named": "words named", "picked": "sentence picked out"}
SHOWN: dict[str, str] = told("leagues/together.toml")["shown"]
RELEASES: list[tuple[str, float | None]] = [
    (name, epsilon) for name, rates in told("leagues/together.toml")["persons"].items() for epsilon in rates or [None]
]
"""Series of which is measured what they tell of persons, and epsilon."""
WORDS = tuple(name for name in SHOWN if not name.startswith("rephrase"))
TITLES = {"similarity": "similarity (MiniLM)", "BERTScore": "BERTScore (MiniLM)", "task": "accuracy"} | ATTACKS


@dataclass(frozen=True)
class Row:
    """One release of one domain."""

    series: str  # which pipeline
    epsilon: float  # nats of a word (of TEM: a unit of distance) or of a sentence
    nats: float  # of a sentence
    scores: Mapping[str, Pair]  # means and standard errors, the best attackers' among them
    random: Mapping[str, Pair]  # those of random outputs through the same pipeline

    def beyond(self, score: str) -> Pair:
        """Return a score less that of random outputs."""
        return less(self.scores[score], self.random[score])


def best(scores: Mapping[str, Mapping[str, float]]) -> dict[str, Pair]:
    """Return the scores, for each attack that of the best attacker."""
    found = {name: score_pair(score) for name, score in scores.items() if name in KEPT}
    for attack in ATTACKS:
        tried = [score_pair(score) for name, score in scores.items() if name.startswith(attack)]
        if tried:
            found[attack] = max(tried)
    return found


def rows_of(report: Mapping[str, Any], domain: str) -> list[Row]:
    """Return the rows of a domain, in the order of `SHOWN`."""
    found = []
    for row in report["rows"]:
        cell, epsilon = row["cells"].get(domain), row["epsilon"]
        if cell is not None and epsilon is not None:
            nats = report["nats"].get(row["label"].replace(", denoised", ""), epsilon) * cell.get("tokens", 1)
            found.append(Row(row["name"], epsilon, nats, best(cell["scores"]), best(cell["random"])))
    return sorted(found, key=lambda row: (list(SHOWN).index(row.series), row.nats))


def originals(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of the texts as they are, by domain."""
    found: dict[str, Any] = next(row["cells"] for row in report["rows"] if row["name"] == ORIGINAL)
    return found


def domains_of(report: Mapping[str, Any]) -> list[str]:
    """Return the domains of sentences."""
    return [domain for domain in originals(report) if domain != PERSONS]


def said(pair: Pair, score: str = "") -> str:
    """Return a mean with its error."""
    return " ± ".join(mean(value, score) for value in pair)


def mean(value: float, score: str = "") -> str:
    """Return a mean as it is written."""
    return f"{value:,.0f}".replace(",", " ") if score == "perplexity" else short_number(value)


def _table(report: Mapping[str, Any], domain: str) -> list[str]:
    whole, columns = originals(report)[domain], (*KEPT, *ATTACKS)
    own, commonest = best(whole["scores"]), short_number(whole["commonest"])
    body = [
        ["as it is", "", "", *(said(own[name], name) if name in own else "" for name in columns)],
        ["the commonest class", "", "", *(commonest if name == "task" else "" for name in columns)],
    ]
    for row in rows_of(report, domain):
        cells = [f"{said(row.scores[name], name)} ({mean(row.random[name][0], name)})" for name in columns]
        body.append([SHOWN[row.series], f"{row.epsilon:g}", f"{math.ceil(row.nats - 1e-9)}", *cells])
    head = ["pipeline", "nats", "nats a sentence", *(TITLES.get(name, name) for name in KEPT), *ATTACKS.values()]
    return markdown_table(head, body)


def compared(rows: Sequence[Row], score: str, attack: str, rival: str) -> dict[str, list[str]]:
    """Return the rows of rephrasing that are ahead of a rival at equal attack, behind, or near, beyond random.

    The rival's curve runs from random outputs through its rates in straight lines.
    """
    found: dict[str, list[str]] = {how: [] for how in HOW}
    own = sorted((row for row in rows if row.series == rival), key=lambda row: row.scores[attack][0])
    start = (*own[0].random[attack], 0.0, 0.0)
    curve = [start, *((*row.scores[attack], *row.beyond(score)) for row in own)]
    for row in rows:
        other = read_at(curve, row.scores[attack][0]) if row.series not in WORDS else None
        if other is not None:
            where = standing(row.beyond(score), other)
            found[where].append(f"{SHOWN[row.series].removeprefix('rephrase, ')} at {row.epsilon:g}")
    return found


def _comparison(report: Mapping[str, Any], domains: Sequence[str]) -> list[str]:
    body = []
    for domain in domains:
        rows = rows_of(report, domain)
        for score in ("similarity", "BERTScore", "task"):
            for rival in dict.fromkeys(row.series for row in rows if row.series in WORDS):
                both = [compared(rows, score, attack, rival) for attack in ATTACKS]
                counts = [str(len(found[how])) for found in both for how in HOW]
                body.append([domain, TITLES[score], SHOWN[rival], *counts])
    places = (f"{how}, as many {what}" for what in ("words named", "picked out") for how in HOW)
    return markdown_table(["domain", "score", "beside", *places], body)


def _persons(report: Mapping[str, Any]) -> list[str]:
    columns = ("author", "sex", "values", "names")
    head = ["pipeline", "nats", "author, of three", "sex", "values with digits or @", "names, word by word"]
    body = []
    found = {(row["name"], row["epsilon"]): row for row in report["rows"] if PERSONS in row["cells"]}
    for row in map(found.__getitem__, RELEASES):
        scores, random = row["cells"][PERSONS]["scores"], row["cells"][PERSONS].get("random", {})
        cells = [
            said(score_pair(scores[column])) + (f" ({short_number(random[column]['mean'])})" if random else "")
            for column in columns
        ]
        for i, column in ((2, "values"), (3, "names")):
            cells[i] += f"; another's {short_number(scores[column + ', another' + chr(39) + 's']['mean'])}"
        epsilon = "" if row["epsilon"] is None else f"{row['epsilon']:g}"
        body.append([SHOWN.get(row["name"], "as it is"), epsilon, *cells])
        guessed = [short_number(scores[f"{column}, guessing"]["mean"]) for column in columns[:2]]
    return markdown_table(head, [*body, ["the commonest class", "", *guessed, "", ""]])


def picture(report: Mapping[str, Any]) -> bytes:
    """Draw all scores of all domains against the nats of a sentence; dots are random outputs through the pipeline."""
    domains = domains_of(report)
    scores = (*KEPT, *ATTACKS)

    def paint(canvas: Any) -> None:
        axes = canvas.subplots(len(scores), len(domains), squeeze=False)
        for axis, (score, domain) in zip(axes.ravel(), product(scores, domains), strict=True):
            _panel(axis, report, score, domain)
        canvas.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)

    return svg((4.4 * len(domains), 2.9 * len(scores) + 0.9), paint, SMALL)


def _panel(axis: Any, report: Mapping[str, Any], score: str, domain: str) -> None:
    rows = rows_of(report, domain)
    for number, (series, shown) in enumerate(SHOWN.items()):
        own = [row for row in rows if row.series == series]
        nats, colour = [row.nats for row in own], f"C{number}"
        values, errors = zip(*(row.scores[score] for row in own), strict=True)
        axis.errorbar(nats, values, yerr=errors, color=colour, marker="o", markersize=4, linewidth=1.2, label=shown)
        axis.plot(nats, [row.random[score][0] for row in own], color=colour, linestyle=":", linewidth=0.9)
    whole = best(originals(report)[domain]["scores"])
    if score in whole and score in ("task", "perplexity"):
        axis.axhline(whole[score][0], color="grey", linewidth=0.8, linestyle="--")
    axis.set(xscale="log", xlim=(3, 400), xlabel="nats a sentence, at most")
    if score == "perplexity":
        axis.set_yscale("log")
    axis.set_title(f"{domain}: {TITLES.get(score, score)}", fontsize=9)
    axis.grid(alpha=0.3)


def tables(report: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the tables of the page."""
    found = {f"## {domain.capitalize()}": _table(report, domain) for domain in domains_of(report)}
    return found | {"## At equal attack": _comparison(report, domains_of(report)), "## Persons": _persons(report)}
