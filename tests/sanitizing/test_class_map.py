"""Real text through the classes: what a release is without its noise, and nothing of what a release may not read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seeds
import wordveil as wv
from wordveil.errors import ParameterError

WORDS = wv.load_embeddings().words
CERTAIN = 45.0  # nats: another face with probability 256 / exp(45), below 1e-17 a word
MECHANISM = wv.NeighbourResponse(epsilon=CERTAIN, outputs="classes:256")


def sanitizer(**options) -> wv.Sanitizer:
    source = wv.RandomSource.seeded_for_tests(seeds.seed(31))
    return wv.Sanitizer(
        wv.load_embeddings(), MECHANISM, options=wv.TextOptions(unknown="typed", **options), source=source
    )


CLASSES = wv.ClassMap(sanitizer())


@settings(max_examples=30)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=30), st.sampled_from([" ", ", ", ".\n"]))
def test_a_mapped_text_is_the_release_without_its_noise(words, gap):
    text = gap.join(word.capitalize() for word in words)
    assert CLASSES.map(text) == sanitizer()(text).text


def test_words_of_a_class_are_one_and_noise_tells_a_release_apart_and_what_says_nothing_goes():
    noisy = wv.Sanitizer(wv.load_embeddings(), wv.NeighbourResponse(epsilon=1.0, outputs="classes:256"))
    assert CLASSES.map(" ".join(WORDS[:2000])) != noisy(" ".join(WORDS[:2000])).text
    assert CLASSES.map("a doctor") == CLASSES.map("A  surgeon").replace("  ", " ")
    assert CLASSES.face("doctor") == CLASSES.face("surgeon") != CLASSES.face("holiday")
    assert CLASSES.face("zzxqk") is None
    assert CLASSES.map("good zzxqk film") == CLASSES.map("good film")
    assert CLASSES.map("at 7.30 on 1999-01-02") == CLASSES.map("at 9.45 on 2024-12-31")


def test_public_words_and_empty_texts_pass():
    kept = wv.ClassMap(sanitizer(public_words=frozenset({"metformin"})))
    assert "metformin" in kept.map("takes metformin daily")
    assert CLASSES.map(["", None, "good"]) == ["", None, CLASSES.map("good")]


def test_what_has_no_classes_is_refused():
    with pytest.raises(ParameterError, match="must release classes"):
        wv.ClassMap(wv.Sanitizer(wv.load_embeddings(), wv.NeighbourResponse(outputs=4000)))
    with pytest.raises(ParameterError, match="must be str"):
        CLASSES.map(["good", 7])
