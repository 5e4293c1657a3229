"""The page of the default is that of its stored run, the rule gives what the package does, and heeds what it says."""

from __future__ import annotations

import copy

from wordveil import NeighbourResponse
from wordveil_lab.leagues import default as measured
from wordveil_lab.leagues import default_page as page
from wordveil_lab.leagues.trial_texts import CHOICE, REPORTED, SETS

REPORT = measured.RUN.report()


def test_the_rule_gives_the_default():
    name, nats = page.chosen(REPORT)
    assert NeighbourResponse() == NeighbourResponse(epsilon=nats, outputs=f"classes:{name.split()[0]}")


def test_the_rule_reads_no_set_that_is_reported():
    assert not {one.name for one in CHOICE} & {one.name for one in REPORTED}
    assert not {one.path for one in CHOICE} & {path for one in REPORTED for path in (one.path, one.test)}


def test_a_row_that_is_behind_or_gives_away_more_is_not_chosen():
    for score, worse in (("released", 0.0), ("named", 1.0), ("rarer", 1.0)):
        report = copy.deepcopy(REPORT)
        row = next(row for row in report["rows"] if page.label(row) == page.chosen(REPORT))
        for one in CHOICE:
            row["cells"][one.name]["scores"][score]["mean"] = worse
        assert page.chosen(report) != page.chosen(REPORT)


def test_readers_of_a_set_s_own_text_alone_stand_beside_those_of_all_of_it():
    assert all(one.readings[0] == one.public for one in SETS.values())
    alone = {name: one.readings[1] for name, one in SETS.items() if len(one.readings) > 1}
    assert alone.keys() == {"TREC", "complaints", "Yelp", "bank", "news"}
    for name, own in alone.items():
        assert {path for path, *_ in own} == {SETS[name].path}
