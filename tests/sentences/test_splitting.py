"""Sentences are cut where a reader would cut them, in time linear in the text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordveil.sentences.splitting import split_sentences

CASES = {
    "plain": ["She came home.", "He left!", "Did he?", "Yes."],
    "titles": ["Dr. Smith saw Mrs. Jones and Prof. Lee.", "They met St. John."],
    "initials": ["J. R. Smith wrote to F. Scott Fitzgerald.", "He answered."],
    "vitamin": ["So did I.", "Then we left."],
    "latin": ["Some drugs, e.g. Aspirin, i.e. ASA, vs. Placebo, were given.", "None helped."],
    "decimals": ["The dose was 2.5 mg, up from 0.75.", "It costs $3.50."],
    "times": ["He slept until 11 p.m. on Monday.", "She rose at 6 a.m. and ran."],
    "time at the end": ["He slept until 11 p.m.", "Then he rose."],
    "acronyms": ["The U.S. Senate met in Washington D.C. The vote failed."],
    "acronym at the end": ["He moved to the U.S.", "The house was sold."],
    "numbers": ["See No. 5 and p. 12 and Vol. 3.", "Is it so? No."],
    "quotes": ["“Fine!” she said.", "'Is it?' He nodded.", "(It was.)", "\"Go.\""],
    "ellipsis": ["Well... maybe not.", "I wonder…", "He left."],
    "several marks": ["What?!", "No!!!", "Oh."],
    "unfinished": ["It ends.", "without a mark"],
    "etc": ["Apples, pears, etc. are fruit.", "He ate apples, etc.", "They were ripe."],
    "months": ["Seen on Jan. 5 and Sept. 12.", "Discharged."],
    "url": ["See www.example.com/a.html for more.", "Thanks."],
}  # fmt: skip
CUT = {"acronyms": ["The U.S. Senate met in Washington D.C.", "The vote failed."],
       "numbers": ["See No. 5 and p. 12 and Vol. 3.", "Is it so?", "No."],
       "unfinished": ["It ends. without a mark"],
       "quotes": ["“Fine!” she said.", "'Is it?'", "He nodded.", "(It was.)", '"Go."']}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sentences_of_ordinary_text(name):
    assert split_sentences(" ".join(CASES[name])) == CUT.get(name, CASES[name])


def test_lists_and_paragraphs_end_sentences_and_other_line_breaks_do_not():
    text = "Findings:\n1. Heart normal\n2. Lungs clear. No fever.\n- allergies: none\n\nPlan is\nto wait.\n\n\nBye"
    assert split_sentences(text) == [
        "Findings:", "1. Heart normal", "2. Lungs clear.", "No fever.", "- allergies: none", "Plan is\nto wait.", "Bye",
    ]  # fmt: skip
    assert split_sentences("1. First. 2. Second.") == ["1. First.", "2. Second."]


def test_text_without_capitals_is_cut_at_full_stops():
    assert split_sentences("simplistic , silly and tedious . it 's so laddish . ok") == [
        "simplistic , silly and tedious .", "it 's so laddish .", "ok",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "number"), [("", 0), (" \n\t ", 0), ("!!!", 1), ("... -- ...", 1), ("?! Hello.", 1), ("Hello. ***", 1)]
)
def test_marks_alone_are_no_sentences_but_a_text_that_is_not_empty_has_one(text, number):
    assert len(split_sentences(text)) == number


@given(st.text(alphabet="abzAZ .!?…\n\"')(-19é\u2019", max_size=60))
def test_no_character_is_lost_but_white_space(text):
    pieces = split_sentences(text)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(piece == piece.strip() and piece for piece in pieces)
    assert bool(pieces) == bool(text.strip())
    if len(pieces) > 1:
        assert all(any(map(str.isalnum, piece)) for piece in pieces)


@pytest.mark.parametrize("unit", ["a. ", "A. ", "! ", "\n", "(((", "1) ", "U.S.", ". ", "x" * 50, "\n- ", '" '])
def test_time_is_linear(unit):
    def seconds(characters):
        text = unit * (characters // len(unit))
        return min(_timed(text) for _ in range(3))

    small, large = seconds(20_000), seconds(160_000)
    assert large < 30 * small + 0.05  # 8 times the text; quadratic would be 64 times


def _timed(text):
    begun = time.process_time()
    split_sentences(text)
    return time.process_time() - begun


def test_a_leader_of_dots_takes_linear_time():
    took = []
    for dots in (20_000, 200_000):
        text = "Contents" + "." * dots + "7 and more. The end."
        started = time.process_time()
        assert split_sentences(text)[-1] == "The end."
        took.append(time.process_time() - started)
    assert took[1] < 60 * took[0] + 0.05  # a quadratic one takes 100 times as long, and half an hour
