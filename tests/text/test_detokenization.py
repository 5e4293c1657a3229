"""Detokenizing and casing: interleaving, dropped words, and casing from released text alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordveil.errors import ParameterError
from wordveil.text.detokenization import apply_casing, apply_shapes, detokenize
from wordveil.text.tokenizer import Tokenizer

GAPS = st.sampled_from([" ", ", ", ". ", "\n", "-", " (", ") ", "… "])
WORD = st.text(alphabet="abcdefgh'é", min_size=1, max_size=5)


@given(st.data(), st.lists(WORD, max_size=8))
def test_interleaves(data, words):
    gaps = data.draw(st.lists(GAPS, min_size=len(words) + 1, max_size=len(words) + 1))
    expected = gaps[0] + "".join(word + gap for word, gap in zip(words, gaps[1:], strict=True))
    assert detokenize(gaps, words) == expected


@given(st.text(alphabet=st.sampled_from("ab'-. \n(),!9é€"), max_size=40))
def test_undoes_the_split_of_text_without_adjacent_tokens(text):
    pieces = Tokenizer().split(text)
    if "" not in pieces[2:-1:2]:
        assert detokenize(pieces[::2], pieces[1::2]) == text


@pytest.mark.parametrize(("gaps", "words", "text"), [
    (["", ""], ["a"], "a"),
    ([""], [], ""),
    (["(", "", ")"], ["do", "n't"], "(don't)"),
    (["", "", ""], ["it", "’s"], "it’s"),
    (["", "", "", "!"], ["good", "movie", "'s"], "good movie's!"),
    (["", " ", "."], ["a", ""], "a."),
    (["", " ", " ", ""], ["a", "", "b"], "a b"),
    (["", " ", ""], ["", "b"], "b"),
    (["", ", ", " ", "."], ["a", "", "b"], "a, b."),
    (["", " ", " ", " ", "."], ["a", "", "", "b"], "a b."),
    (["", " ", ")"], ["", ""], ")"),
    (["", "-", ""], ["a", "b"], "a-b"),
])  # fmt: skip
def test_detokenize(gaps, words, text):
    assert detokenize(gaps, words) == text


def test_detokenize_refuses_unequal_lengths():
    with pytest.raises(ParameterError, match="gaps=2 must hold one more entry than the 2 words"):
        detokenize(["", ""], ["secret", "words"])


SENTENCES = [
    ("hello there. how are you? fine! ok", "Hello there. How are you? Fine! Ok"),
    ("i think i'm i’ve right, am i", "I think I'm I’ve right, am I"),
    ("maybe (i) or i. it is", "Maybe (I) or I. It is"),
    ("i-beam hi-fi wi-i i_x i.e. this", "I-beam hi-fi wi-i i_x i.e. This"),
    ("“quoted.” then 'more.' (well)", "“Quoted.” Then 'more.' (Well)"),
    ("so...\n\n“really?”\nyes", "So...\n\n“Really?”\nYes"),
    ("great.<br /><br />the end", "Great.<br /><br />The end"),
    ("<p>first</p>", "<p>First</p>"),
    ("  - élan. ünder", "  - Élan. Ünder"),
    ("no.space here 3.5 x", "No.space here 3.5 x"),
    ("end. ßa", "End. ßa"),
    ("", ""),
    ("...", "..."),
    ("один. два", "Один. Два"),
]


@pytest.mark.parametrize(("text", "cased"), SENTENCES)
def test_sentence_casing(text, cased):
    assert apply_casing(text) == apply_casing(cased) == cased


def test_other_casings():
    assert apply_casing("so i said. i left NASA", cased=True) == "So i said. I left NASA"
    assert apply_casing("i said. so", "vocabulary") == "i said. so"
    with pytest.raises(ParameterError, match="casing='shape' must be 'sentence' or 'vocabulary'"):
        apply_casing("a", "shape")


@given(st.text(max_size=60))
def test_casing_is_idempotent_and_changes_case_only(text):
    cased = apply_casing(text)
    assert apply_casing(cased) == cased
    assert len(cased) == len(text)
    assert all(a == b or b == a.upper() for a, b in zip(text, cased, strict=True))


@pytest.mark.parametrize("unit", ["(", '."', ". ", "i", "<a ", ".<b"])
def test_casing_time_stays_linear(unit):
    assert len(apply_casing(unit * 20_000)) == len(unit) * 20_000  # quadratic time would take minutes


def test_apply_shapes():
    words = ["movie", "nasa", "i", "", "élan"]
    assert apply_shapes(words, np.array([1, 2, 0, 1, 1], np.uint8)) == ["Movie", "NASA", "i", "", "Élan"]
    assert words[0] == "movie"
    with pytest.raises(ParameterError, match="shapes=1 must hold one entry for each of the 5 words"):
        apply_shapes(words, np.zeros(1, np.uint8))
