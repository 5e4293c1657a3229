"""The rule by which the default of word-level release is chosen, and the tables of the page that shows its run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from wordveil_lab.evaluation.curves import Pair
from wordveil_lab.leagues.stored import less, score_pair
from wordveil_lab.leagues.trial_texts import CHOICE, PLAN, REPORTED
from wordveil_lab.tables import markdown_table, short_number

BEFORE = ("16 of 4000", 8.0)
"""What the default was when the choice was made."""
NO_NOISE, RANDOM = "no noise", 1e-3
LEFT, NAMED = ("released", "search"), ("named", "rarer")
"""What is judged of releases, and what attackers name: all words, and the rarer ones."""
CHOSEN_ON, SHOWN_ON = ([one.name for one in sets] for sets in (CHOICE, REPORTED))
"""Names of the sets of the choice, and of those on which the chosen one is reported."""
REVIEWS = ("MR", "IMDB", "Yelp")
BLIND = {"classes": "256 classes", "4000": "16 of 4000"}
"""Part of a row's name -> the row that was measured at random outputs, too."""
PRICE = {"real": "as it is", "real, by its classes": "by its classes"}
TOLD = {"Subj": "kind", "TREC": "kind", "complaints": "product", "chats": "intent", "news": "topic", "bank": "intent"}


def label(row: Mapping[str, Any]) -> tuple[str, float | None]:
    """Return the name of a row and its nats."""
    return row["name"], row["epsilon"]


def scores(row: Mapping[str, Any], name: str) -> dict[str, Pair]:
    """Return the scores of a row on a set, mean and standard error."""
    return {score: score_pair(pair) for score, pair in row["cells"].get(name, {}).get("scores", {}).items()}


def leads(row: Mapping[str, Any], other: Mapping[str, Any], names: Sequence[str]) -> list[Pair]:
    """Return by how much a row is ahead in every column of releases, with the standard error of that."""
    both = [(scores(row, name), scores(other, name)) for name in names]
    return [less(own[score], beside[score]) for own, beside in both for score in LEFT if score in own]


def mean(row: Mapping[str, Any], score: str, names: Sequence[str]) -> Pair:
    """Return the mean of a score over sets, and its standard error."""
    pairs = [scores(row, name)[score] for name in names]
    return sum(pair[0] for pair in pairs) / len(pairs), math.hypot(*(pair[1] for pair in pairs)) / len(pairs)


def gives(row: Mapping[str, Any], before: Mapping[str, Any]) -> list[float]:
    """Return how many more words a row gives away in the mean over the sets of the choice: all, and rarer ones."""
    return [less(mean(row, score, CHOSEN_ON), mean(before, score, CHOSEN_ON))[0] for score in NAMED]


def admitted(row: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Return whether a row is behind in no column of releases, and gives away no more words."""
    return min(lead for lead, _ in leads(row, before, CHOSEN_ON)) >= 0 and max(gives(row, before)) <= 0


def mean_lead(row: Mapping[str, Any], before: Mapping[str, Any]) -> Pair:
    """Return the mean lead over all columns of the choice."""
    ahead = leads(row, before, CHOSEN_ON)
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
    named = (row for row in report["rows"] if CHOSEN_ON[0] in row["cells"] and "classes" in row["name"])
    return [row for row in named if row["epsilon"] != RANDOM]


def tables(report: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the tables of the page."""
    rows = _ordered(report, SHOWN_ON)
    return {
        "## In short": summary(report),
        "## Sets": _sets(report),
        "## The choice": _sheet(report, _ordered(report, CHOSEN_ON), CHOSEN_ON, LEFT, NAMED),
        "### Which candidates are admitted": _admitted(report),
        "## What is left of releases": _sheet(report, rows, SHOWN_ON, LEFT, ()),
        "## What attackers name": _sheet(report, rows, SHOWN_ON, NAMED, ()),
        "## Similarity beyond random outputs": _beyond(report, rows),
        "## The price: a model of releases reads real text": _price(rows),
        "## The choice beside the default before": _beside(report),
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
    before = next(row for row in report["rows"] if label(row) == BEFORE)
    body = []
    for row in sorted(_candidates(report), key=lambda row: (row["epsilon"], row["name"])):
        ahead = leads(row, before, CHOSEN_ON)
        worst = min(lead for lead, _ in ahead), min(lead / error for lead, error in ahead)
        verdict = "chosen" if label(row) == chosen(report) else "yes" if admitted(row, before) else "no"
        numbers = map(short_number, (*worst, *gives(row, before)))
        body.append([*_said(row), _shown(mean_lead(row, before)), *numbers, verdict])
    head = ["candidate", "nats", "mean lead", "worst lead", "in standard errors", "words named", "rarer", "admitted"]
    return markdown_table(head, body)


def _beyond(report: Mapping[str, Any], rows: Sequence[Any]) -> list[str]:
    known = {label(row): row for row in report["rows"]}
    body = []
    for row in rows:
        blind = _blind(row, known)
        if blind is not None and row["epsilon"] != RANDOM:
            pairs = [(scores(row, name)["similarity"], scores(blind, name)["similarity"]) for name in SHOWN_ON]
            body.append([*_said(row), *(_shown(less(*pair)) for pair in pairs)])
    return markdown_table(["row", "nats", *SHOWN_ON], body)


def _blind(row: Mapping[str, Any], rows: Mapping[Any, Any]) -> Any:
    """Return the row of random outputs of the same kind, None where none were measured."""
    return next((rows[base, RANDOM] for kind, base in BLIND.items() if kind in row["name"]), None)


def _price(rows: Sequence[Any]) -> list[str]:
    columns = {f"{name}: {how}": (name, kind) for name in SHOWN_ON for kind, how in PRICE.items()}
    body = [[*_said(row), *(_shown(scores(row, name).get(kind)) for name, kind in columns.values())] for row in rows]
    return markdown_table(["row", "nats", *columns], body)


def _beside(report: Mapping[str, Any]) -> list[str]:
    rows = {label(row): row for row in report["rows"]}
    own, before = rows[chosen(report)], rows[BEFORE]
    body = []
    for name in SHOWN_ON:
        one, other = scores(own, name), scores(before, name)
        real = one.get("real, by its classes", one["real"])
        pairs = {score: (one[score], other[score]) for score in (*LEFT, *NAMED) if score in one}
        for score, (first, second) in (pairs | {"real text": (real, other["real"])}).items():
            body.append([name, score, *map(_shown, (first, second, less(first, second)))])
    return markdown_table(["set", "score", "chosen", "before", "difference"], body)


def _sets(report: Mapping[str, Any]) -> list[str]:
    head = ["set", "learnt from", "tested", "classes", "attacked", "words", "rarer", "attackers have read, at most"]
    body = []
    for name in (*CHOSEN_ON, *SHOWN_ON):
        facts = report["sets"][name]
        read = ", ".join(f"{most} of {path}" for path, most in facts["public"])
        numbers = (str(facts[key]) for key in ("learnt", "tested", "classes", "attacked", "words", "rarer"))
        body.append([name, *numbers, read])
    return markdown_table(head, body)


def _growth(report: Mapping[str, Any]) -> list[str]:
    body = [
        [row["set"], row["read"], *_said({**row, "name": row["row"], "group": "local"})]
        + [_shown(score_pair(row["scores"][score])) for score in NAMED]
        for row in report["growth"]
    ]
    return markdown_table(["set", "read", "row", "nats", "words named", "rarer"], body)


def summary(report: Mapping[str, Any]) -> list[str]:
    """Return the table of means."""
    rows = {label(row): row for row in report["rows"]}
    head = ["mechanism", "nats a word", "sentiment", "topic", "intent", "search", "similarity beyond random"]
    head += ["real text: sentiment", "real text: intent", "words found", "rarer words found"]
    body = []
    for said, name, epsilon, nats in PLAN["means"]["rows"]:
        row = rows[name, epsilon or None]
        kind = "real, by its classes" if "classes" in name else "real"
        values: list[float | None] = [mean(row, "released", REVIEWS)[0], scores(row, "news")["released"][0]]
        values += [scores(row, "bank")[score][0] for score in LEFT]
        blind = _blind(row, rows)
        similar = [mean(one, "similarity", SHOWN_ON) for one in (row, blind) if one is not None]
        values += [None if blind is None else less(*similar)[0]]
        values += [mean(row, kind, REVIEWS)[0], scores(row, "bank")[kind][0]]
        values += [mean(row, score, SHOWN_ON)[0] for score in NAMED]
        body.append([said, nats, *("-" if one is None else short_number(one, 2) for one in values)])
    return markdown_table(head, body)
