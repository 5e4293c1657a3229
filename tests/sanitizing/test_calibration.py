"""Epsilon, and k, from meaning: against the exact channel, and on the right side."""

import numpy as np
import pytest
from scipy import stats

import seeds
import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.meaning.calibration import calibrate, keep_probability
from wordveil.meaning.neighbour_points import KS, TARGETS, neighbour_points
from wordveil.vocabulary.table import public_sample
from worlds import made_up

MECHANISMS = [wv.SanText(epsilon=3.0), wv.TEM(epsilon=3.0), wv.TEM(epsilon=3.0, metric=wv.Angular())]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 40.0])
def test_keep_probability_is_the_mean_diagonal_of_the_channel(vocabulary, mechanism, epsilon):
    randomizer = type(mechanism)(epsilon=epsilon, metric=mechanism.metric).fit(vocabulary)
    ids = vocabulary.candidates[::3]
    column = np.searchsorted(vocabulary.candidates, ids)
    diagonal = randomizer.channel()[ids, column]
    weights = np.arange(1.0, len(ids) + 1)
    assert keep_probability(randomizer, ids) == pytest.approx(diagonal.mean(), rel=1e-5)
    expected = (diagonal * weights).sum() / weights.sum()
    assert keep_probability(randomizer, ids, weights) == pytest.approx(expected, rel=1e-5)


def test_keep_probability_of_noise_is_near_its_closed_form():
    """Equidistant words on a line: an inner word stays when |noise| < 1/2, probability 1 - exp(-epsilon/2)."""
    names = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(600)]
    line = wv.Embeddings.from_arrays(names, np.arange(600.0)[:, None])
    kept = keep_probability(wv.Decoded(mechanism=wv.MultivariateLaplace(epsilon=2.0)).fit(line), line.candidates[1:-1])
    p = 1 - np.exp(-1.0)
    assert stats.binomtest(round(kept * 598), 598, p).pvalue >= 1e-9
    assert stats.binomtest(round(kept * 598), 598, 0.8 * p).pvalue < 1e-3


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9])
def test_calibrate_reaches_its_target(vocabulary, mechanism, keep):
    unique = vocabulary.without_outputs(list(vocabulary.words)[280:])  # a word with a twin stays half of the time
    found = calibrate(unique, mechanism, keep=keep)
    at = keep_probability(
        type(mechanism)(epsilon=found.epsilon, metric=mechanism.metric).fit(unique), public_sample(unique)
    )
    assert at == pytest.approx(keep, abs=0.005)
    assert (found.keep, found.words) == (keep, 280)
    epsilons, kept = zip(*found.curve, strict=True)
    assert list(epsilons) == sorted(epsilons)
    assert all(np.diff(kept) >= -1e-9), "more epsilon keeps more words"
    assert found.epsilon in epsilons or min(abs(np.log(np.array(epsilons) / found.epsilon))) < 1e-9


def test_calibrate_keeps_the_other_parameters(vocabulary):
    loose = calibrate(vocabulary, wv.TEM(epsilon=1.0, gamma=3.0), keep=0.3).epsilon
    tight = calibrate(vocabulary, wv.TEM(epsilon=1.0, gamma=1.0), keep=0.3).epsilon
    assert tight > loose


NOISE = [wv.MultivariateLaplace(epsilon=1.0), wv.Projection(epsilon=1.0, dimensions=3)]


@pytest.mark.parametrize("mechanism", [*NOISE, wv.Decoded(mechanism=NOISE[0])], ids=repr)
def test_calibrate_decodes_noise_where_its_vectors_live(vocabulary, mechanism):
    unique = vocabulary.without_outputs(list(vocabulary.words)[280:])
    seen = []
    found = calibrate(unique, mechanism, keep=0.5, progress=lambda epsilon, kept: seen.append((epsilon, kept)))
    noise = getattr(mechanism, "mechanism", mechanism)
    fitted = wv.Decoded(mechanism=noise.with_epsilon(found.epsilon)).fit(unique)
    assert keep_probability(fitted, public_sample(unique)) == pytest.approx(0.5, abs=0.02)
    assert sorted(seen) == list(found.curve)


def test_calibrate_takes_what_the_law_keeps_of_a_mechanism_without_rows(vocabulary):
    mechanism = wv.NeighbourResponse(epsilon=1.0, k=4, outputs=None)
    found = calibrate(vocabulary, mechanism, keep=0.2)
    law = mechanism.with_epsilon(found.epsilon).fit(vocabulary).law(vocabulary.candidates)
    assert np.diagonal(law).mean() == pytest.approx(0.2, abs=0.005)


def test_frequencies_say_what_is_typical(vocabulary):
    """All weight on one word: the target is that word's own probability."""
    word = vocabulary.words[100]
    found = calibrate(vocabulary, wv.SanText(epsilon=1.0), frequencies={word: 5.0, "nowhere": 99.0}, keep=0.5)
    assert found.words == 1
    channel = wv.SanText(epsilon=found.epsilon).fit(vocabulary).channel()
    assert channel[100, 100] == pytest.approx(0.5, abs=0.005)


def test_the_most_frequent_words_are_sampled(vocabulary):
    entries = list(vocabulary.words)
    frequencies = {entries[i]: float(i + 1) for i in range(50)}
    few = calibrate(vocabulary, wv.SanText(epsilon=1.0), frequencies=frequencies, sample=1, keep=0.3)
    alone = calibrate(vocabulary, wv.SanText(epsilon=1.0), frequencies={entries[49]: 1.0}, keep=0.3)
    assert few.epsilon == alone.epsilon


def test_the_public_sample_is_fixed_and_of_candidates(vocabulary, packaged):
    assert np.array_equal(public_sample(vocabulary), vocabulary.candidates)
    sample = public_sample(packaged)
    assert len(sample) == len(np.unique(sample)) == 1000
    assert np.isin(sample, packaged.candidates).all()
    assert np.array_equal(sample, public_sample(packaged))
    assert len(public_sample(packaged, 10)) == 10


@pytest.mark.parametrize(("arguments", "message"), [
    ({"keep": 0.0}, r"keep=0.0 must be in \(0, 1\)"),
    ({"keep": 1.0}, r"keep=1.0 must be in \(0, 1\)"),
    ({"sample": 0}, "sample=0 must be a whole number, at least 1"),
    ({"frequencies": {"nowhere": 1.0}}, "hold no word of this vocabulary"),
    ({"frequencies": {"alpha": -1.0}}, "must be finite and positive"),
    ({"frequencies": {"alpha": float("nan")}}, "must be finite and positive"),
    ({"keep": 0.05}, "is not reached for any epsilon"),
])  # fmt: skip
def test_what_cannot_be_calibrated_is_refused(tiny, arguments, message):
    with pytest.raises(ParameterError, match=message):
        calibrate(tiny, wv.SanText(epsilon=1.0), **arguments)


def test_at_the_shipped_certificate_half_of_typical_words_stay(packaged):
    for mechanism in (wv.TEM, wv.SanText):
        kept = keep_probability(mechanism(epsilon=9.36).fit(packaged), public_sample(packaged, 300))
        assert kept == pytest.approx(0.5, abs=0.05)


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
@pytest.mark.parametrize("chosen", [{"k": 1, "outputs": None}, {"k": 4, "outputs": None}, {"outputs": "classes:3"}])
def test_a_point_is_what_the_exact_channel_says_and_keeps_the_wish(words, target, chosen):
    value = {"attacker": 0.5, "similarity": 0.1, "far": 0.4, "nats": 60.0}[target]
    (point,) = neighbour_points(words, target, value, **chosen, tokens=20)
    assert (point.k, point.outputs) == (chosen.get("k", 1), chosen["outputs"])
    exact = by_hand(words, point.epsilon, point.k, point.outputs)
    assert (point.far, point.attacker, point.similarity) == pytest.approx(exact, rel=1e-6)
    assert point.nats == pytest.approx(20 * point.epsilon)
    reached = getattr(point, target)
    assert reached == pytest.approx(value, rel=1e-6)
    assert reached >= value if target == "similarity" else reached <= value
    nearby = neighbour_points(words, "nats", 20 * point.epsilon * 1.01, **chosen, tokens=20)[0]
    assert (getattr(nearby, target) > reached) == (target != "far")


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
