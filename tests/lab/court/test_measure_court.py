"""The methods of the court's table do what their papers' formulas say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import seeds
from wordveil.mechanisms.neighbours import NeighbourResponse
from wordveil.metrics.distances import Euclidean
from wordveil.vocabulary.table import load_embeddings
from wordveil_lab.corpora import encode
from wordveil_lab.evaluation.league import first_words
from wordveil_lab.leagues import court
from worlds import distances

ROOT = Path(__file__).parents[3]
TEXTS = ["the doctor saw her family in london", "a long film about music and money", "Xanthippe went home"] * 40


@pytest.fixture(scope="module")
def table():
    return first_words(load_embeddings(), 1500)


def test_lengths_are_distances(table):
    ids = np.arange(50, dtype=np.int32)
    expected = distances(Euclidean(), table.vectors[ids], table.vectors[table.candidates[:50]])
    np.testing.assert_allclose(next(court.known_blocks(ids, table))[1][:, :50], expected, atol=1e-6)


def test_draws_follow_their_rows():
    # alpha: 4 shares within 6 standard deviations, 8e-9.
    law = np.array([[1.0, 3.0, 0.0, 4.0]]).repeat(40_000, axis=0)
    share = np.bincount(court.drawn(law, seeds.rng(0)), minlength=4) / 40_000
    expected = law[0] / 8
    assert (np.abs(share - expected) <= 6 * np.sqrt(expected * (1 - expected) / 40_000)).all()


def test_custext_stays_on_its_list_and_keeps_unknown_words(table):
    released = court.custext(TEXTS, table, seeds.rng(0))
    outputs = {text.split()[1].lower() for text in released[::3]}
    gaps = next(court.known_blocks(table.ids(["doctor"]), table))[1][0]
    near = {table.words[int(table.candidates[i])] for i in np.argsort(gaps)[:20]}
    assert len(outputs) > 3
    assert outputs <= near
    assert all(text.split()[0] == "Xanthippe" for text in released[2::3])


def test_santext_plus_keeps_most_common_words_and_diffractor_moves_along_its_line(table):
    corpus = encode(table, TEXTS)
    known = corpus.tokens >= 0
    common = known & (court.word_prior(table)[corpus.tokens] >= court.COMMON)
    released = court.santext_plus(corpus, table, seeds.rng(0))
    assert (released[common] == corpus.tokens[common]).mean() > 0.65
    line = court.public_line(table)
    assert sorted(line) == sorted(table.candidates)
    place = np.argsort(line)
    moved = place[court.diffractor(corpus, table, seeds.rng(0), epsilon=2.0)] - place[corpus.tokens]
    stayed = (1 - np.exp(-2)) / (1 + np.exp(-2))  # of the two-sided geometric law
    assert (moved[known] == 0).mean() == pytest.approx(stayed, abs=0.1)


def test_budgets_of_a_text_add_up(table, monkeypatch):
    seen = {}
    monkeypatch.setattr(court, "by_distance", lambda tokens, rates, *_: seen.update(rates=rates) or tokens)
    corpus = encode(table, TEXTS[:2])
    court.budgets(corpus, table, seeds.rng(0))
    totals = np.add.reduceat(seen["rates"], corpus.offsets[:-1])
    np.testing.assert_allclose(totals, court.RATE * np.diff(corpus.offsets))


def test_the_run_holds_every_row():
    assert [row["name"] for row in court.RUN.report()["rows"]] == list(court.METHODS)


def test_neighbour_response_is_that_of_the_lists_that_the_page_speaks_of(table):
    mechanism = NeighbourResponse(epsilon=8.0, **court.LISTED).fit(load_embeddings())
    assert (len(mechanism.outputs), mechanism.lists.shape[1]) == (4000, 16)
