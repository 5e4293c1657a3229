"""The page on neighbour response is that of the stored run, and readings at equal attack are those of the curves."""

from __future__ import annotations

from pathlib import Path

import pytest

from wordveil_lab.evaluation.inversion import ATTACKERS
from wordveil_lab.leagues import neighbours as measured

ROOT = Path(__file__).resolve().parents[3]

REPORT = measured.RUN.report()


@pytest.mark.parametrize("name", measured.SETS)
def test_the_run_holds_every_row_that_it_should(name):
    rows = {**measured.EVERYWHERE, **measured.ON_IMDB} if name == "IMDB" else measured.EVERYWHERE
    found = {(row.group, row.name, row.epsilon) for row in measured.rows_of(REPORT, name) if row.epsilon}
    # The stored run is of the state in which crowds stood where classes stand.
    then = {key: key[1].replace("256-classes", "crowds-16") for key in rows}
    assert found >= {(key[0].value, then[key], e) for key, given in rows.items() for e in given if e > 1}
    assert not REPORT["left_out"]


@pytest.mark.parametrize("name", measured.SETS)
def test_a_rival_is_read_on_its_own_curve(name):
    rows = measured.rows_of(REPORT, name)
    own = next(row for row in rows if row.name == "tem" and row.epsilon == 9.36)
    for score in measured.SCORES:
        assert measured.read(rows, "tem", score, own.named[0]).value == pytest.approx(own.scores[score][0])
        assert measured.read(rows, "nobody", score, own.named[0]) is None
    assert measured.read(rows, "projection-principal-vectors", "similarity", own.named[0]) is None, "words only"


def row(name, group, epsilon, named, sentiment):
    def one(mean):
        return {"mean": mean, "standard_error": 0.01}

    attack = {"best-content": one(named), **{f"{each}-content": one(named) for each in ATTACKERS}}
    scores = {"attack": attack, "sentiment": {"accuracy": one(sentiment)}, "similarity": {}}
    cells = {f"MR {kind}": {"scores": found} for kind, found in scores.items()}
    return {"label": f"{name} @ {epsilon}", "name": name, "group": group, "epsilon": epsilon, "cells": cells}


def test_rows_are_ahead_near_and_behind_by_two_standard_errors():
    rows = [row("no noise", None, None, 1.0, 0.9), row("random words", None, None, 0.0, 0.5)]
    rows += [row("tem", "metric", e, named, 0.5 + 0.4 * named) for e, named in ((7.0, 0.2), (9.0, 0.6))]
    rows += [row("neighbours-8", "local", e, 0.4, value) for e, value in ((8.0, 0.6), (9.0, 0.67), (10.0, 0.7))]
    found = measured.compare(measured.rows_of({"rows": rows, "nats": {}}, "MR"), "sentiment", "tem")
    assert found == {"ahead": ["8 at 10 nats"], "near": ["8 at 9 nats"], "behind": ["8 at 8 nats"]}
