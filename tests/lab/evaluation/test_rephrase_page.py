"""The page on rephrasing takes the tables of a run."""

from __future__ import annotations

from wordveil_lab.clone import ROOT
from wordveil_lab.leagues import rephrase
from wordveil_lab.leagues.stored import new_row
from wordveil_lab.tables import refilled

JUDGES = (rephrase.MINILM, "letters")


def cell(epsilon, *, judges):
    scores = {judge: {"mean": epsilon / 20 + place / 10, "standard_error": 0.01} for place, judge in enumerate(judges)}
    random = {judge: {"mean": 0.1, "standard_error": 0.0} for judge in judges}
    return {"scores": scores, "random": random, "nearest": {"mean": 0.7}, "prototypes": 1024}


def run():
    rows = []
    for domain in rephrase.DOMAINS:
        for epsilon in rephrase.EPSILONS:
            judges = JUDGES if epsilon == rephrase.JUDGED else JUDGES[:1]
            rows.append(new_row("own", "local", epsilon, {domain: cell(epsilon, judges=judges)}))
            rows.append(new_row("own, crowds", "local", epsilon, {domain: cell(epsilon, judges=JUDGES[:1])}))
    return {"rows": rows}


def test_every_table_of_a_run_has_its_place_on_the_page():
    text = (ROOT / "docs/results/rephrase.md").read_text(encoding="utf-8")
    page = refilled(text, rephrase.tables(run()))
    kept = [line for line in text.splitlines() if not line.startswith("|")]
    assert [line for line in page.splitlines() if not line.startswith("|")] == kept
    assert page.count("| own | .200 (1 024; random .100) | .300 (1 024; random .100) |") == len(rephrase.DOMAINS)
    assert page.count("| own, crowds |") == len(rephrase.DOMAINS)


def test_other_judges_stand_beside_minilm_for_the_stocks_that_all_looked_at():
    table = rephrase.tables(run())["### Clinical notes, by other judges"]
    assert table[0] == "| judge and standard error, 6 nats | own |"
    assert table[2:] == ["| MiniLM, .010 | .300 (random .100) |", "| letters, .010 | .400 (random .100) |"]
