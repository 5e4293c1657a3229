"""Sentences are cut where a reader would; no personal data comes into a stock, and what fills a slot tells nothing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.times import assert_proportional

from wordveil.sentences.slots import clean, fill, slots_of
from wordveil.sentences.splitting import split_sentences
from wordveil.text.kinds import KINDS, kind
from wordveil_lab.rows import data_folder, read_rows
from worlds import told

TOLD = told(__file__, "sentences")
KEPT, DROPPED, CASES, CUT = (TOLD[part] for part in ("kept", "dropped", "cases", "cut"))


@pytest.mark.parametrize("sentence", [*KEPT, *DROPPED])
def test_personal_data_becomes_slots_and_what_may_be_about_somebody_is_dropped(sentence):
    assert clean(sentence) == (KEPT.get(sentence), DROPPED.get(sentence, ""))


@given(st.text(alphabet="abcMKZ 0123.@-/:$'", max_size=60))
def test_nothing_that_has_a_kind_is_left(text):
    found = clean(f"This is what {text} was")
    if found.sentence is not None:
        bare = re.sub(r"\[[\w-]+\]", " ", found.sentence)
        assert not any(character.isdigit() for character in bare)
        assert not re.search(r"\w@\w", bare)


@pytest.mark.parametrize("slot", [*KINDS, "name"])
def test_a_slot_is_filled_by_a_value_of_its_kind(slot):
    sentence = f"We saw [{slot}] again."
    assert slots_of(sentence) == [slot]
    values = {fill(sentence, bytes([seed]))[len("We saw ") : -len(" again.")] for seed in range(60)}
    assert len(values) > (10 if slot in ("card", "name") else 30 if slot != "year" else 20)
    assert {kind(value) for value in values} == {None if slot == "name" else slot}


def test_a_filling_depends_on_what_came_before_and_on_nothing_else():
    sentence = "[name] paid [money] to [name]."
    assert fill(sentence, b"a") == fill(sentence, b"a") != fill(sentence, b"b")
    first, last = re.fullmatch(r"(\w+) paid \$\d+ to (\w+)\.", fill(sentence, b"a")).groups()
    assert first != last
    assert fill(sentence, b"a", {"money": "$70"}).count("$70") == 1
    assert fill("No slot.", b"a", {"money": "$70"}) == "No slot."


@pytest.mark.data
def test_hardly_any_marked_value_of_synthetic_personal_data_survives():
    """Spans that Presidio's generator marked as of a person, in sentences that are kept: all but 1 in 300 are gone."""
    persons = {"PERSON", "STREET_ADDRESS", "CREDIT_CARD", "PHONE_NUMBER", "EMAIL_ADDRESS", "IBAN_CODE", "US_SSN",
               "IP_ADDRESS", "DOMAIN_NAME", "US_DRIVER_LICENSE", "ZIP_CODE"}  # fmt: skip
    if data_folder() is None:
        pytest.skip("the folder of data sets is not named by WORDVEIL_DATA")
    survived, asked, kept = [], 0, 0
    for row in read_rows("privacy/presidio-synth.jsonl.gz", ["text", "spans"]):
        values = [row["text"][span["start"] : span["end"]] for span in row["spans"] if span["type"] in persons]
        for sentence in split_sentences(row["text"]):
            marked = [value for value in values if value in sentence]
            found = clean(sentence).sentence
            asked += len(marked)
            kept += found is not None
            survived += [value for value in marked if found is not None and value in found]
    assert kept > 300
    assert asked > 1500
    assert len(survived) <= asked / 300


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


@pytest.mark.parametrize("unit", ["a. ", "A. ", "! ", "\n", "(((", "1) ", "U.S.", ". ", "x" * 50, "\n- ", '" ', "."])
def test_time_is_linear(unit):
    """Of a leader of dots too: 200 000 of them once took half an hour."""
    assert_proportional(
        lambda size: split_sentences(f"Contents{unit * (size // len(unit))}7 and more. The end."), 10_000
    )
