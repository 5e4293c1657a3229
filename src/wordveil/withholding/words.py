"""The public words: which tokens may leave at all, and how sure their spelling is a word's.

A public list counted with capitals, closed lists beside it, and what the owner adds or takes away. Nothing here reads
a private text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from wordveil.errors import ChecksumError, ParameterError
from wordveil.text.function_words import FUNCTION_WORDS
from wordveil.withholding.kinds import Kind, kind_of

LISTS = Path(__file__).with_name("lists")
COMMON = (1000, 2000, 4000, 8000)
DEFAULT_COMMON = 4000
PACKS = ("spoken", "clinic", "bank", "food")
"""Packs of words of one field; the first is on unless it is left out."""
_REMEMBERED = 1 << 16  # spellings of tokens, kept to be looked up once
TELLS = frozenset(("is", "was", "are"))
"""Words that come between one that announces a secret and the secret."""
_VERBS = frozenset(("may", "march"))  # months that are words in small letters
_PLAIN = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?")
_PRONOUN = re.compile(r"I(?:['’](?:m|ve|ll|d))?")


class Mark(Enum):
    """How sure it is that a spelling is a word; in the list's file as its value, and printed by `wordveil words`."""

    SURE = ""
    CAPITAL = "^"  # often written with a capital
    COMMON_NAME = "="  # a name too, but in small letters the word
    NAME = "~"  # a name too


class Spelling(NamedTuple):
    """What the lists say of one token; a function of its letters alone."""

    kind: Kind  # its kind
    listed: bool = False  # whether it is on a list; a possessive follows its word
    mark: Mark = Mark.SURE  # how sure it is a word
    function: bool = False  # whether it is a function word, or a contraction
    joint: bool = False  # whether no list of words would hold it ("the")
    announces: bool = False  # whether a secret may follow it ("password")
    tells: bool = False  # whether a secret follows it ("password's")
    pronoun: bool = False  # whether it is *I*, or a contraction of it
    title: bool = False  # whether it is a title before a name
    calendar: bool = False  # whether it is a month or a weekday


@cache
def closed_list(name: str) -> frozenset[str]:
    """Return the words of a list that comes with wordveil.

    Raises:
        ChecksumError: If its file is not the one that this version came with.
    """
    lines = (line for line in _text(f"{name}.txt").splitlines() if not line.startswith("#"))
    return frozenset(word for line in lines for word in line.split())


def _text(name: str) -> str:
    raw = (LISTS / name).read_bytes()
    if hashlib.sha256(raw).hexdigest() != _digests()[name]:
        raise ChecksumError(f"the public list {name} is not the one that wordveil came with; install it again.")
    return raw.decode("utf-8")


@cache
def _digests() -> Mapping[str, str]:
    found: dict[str, str] = json.loads((LISTS / "digests.json").read_text(encoding="utf-8"))
    return found


@cache
def _ranks() -> tuple[tuple[str, int, Mark], ...]:
    """Return the words of the longest list, commonest first, each with its rank and mark."""
    marks = {mark.value: mark for mark in Mark}  # to ask the Enum takes six times as long
    rows = (line.split("\t") for line in _text("common.tsv").splitlines()[1:])
    return tuple((word, int(rank), marks[mark]) for word, rank, _, mark in rows)


def _common(n: int) -> Mapping[str, Mark]:
    """Return the words among the n commonest that are on the list, commonest first, each with its mark."""
    return {word: mark for word, rank, mark in _ranks() if rank <= n}


@cache
def function_words() -> frozenset[str]:
    """Return the words that may open a sentence even before a capital."""
    plain = frozenset(word for word in FUNCTION_WORDS if "'" not in word)
    return plain | closed_list("function")


@dataclass(frozen=True, kw_only=True)
class PublicWords:
    """The words that may leave; a value, equal where all lists are.

    Attributes:
        common: How many of the commonest words of public English: 1000, 2000, 4000 or 8000.
        packs: Names of packs of words.
        added: Words that the owner declares public, in small letters; they are sure.
        hidden: Words that are hidden whatever lists say; none that announces a secret (*password*, *is*), since the
            letters of a hidden word hide nothing after it.
        sensitive: Whether the words of the list of sensitive ones are kept.

    Raises:
        ParameterError: If a number or a pack does not exist, or a word is not made of plain letters.

    Example:
        >>> words = PublicWords(common=1000)
        >>> "house" in words, "diabetes" in words, words.spelling("Grant").mark
        (True, False, <Mark.SURE: ''>)
    """

    common: int = DEFAULT_COMMON
    packs: tuple[str, ...] = PACKS[:1]
    # These may be names: no repr holds them, and so no report and no metadata of a table.
    added: frozenset[str] = field(default=frozenset(), repr=False)
    hidden: frozenset[str] = field(default=frozenset(), repr=False)
    sensitive: bool = False
    _listed: Mapping[str, Mark] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.common not in COMMON:
            raise ParameterError("common", self.common, f"must be one of {', '.join(map(str, COMMON))}.")
        if unknown := [pack for pack in self.packs if pack not in PACKS]:
            raise ParameterError("packs", unknown[0], f"must be among {', '.join(PACKS)}.")
        for name in ("added", "hidden"):
            object.__setattr__(self, name, _plain_words(name, getattr(self, name)))
        if pronouns := sum(bool(_PRONOUN.fullmatch(word.capitalize())) for word in self.hidden):
            problem = "must not hold I or a contraction of it, which leave wherever they stand alone."
            raise ParameterError("hidden", f"<{pronouns} of {len(self.hidden)} words>", problem)
        if titles := self.added & closed_list("titles"):
            problem = "must hold no title before a name, such as mr: they leave by titles=True or --keep-words titles."
            raise ParameterError("added", f"<{len(titles)} of {len(self.added)} words>", problem)
        if announcing := self.hidden & (closed_list("secrets") | TELLS):
            problem = "must hold none that announces a secret, such as password or is: what follows it would be kept."
            raise ParameterError("hidden", f"<{len(announcing)} of {len(self.hidden)} words>", problem)
        object.__setattr__(self, "_listed", self._merged())

    def _merged(self) -> Mapping[str, Mark]:
        names, marks = ("contractions", "numbers", "secrets", *self.packs), _common(max(COMMON))
        packed = {word: marks.get(word, Mark.SURE) for name in names for word in sorted(closed_list(name))}
        function = {word: marks.get(word, Mark.SURE) for word in sorted(function_words())}
        own = dict.fromkeys(sorted(self.added), Mark.SURE)
        never = self.hidden | (frozenset() if self.sensitive else closed_list("sensitive"))
        never |= closed_list("calendar") - _VERBS | closed_list("titles")
        public = {**_common(self.common), **packed, **function}
        kept = {word: mark for word, mark in public.items() if word not in never}
        return kept | {word: mark for word, mark in own.items() if word not in self.hidden}

    def __contains__(self, word: str) -> bool:
        return word in self._listed

    def __len__(self) -> int:
        return len(self._listed)

    @cached_property
    def without_own(self) -> PublicWords:
        """The same choices without the owner's words: what of them is on a list is not for reports to say."""
        return replace(self, added=frozenset(), hidden=frozenset()) if self.added or self.hidden else self

    def marks(self) -> Mapping[str, Mark]:
        """Return all words that may leave, the commonest first, each with its mark."""
        return dict(self._listed)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the lists of wordveil's that decide what may leave, with marks; not of the owner's.

        A digest of those would confirm a guess of a word.
        """
        names = ("numbers", "secrets", "calendar", "titles", "joints")
        lists = {name: sorted(closed_list(name)) for name in names}
        marks = self.without_own.marks()
        facts: dict[str, Any] = {"words": sorted((word, mark.value) for word, mark in marks.items())}
        facts |= {"lists": lists, "function": sorted(function_words())}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def choices(self) -> dict[str, Any]:
        """Return the choices as plain values; lists of the owner by their length."""
        return {
            "common": self.common,
            "packs": list(self.packs),
            "added": len(self.added),
            "hidden": len(self.hidden),
            "sensitive": self.sensitive,
            "words": len(self.without_own),
            "digest": self.digest,
        }

    @cached_property
    def _remembered(self) -> dict[str, Spelling]:
        """Tokens that were asked for, which are private: no field, so that `asdict` shows none."""
        return {}

    def spelling(self, token: str) -> Spelling:
        """Return what the lists say of a token."""
        known = self._remembered.get(token)
        if known is None:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            known = self._remembered[token] = self._spelling(token)
        return known

    def _spelling(self, token: str) -> Spelling:
        kind = kind_of(token)
        if kind is Kind.NUMBER or not _PLAIN.fullmatch(token):  # before small letters: a KELVIN SIGN would become k
            return Spelling(kind)
        low = token.replace("’", "'").lower()
        contraction = low in closed_list("contractions")
        base = low if contraction else low.removesuffix("'s")
        if base == low and base in closed_list("numbers") and len(base) > 1:
            kind = Kind.COUNT
        own = base != low and base in function_words()  # Down's, Will's: names
        mark = None if own else self._listed.get(base)
        announces = base in closed_list("secrets") and mark is not None
        return Spelling(
            kind,
            listed=mark is not None,
            mark=Mark.SURE if mark is None else mark,
            function=contraction or (base == low and base in function_words()),
            joint=contraction or low in closed_list("joints"),
            announces=announces,
            tells=announces and base != low,
            pronoun=bool(_PRONOUN.fullmatch(token)),
            title=low in closed_list("titles") - self.hidden,
            calendar=low in closed_list("calendar") - self.hidden,
        )

    def __reduce__(self) -> tuple[Any, ...]:  # leaves remembered tokens behind
        chosen: dict[str, Any] = {"common": self.common, "packs": self.packs, "sensitive": self.sensitive}
        return partial(PublicWords, **chosen, added=self.added, hidden=self.hidden), ()


def _plain_words(name: str, given: Collection[str]) -> frozenset[str]:
    words: Iterable[str] = () if isinstance(given, str) else (word.strip().replace("’", "'").lower() for word in given)
    found = frozenset(words)
    if isinstance(given, str) or not all(_PLAIN.fullmatch(word) for word in found):
        raise ParameterError(name, f"<{len(given)} words>", "must be words of plain letters, one by one.")
    if possessive := sum(word.endswith("'s") and word not in closed_list("contractions") for word in found):
        problem = "must be without 's: what is possessive follows its word."
        raise ParameterError(name, f"<{possessive} of {len(found)} words>", problem)
    return found
