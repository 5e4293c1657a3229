"""Typed tokens: the table of kinds, values with spaces, what numbers are worth; and surrogates, which are of nobody."""

import ipaddress
import re
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.times import assert_proportional

from wordveil.mechanisms.wrappers import Typed
from wordveil.promises.number_grids import NumberGrid
from wordveil.text import amounts
from wordveil.text.amounts import amount
from wordveil.text.encoding import Encoder
from wordveil.text.joining import joined
from wordveil.text.kinds import KINDS, kind
from wordveil.text.patterns import digit_pattern
from wordveil.text.surrogates import GENERATORS, Surrogates
from wordveil.text.tokenizer import Tokenizer
from wordveil.text.writing import Writer
from worlds import told

TOLD = told(__file__)

EXAMPLES = TOLD["examples"]


@pytest.mark.parametrize(("wanted", "token"), [(name, token) for name, listed in EXAMPLES.items() for token in listed])
def test_every_kind_is_found_and_is_one_token_inside_a_sentence(wanted, token):
    assert kind(token) == wanted
    pieces = Tokenizer().split(f"Seen {token}, then.")
    assert token in pieces[1::2] or token.strip("/~.") in pieces[1::2]


def test_the_examples_cover_all_kinds():
    assert tuple(sorted(EXAMPLES)) == tuple(sorted(KINDS))


@pytest.mark.parametrize("token", TOLD["words"])
def test_words_have_no_kind(token):
    assert kind(token) is None


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("aZ09.,:/-@#$€ \\()+x½\u0660é%'<"), max_size=30) | st.text(max_size=12))
def test_every_token_with_a_digit_has_one_of_the_kinds(token):
    found = kind(token)
    assert found is None or found in KINDS
    assert found is not None or not digit_pattern().search(token) or token.startswith("<")


@pytest.mark.slow
@pytest.mark.parametrize("unit", TOLD["hostile"])
def test_a_hostile_token_takes_time_in_proportion_to_its_length(unit):
    kind("1")

    assert_proportional(lambda length: kind(unit * (length // len(unit)) + "1"), 50_000)


@pytest.mark.parametrize("name", ["number", "money"])
def test_amounts_are_read(name):
    values = TOLD[name]
    assert {token: amount(token, name) for token in values} == values
    assert {kind(token) for token in values} == {name}


def test_years_and_dates_are_read():
    dates = TOLD["dates"]
    assert [amount(token, "year") for token in ("1977", "1970s", "1990's")] == [1977, 1970, 1990]
    assert {token: date.fromordinal(int(amount(token, "date"))) for token in dates} == {
        token: date(*parts) for token, parts in dates.items()
    }
    assert {kind(token) for token in dates} == {"date"}


amount_like = st.from_regex(r"[0-9$€½٣]{1,4}([-./:,'’ ][0-9]{1,4}){0,3}[a-z%€]{0,3}", fullmatch=True)


@given(amount_like)
def test_every_token_of_these_kinds_has_a_value(token):
    if (found := kind(token)) in ("number", "year", "money", "date"):
        assert amount(token, found) >= 0


@given(st.dates(), st.sampled_from(["%Y-%m-%d", "%m/%d/%Y", "%d.%m.%Y"]))
def test_dates_come_back(day, form):
    written = day.strftime(form) if day.year > 999 else day.isoformat()
    if kind(written) == "date" and day.year >= 100:
        assert amount(written, "date") == day.toordinal()


@pytest.mark.parametrize(
    "token", ["14\u017fep2026", "0/0/0", "31.12.9999", "99.99.99", "2026-13-45", "1/2/99999999999"]
)
def test_a_date_that_cannot_be_read_is_some_day_and_no_error(token):
    assert 1 <= amounts._day(token) <= 3652059


@pytest.mark.parametrize(
    ("wanted", "value"), [(name, value) for name, listed in TOLD["one"].items() for value in listed]
)
def test_a_value_with_spaces_becomes_one_token(wanted, value):
    pieces = Tokenizer().split(joined(f"Seen on {value}, then."))
    assert (pieces[:4], pieces[6:]) == (["", "Seen", " ", "on"], [", ", "then", "."])
    assert kind(pieces[5]) == wanted


@pytest.mark.parametrize("text", [*TOLD["left_alone"], "", "no digits at all", "2026 and 14"])
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


TYPED = Surrogates(first=3)


def draw(surrogates, codes, words):
    return Typed(randomizer=None, surrogates=surrogates).values(codes, words)


GRIDS = (NumberGrid.parse("number=0:100:10@1"), NumberGrid.parse("date=2000-01-01:2020-12-31:30@0.5"))


def members(name, most=1 << 14):
    bits, text = GENERATORS[name]
    return [text(i) for i in range(0, 1 << bits, max(1, (1 << bits) // most))]


@pytest.mark.parametrize("name", KINDS)
def test_surrogates_are_different_and_one_token_of_their_kind_each(name):
    listed = members(name)
    assert len(set(listed)) == len(listed)
    for text in listed[:: max(1, len(listed) // 1024)]:
        assert kind(text) == name
        assert Tokenizer().split(f"at {text}, then")[1::2] == ["at", text, "then"]


def luhn(digits):
    doubled = [int(d) if i % 2 == 0 else sum(divmod(2 * int(d), 10)) for i, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


def test_cards_and_accounts_have_right_check_digits():
    assert all(luhn(card) for card in members("card"))
    assert not luhn("4111111111111112")
    for account in members("IBAN"):
        assert account.startswith("GB")
        assert account[4:14] == "XXXX000000"  # a bank code and a branch that nobody has
        moved = account[4:] + account[:4]
        assert int("".join(str(ord(c) - 55) if c.isalpha() else c for c in moved)) % 97 == 1


def test_addresses_and_telephone_numbers_are_of_nobody_and_days_lie_in_a_fixed_range():
    networks = [*map(ipaddress.ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"))]
    for address in map(ipaddress.ip_address, members("IP")):
        assert any(address in network for network in networks if network.version == address.version)
    for name in ("URL", "e-mail"):
        hosts = {re.split("[/@]", text.removeprefix("https://"))[name == "e-mail"] for text in members(name)}
        assert hosts <= {f"{sub}example.{top}" for sub in ("", "www.", "mail.") for top in ("com", "net", "org")}
    north_america = re.compile(r"[2-9]\d\d-555-01\d\d")
    drama = re.compile(r"011[37] 496 0\d{3}|01[236]1 496 0\d{3}|020 7946 0\d{3}|01632 960\d{3}|07700 900\d{3}")
    assert all(north_america.fullmatch(text) or drama.fullmatch(text) for text in members("telephone"))
    assert all(date(1980, 1, 1) <= date.fromisoformat(text) <= date(2024, 11, 8) for text in members("date"))
    assert sorted(members("year")) == [str(year) for year in range(1960, 2024)]


@pytest.mark.parametrize("name", KINDS)
def test_every_surrogate_is_picked_by_equally_many_words(name):
    """The first and the last word of each share: exact, for all 2**64 words."""
    bits = min(GENERATORS[name].bits, 14)
    first = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    last = first + np.uint64((1 << (64 - bits)) - 1)
    codes = np.full(len(first), -2 - KINDS.index(name), np.int32)
    low, high = draw(TYPED, codes, first).astype(int), draw(TYPED, codes, last).astype(int)
    width = 1 << (GENERATORS[name].bits - bits)
    start = TYPED.first + sum(1 << GENERATORS[other].bits for other in KINDS[: KINDS.index(name)])
    assert (low == start + width * np.arange(1 << bits)).all()
    assert (high == low + width - 1).all()
    assert TYPED.text(int(low[-1])) == GENERATORS[name].text((1 << GENERATORS[name].bits) - width)


def test_ids_of_all_kinds_and_grid_points_read_as_drawn():
    typed = Surrogates(first=3, grids=GRIDS)
    for token, expected in (("34", r"\d+0|0"), ("2010-05-05", r"20\d\d-\d\d-\d\d"), ("a@b.de", r".+@.*example\.\w+")):
        code = typed.code(token)
        drawn = draw(typed, np.full(2, code, np.int32), np.array([1 << 62, 3 << 62], np.uint64))
        assert all(re.fullmatch(expected, typed.text(i)) for i in drawn.tolist())
    last = typed.first + sum(1 << bits for bits, _ in GENERATORS.values()) + sum(grid.points for grid in GRIDS)
    assert typed.text(last - 1) == GRIDS[1].text(GRIDS[1].points - 1)
    with pytest.raises(IndexError, match=str(last)):
        typed.text(last)


LOOKUP = {"seen": 0, "on": 1, "10": 2}


def encoder(**options):
    return Encoder(lookup=lambda asked: np.array([LOOKUP.get(w, -1) for w in asked], np.int32), typed=TYPED, **options)


def test_typed_tokens_are_no_words_whatever_the_vocabulary_lists():
    (text,) = encoder().encode(["seen 10 on 2024-01-02 zz"])
    code = {name: -2 - i for i, name in enumerate(KINDS)}
    assert text.ids.tolist() == [0, code["number"], 1, code["date"], -1]
    assert text.gaps == ["", " ", " ", " ", " ", ""]
    (listed,) = encoder(numbers="vocabulary").encode(["seen 10 on 11"])
    assert listed.ids.tolist() == [0, 2, 1, code["number"]]
    (public,) = encoder(public_words=frozenset({"10"})).encode(["seen 10 on 11"])
    assert public.ids.tolist() == [0, 1, code["number"]]
    (shaped,) = encoder(keep_shapes=True).encode(["Seen ME@IT.ORG ON 5"])
    assert shaped.shapes.tolist() == [1, 0, 2, 0], "typed tokens have no casing"


def test_surrogates_are_written_in_any_part_of_a_batch():
    reading = encoder()
    batch = reading.encode_batch(["seen 5 on 10", "5 x@y.de's", ""])
    number, mail = (draw(TYPED, np.array([TYPED.code(t)], np.int32), np.zeros(1, np.uint64))[0] for t in ("5", "a@b.c"))
    released = np.array([0, number, 1, number, number, mail, 2], np.int32)
    for casing in ("vocabulary", "sentence"):
        writer = Writer(words=list(LOOKUP), typed=TYPED, casing=casing)
        whole = writer.write(batch, released)
        assert [text.lower() for text in whole] == ["seen 1 on 1", "1 amber.amber@example.com'10", ""]
        parts = [reading.encode_batch([text]) for text in ("seen 5 on 10", "5 x@y.de's", "")]
        assert writer.write_parts(parts, released) == whole


def test_the_page_lists_the_kinds_and_how_many_surrogates_each_has():
    page = (Path(__file__).parents[2] / "docs" / "typed-tokens.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w-]+) \| (.+?) \| (.+?) \|$", page, flags=re.MULTILINE)
    assert tuple(name for name, *_ in rows[1:]) == KINDS
    for name, _, surrogates in rows[1:]:
        listed = re.match(r"\d+(?: \d{3})*", surrogates)
        if listed and " to " not in surrogates:
            assert int(listed[0].replace(" ", "")) == 1 << GENERATORS[name].bits
        elif ends := re.findall(r"[$\w-]*\d+", surrogates):
            assert (GENERATORS[name].text(0), GENERATORS[name].text((1 << GENERATORS[name].bits) - 1)) == tuple(ends)
