"""Epsilon and k from what they come to: against the exact channel of small vocabularies, and on the right side."""

import numpy as np
import pytest

import seeds
import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.meaning.neighbour_points import KS, TARGETS, neighbour_points
from worlds import made_up

WORDS = ["the", "of", "and", "doctor", "nurse", "cat", "dog", "house", "road", "tree", "river", "blue"]


@pytest.fixture(scope="module")
def words():
    return wv.Embeddings.from_arrays(WORDS, seeds.rng(2).normal(size=(12, 4)))


def by_hand(embeddings, epsilon, k, outputs=None):
    """Return far, attacker and similarity from the exact channel, one word at a time."""
    fitted = wv.NeighbourResponse(epsilon=epsilon, k=k, outputs=outputs).fit(embeddings)
    law = fitted.law(np.arange(len(embeddings), dtype=np.int32))
    counts = wv.vocabulary.frequencies.word_frequencies(embeddings, smoothing=0.5)
    prior = counts / counts.sum()
    vectors = np.asarray(embeddings.vectors, dtype=np.float64)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = units @ units[fitted.outputs].T
    similarity = sum(prior[x] * (law[x] @ cosine[x] - cosine[x].mean()) for x in range(len(law)))
    return law.min() * law.shape[1], (prior[:, None] * law).max(axis=0).sum(), similarity


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("k", [1, 4])
def test_a_point_is_what_the_exact_channel_says_and_keeps_the_wish(words, target, k):
    value = {"attacker": 0.5, "similarity": 0.2, "far": 0.4, "nats": 60.0}[target]
    (point,) = neighbour_points(words, target, value, k=k, outputs=None, tokens=20)
    far, attacker, similarity = by_hand(words, point.epsilon, k)
    assert (point.far, point.attacker, point.similarity) == pytest.approx((far, attacker, similarity), rel=1e-6)
    assert point.nats == pytest.approx(20 * point.epsilon)
    reached = getattr(point, target)
    assert reached == pytest.approx(value, rel=1e-6)
    assert reached >= value if target == "similarity" else reached <= value
    nearby = neighbour_points(words, "nats", 20 * point.epsilon * 1.01, k=k, outputs=None, tokens=20)[0]
    assert (getattr(nearby, target) > reached) == (target != "far")


@pytest.mark.parametrize("target", TARGETS)
def test_points_of_classes_are_what_their_exact_channel_says(words, target):
    value = {"attacker": 0.5, "similarity": 0.1, "far": 0.4, "nats": 60.0}[target]
    (point,) = neighbour_points(words, target, value, outputs="classes:3", tokens=20)
    assert (point.k, point.outputs) == (1, "classes:3")
    found = point.far, point.attacker, point.similarity
    assert found == pytest.approx(by_hand(words, point.epsilon, 1, "classes:3"), rel=1e-6)


def test_classes_stand_beside_lists_where_no_outputs_are_given():
    found = neighbour_points(made_up(300), "nats", 350.0)
    assert [point.outputs for point in found[:2]] == ["classes:128", "classes:256"]
    assert [(point.outputs, point.k) for point in found[2:]] == [(4000, k) for k in KS]


def test_each_k_has_a_line_and_what_no_k_reaches_is_refused(words):
    assert [point.k for point in neighbour_points(words, "nats", 100.0, outputs=None)] == [1, 4, 8]
    with pytest.raises(ParameterError, match="is not reached"):
        neighbour_points(words, "similarity", 1.9, outputs=None)  # two cosines, one of them a mean with its own word
    with pytest.raises(ParameterError, match="must be one of attacker"):
        neighbour_points(words, "taste", 0.5)
