r"""The kind of a token, read off its characters alone: number, date, e-mail and so on.

One public table. A token's kind is the first whose pattern fits the whole token, whatever a vocabulary lists and
whatever stands around it: so texts can be compared kind by kind, and a release can say what it discloses. Matching is
linear: at each character of a pattern at most one way goes on, or what is read ahead is bounded. Nothing here is
private or random; this is the public function that a promise names.
"""

from __future__ import annotations

import re
from functools import cache

from wordveil.text.characters import number_class
from wordveil.text.patterns import EXTENSION, TOP_LEVEL, digit_pattern

KINDS = (
    "URL", "e-mail", "handle", "IP", "IBAN", "card", "date", "time", "year", "money", "telephone", "number", "path",
    "identifier",
)  # fmt: skip
"""The kinds, in the order in which they are tried; an identifier is any other token with a digit."""

_SPACE = " \xa0\u2007\u2009\u202f"
_DASH = r"\-‐‑"
_CLOCK = r"\d{1,2}[:h]\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?"
_MONTH = "(?ai:(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6})"
_CURRENCY = "[$€£¥₹₽₩₪₫₴₺¢฿]"
_CODE = "(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|INR|CNY|SEK|NOK|DKK|PLN)"
_AMOUNT = r"\d(?:[.,'’]?\d){0,20}(?i:k|mm?n?|bn?|tn?)?"
_RANGE = rf"(?:[–{_DASH}]{_CURRENCY}?{_AMOUNT})?"
# Runs of digits alone, decimal fractions, ranges of years; social security and postal codes of the United States.
_NO_TELEPHONE = (
    r"(?!\d{7,9}$|\d{12,}$|\d+\.\d+$|\d{1,3}(?:\.\d{3}){1,5}$|(?:1\d|20)\d\d-(?:1\d|20)\d\d$"
    r"|\d{3}-\d\d-\d{4}$|\d{5}-\d{4}$)"
)


@cache
def _table() -> re.Pattern[str]:
    numeral = f"[{number_class()}]"
    one = rf"{numeral}{{1,20}}(?:[.,'’]{numeral}{{1,20}}){{0,8}}"
    few = rf"{numeral}{{1,6}}(?:[.,]{numeral}{{1,6}})?"
    several = rf"{few}(?:[/:x×*=+^~–−{_DASH}{_SPACE}]{few}){{1,3}}"
    patterns = {
        "URL": r"(?i:[a-z][a-z0-9+.\-]{1,15}://|www\d{0,3}\.).*"
        rf"|(?:[^\s@/\\:?#.]{{1,63}}\.){{1,20}}(?:{TOP_LEVEL})(?::\d{{1,5}})?(?:[/?#].*)?",
        "e-mail": r"(?i:mailto:).*|[^@]+@(?=[^@]*[^\W\d_])[^@]+",
        "handle": r"[@#](?=.*[^\W\d_]).+",
        "IP": r"\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?:/\d{1,2})?"
        r"|(?=.{0,45}?::|(?:[^:]{1,4}:){7})[0-9A-Fa-f:.]{3,45}(?:%.{1,32})?(?:/\d{1,3})?",
        "IBAN": rf"[A-Za-z]{{2}}\d{{2}}(?:[{_SPACE}]?[A-Za-z0-9]){{11,30}}",
        "card": rf"\d{{12,19}}|\d{{4}}(?P<c>[{_SPACE}{_DASH}])\d{{4}}(?P=c)\d{{4}}(?P=c)\d{{1,7}}"
        rf"|\d{{4}}[{_SPACE}{_DASH}]\d{{6}}[{_SPACE}{_DASH}]\d{{4,5}}",
        "date": rf"(?:\d{{4}}(?P<a>[{_DASH}/.])\d{{1,2}}(?P=a)\d{{1,2}}"
        rf"|\d{{1,2}}(?P<b>[{_DASH}/.])\d{{1,2}}(?P=b)(?:\d{{4}}|\d{{2}})"
        rf"|\d{{1,2}}(?:st|nd|rd|th)?[{_DASH}/.]?{_MONTH}[{_DASH}/.]?\d{{2,4}}"
        rf"|{_MONTH}[{_DASH}/.]\d{{1,2}}[{_DASH}/.]\d{{2,4}})"
        rf"(?:[T{_SPACE}]{_CLOCK}(?:Z|[+{_DASH}]\d{{2}}:?\d{{2}})?)?",
        "time": rf"{_CLOCK}(?i:am|pm|h|z)?|\d{{1,2}}(?:\.\d{{2}})?(?i:am|pm|h)",
        "year": r"(?:19|20)\d\d(?:['’]?s)?",
        "money": rf"[+\-]?(?:[A-Z]{{1,3}})?{_CURRENCY}[+\-]?{_AMOUNT}{_RANGE}|[+\-]?{_AMOUNT}{_RANGE}{_CURRENCY}"
        rf"|{_CODE}{_AMOUNT}|{_AMOUNT}{_CODE}",
        "telephone": rf"{_NO_TELEPHONE}\+?(?:[{_SPACE}()./{_DASH}]{{0,3}}\d){{7,15}}(?i:x\d{{1,6}})?",
        "number": rf"[+\-−#/]?(?!\d{{7}}|\d{{3}}-\d\d-\d{{4}}$|\d{{5}}-\d{{4}}$)(?:{one}|{several})"
        rf"(?:[%‰]|['’]s|(?:[{_DASH}][A-Za-z]{{1,20}}){{1,3}}|°?[A-Za-zµμ]{{0,3}})",
        "path": rf"(?:~|\.{{1,2}}|[A-Za-z]:)?[\\/].*|[^\\]+\\.*|.+\.(?i:{EXTENSION})",
    }
    return re.compile("|".join(f"(?P<k{i}>{patterns[name]})" for i, name in enumerate(KINDS[:-1])), re.DOTALL)


def kind(token: str) -> str | None:
    """Return the kind of a token, or None for a word.

    Returns:
        One of `KINDS`. A token without a digit has a kind only as a URL, e-mail, handle, IP or path; an HTML tag, which
        a tokenizer may make one token, has none.

    Example:
        >>> [kind(token) for token in ("12/05/2024", "+1 (555) 010-9999", "maria@clinic.de", "B-4711", "Maria")]
        ['date', 'telephone', 'e-mail', 'identifier', None]
    """
    if token.isalpha() or token.startswith("<"):
        return None
    if found := _table().fullmatch(token):
        return KINDS[int(str(found.lastgroup)[1:])]
    return KINDS[-1] if digit_pattern().search(token) else None
