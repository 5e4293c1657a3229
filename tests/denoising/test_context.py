"""Models beside the trigram: the factors, the weight that is fitted, and what a model is shown."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tests.denoising.conftest import sentences
from tests.denoising.test_posterior import matrices, noisy, table, whole

import seeds
import wordveil as wv
from wordveil.denoising import context
from wordveil.denoising.calibration import trial_releases
from wordveil.denoising.context import Context, SentenceScorer, Speller, read_in_context
from wordveil.denoising.denoiser import Denoiser
from wordveil.denoising.evidence import ChannelEvidence
from wordveil.denoising.posterior import posteriors
from wordveil.denoising.reading import PAUSE, STATES, STOP, TYPED, ReleaseReader
from wordveil.errors import WordveilError

MECHANISM = wv.SanText(epsilon=4.0)
PUBLIC = sentences(120, seed=8)
ORIGINALS = sentences(60, seed=5)


def model(scores, candidates=6, checksum="made up"):
    return SimpleNamespace(scores=scores, candidates=candidates, contexts=3, words=2000, checksum=checksum)


class Grammar:
    """Knows which words go together anywhere in a sentence: by counts of pairs in public text."""

    candidates, contexts, words, checksum = 8, 4, 1000, "grammar"

    def __init__(self, few):
        self.asked = []
        v = len(few)
        self._together = np.full((v, v), 0.5)
        for layout in ReleaseReader(few).read(sentences(3000)):
            own = layout.states[layout.states < v]
            self._together[np.ix_(own, own)] += 1

    def scores(self, sentence, places, candidates):
        self.asked.append((sentence.copy(), places.copy(), candidates.copy()))
        v = len(self._together)
        alone = self._together.sum(axis=1)
        share = np.log(self._together / alone[:, None])
        found = np.zeros(candidates.shape, np.float32)
        for i, place in enumerate(places.tolist()):
            rest = [w for j, w in enumerate(sentence.tolist()) if j != place and w < v]
            found[i] = share[candidates[i]][:, rest].sum(axis=1) + np.log(alone[candidates[i]])
        return found


@pytest.fixture(scope="module")
def weak(few):
    """A trigram that has seen words in any order."""
    generator = seeds.rng(4)
    mixed = [" ".join(generator.permutation(text.lower().strip(".").replace(",", "").split())) for text in PUBLIC]
    return wv.build_prior(mixed, few)


def denoiser(few, weak, own, **settings):
    return Denoiser(few, MECHANISM, prior=weak, public=PUBLIC, least=0.0, context=own, **settings)


def released(few, seed=1):
    sanitizer = wv.Sanitizer(few, MECHANISM, source=seeds.source(seed))
    return sanitizer.release_batch(ORIGINALS, ids=list(map(str, range(len(ORIGINALS)))))


def test_factors_are_probabilities_beside_frequencies_to_the_power_of_the_weight(prior):
    """One place between two stops, against the formula over all states."""
    n = len(prior.unigram)
    v, stop = n - STATES, n - STATES + STOP
    own = np.log(seeds.rng(2).random(v))
    for seed, weight in ((0, 0.3), (1, 1.0), (2, 0.0)):
        likelihoods = noisy(1, n, seed)
        heard = Context(model(lambda _, places, words: own[words].astype(np.float32)), prior, weight)
        read = read_in_context([np.array([1, 0, 1], np.int32)], table(likelihoods), prior, context=heard)
        after, thrice = matrices(prior)
        expected = after[stop] * thrice[stop, :, stop] * likelihoods[0]
        expected[:v] *= (np.exp(own) / prior.frequency[:v]) ** weight
        assert whole(read, n)[0] == pytest.approx(expected / expected.sum(), abs=1e-5)


def test_a_model_that_knows_is_believed_and_one_that_guesses_is_not(few, weak):
    generator = seeds.rng(0)
    blind = model(lambda _, places, words: 50 * generator.standard_normal(words.shape).astype(np.float32))
    alone, knowing, misled = (denoiser(few, weak, own) for own in (None, Grammar(few), blind))
    assert knowing.context.weight > 0
    assert misled.context.weight == 0.0  # the least other would cost some nats at each of hundreds of words
    batch = released(few)
    read = {name: each.denoise_batch(batch) for name, each in (("alone", alone), ("knowing", knowing))}
    assert [own.text for own in misled.denoise_batch(batch)] == [own.text for own in read["alone"]]
    assert all(own.guarantee == batch.guarantee for own in read["knowing"])


def test_the_weight_is_the_one_under_which_the_truth_is_likeliest(few, weak):
    randomizer = MECHANISM.fit(few)
    segments = [layout.states for layout in ReleaseReader(few).read(PUBLIC)]
    trial, _ = trial_releases(segments, randomizer, np.empty(0, np.int32))
    evidence, own = ChannelEvidence(randomizer, weak, np.empty(0, np.int32)), Grammar(few)
    chosen = Context.fitted(trial, evidence, weak, own).weight
    worth = {}
    for weight in context.WEIGHTS[1:]:
        read = read_in_context(trial.released, evidence, weak, context=Context(own, weak, weight))
        chances = np.where(read.states == trial.true[:, None], read.chances, 0).sum(axis=1)[trial.counted]
        worth[weight] = np.log(chances[chances > 0]).sum()
    assert chosen == max(worth, key=worth.get)


def test_the_attacker_s_score_is_calibrated_with_the_model(few, weak):
    heard = denoiser(few, weak, Grammar(few))
    batch = released(few, seed=9)
    told = np.mean([own.attack for own in heard.denoise_batch(batch)])
    reader = ReleaseReader(few)
    pairs = zip(reader.read(ORIGINALS), reader.read(batch.texts), strict=True)
    hits = [(heard.posterior(b).states[:, 0] == a.states)[a.states < len(few)] for a, b in pairs]
    n = np.concatenate(hits).size
    assert abs(told - np.concatenate(hits).mean()) < 6.2 * 0.5 * (1 / n + 1 / heard.calibration.words) ** 0.5  # 1e-9
    assert heard.calibration.named > heard.calibration.random + 0.2


def test_the_attack_is_the_same_in_every_style_and_no_text_changes_another(few, weak):
    texts = released(few).texts[:12]
    styles = {style: denoiser(few, weak, Grammar(few), style=style) for style in ("fluent", "balanced", "faithful")}
    read = {style: each.read(texts) for style, each in styles.items()}
    for own in zip(*read.values(), strict=True):
        assert np.array_equal(own[0].named, own[1].named)
        assert np.array_equal(own[0].named, own[2].named)
    for text, own in zip(texts, read["balanced"], strict=True):
        (apart,) = styles["balanced"].read([text])
        assert apart.text == own.text
        assert np.array_equal(apart.confidences, own.confidences)


def test_a_model_is_asked_only_where_there_is_a_choice_and_shown_only_words_and_marks(few, weak):
    own = Grammar(few)
    options = wv.TextOptions(unknown="typed", public_words=frozenset({"the"}))
    heard = denoiser(few, weak, own, options=options)
    sanitizer = wv.Sanitizer(few, MECHANISM, options=options, source=seeds.source(0))
    assert heard.context.weight > 0
    assert heard.calibration.words > 0
    own.asked.clear()
    heard(sanitizer("The dog sleeps, and m@x.org runs here. Not the bird 4711, there."))
    v = len(few)
    assert len(own.asked) == 2 * own.contexts
    for sentence, places, candidates in own.asked:
        assert (sentence[[0, -1]] == v + STOP).all()
        assert {v + PAUSE, v + TYPED} <= set(sentence.tolist())
        assert not np.isin(sentence[places], few.ids(["the"])).all()
        assert candidates.max() < v
        assert candidates.shape == (len(places), min(own.candidates, candidates.shape[1]))


def test_sentences_are_spelled_with_every_candidate_in_its_place(few):
    v = len(few)
    speller = Speller(few.words, np.full(v, 1 / v, np.float32))
    dog, cat, the = few.ids(["dog", "cat", "the"]).tolist()
    sentence = np.array([v + STOP, the, dog, v + PAUSE, v + TYPED, dog, v + STOP])
    texts, spans = speller.substituted(sentence, np.array([1, 5]), np.array([[the, cat], [dog, cat]]))
    assert texts == ["The dog, 0 dog.", "Cat dog, 0 dog.", "The dog, 0 dog.", "The dog, 0 cat."]
    assert [text[a:b].lower() for text, (a, b) in zip(texts, spans, strict=True)] == ["the", "cat", "dog", "cat"]


def test_equal_sentences_are_scored_once(few):
    v, asked = len(few), []
    speller = Speller(few.words, np.full(v, 1 / v, np.float32))

    def logs(texts):
        asked.append(list(texts))
        return -np.array([len(text) for text in texts], float)

    scorer = SentenceScorer(logs, speller, checksum="lengths")
    sentence = np.array([v + STOP, 0, 1, v + STOP])
    found = scorer.scores(sentence, np.array([1, 2]), np.array([[0, 2], [1, 4]]))
    texts, _ = speller.substituted(sentence, np.array([1, 2]), np.array([[0, 2], [1, 4]]))
    assert found.ravel().tolist() == [-len(text) for text in texts]
    assert asked == [list(dict.fromkeys(texts))]
    assert len(asked[0]) == 3


def test_without_a_weight_the_model_is_not_asked(few, prior):
    heard = Context(model(lambda *_: pytest.fail("asked")), prior, 0.0)
    segment = [np.array([3, 0, 1, 2, 3], np.int32)]
    likelihoods = noisy(3, len(prior.unigram), 4)
    for context_ in (None, heard):
        read = read_in_context(segment, table(likelihoods), prior, fidelity=5.0, context=context_)
        expected = posteriors(segment, table(likelihoods), prior, fidelity=5.0)
        assert np.array_equal(read.chances, expected.chances)
        assert np.array_equal(read.sequence, expected.sequence)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_model_that_tells_no_log_probabilities_is_refused_also_after_the_trial(few, weak, number):
    sound = Grammar(few)
    reader = denoiser(few, weak, sound)
    assert 0 <= reader.calibration.named <= 1
    assert reader.context.weight
    scores = sound.scores
    sound.scores = lambda *asked: scores(*asked) + np.float32(number)
    with pytest.raises(WordveilError, match="no log-probabilities"):
        reader.denoise_batch(released(few))
