"""Splitting: lossless, nothing unlisted in a gap, and one token for what must not be cut."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.times import assert_proportional

from wordveil.errors import ParameterError
from wordveil.text.characters import (
    APOSTROPHES,
    GAP_CHARACTERS,
    HYPHENS,
    LAYOUT,
    PUNCTUATION,
    character_class,
    mark_class,
    number_class,
)
from wordveil.text.patterns import PLAIN_LETTER, markup_pattern
from wordveil.text.tokenizer import Tokenizer, tokenizer_for

PLAIN = Tokenizer()
HTML = Tokenizer(markup="html")

# Characters that steer the pattern, mixed with arbitrary ones, reach far more of it than either alone.
STEERING = (
    "aZé19²½Ⅷ٣०一日ひカ한भ́\u200d\u200f\u00ad\ufeff\x00\x1c\x85 \n\t\xa0.,:;-–—_/\\@#$%&+*=~'’´`\"()[]<>!?…"
    "€£😀👍🏽❤️\U000e0061\ue000\ud800"
)
ATOMS = [
    "http://", "www.", ".com", "mailto:", "C:\\", "::", "ab:", "<br />", "&amp;", "<a href=", "1 2", "(0)", "GB29",
    "don't", "x@y", "#t", "a.b.", "..", "--", "e.g.", "IP 1.2.3.4",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet=st.sampled_from(STEERING), max_size=60),
    st.lists(st.one_of(st.sampled_from(ATOMS), st.sampled_from(STEERING), st.characters()), max_size=25).map("".join),
)


@given(TEXTS)
def test_nothing_is_lost_and_gaps_hold_listed_characters_only(text):
    for tokenizer in (PLAIN, HTML):
        pieces = tokenizer.split(text)
        assert len(pieces) % 2 == 1
        assert "".join(pieces) == text
        assert all(pieces[1::2])
        gaps = [markup_pattern().sub("", gap) if tokenizer is HTML else gap for gap in pieces[::2]]
        assert set("".join(gaps)) <= GAP_CHARACTERS
    assert not any(set(token) <= GAP_CHARACTERS for token in PLAIN.split(text)[1::2])


ASSIGNED = (0, 1, 2, 3, 14)  # planes; of the others, which hold no character of the standard, every 97th point is tried


@pytest.mark.parametrize("plane", range(17))
def test_every_code_point_outside_the_list_is_in_a_token(plane):
    for code in range(plane << 16, (plane + 1) << 16, 1 if plane in ASSIGNED else 97):
        if chr(code) in GAP_CHARACTERS:
            continue
        pieces = PLAIN.split(f" {chr(code)} ")
        assert pieces == [" ", chr(code), " "], hex(code)


def test_the_list_holds_no_letter_number_mark_control_or_currency_sign():
    categories = {c: unicodedata.category(c) for c in PUNCTUATION}
    assert {c for c, category in categories.items() if category[0] in "LNMC"} == set()
    assert {c for c, category in categories.items() if category == "Sc"} == {"$"}
    assert {c for c in LAYOUT if not c.isspace()} == set()
    assert {chr(code) for code in range(0x21, 0x7F) if not chr(code).isalnum()} <= GAP_CHARACTERS


def test_plain_letters_are_letters():
    letters = re.compile(PLAIN_LETTER)
    matched = [chr(code) for code in range(0x110000) if letters.match(chr(code))]
    assert len(matched) > 800
    assert {c for c in matched if unicodedata.category(c)[0] != "L"} == set()
    assert not set(matched) & set(APOSTROPHES + HYPHENS)


@pytest.mark.parametrize(
    ("inside", "categories"), [(number_class(), {"Nd", "Nl", "No"}), (mark_class(), {"Mn", "Mc", "Me", "Cf"})]
)
def test_numbers_and_marks_are_those_of_this_python(inside, categories):
    everything = "".join(map(chr, range(0x110000)))
    expected = "".join(c for c in everything if unicodedata.category(c) in categories)
    assert "".join(re.findall(f"[{inside}]", everything)) == expected


@given(st.text(min_size=1, max_size=40))
def test_character_class_matches_exactly_its_members(characters):
    member = re.compile(f"[{character_class(characters)}]")
    others = {chr(code) for c in characters for code in (ord(c) - 1, ord(c) + 1) if 0 <= code < 0x110000}
    for c in set(characters) | others | set("]-^\\"):
        assert (member.fullmatch(c) is not None) == (c in characters)


ONE_TOKEN = [
    # e-mail, URL, handle, hashtag
    "john.smith@example.com", "j@b", "first+tag@mail.co.uk", "ana_maria-x@host", "jörg@büro.de",
    "http://www.ScrapbookInsider.com.pt/", "https://x.org/a/b?c=d&e=%20f#g", "www.example.com", "example.com",
    "ClickPhobia.com.br/", "example.org/path,with;marks?x=(1)&y", "ftp://user:pw@host:21/f", "mailto:a@b.c",
    "@handle", "@john_smith", "#hashtag", "#2", "report.pdf", "my_file-name.tar.gz",
    # paths, hashes, identifiers
    "/usr/local/bin/x", "C:\\Users\\maria\\a.txt", "\\\\server\\share", "~/notes", "./run", "../a/b", "src/main/java",
    "d41d8cd98f00b204e9800998ecf8427e", "123e4567-e89b-12d3-a456-426614174000", "deadbeef-cafe-0000-abcd-ef0123456789",
    "LC55HEMM000100010012001200023015", "LC55 HEMM 0001 0001 0012 0012 0002 3015",
    "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
    "GB29NWBK60161331926819", "GB29 NWBK 6016 1331 9268 19", "DE89 3704 0044 0532 0130 00", "foo_bar", "AB-12-CD",
    # numbers
    "905-674-3793", "07700 063 966", "(37) 788-063", "+1-984-182-0190", "+46 (0)8 928 571 38", "+1 (555) 010-9999",
    "555 (123) 4567", "106.31.73.20", "6e40:4041:c617:e898:c11:40d2:c669:2eb4", "fe80::1", "2001:db8::/32",
    "00:1A:2B:3C:4D:5E", "de:ad:be:ef:00:01", "::ffff:10.0.0.1", "2000-04-16 11:34:35", "2/8/1935", "12.05.2001",
    "4454 7945 1139 0933", "4454-7945-1139-0933", "1,234,567.89", "$5.50", "€20", "20€", "US$5", "50%", "5%-10%",
    "5’10", "1990's", "mid-1990s", "COVID-19", "20th", "3-year-old", "7.5/10", "1990–2000", "½", "m²", "x²", "Ⅷ",
    "٣٤٥", "1️⃣", "No.5", "10:30am", "+44",
    # words
    "don't", "he’s", "mother-in-law", "O'Brien", "rock'n'roll", "U.S.", "e.g.", "naïve", "Москва", "קָרָא", "नमस्ते",
    "cafe\u0301", "a\u00adb", "na\u200cme", "\ufeffHello", "don´t", "don`t", "word\u200f",
    # runs
    "😀😀", "👩\u200d⚕️", "👍🏽", "日本語です", "東京タワー", "\x00", "\x00\x01", "€", "\ue000",
]  # fmt: skip


@pytest.mark.parametrize("token", ONE_TOKEN)
def test_one_token(token):
    assert PLAIN.split(token) == ["", token, ""]
    assert PLAIN.split(f"see {token}, and") == ["", "see", " ", token, ", ", "and", ""]


CUTS = [
    ("The end.The start", ["The", "end", "The", "start"]),
    ("and/or (1999) well--no", ["and", "or", "1999", "well", "no"]), ("wait... what?! 'em", ["wait", "what", "em"]),
    ("AT&T said:yes", ["AT", "T", "said", "yes"]), ("Call me at x@y.org.", ["Call", "me", "at", "x@y.org"]),
    ("(see http://a.b/c).", ["see", "http://a.b/c"]), ("<mail@x.org>", ["mail@x.org"]),
    ("1999, 2000; 2001", ["1999", "2000", "2001"]), ("in 1999,which", ["in", "1999", "which"]),
    ("hello😀日本语ok", ["hello", "😀", "日本语", "ok"]), ("日本。東京", ["日本", "東京"]),
    ("“Quoted” ‘text’ — dash", ["Quoted", "text", "dash"]), ("line\r\nnext\x85last", ["line", "next", "last"]),
    ("abc\x1cdef", ["abc", "\x1c", "def"]), ("5 stars 4 you", ["5", "stars", "4", "you"]),
    ("std::vector", ["std", "vector"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tokens"), CUTS)
def test_cuts(text, tokens):
    assert PLAIN.split(text)[1::2] == tokens


def test_fixed_tags_and_entities_are_gap_and_no_others():
    assert PLAIN.split("a<br />b") == ["", "a", "<", "br", " />", "b", ""]
    assert HTML.split("&#77;&maria; 3 < 5 > 4")[1::2] == ["#77", "maria", "3", "5", "4"]
    pieces = HTML.split("Good.<br /><br />Bad &amp; <b>ugly</b>&nbsp;end</P>")
    assert pieces == ["", "Good", ".<br /><br />", "Bad", " &amp; <b>", "ugly", "</b>&nbsp;", "end", "</P>"]


@pytest.mark.parametrize("tag", [
    "<a href='http://x.org/maria'>", "<br class=x>", "<maria>", "</maria>", "<!-- Maria -->", '<p id="maria">',
    "<?maria?>",
])  # fmt: skip
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
