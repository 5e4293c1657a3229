"""Explanations: every number against its formula."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import seeds
import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.meaning.explanations import explain, in_words
from wordveil.metrics.table import DistanceTable
from wordveil.promises.guarantees import LocalDP, MetricDP, NeighbourDP, NoGuarantee, PrivacyUnit, Standing
from wordveil.promises.worked import WEAK, WorkedPair
from wordveil.vocabulary.rank_metric import NeighbourRank, rank_distances, rank_graph

CLAIM = MetricDP(epsilon=2.0, metric="euclidean", slack=0.25, largest_distance=2.0, standing=Standing.PROVED)


def test_pairs_are_worked_out_by_the_guarantee(tiny):
    pairs = [("alpha", "gamma"), ("alpha", "kappa")]
    explained = explain(tiny, CLAIM, metric=wv.Euclidean(), pairs=pairs, tokens=7)
    assert [pair.words for pair in explained.pairs] == pairs
    assert [pair.distance for pair in explained.pairs] == [1.0, 3.0]
    assert [pair.loss for pair in explained.pairs] == [2.25, 4.25]  # the second is capped at distance 2
    assert explained.text == wv.compose_tokens(CLAIM, [explained.typical] * 7)


@pytest.mark.parametrize("loss", [1e-9, 0.7, 4.25, 9.2, 9.3, 50.0, 699.0, 5000.0])
def test_sentences_never_understate(loss):
    sentence = WorkedPair(words=("a", "b"), distance=1.0, loss=loss).sentence()
    factor = re.search(r"the odds by at most (e\^)?([\d.e+]+),", sentence)
    shown = float(factor[2]) if factor[1] else math.log(float(factor[2]))
    assert shown >= loss * (1 - 1e-12)
    if sentence.endswith("may become all but certain."):
        assert 1 / (1 + math.exp(-loss)) > 0.9999
        return
    belief = float(re.search(r"at most ([\d.]+) % sure", sentence)[1])
    assert 100 > belief >= 100 / (1 + math.exp(-loss)) * (1 - 1e-12)


@pytest.mark.parametrize("delta", [1e-5, 0.1, 0.9])
@pytest.mark.parametrize("loss", [0.01, 0.7, 4.25])
def test_with_a_delta_the_best_guess_is_bounded(loss, delta):
    """Randomized response that reveals its input with probability delta reaches the bound."""
    sentence = WorkedPair(words=("a", "b"), distance=None, loss=loss, delta=delta).sentence()
    reached = delta + (1 - delta) / (1 + math.exp(-loss))
    shown = float(re.search(r"right with a chance of at most ([\d.]+) %\.$", sentence)[1]) / 100
    assert reached * (1 - 1e-12) <= shown <= reached * 1.001
    assert "odds" not in sentence
    assert "distance" not in sentence


def test_example_pairs_are_a_nearest_and_a_typical_one(vocabulary):
    claim = replace(CLAIM, largest_distance=None)
    near, typical = explain(vocabulary, claim, metric=wv.Euclidean()).pairs
    assert near.words[0] == typical.words[0]
    first = vocabulary.id(near.words[0])
    rows = vocabulary.vectors.astype(float)
    gaps = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    assert near.distance == pytest.approx(np.sort(gaps[first])[1], abs=1e-6)
    assert typical.distance == pytest.approx(np.median(gaps[np.triu_indices(len(rows), 1)]), rel=0.05)


def test_local_dp_needs_no_distance(tiny):
    claim = LocalDP(epsilon=3.0, slack=None, standing=Standing.PROVED)
    explained = explain(tiny, claim, tokens=4)
    assert [pair.loss for pair in explained.pairs] == [3.0, 3.0]
    assert explained.text_loss == 12.0
    lines = str(explained).splitlines()
    assert lines[1].startswith("Example (for ideal real noise): 'alpha' or ")
    assert "distance" not in lines[1]
    assert lines[3].endswith("differ in every token are covered only by the sum, 12 nats. A promise per word says "
        "little about a sentence.")  # fmt: skip


def test_the_deltas_of_a_text_are_said(tiny):
    claim = LocalDP(epsilon=3.0, delta=0.01, standing=Standing.PUBLISHED)
    assert "A whole text (if the claim is true): two texts of 4 tokens" in str(explain(tiny, claim, tokens=4))
    assert "only by the sum, 12 nats and delta 0.04." in str(explain(tiny, claim, tokens=4))
    many = explain(tiny, claim, tokens=100)
    assert many.text_loss is None
    assert "are covered by nothing: the deltas of 100 tokens add up to 1 or more." in str(many)


def test_a_typical_distance_is_typical_of_pairs_and_not_of_one_word():
    """Most words lie on a sphere and the first four in its middle, near to all."""
    rows = seeds.rng(2).standard_normal((400, 40))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    rows[:4] = 0.0
    rows[:4, 0] = [0.0, 0.01, 0.02, 0.03]
    made = wv.Embeddings.from_arrays([f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(400)], rows)
    claim = replace(CLAIM, largest_distance=None)
    first, second = np.triu_indices(400, 1)
    middle = np.median(np.linalg.norm(rows[first] - rows[second], axis=1))
    assert explain(made, claim, metric=wv.Euclidean()).pairs[-1].distance == pytest.approx(middle, rel=0.02)


def test_the_typical_distance_is_not_that_of_the_pairs_asked_for(tiny):
    claim = replace(CLAIM, largest_distance=None, slack=0.0)
    typical = explain(tiny, claim, metric=wv.Euclidean()).pairs[-1].distance
    explained = explain(tiny, claim, metric=wv.Euclidean(), pairs=[("alpha", "kappa")], tokens=10)
    assert explained.pairs[0].distance != typical
    assert explained.text_loss == pytest.approx(10 * 2.0 * typical)


@pytest.mark.parametrize(
    "guarantee", [NoGuarantee(reason="it leaks"), NeighbourDP(epsilon=1.0, graph="g", standing=Standing.PROVED)]
)
def test_other_promises_have_no_worked_pairs(tiny, guarantee):
    explained = explain(tiny, guarantee)
    assert (explained.pairs, explained.text_loss) == ((), None)
    assert str(explained) == f"Promise: {guarantee.sentence()}.\nSeveral releases of the same text add up."


def test_words_at_distance_zero_have_no_sum():
    twins = wv.Embeddings.from_arrays(["one", "two"], [[1.0], [1.0]])
    claim = replace(CLAIM, largest_distance=None, slack=0.0)
    explained = explain(twins, claim, metric=wv.Euclidean(), pairs=[("one", "two")])
    assert explained.pairs[0].loss == 0.0
    assert "no output tells anything" in explained.pairs[0].sentence()
    assert explained.text_loss is None


@pytest.mark.parametrize(("arguments", "message"), [
    ({"tokens": 0}, "tokens=0 must be at least 1"),
    ({"pairs": [("alpha", "nowhere")]}, "pairs='nowhere' is not in this vocabulary"),
    ({"metric": None}, "must be the metric of the guarantee, euclidean"),
    ({"metric": wv.Angular()}, "must be the metric of the guarantee, euclidean"),
])  # fmt: skip
def test_what_cannot_be_explained_is_refused(tiny, arguments, message):
    with pytest.raises(ParameterError, match=message):
        explain(tiny, CLAIM, **{"metric": wv.Euclidean(), **arguments})
    with pytest.raises(ParameterError, match="must hold two words"):
        explain(wv.Embeddings.from_arrays(["one"], [[1.0]]), CLAIM, metric=wv.Euclidean())


def test_units_other_than_a_token_do_not_sum(tiny):
    whole = replace(CLAIM, unit=PrivacyUnit.DOCUMENT_WORD)
    explanation = explain(tiny, whole, metric=wv.Euclidean())
    assert explanation.text is None
    assert len(explanation.pairs) == 2
    assert "A whole text" not in str(explanation)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0, 2.5, 4.0, 9.0])
def test_one_sentence_says_what_becomes_of_an_even_guess(tiny, epsilon):
    said = in_words(tiny, replace(CLAIM, epsilon=epsilon), wv.Euclidean())
    distance = float(re.search(r"at a typical distance \(([\d.]+)\)", said.sentence)[1])
    loss = epsilon * min(distance, 2.0) + 0.25
    right = 1 / (1 + math.exp(-loss))
    if "all but certain" in said.sentence:
        assert right > 0.9999
    else:
        shown = float(re.search(r"at most ([\d.]+) % sure", said.sentence)[1])
        assert 100 * right <= shown <= 100 * right + 0.01
    assert said.weak == (right > WEAK)


def test_a_promise_of_nothing_and_one_of_neighbours_are_called_weak(tiny):
    assert in_words(tiny, NoGuarantee(reason="none")).weak
    near = NeighbourDP(epsilon=0.1, graph="a graph", standing=Standing.PROVED)
    assert in_words(tiny, near).weak
    assert "at most 52.5 % sure; between others it may be certain" in in_words(tiny, near).sentence
    assert not in_words(tiny, LocalDP(epsilon=1.0, standing=Standing.PROVED)).weak


def metric_of(kind, embeddings, k):
    """Ranks, or distances that have nothing to do with the vectors: places on a line; and all distances."""
    if kind == "ranks":
        return NeighbourRank(k=k), rank_distances(rank_graph(embeddings.vectors, k))
    places = seeds.rng(2).permutation(len(embeddings)).astype(float)
    table = DistanceTable(np.abs(places[:, None] - places))
    return wv.Precomputed(label="places", vocabulary=embeddings.header.checksum, table=table), table.matrix


@pytest.mark.parametrize("kind", ["matrix", "ranks"])
def test_metrics_without_coordinates_are_explained_in_their_own_distances(vocabulary, kind):
    metric, matrix = metric_of(kind, vocabulary, 10)
    sanitizer = wv.Sanitizer(vocabulary, wv.SanText(epsilon=0.02, metric=metric))
    near, typical = sanitizer.explained(3).pairs
    first, second = (vocabulary.id(word) for word in near.words)
    row = matrix[first, vocabulary.candidates]
    assert near.distance == pytest.approx(np.sort(row)[1]) == pytest.approx(matrix[first, second])
    assert typical.distance == pytest.approx(matrix[first, vocabulary.id(typical.words[1])])
    among = matrix[np.ix_(vocabulary.candidates, vocabulary.candidates)]
    assert typical.distance == pytest.approx(np.median(among[np.triu_indices(len(among), 1)]), rel=0.05)
    assert typical.loss == pytest.approx(sanitizer.guarantee.loss(typical.distance))
    assert sanitizer.explained(3).text_loss == pytest.approx(3 * typical.loss)
    assert f"{100 / (1 + math.exp(-typical.loss)):.2f}"[:3] in sanitizer.in_words.sentence


@pytest.mark.parametrize("kind", ["matrix", "ranks"])
def test_words_that_share_a_vector_are_explained_by_their_own_distance(kind):
    """A matrix knows no vectors, and among many twins a word is not its own nearest rank."""
    words = [f"w{a}{b}" for a in "abcdefgh" for b in "abcde"]
    table = wv.Embeddings.from_arrays(words, np.repeat(seeds.rng(1).normal(size=(2, 3)), 20, axis=0))
    metric, matrix = metric_of(kind, table, 30)
    fitted = wv.SanText(epsilon=4.0, metric=metric).fit(table)
    log_law = np.log(fitted.channel())
    apart = np.argwhere(np.isfinite(matrix) & (matrix > 0))[::97]
    assert any((table.vectors[a] == table.vectors[b]).all() for a, b in apart), "some pair shares its vector"
    for a, b in apart:
        (pair,) = explain(table, fitted.guarantee(), metric=metric, pairs=[(words[a], words[b])]).pairs
        assert pair.distance == pytest.approx(matrix[a, b])
        assert pair.loss >= np.abs(log_law[a] - log_law[b]).max()


# Rounding.
def test_distances_that_a_sentence_assumes_are_not_rounded_up():
    """At the distance that is printed, the loss is at most the one that is printed."""
    words = wv.Embeddings.from_arrays(["a", "b", "c"], np.array([[0.0], [1.00001], [2.00002]], np.float32))
    claim = replace(CLAIM, epsilon=40.0, largest_distance=None, slack=0.0)
    explained = explain(words, claim, metric=wv.Euclidean(), tokens=1000)
    text = explained.examples[-2]
    distance = float(re.search(r"each by ([\d.]+) \(a typical distance\)", text)[1])
    nats = float(re.search(r"the sum, ([\d.e+]+) nats", text)[1])
    assert wv.compose_tokens(claim, [distance] * 1000).epsilon <= nats <= 1.001 * explained.text_loss
    weaker = replace(claim, epsilon=2.0)
    for sentence in (explain(words, weaker, metric=wv.Euclidean()).pairs[0].sentence(),
                     in_words(words, weaker, wv.Euclidean()).sentence):  # fmt: skip
        distance = float(re.search(r"distance \(?([\d.]+)\)", sentence)[1])
        percent = float(re.search(r"at most ([\d.]+) % sure", sentence)[1])
        assert percent >= 100 / (1 + math.exp(-weaker.loss(distance)))


def test_numbers_on_grids_are_in_the_promise_and_in_the_sum_of_a_text():
    table = wv.Embeddings.from_arrays(["a", "b", "c"], [[0.0], [1.0], [2.0]])
    local, metric = wv.NeighbourResponse(epsilon=2.0, k=1, outputs=None), wv.SanText(epsilon=3.0)
    grid = wv.NumberGrid(kind="number", low=0, high=100, step=1, epsilon=0.5)
    kept = wv.TextOptions(unknown="typed", numbers="metric", grids=(grid,))
    for mechanism, options, per_token in (
        (local, kept, 50),
        (local, wv.TextOptions(unknown="typed"), 2),
        (metric, kept, 50),
    ):
        sanitizer = wv.Sanitizer(table, mechanism, options=options)
        *examples, text, _ = sanitizer.explained(4).examples
        assert re.search(rf"only by the sum, {4 * per_token}(\.1)? nats", text)  # slack, rounded up
        assert any("'0' or '100': seeing the output" in line for line in examples) == bool(options.grids)
        assert any("else its own loss is added" in line for line in sanitizer.guarantee.assumptions) == (
            mechanism is metric
        )
        assert mechanism is metric or sanitizer.guarantee.epsilon == per_token
