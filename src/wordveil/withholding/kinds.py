"""The kinds of hidden tokens: all that a release says of them.

A kind is read off the characters of one token, whatever stands around it. Laws are handed kinds and never tokens.
"""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """What a token looks like; the value says it in words, `printed` is what stands in brackets."""

    WORD = "a word in small letters"
    LETTER = "a single small letter"
    CAPITALIZED = "a word with a capital"
    CAPITALS = "a word in capitals"
    INITIAL = "a single capital letter"
    COUNT = "a word that counts"
    NUMBER = "a token with a digit"
    LINK = "an address, a path or another unit that is no word"

    __hash__ = object.__hash__  # that of an Enum runs in Python, and the rule asks for every token

    @property
    def printed(self) -> str:
        """What stands in the brackets of a placeholder: one of "word", "name", "number" and "link"."""
        return _PRINTED[self]


_PRINTED = {
    Kind.WORD: "word",
    Kind.LETTER: "word",
    Kind.CAPITALIZED: "name",
    Kind.CAPITALS: "name",
    Kind.INITIAL: "name",
    Kind.COUNT: "number",
    Kind.NUMBER: "number",
    Kind.LINK: "link",
}

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
