r"""The fixed, public character lists that decide what may stay between tokens.

A character outside `GAP_CHARACTERS` always belongs to a token, whatever it is: letter, digit, combining mark,
currency sign, emoji, control or format character, private-use or unassigned code point. What is not on the
list can therefore leave only through a mechanism. The lists are written out, not derived from a Unicode
database, so that a new Python never widens them. This module knows nothing about words or vocabularies.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import Literal

import numpy as np

from wordveil.kernels.compiled.text import CODES, Characters, Uppercase

LAYOUT = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""White space and line ends. Not here: the information separators U+001C to U+001F and the BOM."""

PUNCTUATION = (
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    "¡¿§¶·´«»‹›‘’‚‛“”„‟–—―‒‐‑−†‡•‣…′″‴"  # typographic
    "\u037e\u0387\u055a\u055b\u055c\u055d\u055e\u055f\u0589\u05be\u05c0\u05c3\u05f3\u05f4"  # Greek to Hebrew
    "\u060c\u061b\u061f\u06d4\u0964\u0965"  # Arabic, Devanagari
    "、。〈〉《》「」『』【】〔〕〖〗〜〝〞〟・"
    "！＂＃％＆＇（）＊，－．／：；？＠［＼］＿｛｝～｡｢｣､･"
)
"""Punctuation that may pass: ASCII, typographic, and the usual marks of other scripts; no digit, no currency
sign but the ASCII dollar."""

GAP_CHARACTERS = frozenset(LAYOUT + PUNCTUATION)
"""Every character that can stand between two tokens (public words and fixed HTML tags apart)."""

APOSTROPHES = "'’‘‛＇`´\u02bc"
"""Read as a straight apostrophe inside a word. U+02BC is a letter to Unicode, and never stands in a gap."""

HYPHENS = "-‐‑－"
"""Read as a hyphen inside a word; dashes separate words."""

LONGEST_NORMALIZED = 1_000
"""Characters of a token beyond which its spellings are not compared."""

PLAIN_LETTER = "[A-Za-zÀ-ÖØ-öø-ʯͰ-ͳͶͷͻ-ͽΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯ]"
"""The letters of the common alphabets, as a set of a regular expression."""

_LETTER, _JOIN, _GAP, _UPPER, _LOWER, _DIGIT = 1, 2, 4, 8, 16, 32  # as in words.h
_WORD, _LETTER_CASED, _ODD, _SEVERAL = 1, 2, 0xFFFF, 0xFFFE  # as in writing.c
_NUMBER = frozenset({"Nd", "Nl", "No"})
_MARK = frozenset({"Mn", "Mc", "Me", "Cf"})
_FOLD = str.maketrans({**dict.fromkeys(APOSTROPHES, "'"), **dict.fromkeys(HYPHENS, "-")})


def character_class(characters: str) -> str:
    """The inside of a regular-expression set that matches exactly these characters: "ac-e" for "dcea"."""
    codes = sorted(set(map(ord, characters)))
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    ends = ([re.escape(chr(code)) for code in dict.fromkeys(run)] for run in runs)
    return "".join("-".join(both) for both in ends)


def number_class() -> str:
    r"""The inside of a set that matches Unicode Nd, Nl and No."""
    return _number_and_mark()[0]


def mark_class() -> str:
    r"""The inside of a set that matches what binds to a letter: combining marks and format characters."""
    return _number_and_mark()[1]


@cache
def _number_and_mark() -> tuple[str, str]:
    """The insides of both sets, from one look through the planes in use, which a first sentence waits for."""
    category, wanted = unicodedata.category, _NUMBER | _MARK
    assigned = map(chr, chain(range(0x20000), range(0xE0000, 0xE1000)))
    found = [c for c in assigned if category(c) in wanted]
    numbers, marks = ([c for c in found if category(c) in kind] for kind in (_NUMBER, _MARK))
    return character_class("".join(numbers)), character_class("".join(marks))


@cache
def plain_characters(*, cased: bool, html: bool) -> Characters:
    """The characters that the compiled reader knows; every other one is left to the reference.

    So are letters beyond ASCII where the vocabulary tells case apart, and what opens tags and entities that are read.
    """
    classes, lower = np.zeros(len(CODES), np.uint8), np.zeros(len(CODES), np.uint16)
    plain = re.compile(PLAIN_LETTER)
    for i, c in enumerate(map(chr, CODES)):
        if plain.match(c):
            small = c.lower()
            # Only letters that stay as long, as bytes, and that nothing but their own case is equal to.
            simple = len(small.encode()) == len(c.encode()) and unicodedata.normalize("NFC", c) == c and c not in "Σſ"
            if simple and (c.isascii() or not cased):
                classes[i] = _LETTER | (_UPPER if c.isupper() else _LOWER if c.islower() or c.istitle() else 0)
                lower[i] = ord(small)
        elif c in APOSTROPHES + HYPHENS and c in GAP_CHARACTERS:
            classes[i], lower[i] = _GAP | _JOIN, ord(c.translate(_FOLD))
        elif c in GAP_CHARACTERS and not (html and c in "<>&"):
            classes[i] = _GAP
        elif c in "0123456789":
            classes[i] = _DIGIT
    return Characters(classes=classes, lower=lower)


@cache
def letter_cases() -> Uppercase:
    """The characters that the compiled writer can case; a text that needs another one is left to the reference."""
    kinds, upper = np.zeros(len(CODES), np.uint8), np.zeros(len(CODES), np.uint16)
    for i, c in enumerate(map(chr, CODES)):
        letter = c.isalnum() and not c.isdecimal()
        kinds[i] = letter * _LETTER_CASED | (letter or c == "_" or c.isdecimal()) * _WORD
        large = c.upper()
        same = len(large.encode("utf-8", "surrogatepass")) == len(c.encode("utf-8", "surrogatepass"))
        upper[i] = _SEVERAL if len(large) > 1 else ord(large) if same else _ODD
    return Uppercase(kinds=kinds, upper=upper)


def plain_spelling(token: str) -> str:
    """The spelling under which a vocabulary would list this token.

    Apostrophes and hyphens become ASCII, format characters (soft hyphen, byte order mark, joiners) go, and the
    rest is composed (NFC). Never written to an output: it only serves the look-up.
    """
    if token.isascii() and "`" not in token:
        return token
    folded = token.translate(_FOLD)
    if folded.isascii():
        return folded
    visible = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return normalized("NFC", visible)


def normalized(form: Literal["NFC", "NFKC"], token: str) -> str:
    """Return a token in a normal form of Unicode, a longer one than `LONGEST_NORMALIZED` as it is written.

    The time grows with the square of a run of combining marks, and meanwhile no other thread runs.
    """
    return token if len(token) > LONGEST_NORMALIZED else unicodedata.normalize(form, token)


def letters_by_script(texts: Iterable[str]) -> Counter[str]:
    """Count letters by script: the first word of a letter's Unicode name, such as LATIN, CYRILLIC or CJK.

    Example:
        >>> letters_by_script(["Zürich, 10 °C", "Рига"])
        Counter({'LATIN': 7, 'CYRILLIC': 4})
    """
    scripts = Counter[str]()
    for letter, times in Counter("".join(texts)).items():
        if letter.isalpha():
            scripts["LATIN" if letter.isascii() else unicodedata.name(letter, "?").partition(" ")[0]] += times
    return scripts
