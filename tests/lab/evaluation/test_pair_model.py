"""The model of pairs of words: its estimates by hand, and forward-backward against all sequences."""

from itertools import pairwise, product

import numpy as np
import pytest

import seeds
from wordveil_lab.corpora import encode
from wordveil_lab.evaluation.league import first_words
from wordveil_lab.evaluation.pair_model import PairModel, posteriors

FEW = ["waa", "wab", "wac", "wad"]


@pytest.fixture(scope="module")
def tiny(world):
    """A pair model of four words and the unknown state, from three short texts."""
    few = first_words(world, len(FEW))
    corpus = encode(few, ["waa wab wac zzz wab", "waa wac wab", "wab wab waa"])
    return few, PairModel.of(corpus, np.array([0.4, 0.3, 0.2, 0.1]))


def transitions(model):
    """P(right | left) as a whole matrix, by asking what follows each state alone."""
    return np.array([model.following(state) for state in np.eye(len(model.unigram))])


def test_the_pair_model_is_witten_and_bells(tiny):
    _, model = tiny
    # 11 tokens of 4 kinds: waa 3, wab 5, wac 2, wad 0, unknown 1; the unknown's share of the prior is 1.5 / 12.
    prior = np.append(np.array([0.4, 0.3, 0.2, 0.1]) * (1 - 0.125), 0.125)
    assert model.unigram == pytest.approx((np.array([3, 5, 2, 0, 1]) + 4 * prior) / 15)
    # After waa came wab and wac, once each: two followers of two kinds, so half of the trust.
    assert transitions(model)[0] == pytest.approx(0.5 * np.array([0, 0.5, 0.5, 0, 0]) + 0.5 * model.unigram)
    # wad was never seen: what follows is the unigram. Nothing follows the last word of a text: waa came last once.
    assert transitions(model)[3] == pytest.approx(model.unigram)


def test_every_row_of_the_pair_model_is_a_distribution_and_both_directions_agree(tiny):
    _, model = tiny
    matrix = transitions(model)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(5))
    back = np.array([model.preceding(state) for state in np.eye(5)]).T
    assert back == pytest.approx(matrix)


def by_enumeration(likelihoods, model):
    """P(state of token i | all releases) over every sequence of states, and the likeliest sequence."""
    t, states = likelihoods.shape
    matrix, found, best = transitions(model), np.zeros(likelihoods.shape), (-1.0, ())
    for path in product(range(states), repeat=t):
        mass = model.unigram[path[0]] * np.prod([likelihoods[i, x] for i, x in enumerate(path)])
        mass *= np.prod([matrix[a, b] for a, b in pairwise(path)])
        found[np.arange(t), path] += mass
        best = max(best, (mass, path))
    return found / found.sum(axis=1, keepdims=True), best[1]


def test_posteriors_are_those_of_all_sequences(tiny):
    _, model = tiny
    generator = seeds.rng(3)
    for t in (1, 2, 5):
        likelihoods = generator.random((t, 5)) ** 4
        likelihoods[-1, :3] = 0.0  # impossible originals
        expected, _ = by_enumeration(likelihoods, model)
        assert posteriors(likelihoods, model) == pytest.approx(expected, rel=1e-9)
        assert posteriors(1e-290 * likelihoods, model) == pytest.approx(expected, rel=1e-9)
    assert posteriors(np.empty((0, 5)), model).shape == (0, 5)


def test_texts_side_by_side_are_read_as_one_by_one(tiny):
    _, model = tiny
    texts = [seeds.rng(t).random((t, 5)) ** 4 for t in (4, 2, 1)]
    beside = np.ones((4, 5, 3))  # ones after a text's end
    for i, text in enumerate(texts):
        beside[: len(text), :, i] = text
    for dtype, near in ((np.float64, 1e-12), (np.float32, 1e-5)):
        single = model if dtype == np.float64 else model.single()
        found = posteriors(beside.astype(dtype), single)
        assert found.dtype == dtype
        for i, text in enumerate(texts):
            assert found[: len(text), :, i] == pytest.approx(posteriors(text, model), rel=near)
    shifted = beside.copy()
    shifted[1, 0, 2] = 0.1  # what stands there is read, unless it is ones
    assert posteriors(shifted, model)[0, :, 2] != pytest.approx(posteriors(texts[2], model)[0], rel=1e-6)


def test_the_posterior_names_more_words_than_the_likeliest_sequence_or_no_context(tiny):
    """Exactly, on a toy channel: every text of three words and every release of it, weighed by its probability."""
    _, model = tiny
    channel = np.full((5, 5), 0.12) + 0.4 * np.eye(5)
    joint = np.zeros((5,) * 3)
    matrix = transitions(model)
    for path in product(range(5), repeat=3):
        joint[path] = model.unigram[path[0]] * matrix[path[0], path[1]] * matrix[path[1], path[2]]
    expected = dict.fromkeys(("posterior", "sequence", "alone"), 0.0)
    for release in product(range(5), repeat=3):
        likelihoods = channel[:, release].T
        posterior, sequence = by_enumeration(likelihoods, model)
        seen = sum(
            joint[path] * np.prod([channel[x, y] for x, y in zip(path, release, strict=True)])
            for path in product(range(5), repeat=3)
        )
        guesses = {
            "posterior": posteriors(likelihoods, model).argmax(axis=1),
            "sequence": sequence,
            "alone": (likelihoods * model.unigram).argmax(axis=1),
        }
        for name, guess in guesses.items():
            expected[name] += seen * posterior[np.arange(3), list(guess)].mean()
    assert expected["posterior"] > expected["sequence"] + 0.002
    assert expected["posterior"] > expected["alone"] + 0.002
