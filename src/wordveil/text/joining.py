"""Values that are written with spaces, joined before a text is cut, so that each is one typed token.

"14 March 2026", "March 14th, 2026", "10:30 am" and "50 EUR" would be several tokens, and tell more than their kind.
Joined, they are one token, as "14-March-2026", "10:30am" and "50EUR" are. What is joined follows from the characters
alone. Most texts have none, which their digits tell.
"""

from __future__ import annotations

import re
from string import digits

from wordveil.arrays import PrivateText

_MONTH = (
    "(?i:january|february|march|april|may|june|july|august|september|october|november|december|"
    r"(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
_DAY = r"(?<!\w)([0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"([0-9]{4})(?!\w)"
_DAY_FIRST = re.compile(rf"{_DAY} (?:of )?({_MONTH}),? {_YEAR}")
_MONTH_FIRST = re.compile(rf"\b({_MONTH}) {_DAY},? {_YEAR}")
_UNIT = re.compile(r"(?<=[0-9]) (?:([AaPp])\.?[Mm]\b\.?|(?=(?:[€£¥₹]|EUR\b|USD\b|GBP\b|CHF\b)))")
# What each of them holds: a digit, and after a space a year, a month or a unit.
_CANDIDATE = re.compile(
    "[0-9](?:st|nd|rd|th)?,? (?:[0-9]{4}|(?:of )?(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|[AaPp][.]?[Mm]"
    "|[€£¥₹]|EUR|USD|GBP|CHF)"
)


def joined(text: PrivateText) -> PrivateText:
    """Return the text with dates in words, times of day and sums of money written without spaces.

    Example:
        >>> joined(PrivateText("Seen on 14 March 2026 (or March 15th, 2026) at 5 p.m. for 50 EUR."))
        'Seen on 14-March-2026 (or March-15-2026) at 5pm for 50EUR.'
    """
    if not _has_candidate(text):
        return text
    dated = _MONTH_FIRST.sub(_date, _DAY_FIRST.sub(_date, text))
    return PrivateText(_UNIT.sub(lambda found: f"{found[1]}m" if found[1] else "", dated))


def _has_candidate(text: str) -> bool:
    # A digit is found three times as fast by `find` as by a search for the pattern.
    for digit in digits:
        at = text.find(digit)
        while at >= 0:
            if _CANDIDATE.match(text, at):
                return True
            at = text.find(digit, at + 1)
    return False


def _date(found: re.Match[str]) -> str:
    return "-".join(found.groups()).replace(".", "")
