"""Epsilon from meaning, against the diagonal of the exact channel."""

import numpy as np
import pytest
from scipy import stats

import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.meaning.calibration import calibrate, keep_probability
from wordveil.vocabulary.public_sample import public_sample

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


@pytest.mark.parametrize("mechanism", [wv.MultivariateLaplace(epsilon=1.0), None])
def test_calibrate_decoded_noise(vocabulary, mechanism):
    unique = vocabulary.without_outputs(list(vocabulary.words)[280:])
    chosen = mechanism or wv.Decoded(mechanism=wv.MultivariateLaplace(epsilon=1.0))
    seen = []
    found = calibrate(unique, chosen, keep=0.5, progress=lambda epsilon, kept: seen.append((epsilon, kept)))
    fitted = wv.Decoded(mechanism=wv.MultivariateLaplace(epsilon=found.epsilon)).fit(unique)
    assert keep_probability(fitted, public_sample(unique)) == pytest.approx(0.5, abs=0.02)
    assert sorted(seen) == list(found.curve)


def test_calibrate_decodes_projected_vectors_where_they_live(vocabulary):
    unique = vocabulary.without_outputs(list(vocabulary.words)[280:])
    mechanism = wv.Projection(epsilon=1.0, dimensions=3)
    found = calibrate(unique, mechanism, keep=0.5)
    fitted = wv.Decoded(mechanism=mechanism.with_epsilon(found.epsilon)).fit(unique)
    assert keep_probability(fitted, public_sample(unique)) == pytest.approx(0.5, abs=0.02)


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
    ({"sample": 0}, "sample=0 must be at least 1"),
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
