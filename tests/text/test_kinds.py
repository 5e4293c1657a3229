"""The public table of kinds: one kind for each token, found in linear time, from its characters alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.times import assert_proportional

from wordveil.text.kinds import KINDS, kind
from wordveil.text.patterns import digit_pattern
from wordveil.text.tokenizer import Tokenizer

EXAMPLES = {
    "URL": ["https://x.de/a?b=1", "www.x.org", "example.com", "a.co.uk/path", "ftp://h", "news.site:8080"],
    "e-mail": ["a@b.de", "maria.k+x@clinic.de", "mailto:a@b.de", "o'neill@x.ie", "1@b2.org"],
    "handle": ["@maria_k", "#diabetes", "@a1"],
    "IP": ["10.0.0.1", "192.168.1.10:8080", "10.0.0.0/8", "fe80::1", "::1", "2001:db8:0:0:0:0:0:1"],
    "IBAN": ["GB56HXDO88167774656119", "gb42nawi04454264788619", "DE89 3704 0044 0532 0130 00"],
    "card": ["4454794511390933", "630427373398", "4111-1111-1111-1111", "4111 1111 1111 1111", "3782 822463 10005"],
    "date": ["2024-03-12", "2000-04-16 11:34:35", "2/8/1935", "3.4.24", "12-May-2024", "12May24", "2024-05-01T10:00Z"],
    "time": ["10:30", "5pm", "10:30:59", "10h30", "9.15am", "17h"],
    "year": ["1977", "2031", "1970s", "1990's"],
    "money": ["$5", "€1,000.50", "50€", "US$20", "£2.5m", "GBP20", "$5-10"],
    "telephone": ["+1 (555) 010-9999", "905-674-3793", "07700 063 966", "(37) 788-063", "541.714.1388", "0300123456"],
    "number": ["7", "47", "1,234.50", "½", "١٢٣", "50%", "5mg", "3rd", "10/10", "10-12", "#15", "12-year-old", "80's"],
    "path": ["/etc/passwd", "C:\\x", "~/notes", "report.pdf", "a\\b"],
    "identifier": ["460-89-9847", "AB-12345", "COVID-19", "6940579", "B0J", "x1", "12345-6789", "1e5", "我有3个"],
}
WORDS = ["Maria", "don't", "well-known", "U.S.", "e.g.", "café", "日本", "🙂", "he/she/they", "", "-", "<a href='x1'>"]


@pytest.mark.parametrize(("wanted", "token"), [(name, token) for name, listed in EXAMPLES.items() for token in listed])
def test_every_kind_is_found(wanted, token):
    assert kind(token) == wanted


def test_the_examples_cover_all_kinds():
    assert tuple(sorted(EXAMPLES)) == tuple(sorted(KINDS))


@pytest.mark.parametrize("token", WORDS)
def test_words_have_no_kind(token):
    assert kind(token) is None


@pytest.mark.parametrize("token", [token for listed in EXAMPLES.values() for token in listed])
def test_what_has_a_kind_is_one_token_inside_a_sentence(token):
    pieces = Tokenizer().split(f"Seen {token}, then.")
    assert token in pieces[1::2] or token.strip("/~.") in pieces[1::2]


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("aZ09.,:/-@#$€ \\()+x½\u0660é%'<"), max_size=30) | st.text(max_size=12))
def test_every_token_with_a_digit_has_one_of_the_kinds(token):
    found = kind(token)
    assert found is None or found in KINDS
    assert found is not None or not digit_pattern().search(token) or token.startswith("<")


HOSTILE = ["1", "a.", "1,", "@", "a@", "1-", ":", "a:", "\\", "1 ", "/a", "(", "a1", "Jan-", "x.", "a.com/", "1.1:"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_token_takes_time_in_proportion_to_its_length(unit):
    kind("1")

    assert_proportional(lambda length: kind(unit * (length // len(unit)) + "1"), 50_000)
