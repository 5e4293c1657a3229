"""Splitting: lossless, nothing unlisted in a gap, and one token for what must not be cut."""

import itertools
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.times import assert_proportional

from wordveil.errors import ParameterError
from wordveil.text import characters
from wordveil.text.patterns import PLAIN_LETTER, markup_pattern
from wordveil.text.tokenizer import Tokenizer, tokenizer_for
from worlds import told

TOLD = told(__file__)

PLAIN = Tokenizer()
HTML = Tokenizer(markup="html")

# Characters that steer the pattern, mixed with arbitrary ones, reach far more of it than either alone.
STEERING = (
    "aZé19²½Ⅷ٣०一日ひカ한भ́\u200d\u200f\u00ad\ufeff\x00\x1c\x85 \n\t\xa0.,:;-–—_/\\@#$%&+*=~'’´`\"()[]<>!?…"
    "€£😀👍🏽❤️\U000e0061\ue000\ud800"
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet=st.sampled_from(STEERING), max_size=60),
    st.lists(st.one_of(st.sampled_from(TOLD["atoms"]), st.sampled_from(STEERING), st.characters()), max_size=25).map(
        "".join
    ),
)


@given(TEXTS)
def test_nothing_is_lost_and_gaps_hold_listed_characters_only(text):
    for tokenizer in (PLAIN, HTML):
        pieces = tokenizer.split(text)
        assert len(pieces) % 2 == 1
        assert "".join(pieces) == text
        assert all(pieces[1::2])
        gaps = [markup_pattern().sub("", gap) if tokenizer is HTML else gap for gap in pieces[::2]]
        assert set("".join(gaps)) <= characters.GAP_CHARACTERS
    assert not any(set(token) <= characters.GAP_CHARACTERS for token in PLAIN.split(text)[1::2])


ASSIGNED = (0, 1, 2, 3, 14)  # planes; of the others, which hold no character of the standard, every 97th point is tried


@pytest.mark.parametrize("plane", range(17))
def test_every_code_point_outside_the_list_is_in_a_token(plane):
    for code in range(plane << 16, (plane + 1) << 16, 1 if plane in ASSIGNED else 97):
        if chr(code) in characters.GAP_CHARACTERS:
            continue
        pieces = PLAIN.split(f" {chr(code)} ")
        assert pieces == [" ", chr(code), " "], hex(code)


def test_the_list_holds_no_letter_number_mark_control_or_currency_sign():
    categories = {c: unicodedata.category(c) for c in characters.PUNCTUATION}
    assert {c for c, category in categories.items() if category[0] in "LNMC"} == set()
    assert {c for c, category in categories.items() if category == "Sc"} == {"$"}
    assert {c for c in characters.LAYOUT if not c.isspace()} == set()
    assert {chr(code) for code in range(0x21, 0x7F) if not chr(code).isalnum()} <= characters.GAP_CHARACTERS


def test_plain_letters_are_letters():
    letters = re.compile(PLAIN_LETTER)
    matched = [chr(code) for code in range(0x110000) if letters.match(chr(code))]
    assert len(matched) > 800
    assert {c for c in matched if unicodedata.category(c)[0] != "L"} == set()
    assert not set(matched) & set(characters.APOSTROPHES + characters.HYPHENS)


@pytest.mark.parametrize(
    ("inside", "categories"),
    [(characters.number_class(), {"Nd", "Nl", "No"}), (characters.mark_class(), {"Mn", "Mc", "Me", "Cf"})],
)
def test_numbers_and_marks_are_those_of_this_python(inside, categories):
    everything = "".join(map(chr, range(0x110000)))
    expected = "".join(c for c in everything if unicodedata.category(c) in categories)
    assert "".join(re.findall(f"[{inside}]", everything)) == expected


@given(st.text(min_size=1, max_size=40))
def test_character_class_matches_exactly_its_members(listed):
    member = re.compile(f"[{characters.character_class(listed)}]")
    others = {chr(code) for c in listed for code in (ord(c) - 1, ord(c) + 1) if 0 <= code < 0x110000}
    for c in set(listed) | others | set("]-^\\"):
        assert (member.fullmatch(c) is not None) == (c in listed)


@pytest.mark.parametrize("token", [*itertools.chain(*TOLD["one_token"].values())])
def test_one_token(token):
    assert PLAIN.split(token) == ["", token, ""]
    assert PLAIN.split(f"see {token}, and") == ["", "see", " ", token, ", ", "and", ""]


@pytest.mark.parametrize(("text", "tokens"), TOLD["cuts"].items())
def test_cuts(text, tokens):
    assert PLAIN.split(text)[1::2] == tokens


def test_fixed_tags_and_entities_are_gap_and_no_others():
    assert PLAIN.split("a<br />b") == ["", "a", "<", "br", " />", "b", ""]
    assert HTML.split("&#77;&maria; 3 < 5 > 4")[1::2] == ["#77", "maria", "3", "5", "4"]
    pieces = HTML.split("Good.<br /><br />Bad &amp; <b>ugly</b>&nbsp;end</P>")
    assert pieces == ["", "Good", ".<br /><br />", "Bad", " &amp; <b>", "ugly", "</b>&nbsp;", "end", "</P>"]


@pytest.mark.parametrize("tag", TOLD["other_tags"])
def test_other_tags_are_one_token(tag):
    assert HTML.split(f"x {tag} y") == ["", "x", " ", tag, " ", "y", ""]


@pytest.mark.parametrize(
    "unit", ["a.", "a😀", "a-", "1 ", "1.", "a/", "a@", "(1", "www.", "<a", "_a", ":a", "a\u0301", "http://!", "a_"]
)
def test_hostile_repetition_stays_lossless(unit):
    text = unit * 5_000  # quadratic time would take minutes
    for tokenizer in (PLAIN, HTML):
        assert "".join(tokenizer.split(text)) == text


def test_a_chain_of_letters_and_dots_takes_time_in_proportion_to_its_length():
    assert_proportional(lambda repeats: PLAIN.split("A." * repeats + "😀"), 250)
    assert PLAIN.split("A." * 32 + "b😀")[1] == "A." * 32 + "b"


def test_schemes():
    assert tokenizer_for("words") == PLAIN
    assert tokenizer_for("words", markup="html") == HTML
    with pytest.raises(ParameterError, match="scheme='sentences' is not a tokenizer scheme; the schemes are: words"):
        tokenizer_for("sentences")
    with pytest.raises(ParameterError, match="markup='xml' must be one of none, html"):
        tokenizer_for("words", markup="xml")
