"""The page on everything measured together is that of the stored run; its scores are what it says they are."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from wordveil.denoising.prior import load_prior
from wordveil_lab.evaluation.evidence import content_words

ROOT = Path(__file__).resolve().parents[3]
pytest.importorskip("sklearn", reason="needs the extra wordveil-lab[evaluation]")
from wordveil_lab.leagues import together as measured  # noqa: E402
from wordveil_lab.leagues import together_domains as domains  # noqa: E402
from wordveil_lab.leagues import together_page as shown  # noqa: E402
from wordveil_lab.leagues.stored import score_pair  # noqa: E402

REPORT = measured.RUN.report()


def test_every_cell_is_there_and_no_score_without_that_of_random_outputs():
    expected = set()
    for series, domain, epsilon, _ in measured.plan():
        name, both = series.removeprefix("persons: "), series in measured.RATES
        expected |= {(name + end, domain, epsilon) for end in ("", ", denoised")[: 1 + both]}
    assert {(row["name"], domain, row["epsilon"]) for row in REPORT["rows"] for domain in row["cells"]} == expected
    for domain in measured.DOMAINS:
        for row in shown.rows_of(REPORT, domain):
            assert row.scores.keys() == row.random.keys() == {*shown.KEPT, *shown.ATTACKS}
            assert row.series.startswith("rephrase") == (row.nats == row.epsilon)


def test_nobody_names_less_of_a_release_than_who_has_not_seen_it():
    for row in REPORT["rows"]:
        for domain in row["cells"].keys() & measured.DOMAINS.keys() if row["epsilon"] else ():
            for part in (row["cells"][domain][kind] for kind in ("scores", "random")):
                assert shown.best(part)["named"][0] >= part["named: blind"]["mean"]


def test_guesses_are_different_words_the_likeliest_to_stand_anywhere():
    states, chances = np.array([[1, 2, 4], [1, 3, 4]], np.int32), np.array([[0.4, 0.6, 0], [0.4, 0.5, 0.1]])
    own = SimpleNamespace(own=[{7, 8}])
    assert measured._likeliest([(states, chances)], own) == [[1, 2]]  # .64 and .6; one word is not guessed twice


def test_words_that_carry_content_are_looked_for_where_they_stand_and_nowhere_else():
    class Own:
        content, prior = np.append(content_words(domains.table()), False), load_prior()
        counts = content[None, :-1].astype(float)

    common, rare = measured.words_at("neighbours", 8.0)._evidence(Own())
    outputs = rare.randomizer.outputs[:200]
    states, likelihoods = measured._either(np.concatenate((outputs, outputs + measured.MARK)), common, rare)
    found = Own.content[states]
    assert not found[:200][likelihoods[:200] > 0].any()
    assert found[200:][likelihoods[200:] > 0].all()


def test_no_personal_value_survives_more_often_than_in_another_texts_release():
    for row in REPORT["rows"]:
        if "persons" in row["cells"] and row["epsilon"] is not None:
            scores = row["cells"]["persons"]["scores"]
            own, other = (score_pair(scores[name]) for name in ("values", "values, another's"))
            assert own[0] <= other[0] + 3 * np.hypot(own[1], other[1]) + 0.005, row["label"]


def test_picking_out_counts_ties_as_guesses():
    near = np.array([[3.0, 1.0, 1.0], [2.0, 2.0, 0.0], [5.0, 0.0, 4.0]])
    assert domains.picked(near).tolist() == [1.0, 0.5, 0.0]


def test_named_is_the_share_of_a_texts_own_content_words():
    own = SimpleNamespace(own=[{1, 2}, set(), {3}])
    found = domains.Domain.named(own, [[2, 9, 9], [1], []])
    assert found[[0, 2]].tolist() == [0.5, 0.0]
    assert np.isnan(found[1])


def test_a_summary_is_over_texts_and_its_perplexity_over_words():
    states, tasks, likely = np.array([1.0, 2, 3]), ([1.0, 0, 1], [0.0, 0, np.nan]), ([-2.0, -3, -7], [-4.0, -3, -5])
    runs = [
        {"task": np.array(task), "likely": np.array(own), "states": states}
        for task, own in zip(tasks, likely, strict=True)
    ]
    found = measured.summary(runs)
    assert found["task"] == pytest.approx([0.25, 0.25])  # .5 and 0; the third has no value in one run
    assert found["perplexity"][0] == pytest.approx(np.exp(24 / 12))
    residuals = np.array([-6.0, -6, -12]) + 2 * np.array([2.0, 4, 6])
    assert found["perplexity"][1] == pytest.approx(np.exp(2) * np.sqrt((residuals**2).sum()) / 12)


def test_at_equal_attack_a_row_is_held_to_the_rivals_line_from_random_outputs():
    def row(series, named, similarity):
        scores = {"named": (named, 0.0), "similarity": (similarity, 0.01)}
        return shown.Row(series, 6.0, 6.0, scores, {"named": (0.0, 0.0), "similarity": (0.1, 0.0)})

    rows = [row("TEM", 0.4, 0.5), row("rephrase, minilm, domain", 0.9, 0.9)]  # nothing is read beyond the curve
    rows += [
        row(f"rephrase, {which}", 0.2, similarity)
        for which, similarity in (("static, general", 0.4), ("minilm, general", 0.2), ("static, domain", 0.3))
    ]
    found = shown.compared(rows, "similarity", "named", "TEM")  # half way along the line: .2 beyond random
    assert found["ahead"] == ["static, general stock at 6"]
    assert found["near"] == ["static, domain stock at 6"]
    assert found["behind"] == ["MiniLM, general stock at 6"]


def test_values_are_found_as_wholes_and_names_word_by_word(monkeypatch):
    spans = [SimpleNamespace(text="Ann Li, 555-01, at a@b.c", spans=(("N", 0, 6), ("P", 8, 14), ("E", 19, 24)))] * 8
    monkeypatch.setattr(domains, "read_spans", lambda _: spans)
    monkeypatch.setattr(domains, "released", lambda *_: ["Ann has 1555-01."] * 4 + ["Mann, 555-01"] * 4)
    found = domains._surviving("neighbours", 8.0, False)
    assert found["names"][0] == 0.5  # Ann in the first four; Li is too short to count
    assert found["values"][0] == 0.25  # the number in the last four, the address in none
