"""What numbers, years, sums and dates are worth."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordveil.text import amounts
from wordveil.text.amounts import amount
from wordveil.text.kinds import kind

NUMBERS = {
    "47": 47, "1,234.50": 1234.5, "1.234,50": 1234.5, "1.234.567": 1234567, "1,234": 1234, "1,5": 1.5, "1.234": 1.234,
    "1'000'000.5": 1_000_000.5, "2½": 2.5, "½": 0.5, "١٢٣": 123, "5mg": 5, "8/10": 8, "10-12": 10, "#15": 15, "50%": 50,
    "007": 7,
}  # fmt: skip
MONEY = {"$5": 5, "$1,234.50": 1234.5, "2.5k€": 2500, "£3m": 3e6, "$2bn": 2e9, "US$20": 20, "€0.99": 0.99}
DATES = {
    "2000-04-16 11:34:35": (2000, 4, 16), "2/8/1935": (1935, 2, 8), "31/12/99": (1999, 12, 31),
    "3.4.2024": (2024, 4, 3),
    "3-4-24": (2024, 4, 3),
    "12-May-2024": (2024, 5, 12), "12May24": (2024, 5, 12),
    "3rd-January-2024": (2024, 1, 3), "September-3-2024": (2024, 9, 3), "May-3-2024": (2024, 5, 3),
    "31.02.2024": (2024, 2, 29), "99/99/9999": (9999, 12, 31), "0000-00-00": (2000, 1, 1), "12.31.2023": (2023, 12, 31),
}  # fmt: skip


@pytest.mark.parametrize(("name", "values"), [("number", NUMBERS), ("money", MONEY)])
def test_amounts_are_read(name, values):
    assert {token: amount(token, name) for token in values} == values
    assert {kind(token) for token in values} == {name}


def test_years_and_dates_are_read():
    assert [amount(token, "year") for token in ("1977", "1970s", "1990's")] == [1977, 1970, 1990]
    assert {token: date.fromordinal(int(amount(token, "date"))) for token in DATES} == {
        token: date(*parts) for token, parts in DATES.items()
    }
    assert {kind(token) for token in DATES} == {"date"}


joined = st.from_regex(r"[0-9$€½٣]{1,4}([-./:,'’ ][0-9]{1,4}){0,3}[a-z%€]{0,3}", fullmatch=True)


@given(joined)
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
