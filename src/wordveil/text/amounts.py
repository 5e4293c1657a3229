"""What a number, a sum of money, a year or a date is worth: a public reading of its characters, one for each token.

Whatever the characters, one value comes out, by rules that look at nothing else: a guarantee that speaks of values may
rest on them, right or wrong. Of a range or a ratio the first number counts, of a date and time the date.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, timedelta
from functools import cache

from wordveil.text.characters import number_class

_MAGNITUDES = {"k": 3, "m": 6, "b": 9, "t": 12}
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_DATE_PARTS = re.compile(r"\d+|[A-Za-z]+")


@cache
def _numeral() -> re.Pattern[str]:
    number = f"[{number_class()}]"
    return re.compile(rf"({number}+(?:[.,'’]{number}+)*)([A-Za-z]?)")


def amount(token: str, kind: str) -> float:
    """Return the value of a token of the kind number, year, money or date.

    Returns:
        The number; thousands, millions and so on written with a letter count for money; of a date the days that
        `date.toordinal` counts. Without a sign. "3/4/2024" is read as the fourth of March, "3.4.2024" and "3-4-2024" as
        the third of April, unless only the other reading is a date.

    Example:
        >>> amount("$1,234.50", "money"), amount("2.5k€", "money"), amount("10-12", "number")
        (1234.5, 2500.0, 10.0)
    """
    if kind == "date":
        return float(_day(token))
    found = _numeral().search(token)
    if found is None:
        return 0.0
    digits = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in found[1])
    fraction = sum(unicodedata.numeric(c) for c in digits if c.isnumeric() and not c.isdecimal())
    plain = "".join(c for c in digits if c.isdecimal() or not c.isnumeric())
    value = _decimal(plain) + fraction
    return value * 10.0 ** _MAGNITUDES.get(found[2].lower(), 0) if kind == "money" else value


def _decimal(text: str) -> float:
    """Read digits with separators: the last one is the decimal point unless it stands for thousands."""
    marks = [c for c in text if not c.isdecimal()]
    whole, tail = "".join(c for c in text if c.isdecimal()), ""
    if marks and marks[-1] in ".,":
        after = text.rpartition(marks[-1])[2]
        if marks.count(marks[-1]) == 1 and not (marks == [","] and len(after) == 3):
            whole, tail = whole[: len(whole) - len(after)], after
    return float(f"{whole or 0}.{tail or 0}")


def _day(token: str) -> int:
    try:
        return _read_day(token)
    except (ValueError, IndexError, OverflowError):
        return date(2000, 1, 1).toordinal()  # a date by its kind that cannot be read: some day is as good as another


def _read_day(token: str) -> int:
    parts = _DATE_PARTS.findall(token)
    numbers = [int(part) for part in parts if part.isdecimal()]
    if named := [part[:3].lower() for part in parts if part[:3].lower() in _MONTHS.split()]:
        day, month, year = numbers[0], _MONTHS.index(named[0]) // 4 + 1, numbers[1]
    elif len(parts[0]) == 4:
        year, month, day = numbers[:3]
    else:
        day, month, year = numbers[:3]
        if day <= 12 and ("/" in token or month > 12):
            day, month = month, day
    if year < 100:
        year += 2000 if year < 50 else 1900
    month = min(max(month, 1), 12)
    last = 31 if month == 12 else (date(year, month + 1, 1) - timedelta(days=1)).day
    return date(year, month, min(max(day, 1), last)).toordinal()
