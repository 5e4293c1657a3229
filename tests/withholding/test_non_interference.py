"""Swapping every hidden token for another of its kind leaves every byte of a release as it is."""

from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.withholding.swapping import GAPS, KNOWN, equalities, swapped

import seeds
from wordveil.arrays import PrivateText
from wordveil.withholding.laws import LAWS
from wordveil.withholding.redactor import Redactor
from wordveil.withholding.rule import Rule, _Around
from wordveil.withholding.tokens import tokenize
from wordveil.withholding.words import COMMON, PACKS, PublicWords

PIECES = st.one_of(
    st.sampled_from(KNOWN), st.text("abcdefghijklmnopqrstuvwxyzABCDEFGH0123456789'", min_size=1, max_size=6)
)
TEXTS = st.lists(st.tuples(PIECES, st.sampled_from(GAPS)), max_size=40).map(
    lambda parts: "".join(piece + gap for piece, gap in parts)
)
RULES = st.builds(
    Rule, strict=st.booleans(), titles=st.booleans(), calendar=st.booleans(),
    numbers=st.sampled_from([None, (0, 10), (2, 7)]),
)  # fmt: skip
WORDS = st.builds(
    PublicWords, common=st.sampled_from(COMMON), packs=st.sampled_from([(), PACKS[:1], PACKS]),
    added=st.sampled_from([frozenset(), frozenset({"maria", "zq"})]),
    hidden=st.sampled_from([frozenset(), frozenset({"the", "may", "mr", "monday"})]), sensitive=st.booleans(),
)  # fmt: skip
REMEMBERED: dict[PublicWords, PublicWords] = {}


def released(redactor: Redactor, text: str) -> str:
    return redactor.release(PrivateText(text), Counter(), "a document")


@settings(max_examples=600)
@given(text=TEXTS, rule=RULES, words=WORDS, law=st.sampled_from(sorted(LAWS)), number=st.integers(0, 2**32))
def test_equal_bytes_over_whole_configurations(text, rule, words, law, number):
    words = REMEMBERED.setdefault(words, words)
    redactor = Redactor(words=words, rule=rule, law=law, source=seeds.source(1))
    other = swapped(text, redactor, seeds.rng(number))
    assert released(redactor, other) == released(redactor, text)


@settings(max_examples=200)
@given(text=TEXTS, rule=RULES, number=st.integers(0, 2**32))
def test_equal_bytes_where_equal_tokens_are_numbered_alike(text, rule, number):
    words = REMEMBERED.setdefault(PublicWords(), PublicWords())
    redactor = Redactor(words=words, rule=rule, link="document")
    other = swapped(text, redactor, seeds.rng(number), alike=True)
    assume(equalities(other, redactor) == equalities(text, redactor))
    assert released(redactor, other) == released(redactor, text)


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True])
def test_equal_bytes_over_real_texts(real_texts, strict):
    redactor, rng = Redactor(rule=Rule(strict=strict), source=seeds.source(1)), seeds.rng(2)
    assert len(real_texts) > 3500
    differing = [
        n
        for n, text in enumerate(real_texts)
        if released(redactor, swapped(text, redactor, rng)) != released(redactor, text)
    ]
    assert differing == []


@given(text=TEXTS, rule=RULES)
def test_kept_tokens_agree_with_themselves(text, rule):
    """Verdicts over what is kept hide no more of it, and every kept token is one that its place permits."""
    words = REMEMBERED.setdefault(PublicWords(), PublicWords())
    tokens = tokenize(text, words)
    kept, places = rule.kept(tokens), rule.places(tokens)
    around = _Around(tokens, kept, strict=rule.strict)
    verdicts = (around.names, around.announced, around.phrases, around.compounds)
    assert not any(kept[i] for verdict in verdicts for i in verdict())
    permitted = [rule.may_keep(*parts) for parts in zip(tokens.texts, tokens.spellings, places, strict=True)]
    assert all(permitted[i] for i, stays in enumerate(kept) if stays)


@given(text=TEXTS)
def test_the_parts_of_a_text_are_the_text(text):
    words = REMEMBERED.setdefault(PublicWords(), PublicWords())
    tokens = tokenize(text, words)
    assert "".join(gap + token for gap, token in zip(tokens.gaps, [*tokens.texts, ""], strict=True)) == text


class ReadsHiddenLetters(Rule):
    """The prototype's fault: whether a capital after a dot opens a sentence depends on the letters before the dot."""

    def verdicts(self, tokens):
        kept, secret = super().verdicts(tokens)
        for i in range(1, len(kept)):
            if tokens.texts[i - 1].lower() in ("mr", "dr") and tokens.gaps[i] == ". ":
                kept[i] = False
        return kept, secret


def test_a_rule_that_reads_hidden_letters_is_noticed():
    redactor, rng = Redactor(rule=ReadsHiddenLetters()), seeds.rng(4)
    text = "He met Qv. The house was old."
    others = [swapped(text, redactor, rng) for _ in range(400)]  # one in 24 draws "Mr"
    assert any(released(redactor, other) != released(redactor, text) for other in others)
