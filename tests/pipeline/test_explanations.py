"""Explanations: every number against its formula."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.explanations import WorkedPair, explain
from wordveil.guarantees import LocalDP, MetricDP, NeighbourDP, NoGuarantee, PrivacyUnit, Standing

CLAIM = MetricDP(epsilon=2.0, metric="euclidean", slack=0.25, largest_distance=2.0, standing=Standing.PROVED)


def test_pairs_are_worked_out_by_the_guarantee(tiny):
    pairs = [("alpha", "gamma"), ("alpha", "kappa")]
    explained = explain(tiny, CLAIM, metric=wv.Euclidean(), pairs=pairs, tokens=7)
    assert [pair.words for pair in explained.pairs] == pairs
    assert [pair.distance for pair in explained.pairs] == [1.0, 3.0]
    assert [pair.loss for pair in explained.pairs] == [2.25, 4.25]  # the second is capped at distance 2
    assert explained.text_loss == pytest.approx(7 * 4.25)


@pytest.mark.parametrize("loss", [0.0, 0.7, 4.25, 50.0, 699.0, 5000.0])
def test_sentences_never_understate(loss):
    sentence = WorkedPair(words=("a", "b"), distance=1.0, loss=loss).sentence()
    factor = re.search(r"odds between the two by at most (e\^)?([\d.e+]+),", sentence)
    shown = float(factor[2]) if factor[1] else math.log(float(factor[2]))
    assert shown >= loss * (1 - 1e-12)
    belief = float(re.search(r"at most ([\d.]+) % sure", sentence)[1])
    assert 100 >= belief >= 100 / (1 + math.exp(-loss)) * (1 - 1e-12)


def test_example_pairs_are_a_nearest_and_a_typical_one(vocabulary):
    claim = replace(CLAIM, largest_distance=None)
    near, typical = explain(vocabulary, claim, metric=wv.Euclidean()).pairs
    assert near.words[0] == typical.words[0]
    first = vocabulary.id(near.words[0])
    gaps = np.sort(np.linalg.norm(vocabulary.vectors.astype(float) - vocabulary.vectors[first], axis=1))
    assert near.distance == pytest.approx(gaps[1], abs=1e-6)
    assert typical.distance == pytest.approx(np.median(gaps), rel=0.05)


def test_local_dp_needs_no_distance(tiny):
    claim = LocalDP(epsilon=3.0, slack=None, standing=Standing.PROVED)
    explained = explain(tiny, claim, tokens=4)
    assert [pair.loss for pair in explained.pairs] == [3.0, 3.0]
    assert explained.text_loss == 12.0


@pytest.mark.parametrize(
    "guarantee",
    [NoGuarantee(reason="it leaks"), NeighbourDP(epsilon=1.0, graph="g", standing=Standing.PROVED)],
)
def test_other_promises_have_no_worked_pairs(tiny, guarantee):
    explained = explain(tiny, guarantee)
    assert (explained.pairs, explained.text_loss) == ((), None)
    assert str(explained) == f"Promise: {guarantee.sentence()}.\nSeveral releases of the same text add up."


def test_the_text_says_promise_assumptions_examples_and_sum(tiny):
    claim = replace(CLAIM, assumptions=("words are public",))
    lines = str(explain(tiny, claim, metric=wv.Euclidean(), tokens=50)).splitlines()
    assert lines[0] == f"Promise: {claim.sentence()}."
    assert lines[1] == "Assumes: words are public."
    assert lines[2].startswith("Example: 'alpha' or ")
    assert "two texts of 50 tokens" in lines[4]


def test_words_at_distance_zero_have_no_sum():
    twins = wv.Embeddings.from_arrays(["one", "two"], [[1.0], [1.0]])
    claim = replace(CLAIM, largest_distance=None, slack=0.0)
    explained = explain(twins, claim, metric=wv.Euclidean(), pairs=[("one", "two")])
    assert explained.pairs[0].loss == 0.0
    assert explained.text_loss is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tokens": 0}, "tokens=0 must be at least 1"),
        ({"pairs": [("alpha", "nowhere")]}, "pairs='nowhere' is not in this vocabulary"),
        ({"metric": None}, "must be the metric of the guarantee, euclidean"),
        ({"metric": wv.Angular()}, "must be the metric of the guarantee, euclidean"),
    ],
)
def test_what_cannot_be_explained_is_refused(tiny, arguments, message):
    with pytest.raises(ParameterError, match=message):
        explain(tiny, CLAIM, **{"metric": wv.Euclidean(), **arguments})


def test_a_single_word_makes_no_example():
    with pytest.raises(ParameterError, match="must hold two words"):
        explain(wv.Embeddings.from_arrays(["one"], [[1.0]]), CLAIM, metric=wv.Euclidean())


def test_units_other_than_a_token_do_not_sum(tiny):
    from wordveil.errors import GuaranteeError

    with pytest.raises(GuaranteeError, match="does not sum over tokens"):
        explain(tiny, replace(CLAIM, unit=PrivacyUnit.DOCUMENT_WORD), metric=wv.Euclidean())
