"""Attacks against brute force: whole channels, all sequences, laws stated elsewhere."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import binom

from wordveil.auditing.densities import claimed_log_ratio
from wordveil.decoding.decoded import Decoded
from wordveil.evaluation.bayes import BayesOnVectors, BayesOnWords, channel_success, simulated_guesses
from wordveil.evaluation.context import ContextInversion, PairModel, likeliest_sequence
from wordveil.evaluation.corpora import encode
from wordveil.evaluation.deniability import OverlapSkewness, PlausibleDeniability, expected_distinct
from wordveil.evaluation.likelihoods import log_likelihoods
from wordveil.evaluation.membership import MembershipInference
from wordveil.evaluation.priors import draw_words, word_prior
from wordveil.evaluation.subjects import subject_of, unprotected
from wordveil.mechanisms.clipped_gaussian import ClippedGaussian
from wordveil.mechanisms.clipped_laplace import ClippedLaplace
from wordveil.mechanisms.mahalanobis import Mahalanobis
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace
from wordveil.mechanisms.nadp import NADP
from wordveil.mechanisms.projection import Projection
from wordveil.mechanisms.santext import SanText
from wordveil.mechanisms.tem import TEM
from wordveil.mechanisms.truncated_laplace import TruncatedLaplace
from wordveil.randomness import RandomSource

SOURCE = RandomSource.seeded_for_tests(11)
ALPHA = 1e-9


@pytest.mark.parametrize("mechanism", [SanText(epsilon=2.0), TEM(epsilon=3.0)])
def test_exact_measures_are_those_of_the_whole_channel(world, mechanism):
    fitted = mechanism.fit(world)
    channel, prior = fitted.channel(), word_prior(world)
    subject = subject_of(fitted)
    assert channel_success(fitted, prior) == pytest.approx((prior[:, None] * channel).max(axis=0).sum(), rel=1e-5)
    task = PlausibleDeniability(words=50, draws=20)
    ids = task.prepare(world)
    found = task.run(ids, subject, SOURCE)
    assert found["n_w"] == pytest.approx(channel[ids, ids].mean(), rel=1e-5)
    assert found["s_w"] == pytest.approx((1 - (1 - channel[ids]) ** 20).sum(axis=1).mean(), rel=1e-5)


def test_expected_distinct_at_its_ends():
    assert expected_distinct(np.array([[1.0, 0.0]]), 5) == pytest.approx([1.0])
    assert expected_distinct(np.full((1, 4), 0.25), 1) == pytest.approx([1.0])
    assert expected_distinct(np.full((1, 4), 0.25), 2) == pytest.approx([1.75])


def test_no_simulated_attacker_beats_the_exact_optimum(world):
    """A learnt attacker is an attacker: with confidence 1 - 1e-9 he is not better than the best."""
    fitted, prior = SanText(epsilon=2.0).fit(world), word_prior(world)
    subject, trials = subject_of(fitted), 4000
    guesses = simulated_guesses(subject, prior, 30_000, SOURCE)
    inputs = draw_words(prior, trials, SOURCE, "fresh")
    hits = int((guesses[subject.release_words(inputs, SOURCE, "fresh release")] == inputs).sum())
    best = channel_success(fitted, prior)
    assert binom.sf(hits - 1, trials, best) >= ALPHA
    assert hits / trials > 0.85 * best


def test_the_learnt_attacker_is_no_worse_than_naming_the_commonest_word_or_the_released_one(world):
    prior, trials = word_prior(world), 4000
    for epsilon in (1e-3, 1.0, 4.0, 50.0):
        subject = decoded(world, epsilon)
        guesses = simulated_guesses(subject, prior, 3000, SOURCE)
        inputs = draw_words(prior, trials, SOURCE, "fresh")
        released = subject.release_words(inputs, SOURCE, "fresh release")
        hits, trivial = (guesses[released] == inputs).mean(), max(prior.max(), (released == inputs).mean())
        # Three standard errors of his own choice on 1 500 pairs, three of the trials.
        assert hits >= trivial - 3 * (0.5 / 1500**0.5 + 0.5 / trials**0.5)


def decoded(world, epsilon):
    return subject_of(Decoded(mechanism=MultivariateLaplace(epsilon=epsilon)).fit(world))


def test_the_attack_on_words_ranges_from_guessing_to_certainty(world):
    task = BayesOnWords(training=2000, trials=500)
    prior = task.prepare(world)
    drowned = subject_of(Decoded(mechanism=MultivariateLaplace(epsilon=1e-3)).fit(world))
    assert task.run(prior, drowned, SOURCE)["success"] < prior.max() + 0.08
    assert task.run(prior, unprotected(world), SOURCE)["success"] == 1.0
    flat = SanText(epsilon=1e-6).fit(world)
    assert channel_success(flat, prior) == pytest.approx(prior.max(), rel=1e-4)


LAWS = [
    MultivariateLaplace(epsilon=3.0),
    Mahalanobis(epsilon=3.0),
    Projection(epsilon=3.0, dimensions=3),
    ClippedGaussian(epsilon=3.0, clip_norm=2.0),
    ClippedLaplace(epsilon=3.0, clip_norm=2.0),
    TruncatedLaplace(epsilon=3.0, clip_norm=2.0),
    NADP(epsilon=3.0, tau=0.2),
]


@pytest.mark.parametrize("mechanism", LAWS, ids=lambda m: m.name)
def test_likelihoods_differ_as_the_claimed_laws_do(world, mechanism):
    fitted = mechanism.fit(world)
    subject = subject_of(Decoded(mechanism=mechanism).fit(world))
    outputs = subject.release_vectors(np.array([3, 40], dtype=np.int32), SOURCE, mechanism.name)
    logs = log_likelihoods(fitted, outputs, world)
    ratio = claimed_log_ratio(fitted, world.vectors[5], world.vectors[62])
    assert logs[:, 5] - logs[:, 62] == pytest.approx(ratio(outputs), rel=1e-9, abs=1e-9)


def test_silent_words_give_themselves_away(world):
    fitted = NADP(epsilon=1.0, tau=0.9, overlap=3, isolated="verbatim").fit(world)
    silent = np.flatnonzero(fitted.sigmas == 0)
    assert silent.size
    logs = log_likelihoods(fitted, world.vectors[silent[:1]].astype(np.float64), world)
    assert logs[0].argmax() == silent[0]
    assert logs[0, silent[0]] == np.inf


def test_the_attack_on_vectors_ranges_from_guessing_to_certainty(world):
    task = BayesOnVectors(trials=400)
    prior = task.prepare(world)
    scores = {}
    for epsilon in (1e-3, 1e3):
        subject = subject_of(Decoded(mechanism=MultivariateLaplace(epsilon=epsilon)).fit(world))
        scores[epsilon] = task.run(prior, subject, SOURCE)
    assert scores[1e-3]["success"] < prior.max() + 0.1
    assert scores[1e3] == {"success": 1.0, "top10": 1.0, "nearest": 1.0}
    assert not task.applies(subject_of(SanText(epsilon=1.0).fit(world)))


def test_the_likeliest_sequence_is_found_among_all(world):
    corpus = encode(world, ["waa wab wac", "waa wac wab", "wab wab waa"])
    model = PairModel.of(corpus, len(world))
    generator = np.random.default_rng(2)
    emissions = [
        (generator.choice(len(world), 3, replace=False).astype(np.int32), np.log(generator.random(3))) for _ in range(4)
    ]

    def probability(places):
        ids = [emissions[t][0][place] for t, place in enumerate(places)]
        total = np.log(model.unigram[ids[0]]) + sum(emissions[t][1][place] for t, place in enumerate(places))
        for a, b in pairwise(ids):
            total += model.log_transitions(np.array([a]), np.array([b]))[0, 0]
        return total

    best = max(product(range(3), repeat=4), key=probability)
    assert likeliest_sequence(emissions, model).tolist() == [emissions[t][0][place] for t, place in enumerate(best)]


def test_transitions_are_probabilities_and_stop_at_text_ends(world):
    corpus = encode(world, ["waa wab", "wac wab"])
    model = PairModel.of(corpus, len(world))
    everything = np.arange(len(world), dtype=np.int32)
    followed = np.exp(model.log_transitions(everything[:1], everything)).sum()
    assert followed == pytest.approx(1.0)
    assert model.pairs[world.id("wab"), world.id("wac")] == 0


def test_context_finds_everything_where_nothing_is_hidden(world, use_world):
    task = ContextInversion(limit=5, public_limit=20, candidates=5)
    prepared = task.prepare(world)
    assert task.run(prepared, unprotected(world), SOURCE)["success"] == 1.0
    strong = task.run(prepared, subject_of(SanText(epsilon=0.5).fit(world)), SOURCE)["success"]
    assert strong < 0.6


def test_overlap_is_one_without_noise_and_low_with_much(world):
    task = OverlapSkewness(words=40, neighbours=5)
    ids = task.prepare(world)
    assert task.run(ids, unprotected(world), SOURCE) == {"overlap": 1.0, "skewness": 0.0}
    drowned = subject_of(Decoded(mechanism=MultivariateLaplace(epsilon=1e-3)).fit(world))
    assert task.run(ids, drowned, SOURCE)["overlap"] < 0.3


def test_membership_scores_are_areas_and_shares(world, use_world):
    task = MembershipInference(limit=40, epochs=3, width=4)
    found = task.run(task.prepare(world), unprotected(world), SOURCE)
    assert 0.0 <= found["auc"] <= 1.0
    assert found["accuracy"] in {i / 15 for i in range(16)}
