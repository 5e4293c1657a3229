"""How one surface token may be read as vocabulary words: whole, by contraction, by hyphen, or not at all.

Reading is pure string work against a mapping of known spellings, so it can be tried on any word list. Order: the whole
entry; the Penn Treebank split of a contraction; the parts between hyphens; else the token is unknown as one piece.
Where a token is cut follows from its characters alone, whatever the vocabulary holds of its parts: a part that is not
known is unknown by itself, so that no two unknown parts can be told apart by a cut. Only a token that the vocabulary
lists whole is never cut. Nothing here writes output: an unknown part yields `UNKNOWN` and never its characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from wordveil.text.characters import GAP_CHARACTERS, plain_spelling

UNKNOWN = -1
"""Stands for a token outside the vocabulary in arrays of token ids."""

_CLITIC = re.compile(r"(.+?)(n't|'(?:s|re|ve|ll|d|m))", re.IGNORECASE | re.DOTALL)
FUSED = {"cannot": 3, "gimme": 3, "gonna": 3, "gotta": 3, "lemme": 3, "wanna": 3}
FULL_WORDS = {
    "n't": "not", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would", "'m": "am", "'s": "s",
    "ca": "can", "wo": "will", "sha": "shall", "ai": "is", "gim": "give", "gon": "going", "got": "got",
    "lem": "let", "wan": "want", "na": "to", "ta": "to",
}  # fmt: skip
"""For vocabularies that were not built from Penn-tokenized text: the word that a part stands for."""
_UNCUT = GAP_CHARACTERS - set("'-")
"""An address, path, name or number with one of these inside stays one token."""


class Reading(NamedTuple):
    """What one surface token contributes: token ids, the gaps around them, and their casing shapes."""

    ids: tuple[int, ...]  # token ids, `UNKNOWN` where a part is not known; empty for a public word, which is all gap
    gaps: tuple[str, ...]  # `len(ids) + 1` strings before, between and after the ids
    shapes: tuple[int, ...]  # one `shape` per id


def forms(text: str, casing: Literal["lower", "cased"]) -> tuple[str, ...]:
    """The distinct spellings to look up for one text, best first: the surface in the vocabulary's casing."""
    if casing == "lower" and text.isascii() and "`" not in text:
        return (text.lower(),)
    plain = plain_spelling(text)
    if casing == "lower":
        return (text.lower(),) if plain == text else (text.lower(), plain.lower())
    return tuple(dict.fromkeys((text, plain, plain.lower(), plain[:1].upper() + plain[1:].lower())))


def shape(text: str) -> int:
    """The casing of a surface form: 0 lower or mixed, 1 Capitalized, 2 UPPER (two letters or more)."""
    if not text[:1].isupper():
        return 0
    return 2 if text.isupper() and sum(map(str.isalpha, text)) > 1 else 1


def split_contraction(text: str) -> tuple[str, str] | None:
    """Cut a contraction in two the way the Penn Treebank does; None if it is no contraction.

    Example:
        >>> split_contraction("can't"), split_contraction("Maria's"), split_contraction("cannot")
        (('ca', "n't"), ('Maria', "'s"), ('can', 'not'))
    """
    if (cut := FUSED.get(text.lower())) is not None:
        return text[:cut], text[cut:]
    if "'" in text and (match := _CLITIC.fullmatch(text)):
        return match[1], match[2]
    return None


def spellings(token: str, casing: Literal["lower", "cased"]) -> Iterator[str]:
    """Every spelling that `read` may ask for; a superset, so that one look-up call serves a whole batch."""
    yield from forms(token, casing)
    plain = plain_spelling(token)
    if plain.isalpha() and plain.lower() not in FUSED:
        return
    for part in {*_parts(plain)}:
        yield from forms(part, casing)
        if part.lower() in FULL_WORDS:
            yield FULL_WORDS[part.lower()]


def _parts(plain: str) -> Iterator[str]:
    """All strings that a cut may produce, without deciding which cut applies."""
    yield plain.removesuffix(".")
    pieces = plain.split("-")
    for piece in (plain, *pieces):
        yield piece
        rest: str | None = piece
        for _ in range(3):
            cut = split_contraction(rest) if rest else None
            rest = cut[0] if cut else None
            if cut:
                yield from cut
                yield from cut[0].split("-")


def read(token: str, known: Mapping[str, int], casing: Literal["lower", "cased"]) -> Reading:
    """Read one token as one or several vocabulary words, with "" (contraction) or "-" (hyphen) in the gaps between.

    An acronym's final period belongs to its token, also where the vocabulary lists it without.
    """
    return _Reader(known, casing).read(token)


class _Reader(NamedTuple):
    known: Mapping[str, int]
    casing: Literal["lower", "cased"]

    def read(self, token: str) -> Reading:
        plain = plain_spelling(token)
        reading = self._whole(token) or self._whole(plain.removesuffix("."))
        if reading or not _UNCUT.isdisjoint(plain):
            return reading or _unknown(token)
        return self._contraction(plain, 2) or self._hyphens(plain) or _unknown(token)

    def _whole(self, text: str) -> Reading | None:
        for form in forms(text, self.casing):
            if form in self.known:
                return Reading((self.known[form],), ("", ""), (shape(text),))
        return None

    def _part(self, text: str) -> Reading:
        """One side of a contraction: as listed, else as the full word it stands for, else unknown."""
        if reading := self._whole(text):
            return reading
        full = FULL_WORDS.get(text.lower(), "")
        return Reading((self.known[full],), ("", ""), (shape(text),)) if full in self.known else _unknown(text)

    def _contraction(self, plain: str, depth: int) -> Reading | None:
        cut = split_contraction(plain) if depth else None
        if cut is None:
            return None
        stem, clitic = cut
        left = self._whole(stem) or self._contraction(stem, depth - 1) or self._hyphens(stem) or self._part(stem)
        return _joined([left, self._part(clitic)], "")

    def _hyphens(self, plain: str) -> Reading | None:
        pieces = plain.split("-")
        if len(pieces) == 1 or not all(pieces):
            return None
        parts = [self._whole(piece) or self._contraction(piece, 1) or _unknown(piece) for piece in pieces]
        return _joined(parts, "-")


def _unknown(text: str) -> Reading:
    return Reading((UNKNOWN,), ("", ""), (shape(text),))


def _joined(parts: list[Reading], gap: str) -> Reading:
    gaps = [*parts[0].gaps]
    for part in parts[1:]:
        gaps[-1] += gap + part.gaps[0]
        gaps += part.gaps[1:]
    ids = tuple(token for part in parts for token in part.ids)
    return Reading(ids, tuple(gaps), tuple(form for part in parts for form in part.shapes))
