"""The page of the default is that of its stored run, the rule gives what the package does, and heeds what it says."""

import copy

from wordveil import NeighbourResponse
from wordveil_lab.leagues import default as measured
from wordveil_lab.leagues import default_page as page
from wordveil_lab.leagues.trial_texts import CHOICE, REPORTED, REVIEWS, SETS

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


def test_readers_who_leave_film_reviews_out_stand_beside_those_of_all_public_text():
    assert all(one.readings[0] == one.public for one in SETS.values())
    near = {name: one.readings[1] for name, one in SETS.items() if len(one.readings) > 1}
    assert near.keys() == {"TREC", "complaints", "MR", "Yelp", "bank"}
    for name, files in near.items():
        assert {path for path, *_ in SETS[name].public} - {path for path, *_ in files} == {REVIEWS}
