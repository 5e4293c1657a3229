"""Masked prediction against brute force, and on a language whose words follow from those around them."""

from __future__ import annotations

import numpy as np
import pytest

import seeds
from wordveil.decoding.decoded import Decoded
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace
from wordveil.mechanisms.nadp import NADP
from wordveil.mechanisms.santext import SanText
from wordveil.vocabulary.table import Embeddings
from wordveil_lab.corpora import encode
from wordveil_lab.evaluation.evidence import observe
from wordveil_lab.evaluation.masked import Candidates, guess_in_context
from wordveil_lab.evaluation.priors import word_prior
from wordveil_lab.evaluation.subjects import subject_of
from wordveil_lab.evaluation.word_predictor import FAR, NEAR, WordPredictor, context_features, word_features

pytestmark = pytest.mark.slow

SOURCE = seeds.source(23)


@pytest.mark.parametrize("mechanism", [MultivariateLaplace(epsilon=2.0), NADP(epsilon=1.0, tau=0.9, overlap=3)])
def test_candidates_are_the_likeliest_words_of_the_posterior(world, mechanism):
    subject, prior = subject_of(Decoded(mechanism=mechanism).fit(world)), word_prior(world)
    features = np.asarray(world.vectors, dtype=np.float64)
    model = WordPredictor(prior, features, np.zeros((len(world), 30), dtype=np.float32))
    ids = np.arange(0, 80, 9, dtype=np.int32)
    likelihoods = observe(subject, ids, prior, SOURCE, "evidence").likelihoods(np.arange(len(ids)))[:, :-1]
    found = Candidates.of(likelihoods, model, 5)
    posterior = likelihoods * prior
    posterior /= posterior.sum(axis=1, keepdims=True)
    assert found.expected == pytest.approx(posterior @ features, rel=1e-9, abs=1e-12)
    for row in range(len(ids)):
        assert posterior[row, found.ids[row]].min() >= np.sort(posterior[row])[-5]
        assert found.logs[row] == pytest.approx(np.log(likelihoods[row, found.ids[row]]))


def test_a_word_without_noise_is_certain(world):
    mechanism = NADP(epsilon=1.0, tau=0.9, overlap=3, isolated="verbatim")
    subject = subject_of(Decoded(mechanism=mechanism).fit(world))
    silent = np.flatnonzero(subject.vectors.sigmas == 0)[:1].astype(np.int32)
    likelihoods = observe(subject, silent, word_prior(world), SOURCE, "silent").likelihoods(slice(None))[:, :-1]
    model = WordPredictor(word_prior(world), np.eye(len(world)), np.zeros((len(world), 1), dtype=np.float32))
    assert Candidates.of(likelihoods, model, 3).expected[0, silent[0]] == pytest.approx(1.0)
    assert subject.law_known
    assert not subject_of(subject.words, decoded=True).law_known


def test_context_features_equal_a_loop(world):
    corpus = encode(world, ["waa wab wac wad wae waf wag", "", "wah", "wai waj"])
    rows = seeds.rng(0).standard_normal((len(corpus.tokens), 3))
    found = context_features(rows, corpus)
    for start, stop in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        for t in range(start, stop):
            around = {o: rows[t + o] if start <= t + o < stop else np.zeros(3) for o in (*NEAR, *FAR)}
            expected = [around[o] for o in NEAR] + [sum(around[o] for o in FAR) / len(FAR)]
            assert found[t] == pytest.approx(np.concatenate(expected))


def test_features_are_centred_under_the_prior(world):
    prior = word_prior(world)
    features = word_features(world, prior)
    assert prior @ features == pytest.approx(np.zeros(features.shape[1]), abs=1e-9)
    assert prior @ np.square(features).sum(axis=1) == pytest.approx(1.0)


WORDS = 24


@pytest.fixture(scope="module")
def alphabet() -> Embeddings:
    """Words in a ring: each is always followed by the next. Their vectors know nothing of that order."""
    rows = seeds.rng(5).standard_normal((WORDS, 12))
    return Embeddings.from_arrays([chr(97 + i) * 2 for i in range(WORDS)], rows, name="ring", candidate_rule="all")


def ring(texts: int, length: int, seed: int, *, shuffled: bool) -> list[str]:
    generator = seeds.rng(seed)
    found = []
    for start in generator.integers(0, WORDS, texts):
        order = (start + np.arange(length)) % WORDS
        found.append(" ".join(chr(97 + i) * 2 for i in (generator.permutation(order) if shuffled else order)))
    return found


def attacked(alphabet, subject, *, shuffled_public, shuffled_texts):
    """Success with and without context on 1 200 tokens."""
    model = WordPredictor.of(encode(alphabet, ring(300, 12, 1, shuffled=shuffled_public)), alphabet, epochs=30)
    corpus = encode(alphabet, ring(100, 12, 2, shuffled=shuffled_texts))
    seen = observe(subject, corpus.tokens, model.prior, SOURCE, "ring")
    likelihoods = seen.likelihoods(seen.kinds)[:, :-1]
    alone = (likelihoods * model.prior).argmax(axis=1)
    joint = guess_in_context(Candidates.of(likelihoods, model, WORDS), corpus, model, passes=2)
    return (joint == corpus.tokens).mean(), (alone == corpus.tokens).mean()


@pytest.fixture(scope="module", params=["words", "vectors"])
def noisy(request, alphabet):
    if request.param == "words":
        return subject_of(SanText(epsilon=1.2).fit(alphabet))
    return subject_of(Decoded(mechanism=MultivariateLaplace(epsilon=2.5)).fit(alphabet))


def test_context_finds_words_that_follow_from_it(alphabet, noisy):
    joint, alone = attacked(alphabet, noisy, shuffled_public=False, shuffled_texts=False)
    assert alone < 0.75
    assert joint > alone + 0.15


def test_without_order_context_gives_nothing(alphabet, noisy):
    """The power twin. Five standard deviations of a share of 1 200 tokens are 0.07."""
    joint, alone = attacked(alphabet, noisy, shuffled_public=True, shuffled_texts=True)
    assert abs(joint - alone) < 0.07
