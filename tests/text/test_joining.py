"""Dates in words, times of day and sums of money: one typed token each, whatever their form."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.times import assert_proportional

from wordveil.text.amounts import amount
from wordveil.text.encoding import Encoder
from wordveil.text.joining import joined
from wordveil.text.kinds import KINDS, kind
from wordveil.text.surrogates import Surrogates
from wordveil.text.tokenizer import Tokenizer

ONE = {
    "date": ["14 March 2026", "14th of march, 2026", "March 14, 2026", "MARCH 14th 2026", "14 Mar. 2026",
             "Sept. 14, 2026"],
    "time": ["5 am", "10:30 p.m.", "9.15 PM"],
    "money": ["50 €", "50 EUR", "1,000 GBP"],
}  # fmt: skip
LEFT = [
    "14 March", "x14 March 2026", "14 March 20261", "5 Amy", "5 amber", "50 Euros", "marching 14, 2026",
    "14 Marches 2026",
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "value"), [(name, value) for name, listed in ONE.items() for value in listed])
def test_a_value_with_spaces_becomes_one_token(wanted, value):
    pieces = Tokenizer().split(joined(f"Seen on {value}, then."))
    assert pieces[:4] == ["", "Seen", " ", "on"]
    assert pieces[6:] == [", ", "then", "."]
    assert kind(pieces[5]) == wanted


@pytest.mark.parametrize("text", [*LEFT, "", "no digits at all", "2026 and 14"])
def test_other_text_is_left_alone(text):
    assert joined(text) == text


@given(st.dates(min_value=date(1000, 1, 1)))
def test_dates_in_words_keep_their_day(day):
    for form in ("%d %B %Y", "%B %d, %Y", "%d %b %Y"):
        assert amount(joined(day.strftime(form)), "date") == day.toordinal()


@given(st.lists(st.sampled_from(["14", "March", "2026", "5", "pm", "€", "EUR", "may", "a", ",", "."]), max_size=9))
def test_nothing_but_spaces_and_marks_inside_a_value_goes(pieces):
    text = " ".join(pieces)
    kept, given = ([c for c in t if c.isalnum() or c == "€"] for t in (joined(text), text))
    assert kept == given


def test_only_typed_encoders_join():
    lookup = lambda asked: np.full(len(asked), -1, np.int32)  # noqa: E731
    texts = ["on 14 March 2026 at 5 p.m."]
    day, clock = (-2 - KINDS.index(name) for name in ("date", "time"))
    typed = Encoder(lookup=lookup, typed=Surrogates(first=0))
    assert typed.encode(texts)[0].ids.tolist() == [-1, day, -1, clock]
    assert [part.ids.tolist() for part in typed.encode_parts(texts)] == [[-1, day, -1, clock]]
    assert len(Encoder(lookup=lookup).encode(texts)[0].ids) == 7


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["14 March ", "March 1 ", "1 ", "0", "14 of ", "1, "])
def test_a_hostile_text_takes_time_in_proportion_to_its_length(unit):
    assert_proportional(lambda length: joined(unit * (length // len(unit))), 100_000)
