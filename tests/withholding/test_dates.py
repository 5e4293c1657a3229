"""Dates moved together: intervals stay, the law is exact, and a twin that keeps the year is refuted."""

import datetime
import re
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seeds
import wordveil as wv
from wordveil.arrays import PrivateText
from wordveil.errors import ParameterError
from wordveil.withholding.dates import MONTHS, drawn_shift, moved

DATES = st.dates(datetime.date(1811, 1, 1), datetime.date(2188, 1, 1))
FORMS = (
    lambda date: date.isoformat(),
    lambda date: f"{date.day} {MONTHS[date.month - 1]} {date.year}",
    lambda date: f"{MONTHS[date.month - 1]} {date.day}, {date.year}",
)
DAYS = 12


def read(text: str) -> list[datetime.date]:
    """The dates of a release, read without the code under test."""
    months = "|".join(MONTHS)
    found = re.finditer(rf"(\d{{4}})-(\d\d)-(\d\d)|(\d+) ({months}) (\d{{4}})|({months}) (\d+), (\d{{4}})", text)
    return [
        datetime.date(
            int(date[1] or date[6] or date[9]),
            int(date[2] or 1 + MONTHS.index(date[5] or date[7])),
            int(date[3] or date[4] or date[8]),
        )
        for date in found
    ]


@given(st.lists(st.tuples(DATES, st.sampled_from(FORMS)), min_size=1, max_size=6), st.integers(1, 3650))
def test_every_interval_is_kept_and_every_shift_is_within_its_bound(dates, days):
    texts = [f"She came on {write(date)}." for date, write in dates]
    redactor = wv.Redactor(days=days, source=seeds.source(31))
    (row,) = redactor.release_rows([texts], judged=False)
    shifts = {(new - old).days for text, (old, _) in zip(row, dates, strict=True) for new in read(text)}
    assert len([new for text in row for new in read(text)]) == len(dates)
    assert len(shifts) == 1
    assert abs(*shifts) <= days


def audit(move, days: int, apart: int, start: datetime.date) -> Fraction:
    """The total variation between the laws of one timeline and of the same so many days later, by enumeration."""
    intervals = (0, 3, 40)
    laws = [
        Counter(
            tuple(move((start + datetime.timedelta(later + each)).isoformat(), shift) for each in intervals)
            for shift in range(-days, days + 1)
        )
        for later in (0, apart)
    ]
    outputs = laws[0].keys() | laws[1].keys()
    return Fraction(sum(abs(laws[0][each] - laws[1][each]) for each in outputs), 2 * (2 * days + 1))


def keeps_the_year(text: str, shift: int) -> str:
    """A twin: what leaves the year comes in again at its other end."""
    new = datetime.date.fromisoformat(moved(text, shift))
    return text[:4] + new.isoformat()[4:]


STARTS = (datetime.date(2026, 6, 1), datetime.date(2026, 12, 28), datetime.date(2024, 2, 20))


@pytest.mark.parametrize("start", STARTS, ids=str)
@pytest.mark.parametrize("apart", [0, 1, 5, 24, 25, 400])
def test_the_law_is_exact(start, apart):
    assert audit(moved, DAYS, apart, start) == min(Fraction(1), Fraction(apart, 2 * DAYS + 1))


def test_a_twin_that_keeps_the_year_is_refuted():
    start = datetime.date(2026, 12, 28)
    assert audit(keeps_the_year, DAYS, 5, start) > Fraction(5, 2 * DAYS + 1)


def test_shifts_are_uniform_over_documents():
    """Of 25 shifts each is drawn as often as a binomial says, at 1e-9 in all (a bound by Hoeffding)."""
    n = 20_000
    source = seeds.source(32)
    counts = Counter(drawn_shift(source, f"document {i}", DAYS) for i in range(n))
    assert set(counts) == set(range(-DAYS, DAYS + 1))
    most = (n * 24.7 / 2) ** 0.5  # 2 * 25 * exp(-2 * most**2 / n) < 1e-9
    assert max(abs(count - n / 25) for count in counts.values()) < most


def test_a_document_has_one_shift_and_another_its_own():
    redactor = wv.Redactor(days=1000, source=seeds.source(33))
    rows, again = (
        redactor.release_rows([["On 2026-03-14.", "On 14 March 2026."]] * 40, [str(n) for n in range(40)], judged=False)
        for _ in range(2)
    )
    assert all(read(one) == read(other) for one, other in rows)
    assert len({tuple(read(one)) for one, _ in rows}) > 25
    assert again == rows


@pytest.mark.parametrize(
    "text",
    ["03/04/2026", "2026-02-30", "2026-13-01", "1776-07-04", "14 march 2026", "14 Mar 2026", "14 March", "x2026-03-14",
     "2026-03-14-7", "2026-03-14T10:00", "31 April 2026", "\u0661\u0664 March 2026"],
)  # fmt: skip
def test_dates_of_other_forms_are_hidden(text):
    assert not read(wv.Redactor(days=100).redact(f"She came on {text}."))


@given(st.data())
def test_texts_that_agree_in_dates_and_kinds_are_released_alike(data):
    dates = data.draw(st.lists(DATES, min_size=1, max_size=3))

    def text(names):
        return " ".join(f"{name} came on {date}." for name, date in zip(names, dates, strict=True))

    names = st.lists(st.sampled_from(["Zqx", "Brtw", "Maria", "Xkcd"]), min_size=len(dates), max_size=len(dates))
    redactor = wv.Redactor(days=50, source=seeds.source(34))
    one, other = (redactor.release(PrivateText(text(data.draw(names))), Counter(), None, None, 7) for _ in range(2))
    assert one == other


def test_what_is_said_and_refused():
    redactor = wv.Redactor(days=100)
    assert "dates written in full" in redactor.guarantee.sentence()
    assert any("d / 201" in line for line in redactor.disclosed)
    assert "leave moved" in redactor.redaction("We saw her on 2026-03-14.").claim.may_say
    assert isinstance(wv.Redactor(days=100, source=seeds.source(1)).guarantee, wv.NoGuarantee)
    for days in (0, -1, 3651):
        with pytest.raises(ParameterError, match="1 to 3650"):
            wv.Redactor(days=days)
    for rule in (wv.Rule(calendar=True), wv.Rule(numbers=(0, 31))):
        with pytest.raises(ParameterError, match="months and numbers"):
            wv.Redactor(days=10, rule=rule)
