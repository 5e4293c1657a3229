"""The rule by which the default of word-level release is chosen, and the tables of the page that shows its run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from wordveil_lab.leagues.stored import score_pair
from wordveil_lab.leagues.trial_texts import CHOICE, REPORTED
from wordveil_lab.tables import markdown_table, short_number

BEFORE = ("16 of 4000", 8.0)
"""What the default was when the choice was made."""
NO_NOISE, RANDOM = "no noise", 1e-3
LEFT = ("released", "search")
"""What is judged of releases."""
PRICE = {"real": "as it is", "real, by its classes": "by its classes"}
TOLD = {"Subj": "kind", "TREC": "kind", "complaints": "product", "chats": "intent", "news": "topic", "bank": "intent"}
Pair = tuple[float, float]


def label(row: Mapping[str, Any]) -> tuple[str, float | None]:
    """Return the name of a row and its nats."""
    return row["name"], row["epsilon"]


def scores(row: Mapping[str, Any], name: str) -> dict[str, Pair]:
    """Return the scores of a row on a set, mean and standard error."""
    return {score: score_pair(pair) for score, pair in row["cells"].get(name, {}).get("scores", {}).items()}


def leads(row: Mapping[str, Any], other: Mapping[str, Any], names: Sequence[str]) -> list[Pair]:
    """Return by how much a row is ahead in every column of releases, with the standard error of that."""
    found = []
    for name in names:
        own, beside = scores(row, name), scores(other, name)
        found += [(own[s][0] - beside[s][0], math.hypot(own[s][1], beside[s][1])) for s in LEFT if s in own]
    return found


def mean(row: Mapping[str, Any], score: str, names: Sequence[str]) -> Pair:
    """Return the mean of a score over sets, and its standard error."""
    pairs = [scores(row, name)[score] for name in names]
    return sum(pair[0] for pair in pairs) / len(pairs), math.hypot(*(pair[1] for pair in pairs)) / len(pairs)


def admitted(row: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Return whether a row is behind in no column of releases, and gives away no more words."""
    names = [one.name for one in CHOICE]
    gives = (mean(row, score, names)[0] - mean(before, score, names)[0] for score in ("named", "rarer"))
    return min(lead for lead, _ in leads(row, before, names)) >= 0 and max(gives) <= 0


def mean_lead(row: Mapping[str, Any], before: Mapping[str, Any]) -> Pair:
    """Return the mean lead over all columns of the choice."""
    ahead = leads(row, before, [one.name for one in CHOICE])
    return sum(lead for lead, _ in ahead) / len(ahead), math.hypot(*(error for _, error in ahead)) / len(ahead)


def chosen(report: Mapping[str, Any]) -> tuple[str, float]:
    """Return the row that the rule chooses.

    Of those admitted the fewest nats; then the most classes whose mean lead is within a standard error of the largest;
    then the larger lead.
    """
    before = next(row for row in report["rows"] if label(row) == BEFORE)
    those = [row for row in _candidates(report) if admitted(row, before)]
    if not those:
        return BEFORE
    fewest = min(row["epsilon"] for row in those)
    lead = {row["name"]: mean_lead(row, before) for row in those if row["epsilon"] == fewest}
    best, error = max(lead.values())
    near = [name for name, (value, _) in lead.items() if value >= best - error]
    return max(near, key=lambda name: (int(name.partition(" ")[0]), lead[name])), fewest


def _candidates(report: Mapping[str, Any]) -> list[Any]:
    named = (row for row in report["rows"] if CHOICE[0].name in row["cells"] and "classes" in row["name"])
    return [row for row in named if row["epsilon"] != RANDOM]


def tables(report: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the tables of the page."""
    choice, told = [one.name for one in CHOICE], [one.name for one in REPORTED]
    rows = _ordered(report, choice)
    return {
        "## In short": summary(report),
        "## Sets": _sets(report),
        "## The choice": _sheet(report, rows, choice, LEFT, ("named", "rarer")),
        "### Which candidates are admitted": _admitted(report),
        "## What is left of releases": _sheet(report, _ordered(report, told), told, LEFT, ()),
        "## What attackers name": _sheet(report, _ordered(report, told), told, ("named", "rarer"), ()),
        "## Similarity beyond random outputs": _beyond(report, _ordered(report, told), told),
        "## The price: a model of releases reads real text": _price(report, _ordered(report, told), told),
        "## The choice beside the default before": _beside(report, told),
        "## What more reading brings": _growth(report),
    }


def _ordered(report: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    rows = [row for row in report["rows"] if names[0] in row["cells"]]
    return sorted(rows, key=lambda row: (row["epsilon"] or 0.0, row["group"] or "", row["name"]))


def _said(row: Mapping[str, Any]) -> list[str]:
    if row["epsilon"] is None:
        return [row["name"], ""]
    if row["epsilon"] == RANDOM:
        return [f"random outputs, {row['name'].replace('16 of ', 'of ')}", "0"]
    return [row["name"], f"{row['epsilon']:g}" + " a unit" * (row["group"] == "metric")]


def _shown(pair: Pair | None) -> str:
    return "-" if pair is None else f"{short_number(pair[0])} +- {short_number(pair[1])}" if pair[1] else f"{pair[0]:g}"


def _sheet(
    report: Mapping[str, Any], rows: Sequence[Any], names: Sequence[str], each: Sequence[str], means: Sequence[str]
) -> list[str]:
    columns = [(name, score) for name in names for score in each if any(score in scores(row, name) for row in rows)]
    head = [f"{name}: {TOLD.get(name, 'sentiment') if score == 'released' else score}" for name, score in columns]
    body = [
        [*_said(row), *(_shown(scores(row, *column[:1]).get(column[1])) for column in columns)]
        + [_shown(mean(row, score, names)) for score in means]
        for row in rows
    ]
    if each == LEFT:
        majority = [report["sets"][name]["majority"] if score == "released" else None for name, score in columns]
        body.insert(1, ["commonest class", "", *("-" if one is None else short_number(one) for one in majority)])
        body[1] += ["-"] * len(means)
    return markdown_table(["row", "nats", *head, *(f"{score}, mean" for score in means)], body)


def _admitted(report: Mapping[str, Any]) -> list[str]:
    names = [one.name for one in CHOICE]
    before = next(row for row in report["rows"] if label(row) == BEFORE)
    body = []
    for row in sorted(_candidates(report), key=lambda row: (row["epsilon"], row["name"])):
        ahead = leads(row, before, names)
        worst = min(lead / error for lead, error in ahead)
        gives = [mean(row, score, names)[0] - mean(before, score, names)[0] for score in ("named", "rarer")]
        verdict = "chosen" if label(row) == chosen(report) else "yes" if admitted(row, before) else "no"
        numbers = map(short_number, (min(lead for lead, _ in ahead), worst, *gives))
        body.append([*_said(row), _shown(mean_lead(row, before)), *numbers, verdict])
    head = ["candidate", "nats", "mean lead", "worst lead", "in standard errors", "words named", "rarer", "admitted"]
    return markdown_table(head, body)


def _beyond(report: Mapping[str, Any], rows: Sequence[Any], names: Sequence[str]) -> list[str]:
    blind = {row["name"]: row for row in report["rows"] if row["epsilon"] == RANDOM}
    body = []
    for row in rows:
        base = blind.get("256 classes" if "classes" in row["name"] else "16 of 4000" if "4000" in row["name"] else "")
        if base is not None and row["epsilon"] != RANDOM:
            pairs = [(scores(row, name)["similarity"], scores(base, name)["similarity"]) for name in names]
            body.append([*_said(row), *(_shown((a[0] - b[0], math.hypot(a[1], b[1]))) for a, b in pairs)])
    return markdown_table(["row", "nats", *names], body)


def _price(report: Mapping[str, Any], rows: Sequence[Any], names: Sequence[str]) -> list[str]:
    head = [f"{name}: {how}" for name in names for how in PRICE.values()]
    body = [[*_said(row), *(_shown(scores(row, name).get(kind)) for name in names for kind in PRICE)] for row in rows]
    return markdown_table(["row", "nats", *head], body)


def _beside(report: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    rows = {label(row): row for row in report["rows"]}
    own, before = rows[chosen(report)], rows[BEFORE]
    body = []
    for name in names:
        one, other = scores(own, name), scores(before, name)
        real = one.get("real, by its classes", one["real"])
        pairs = {score: (one[score], other[score]) for score in (*LEFT, "named", "rarer") if score in one}
        for score, (first, second) in (pairs | {"real text": (real, other["real"])}).items():
            difference = first[0] - second[0], math.hypot(first[1], second[1])
            body.append([name, score, _shown(first), _shown(second), _shown(difference)])
    return markdown_table(["set", "score", "chosen", "before", "difference"], body)


def _sets(report: Mapping[str, Any]) -> list[str]:
    head = ["set", "learnt from", "tested", "classes", "attacked", "words", "rarer", "attackers have read, at most"]
    names = [one.name for one in (*CHOICE, *REPORTED)]
    body = []
    for name in names:
        facts = report["sets"][name]
        read = ", ".join(f"{most} of {path}" for path, most in facts["public"])
        body.append([name, *(str(facts[key]) for key in ("learnt", "tested", "classes", "attacked", "words", "rarer"))])
        body[-1].append(read)
    return markdown_table(head, body)


def _growth(report: Mapping[str, Any]) -> list[str]:
    body = [
        [row["set"], row["read"], *_said({**row, "name": row["row"], "group": "local"})]
        + [_shown(score_pair(row["scores"][score])) for score in ("named", "rarer")]
        for row in report["growth"]
    ]
    return markdown_table(["set", "read", "row", "nats", "words named", "rarer"], body)


SHORT = (
    ("no noise", NO_NOISE, None, ""),
    ("random outputs of 256 faces", "256 classes", RANDOM, "0"),
    ("**256 classes (the default)**", "256 classes", 7.0, "7"),
    ("16 of 4 000 (the default before)", *BEFORE, "8"),
    ("128 classes", "128 classes", 7.0, "7"),
    ("256 classes", "256 classes", 8.0, "8"),
    ("512 classes", "512 classes", 8.0, "8"),
    ("1 024 classes", "1024 classes", 8.0, "8"),
    ("randomized response, 4 000 words", "1 of 4000", 8.0, "8"),
    ("TEM at epsilon 9.36 (metric DP)", "TEM", 9.36, "34.56 (truly at most 13.81)"),
    ("randomized response, all words", "1 of all", 12.0, "12"),
)
"""Rows of the table of means: what is said, name, epsilon, nats that any two words may lose."""
REVIEWS = ("MR", "IMDB", "Yelp")
BLIND = {"classes": "256 classes", "4000": "16 of 4000"}


def summary(report: Mapping[str, Any]) -> list[str]:
    """Return the table of means."""
    names, rows = [one.name for one in REPORTED], {label(row): row for row in report["rows"]}
    head = ["mechanism", "nats a word", "sentiment", "topic", "intent", "search", "similarity beyond random"]
    head += ["real text: sentiment", "real text: intent", "words found", "rarer words found"]
    body = []
    for said, name, epsilon, nats in SHORT:
        row = rows[name, epsilon]
        kind = "real, by its classes" if "classes" in name else "real"
        values: list[float | None] = [mean(row, "released", REVIEWS)[0], scores(row, "news")["released"][0]]
        values += [scores(row, "bank")[score][0] for score in LEFT]
        values += [beyond_random(row, rows, names)]
        values += [mean(row, kind, REVIEWS)[0], scores(row, "bank")[kind][0]]
        values += [mean(row, score, names)[0] for score in ("named", "rarer")]
        body.append([said, nats, *("-" if one is None else f"{one:.2f}".replace("0.", ".", 1) for one in values)])
    return markdown_table(head, body)


def beyond_random(row: Mapping[str, Any], rows: Mapping[Any, Any], names: Sequence[str]) -> float | None:
    """Return the mean similarity less that of random outputs of the same kind, None where none were measured."""
    blind = next((rows[base, RANDOM] for kind, base in BLIND.items() if kind in row["name"]), None)
    return None if blind is None else mean(row, "similarity", names)[0] - mean(blind, "similarity", names)[0]
