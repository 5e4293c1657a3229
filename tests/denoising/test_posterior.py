"""Posteriors and likeliest sequences against all sequences, one by one."""

from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

import seeds
from wordveil.denoising import posterior
from wordveil.denoising.posterior import posteriors
from wordveil.denoising.reading import STATES, STOP


@cache
def matrices(prior):
    """P(second | first) and P(third | first, second) of all states, by asking for each."""
    n = len(prior.unigram)
    states = np.arange(n)
    after, pairs = prior.pairs(states[:, None], states[None, :])
    return after, prior.triples(pairs[:, :, None], states[None, None, :], after[None, :, :])


def mass(path, likelihoods, prior):
    """P(path and all that is seen)."""
    after, thrice = matrices(prior)
    stop = likelihoods.shape[1] - STATES + STOP
    whole = (stop, *path, stop)
    parts = [thrice[whole[i], whole[i + 1], whole[i + 2]] for i in range(len(path))]
    return after[whole[0], whole[1]] * np.prod(parts) * np.prod([likelihoods[i, x] for i, x in enumerate(path)])


def by_enumeration(likelihoods, prior):
    """P(state of each place | all that is seen), and the likeliest sequence; rows are places between two stops."""
    m, n = likelihoods.shape
    found, best = np.zeros((m, n)), (-1.0, ())
    some = [np.flatnonzero(row).tolist() for row in likelihoods]
    for path in product(*some):
        own = mass(path, likelihoods, prior)
        found[np.arange(m), path] += own
        best = max(best, (own, path))
    return found / found.sum(axis=1, keepdims=True), best[1]


def table(likelihoods, columns=10):
    """Candidates that are read off a matrix whose last row is the stop's, a zero filling each row up."""
    n = likelihoods.shape[1]
    stop = np.zeros(n)
    stop[n - STATES + STOP] = 1.0
    rows = np.vstack((likelihoods, stop))

    def candidates(seen):
        states = np.argsort(-rows[seen], axis=1, kind="stable")[:, :columns].astype(np.int32)
        return states, np.take_along_axis(rows[seen], states, 1).astype(np.float32)

    return candidates


def whole(read, n):
    """The chances of all states of the places between the stops."""
    found = np.zeros((len(read.states), n))
    np.add.at(found, (np.arange(len(found))[:, None], read.states), read.chances)
    return found[1:-1]


def noisy(m, n, seed, few=5):
    generator = seeds.rng(seed)
    likelihoods = np.zeros((m, n))
    for row in likelihoods:
        row[generator.choice(n - STATES, few, replace=False)] = generator.random(few) ** 3
    return likelihoods


@pytest.mark.parametrize("m", [1, 2, 5])
def test_they_are_those_of_all_sequences(prior, m):
    n = len(prior.unigram)
    for seed in range(5):
        likelihoods = noisy(m, n, seed)
        expected, best = by_enumeration(likelihoods, prior)
        segment = np.array([m, *range(m), m], np.int32)
        for scale in (1.0, 1e-25):
            read = posteriors([segment], table(scale * likelihoods), prior)
            assert whole(read, n) == pytest.approx(expected, abs=2e-5)
            assert read.sequence[1:-1].tolist() == list(best)
            assert (np.diff(read.chances, axis=1) <= 0).all()
            assert read.chances.sum(axis=1) == pytest.approx(np.ones(m + 2), abs=1e-5)


def test_a_fidelity_beyond_measure_chooses_each_word_alone_and_a_small_one_the_prior_s_sequence(prior):
    n = len(prior.unigram)
    likelihoods = noisy(5, n, 11)
    segment = np.array([5, *range(5), 5], np.int32)
    read = posteriors([segment], table(likelihoods), prior, fidelity=1e4)
    assert read.sequence.tolist() == read.states[:, 0].tolist()
    flat = (likelihoods > 0).astype(float)
    weak = posteriors([segment], table(likelihoods), prior, fidelity=1e-6)
    assert mass(weak.sequence[1:-1], flat, prior) == pytest.approx(mass(by_enumeration(flat, prior)[1], flat, prior))


def test_no_segment_depends_on_the_others_or_on_what_is_held_at_a_time(prior, monkeypatch):
    n = len(prior.unigram)
    likelihoods = noisy(30, n, 7)
    cuts = [0, 1, 4, 5, 12, 30]
    segments = [np.array([30, *range(a, b), 30], np.int32) for a, b in pairwise(cuts)]
    together = posteriors(segments, table(likelihoods), prior)
    monkeypatch.setattr(posterior, "CELLS", 1)
    apart = posteriors(segments, table(likelihoods), prior)
    ends = np.cumsum([len(segment) for segment in segments])
    for segment, end in zip(segments, ends, strict=True):
        alone = posteriors([segment], table(likelihoods), prior)
        some = slice(end - len(segment), end)
        for name in ("states", "chances", "sequence"):
            assert np.array_equal(getattr(alone, name), getattr(together, name)[some])
            assert np.array_equal(getattr(alone, name), getattr(apart, name)[some])
    assert posteriors([], table(likelihoods), prior).states.shape == (0, 10)


def test_candidates_beyond_those_whose_triples_are_read_keep_what_pairs_say(prior):
    n, far = len(prior.unigram), []
    segment = np.array([4, *range(4), 4], np.int32)
    for draw in range(20):
        likelihoods = noisy(4, n, 3 + draw, few=8)
        exact, _ = by_enumeration(likelihoods, prior)
        few = whole(posteriors([segment], table(likelihoods), prior, width=3), n)
        assert (np.count_nonzero(few, axis=1) > 3).all()
        assert few.sum(axis=1) == pytest.approx(np.ones(4), abs=1e-5)
        far.append(np.abs(few - exact).max())
    assert np.mean(far) < 0.25  # .11 with a spread of .06 from draw to draw: ten times that of a mean of 20
