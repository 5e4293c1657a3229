from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seeds
from wordveil.vocabulary.neighbour_lists import build_lists
from wordveil_lab.leagues.in_degrees import guessed_share, in_degrees, own_posteriors
from worlds import placed


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 25), st.floats(0.0, 8.0), st.data())
def test_degrees_guesses_and_posteriors_are_those_of_the_whole_channel(seed, v, epsilon, data):
    generator = seeds.rng(seed)
    words = placed(generator.standard_normal((v, 3)))
    outputs = np.sort(generator.choice(v, generator.integers(1, v + 1), replace=False))
    k = data.draw(st.integers(1, len(outputs)))
    lists = build_lists(words, k, outputs=outputs)
    prior = generator.random(v) ** 4
    prior /= prior.sum()
    channel = np.array([[math.exp(epsilon) if y in lists.ids[x] else 1.0 for y in outputs] for x in range(v)])
    channel /= channel.sum(axis=1, keepdims=True)
    joint = prior[:, None] * channel
    assert in_degrees(lists).tolist() == [sum(y in lists.ids[x] for x in range(v) if x != y) for y in outputs]
    assert guessed_share(lists, epsilon, prior) == pytest.approx(joint.max(axis=0).sum())
    own = [joint[y, place] / joint[:, place].sum() for place, y in enumerate(outputs)]
    assert own_posteriors(lists, epsilon, prior) == pytest.approx(own)
