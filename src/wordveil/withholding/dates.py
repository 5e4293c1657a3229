"""Dates moved together: those of a document, or of a person, all by one number of days.

    written date = date + S,  S uniform on -days..days

Intervals are kept, and shown. Two timelines of equal intervals that lie d days apart have laws at a total variation of
min(1, d / (2 days + 1)), exactly, if all of their dates lie in 1800 to 2199: nothing else of a date is hidden. Dates of
other forms are hidden whole, such as 03/04/2026, of which nobody knows whether it is in March.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Callable

from wordveil.randomness import RandomSource
from wordveil.withholding.tokens import Tokens

MOST_DAYS = 3650
YEARS = range(1800, 2200)
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_TOKENS = 3  # of every form
_JOINS = frozenset("-/")
_MONTH = "|".join(MONTHS)

Form = tuple[re.Pattern[str], Callable[[datetime.date], str]]
FORMS: tuple[Form, ...] = (
    (re.compile(r"(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})"), lambda date: date.isoformat()),
    (
        re.compile(rf"(?P<d>[0-9]{{1,2}}) (?P<m>{_MONTH}) (?P<y>[0-9]{{4}})"),
        lambda date: f"{date.day} {MONTHS[date.month - 1]} {date.year:04}",
    ),
    (
        re.compile(rf"(?P<m>{_MONTH}) (?P<d>[0-9]{{1,2}}), (?P<y>[0-9]{{4}})"),
        lambda date: f"{MONTHS[date.month - 1]} {date.day}, {date.year:04}",
    ),
)
"""How dates are written that are moved, each with how it is written again."""


def moved(text: str, shift: int) -> str | None:
    """Return a date, written as it was, so many days later; None if it is no date of the forms.

    Example:
        >>> moved("14 March 2026", 20), moved("2026-02-30", 1), moved("03/04/2026", 1)
        ('3 April 2026', None, None)
    """
    for pattern, write in FORMS:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        month = MONTHS.index(found["m"]) + 1 if found["m"] in MONTHS else int(found["m"])
        try:
            date = datetime.date(int(found["y"]), month, int(found["d"]))
        except ValueError:
            return None
        return write(date + datetime.timedelta(shift)) if date.year in YEARS else None
    return None


def date_at(tokens: Tokens, i: int, shift: int) -> str | None:
    """Return the date that the three tokens from the i-th on spell, moved; None if they spell none."""
    if i + _TOKENS > len(tokens) or not tokens.texts[i][0].isalnum():
        return None
    before, after = tokens.gaps[i], tokens.gaps[i + _TOKENS]
    if before[-1:] in _JOINS or after[:1] in _JOINS:  # part of something longer
        return None
    inner = tokens.gaps[i + 1 : i + _TOKENS]
    one, two, three = tokens.texts[i : i + _TOKENS]
    return moved(f"{one}{inner[0]}{two}{inner[1]}{three}", shift)


def drawn_shift(source: RandomSource, name: str, days: int) -> int:
    """Return the shift of a document or person: a keyed hash of its name, uniform but for a part in 2**200."""
    key = source.export_key()
    digest = hashlib.blake2b(f"dates\0{name}".encode("utf-8", "surrogatepass"), key=key, digest_size=32).digest()
    return int.from_bytes(digest, "big") % (2 * days + 1) - days
