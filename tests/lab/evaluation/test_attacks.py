"""Attacks on single words against brute force: whole channels, laws stated elsewhere."""

import numpy as np
import pytest
from scipy.stats import binom, chi2
from tests.lab.conftest import noisy

import seeds
import wordveil as wv
from wordveil.mechanisms.base import WordRandomizer
from wordveil_lab.evaluation.evidence import (
    BayesGuess,
    channel_guesses,
    columns,
    draw_words,
    nearest_words,
    observe,
    word_channel,
)
from wordveil_lab.evaluation.subjects import place_unknown, subject_of, unprotected
from wordveil_lab.evaluation.word_tasks import OverlapSkewness, PlausibleDeniability

SOURCE = seeds.source(11)
ALPHA = 1e-9


@pytest.fixture(scope="module")
def prior(world):
    """Made-up frequencies: the made-up words are in no public list, which would make them all alike."""
    weights = 1 / (np.arange(len(world)) + 3.7)
    return weights / weights.sum()


@pytest.mark.parametrize("mechanism", [wv.SanText(epsilon=2.0), wv.TEM(epsilon=3.0)])
def test_exact_measures_are_those_of_the_whole_channel(world, prior, mechanism):
    fitted = mechanism.fit(world)
    channel, subject = fitted.channel(), subject_of(fitted)
    found = BayesGuess().run(prior, subject, SOURCE)
    assert found["success"] == pytest.approx((prior[:, None] * channel).max(axis=0).sum(), rel=1e-5)
    assert found["naming"] == pytest.approx(prior @ np.diag(channel), rel=1e-5)
    guesses, _ = channel_guesses(word_channel(subject, prior), prior)
    assert guesses.tolist() == (prior[:, None] * channel).argmax(axis=0).tolist()
    task = PlausibleDeniability(words=50, draws=20)
    ids = task.prepare(world)
    found = task.run(ids, subject, SOURCE)
    assert found["n_w"] == pytest.approx(channel[ids, ids].mean(), rel=1e-5)
    assert found["s_w"] == pytest.approx((1 - (1 - channel[ids]) ** 20).sum(axis=1).mean(), rel=1e-5)


def test_columns_of_a_channel_are_those_of_the_whole_matrix(world, prior):
    fitted = wv.SanText(epsilon=2.0).fit(world.without_outputs([world.words[1]]))
    released = np.array([3, 70, 11, 3], dtype=np.int32)
    found = columns(word_channel(subject_of(fitted), prior), released)
    expected = fitted.channel()[:, np.searchsorted(fitted.rows.outputs, released)].T
    assert found[:, :-1] == pytest.approx(expected / expected.max(axis=1, keepdims=True), rel=1e-6)
    assert found[:, -1] == pytest.approx(found[:, fitted.outputs].mean(axis=1)), (
        "a stand-in is given for an unknown token"
    )


@pytest.mark.parametrize("outputs", [None, 30])
def test_the_attack_reads_the_law_of_a_mechanism_that_takes_unknown_tokens(world, prior, outputs):
    chosen = world if outputs is None else world.without_outputs(world.words[outputs:])
    fitted = wv.NeighbourResponse(epsilon=3.0, k=4, outputs=None).fit(chosen)
    subject = subject_of(fitted)
    tokens = np.array([3, -1, 70, -1], dtype=np.int32)
    assert place_unknown(tokens, subject, SOURCE, "x").tolist() == tokens.tolist()
    seen = observe(subject, tokens, prior, SOURCE, "seen")
    law = fitted.law(np.append(np.arange(len(world), dtype=np.int32), np.int32(-1)))
    expected = law[:, np.searchsorted(fitted.outputs, seen.named)].T
    assert seen.likelihoods(seen.kinds) == pytest.approx(expected / expected.max(axis=1, keepdims=True), rel=1e-12)
    joint = prior[:, None] * law[:-1]
    best = BayesGuess().run(prior, subject, SOURCE)
    assert best["success"] == pytest.approx(joint.max(axis=0).sum(), rel=1e-12)
    kept = law[fitted.outputs, np.arange(len(fitted.outputs))]
    assert best["naming"] == pytest.approx(prior[fitted.outputs] @ kept, rel=1e-12)


def test_a_learnt_channel_comes_near_the_true_one_and_its_attacker_near_the_optimum(world, prior, monkeypatch):
    """The true channel has the learnt shape, of two numbers, which are fitted to 400 releases.

    So 2 * 400 times the mean divergence from it is chi-square of 2 degrees (Wilks), and by Pinsker's inequality the
    mean distance is at most `far` with probability 1 - 1e-9. An attacker loses no more than twice that.
    """
    fitted = {epsilon: wv.SanText(epsilon=epsilon).fit(world) for epsilon in (2.0, 4.0, 8.0)}
    channels = {epsilon: one.channel() for epsilon, one in fitted.items()}
    monkeypatch.setattr(type(fitted[4.0]), "law", WordRandomizer.law)  # unknown: to be learnt by running it
    learnt = word_channel(subject_of(fitted[4.0]), prior)
    found, everything = learnt.likelihoods(np.arange(len(world), dtype=np.int32)).T, np.arange(len(world))
    far = (chi2.isf(ALPHA, 2) / (2 * 400) / 2) ** 0.5

    distance = {epsilon: prior @ np.abs(found - one).sum(axis=1) / 2 for epsilon, one in channels.items()}
    assert distance[4.0] <= far < min(distance[2.0], distance[8.0])
    guesses, _ = channel_guesses(learnt, prior)
    joint = prior[:, None] * channels[4.0]
    best = joint.max(axis=0).sum()
    assert best - 2 * far <= joint[guesses, everything].sum() <= best + 1e-12


def test_a_learnt_channel_keeps_as_many_words_as_the_mechanism_does(world, prior):
    """400 releases are learnt from and 4 000 compared with: 6.2 standard errors of both shares, 1e-9."""
    for epsilon in (1e-3, 4.0, 50.0):
        subject = noisy(world, epsilon, decoded=True)
        learnt = word_channel(subject, prior).likelihoods(np.arange(len(world), dtype=np.int32)).T
        inputs = draw_words(prior, 4000, SOURCE, "fresh")
        kept = float((subject.release_words(inputs, SOURCE, "fresh release") == inputs).mean())
        assert prior @ np.diag(learnt) == pytest.approx(kept, abs=6.2 * 0.5 * (1 / 400 + 1 / 4000) ** 0.5)


def test_the_attacker_on_decoded_words_is_no_worse_than_naming_the_commonest_word_or_the_released_one(world, prior):
    for epsilon in (1e-3, 1.0, 4.0, 50.0):
        found = BayesGuess(trials=2000).run(prior, noisy(world, epsilon, decoded=True), SOURCE)
        # The commonest word's share of 2 000 draws is within 6.2 standard errors of its probability, but for 1e-9.
        assert found["success"] >= max(found["naming"], found["guessing"] - 6.2 * (0.25 / 2000) ** 0.5)


def test_the_attack_on_words_ranges_from_guessing_to_certainty(world, prior):
    task = BayesGuess(trials=500)
    most = binom.isf(ALPHA, 500, prior.max()) / 500  # of 500 guesses that know nothing
    assert task.run(prior, noisy(world, 1e-3, decoded=True), SOURCE)["success"] <= most < 0.5
    assert task.run(prior, unprotected(world), SOURCE)["success"] == 1.0
    flat = subject_of(wv.SanText(epsilon=1e-6).fit(world))
    assert task.run(prior, flat, SOURCE)["success"] == pytest.approx(prior.max(), rel=1e-4)


def test_silent_words_give_themselves_away(world):
    fitted = wv.NADP(epsilon=1.0, tau=0.9, overlap=3, isolated="verbatim").fit(world)
    silent = np.flatnonzero(fitted.sigmas == 0)
    assert silent.size
    point = np.rint(world.vectors[silent[:1]].astype(np.float64) / fitted.grid) * fitted.grid  # as it is released
    logs = fitted.log_density(point, world.vectors)
    assert logs[0].argmax() == silent[0]
    assert logs[0, silent[0]] == np.inf


def test_the_attack_on_vectors_ranges_from_guessing_to_certainty_and_beats_naming_the_nearest_word(world, prior):
    task, found = BayesGuess(trials=2000), {}
    for epsilon in (1e-3, 2.0, 1e3):
        subject = noisy(world, epsilon)
        found[epsilon] = task.run(prior, subject, SOURCE)
    assert found[1e-3]["success"] < prior.max() + 0.05
    assert found[2.0]["success"] > found[2.0]["naming"] + 0.05
    assert (found[1e3]["success"], found[1e3]["naming"]) == (1.0, 1.0)


def test_what_is_observed_of_vectors_is_their_law_and_the_nearest_word(world, prior):
    subject = noisy(world, 2.0)
    ids = np.arange(0, 80, 9, dtype=np.int32)
    seen = observe(subject, ids, prior, SOURCE, "seen")
    released = subject.release_vectors(ids, SOURCE, "seen")
    logs = subject.vectors.log_density(released[2:5], world.vectors)
    assert seen.likelihoods(slice(2, 5))[:, :-1] == pytest.approx(np.exp(logs - logs.max(axis=1, keepdims=True)))
    far = ((released[:, None, :] - world.vectors.astype(float)[None]) ** 2).sum(axis=2)
    assert seen.named.tolist() == nearest_words(subject, released).tolist() == far.argmin(axis=1).tolist()


def test_overlap_is_one_without_noise_and_low_with_much(world):
    task = OverlapSkewness(words=40, neighbours=5)
    ids = task.prepare(world)
    assert task.run(ids, unprotected(world), SOURCE) == {"overlap": 1.0, "skewness": 0.0}
    drowned = noisy(world, 1e-3)
    assert task.run(ids, drowned, SOURCE)["overlap"] < 0.3
