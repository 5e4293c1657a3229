"""The kinds of hidden tokens: all that a release says of them.

A kind is read off the characters of one token, whatever stands around it. Laws are handed kinds and never tokens.
"""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """What a token looks like, in words, and what stands in the brackets of its placeholder, `printed`."""

    WORD = "a word in small letters", "word"
    LETTER = "a single small letter", "word"
    CAPITALIZED = "a word with a capital", "name"
    CAPITALS = "a word in capitals", "name"
    INITIAL = "a single capital letter", "name"
    COUNT = "a word that counts", "number"
    NUMBER = "a token with a digit", "number"
    LINK = "an address, a path or another unit that is no word", "link"

    def __init__(self, _: str, printed: str) -> None:
        self.printed = printed

    __hash__ = object.__hash__  # that of an Enum runs in Python, and the rule asks for every token


CAPITALS_LIKE = frozenset({Kind.CAPITALIZED, Kind.CAPITALS, Kind.INITIAL})
"""The kinds that begin with a capital."""


def kind_of(token: str) -> Kind:
    """Return the kind of a token, of one character or more, that is no link; whether it counts is for a list to say.

    Example:
        >>> [kind_of(token).name for token in ("seen", "Maria", "MRI", "E", "I'm", "B12", "x")]
        ['WORD', 'CAPITALIZED', 'CAPITALS', 'INITIAL', 'INITIAL', 'NUMBER', 'LETTER']
    """
    if any(map(str.isnumeric, token)):
        return Kind.NUMBER
    if token.islower():
        return Kind.LETTER if len(token) == 1 else Kind.WORD
    first, rest = token[0], token[1:]
    if first.isupper() and (not rest or (rest[0] in "'’." and not _has_capital(rest.rstrip(".")))):
        return Kind.INITIAL
    if token.isupper():
        return Kind.INITIAL if "." in token else Kind.CAPITALS
    return Kind.CAPITALIZED if _has_capital(token) else Kind.WORD


def _has_capital(token: str) -> bool:
    return any(map(str.isupper, token))
