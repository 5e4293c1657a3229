"""What a denoiser makes of releases: better words, an honest score, and nothing but the release."""

import re

import numpy as np
import pytest
from tests.denoising.conftest import sentences

import seeds
import wordveil as wv
from wordveil.denoising.denoiser import LEAST, Denoiser, UnreadableReleaseError
from wordveil.denoising.posterior import posteriors
from wordveil.denoising.reading import STATES, STOP, ReleaseReader
from wordveil.errors import ChecksumError, ParameterError

MECHANISM = wv.SanText(epsilon=2.5)


@pytest.fixture(scope="module")
def wide(few):
    """A prior with three hundred sentences to try things on."""
    made = wv.build_prior(sentences(3000), few, source="made up")
    facts = {**made.facts, "held_out": sentences(300, seed=8)}
    names = ("frequency", "unigram", "followers", "right", "seen", "thirds", "third", "third_seen")
    return wv.Prior(facts=facts, **{name: getattr(made, name) for name in names})


def released(few, texts, mechanism=MECHANISM, seed=1, **options):
    source = seeds.source(seed)
    sanitizer = wv.Sanitizer(few, mechanism, options=wv.TextOptions(**options), source=source)
    return [sanitizer(text) for text in texts]


def batch_of(few, texts, seed):
    sanitizer = wv.Sanitizer(few, MECHANISM, source=seeds.source(seed))
    return sanitizer.release_batch(texts, ids=list(map(str, range(len(texts)))))


def right(texts, originals):
    """The share of words that are the original's."""
    pairs = [
        (a, b) for one, two in zip(texts, originals, strict=True) for a, b in zip(one.split(), two.split(), strict=True)
    ]
    return np.mean([a.lower() == b.lower() for a, b in pairs])


ORIGINALS = sentences(200, seed=5)


@pytest.mark.parametrize("style", ["fluent", "balanced", "faithful"])
def test_more_words_are_the_original_s_and_the_promise_is_the_release_s(few, wide, style):
    denoiser = Denoiser(few, MECHANISM, prior=wide, style=style, least=0.0)
    releases = batch_of(few, ORIGINALS, 1)
    read = denoiser.denoise_batch(releases)
    before, after = right(releases.texts, ORIGINALS), right([own.text for own in read], ORIGINALS)
    assert after > before + 0.2
    assert all(own.guarantee == releases.guarantee and own.disclosed == releases.disclosed for own in read)
    assert sum(len(own.confidences) for own in read) == releases.tokens
    hits = [right([own.text], [text]) for own, text in zip(read, ORIGINALS, strict=True)]
    misses = np.array([own.confidences.mean() for own in read]) - hits
    assert abs(misses.mean()) < 6.2 * misses.std() / len(misses) ** 0.5  # of 200 texts: 1e-9
    assert f"name {read[0].attack:.2f} of the words" in str(read[0])
    assert read[0].guarantee.sentence() in str(read[0])


def test_the_attacker_s_score_is_what_the_attack_names(few, wide):
    """The likeliest word of every place, guessed for fresh releases of other texts."""
    denoiser = Denoiser(few, MECHANISM, prior=wide, least=0.0)
    releases = batch_of(few, ORIGINALS, 9)
    told = np.mean([own.attack for own in denoiser.denoise_batch(releases)])
    reader = ReleaseReader(few)
    originals, layouts = reader.read(ORIGINALS), reader.read(releases.texts)
    found = posteriors([layout.states for layout in layouts], denoiser._evidence, wide)
    true = np.concatenate([layout.states for layout in originals])
    named = (found.states[:, 0] == true)[true < len(few)].mean()
    n = int((true < len(few)).sum())
    assert abs(told - named) < 6.2 * 0.5 * (1 / n + 1 / denoiser.calibration.words) ** 0.5  # 1e-9
    assert denoiser.calibration.random < named - 0.1  # the grammar alone tells much


def test_a_confidence_is_right_as_often_as_it_says(few, wide):
    denoiser = Denoiser(few, MECHANISM, prior=wide, style="balanced", least=0.0)
    sure, hit = [], []
    for read, original in zip(denoiser.denoise_batch(batch_of(few, ORIGINALS, 2)), ORIGINALS, strict=True):
        sure += read.confidences.tolist()
        hit += [a.lower() == b.lower() for a, b in zip(read.text.split(), original.split(), strict=True)]
    sure, hit = np.array(sure), np.array(hit)
    for low, high in ((0, 0.5), (0.5, 0.8), (0.8, 1.01)):
        some = (sure >= low) & (sure < high)
        assert abs(sure[some].mean() - hit[some].mean()) < 4 / np.sqrt(some.sum())


def test_only_a_release_of_this_mechanism_and_vocabulary_is_read(few, wide):
    denoiser = Denoiser(few, MECHANISM, prior=wide, least=0.0)
    for original in ("The dog runs.", None, ["The dog runs."]):
        with pytest.raises(ParameterError, match="release") as refused:
            denoiser(original)
        assert "dog" not in str(refused.value)
    (other,) = released(few, ["The dog runs."], wv.SanText(epsilon=2.0))
    with pytest.raises(ParameterError, match=r"another mechanism than SanText\(epsilon=2.5"):
        denoiser(other)
    (narrow,) = released(few.without_outputs(["bird"]), ["The dog runs."])
    with pytest.raises(ParameterError, match="another candidates_checksum"):
        denoiser(narrow)
    renamed = wv.Embeddings.from_arrays([word.upper() for word in few.words], few.vectors, casing="cased")
    (foreign,) = released(renamed, ["THE DOG"])
    with pytest.raises(ParameterError, match="another checksum"):
        denoiser(foreign)
    with pytest.raises(ChecksumError, match="prior"):
        Denoiser(renamed, MECHANISM, prior=wide)


def test_a_release_by_other_lists_beside_the_same_words_is_not_read(few, wide, tmp_path):
    mechanism, tables = wv.NeighbourResponse(epsilon=4.0, k=2, outputs=6), {}
    for order in ("unknown", "frequency"):
        kept = few.save(tmp_path / order).directory / "header.json"
        kept.write_text(kept.read_text().replace('"order": "unknown"', f'"order": "{order}"'))
        tables[order] = wv.load_embeddings(tmp_path / order)
    (release,) = released(tables["unknown"], ["The dog runs."], mechanism)
    assert Denoiser(tables["unknown"], mechanism, prior=wide, least=0.0)(release).guarantee == release.guarantee
    with pytest.raises(ParameterError, match="another public_data"):
        Denoiser(tables["frequency"], mechanism, prior=wide, least=0.0)(release)


def test_nothing_is_read_where_noise_is_all(few, wide):
    drowned = wv.SanText(epsilon=1e-3)
    (release,) = released(few, ["The dog runs."], drowned)
    with pytest.raises(UnreadableReleaseError, match=r"less than 0.9, so what would be read is invented"):
        Denoiser(few, drowned, prior=wide, least=0.9)(release)
    read = Denoiser(few, drowned, prior=wide, least=0.0)(release)
    known = Denoiser(few, drowned, prior=wide, least=0.0).calibration
    assert abs(known.named - known.random) < 6.2 * (0.5 / known.words) ** 0.5  # 1e-9
    assert not read.refused
    assert 0 < LEAST < 1


def test_a_text_of_which_too_little_can_be_read_stays_as_released(few, wide):
    batch = batch_of(few, ORIGINALS[:40], 3)
    means = [own.confidences.mean() for own in Denoiser(few, MECHANISM, prior=wide, least=0.0).denoise_batch(batch)]
    least = float(np.quantile(means, 0.25))
    strict = Denoiser(few, MECHANISM, prior=wide, least=least)
    assert strict.calibration.named > least
    for own, mean, text in zip(strict.denoise_batch(batch), means, batch.texts, strict=True):
        assert own.refused == (mean < least)
        assert own.text == text or not own.refused
    assert 0 < sum(mean < least for mean in means) < 30


def test_no_text_changes_another(few, wide):
    denoiser = Denoiser(few, MECHANISM, prior=wide, least=0.0)
    texts = [release.text for release in released(few, ORIGINALS[:20])]
    together = denoiser.read([*texts, "", "12."])
    for text, own in zip(texts, together, strict=False):
        (alone,) = denoiser.read([text])
        assert alone.text == own.text
        assert np.array_equal(alone.confidences, own.confidences)
    assert [own.text for own in together[20:]] == ["", "12."]
    assert denoiser.read([]) == []


def test_layout_and_surrogates_stay(few, wide):
    text = "The dog runs; not here.\n\n  E-mail: m@x.org, on 12 May 2020 - the (cat)  SLEEPS!"
    for options in ({"unknown": "typed"}, {"unknown": "typed", "casing": "shape"}, {"casing": "vocabulary"}):
        (release,) = released(few, [text], **options)
        denoiser = Denoiser(few, MECHANISM, prior=wide, least=0.0, options=wv.TextOptions(**options))
        read = denoiser(release).text
        words = rf"(?i)\b(?:{'|'.join(few.words)})\b"
        assert re.sub(words, "w", read) == re.sub(words, "w", release.text)
        assert any(mark in read for mark in ("\n\n", ";"))


def test_marks_say_how_sure_each_word_is(few, wide):
    (release,) = released(few, [ORIGINALS[0]])
    plain, marked = (
        Denoiser(few, MECHANISM, prior=wide, least=0.0, marked=marked)(release) for marked in (False, True)
    )
    words = [word.rstrip(".,").split("|") for word in marked.text.split()]
    assert [word for word, _ in words] == [word.rstrip(".,") for word in plain.text.split()]
    assert [float(share) for _, share in words] == pytest.approx(plain.confidences, abs=0.006)


def test_a_public_word_that_the_vocabulary_lacks_stays_whole_and_is_not_counted(few, wide):
    """Its parts were read as released words, and replaced."""
    options = wv.TextOptions(public_words=frozenset({"the-and-not"}))
    denoiser = Denoiser(few, MECHANISM, options=options, prior=wide, least=0.0)
    (release,) = released(few, [f"{ORIGINALS[0]} the-and-not"], public_words=options.public_words)
    (read,) = denoiser.read([release.text])
    assert read.text.casefold().endswith("the-and-not")
    assert len(read.released) == release.tokens


def test_public_words_stand_for_themselves_and_are_no_evidence_for_each_other(few, wide):
    options = wv.TextOptions(public_words=frozenset({"the", "and", "not"}))
    denoiser = Denoiser(few, MECHANISM, options=options, prior=wide, least=0.0)
    public = np.sort(few.ids(["the", "and", "not"]))
    law = denoiser.randomizer.law(np.arange(len(few), dtype=np.int32))
    seen = np.append(np.arange(len(few)), len(few) + STOP).astype(np.int32)
    states, chances = denoiser._evidence(seen)
    for word, row, own in zip(seen.tolist(), states, chances, strict=True):
        found = np.zeros(len(few) + STATES)
        np.add.at(found, row, own)
        expected = np.zeros_like(found)
        if word < len(few):
            expected[: len(few)] = law[:, word]
            expected[public] = 0.0
        if word in public or word >= len(few):
            expected[word] = 1.0
        assert found == pytest.approx(expected / expected.max(), abs=1e-6)
    release = released(few, ORIGINALS[:30], public_words=frozenset({"the", "and", "not"}))
    read = [denoiser(each) for each in release]
    assert all(len(own.confidences) >= each.tokens for own, each in zip(read, release, strict=True))


def test_mechanisms_without_a_law_in_closed_form_are_refused(few, wide):
    with pytest.raises(ParameterError, match=r"public='<3 words>' must hold at least 50 words"):
        _ = Denoiser(few, MECHANISM, prior=wide, public=["The dog runs."]).calibration
    with pytest.raises(ParameterError, match="no law in closed form"):
        Denoiser(few, wv.MultivariateLaplace(epsilon=1.0), prior=wide)
    for wrong in ({"style": "poetic"}, {"least": 1.5}, {"least": -0.1}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            Denoiser(few, MECHANISM, prior=wide, **wrong)
