"""Texts to gaps and token ids, a batch at a time.

Within one call every distinct token is resolved once, all of them in two look-ups (whole tokens, then the
spellings of what was left). That table dies with the call: a cache keyed by private words must not outlive the
batch. The result holds no private character but those of the public gap list and of the words the user listed as
public. This module does not draw words for unknown tokens; it marks them with -1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray, PrivateText
from wordveil.errors import ParameterError
from wordveil.tokenization.patterns import digit_pattern
from wordveil.tokenization.readings import UNKNOWN, Reading, read, shape, spellings
from wordveil.tokenization.schemes import DEFAULT_SCHEME, SCHEMES
from wordveil.tokenization.tokenizer import Tokenizer

__all__ = ["EncodedText", "Encoder"]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class EncodedText:
    """One text as gaps around token ids; still private, so its `repr` shows counts only.

    Attributes:
        gaps: m + 1 strings of public gap characters (and public words); `gaps[i]` precedes token i.
        ids: Token ids, shape (m,), int32; -1 stands for an unknown token.
        shapes: Casing shapes, shape (m,), uint8: 0 lower or mixed, 1 Capitalized, 2 UPPER; None unless asked for.
        exempt: How many public words passed verbatim into the gaps.
    """

    gaps: list[str]
    ids: IdArray
    shapes: NDArray[np.uint8] | None
    exempt: int

    @property
    def unknown(self) -> int:
        """How many tokens are outside the vocabulary."""
        return int(np.count_nonzero(self.ids == UNKNOWN))

    def __repr__(self) -> str:
        return f"EncodedText(tokens={len(self.ids)}, unknown={self.unknown}, exempt={self.exempt})"


@dataclass(frozen=True, slots=True)
class _Table:
    """Token to code: an id, `UNKNOWN`, or -2 - i for `readings[i]`."""

    codes: dict[str, int]
    readings: list[Reading]


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """Turns texts into token ids of one vocabulary.

    Attributes:
        lookup: Maps spellings to token ids, shape (n,), int32, -1 where absent.
        casing: "lower" if the vocabulary is in lower case; "cased" tries the surface, lower case, Capitalized.
        tokenizer: Cuts the texts.
        numbers: "unknown" makes every token with a digit (Unicode Nd, Nl, No) unknown; "vocabulary" looks it up,
            which discloses more and is to be declared on the release.
        public_words: Words that pass through verbatim, compared without case to whole tokens. Each must be one
            token for `tokenizer`.
        keep_shapes: Whether to record casing shapes, which discloses them.
    """

    lookup: Callable[[Sequence[str]], IdArray]
    casing: Literal["lower", "cased"] = "lower"
    tokenizer: Tokenizer = SCHEMES[DEFAULT_SCHEME]
    numbers: Literal["unknown", "vocabulary"] = "unknown"
    public_words: frozenset[str] = frozenset()
    keep_shapes: bool = False
    _public: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.casing not in ("lower", "cased"):
            raise ParameterError("casing", self.casing, "must be 'lower' or 'cased'.")
        if self.numbers not in ("unknown", "vocabulary"):
            raise ParameterError("numbers", self.numbers, "must be 'unknown' or 'vocabulary'.")
        for word in sorted(self.public_words):
            if self.tokenizer.split(PrivateText(word)) != ["", word, ""]:
                raise ParameterError("public_words", word, "is not one token, so it can never match; list its parts.")
        object.__setattr__(self, "_public", frozenset(map(str.casefold, self.public_words)))

    def encode(self, texts: Sequence[PrivateText]) -> list[EncodedText]:
        """Encode a batch of texts.

        Guarantee:
            None by itself. Gaps hold listed gap characters, fixed HTML tags if the tokenizer keeps them, and public
            words; every other character of the texts is represented by an id or by -1.

        Args:
            texts: The batch; its size affects speed only.

        Returns:
            One encoded text per text, in order.

        Edge cases:
            An empty text gives one gap and no ids.
        """
        pieces = [self.tokenizer.split(text) for text in texts]
        types: set[str] = set()
        for alternation in pieces:
            types.update(alternation[1::2])
        table = self._resolve(types)
        return [self._encoded(alternation, table) for alternation in pieces]

    def _resolve(self, types: set[str]) -> _Table:
        """Resolve every distinct token of a batch in two look-ups."""
        table = _Table({}, [])
        tokens = self._words(types, table)
        keys = list(map(str.lower, tokens)) if self.casing == "lower" else tokens
        codes = self.lookup(keys).tolist() if keys else []
        table.codes.update(zip(tokens, codes, strict=True))
        missed = [token for token, code in zip(tokens, codes, strict=True) if code == UNKNOWN]
        wanted = list({spelling for token in missed for spelling in spellings(token, self.casing)})
        found = self.lookup(wanted).tolist() if wanted else []
        known = {spelling: id_ for spelling, id_ in zip(wanted, found, strict=True) if id_ != UNKNOWN}
        for token in missed:
            reading = read(token, known, self.casing)
            if reading.gaps == ("", ""):
                table.codes[token] = reading.ids[0]
            else:
                _add(table, token, reading)
        return table

    def _words(self, types: set[str], table: _Table) -> list[str]:
        """The tokens to look up, after public words and numbers have been entered into the table."""
        tokens = list(types)
        if self._public:
            for token in [token for token in tokens if token.casefold() in self._public]:
                _add(table, token, Reading((), (token,), ()))
            tokens = [token for token in tokens if token not in table.codes]
        if self.numbers == "vocabulary":
            return tokens
        holds_digit = digit_pattern().search
        words = [token for token in tokens if holds_digit(token) is None]
        table.codes.update(dict.fromkeys(types.difference(words, table.codes), UNKNOWN))
        return words

    def _encoded(self, pieces: list[str], table: _Table) -> EncodedText:
        tokens = pieces[1::2]
        codes = list(map(table.codes.__getitem__, tokens))
        if codes and min(codes) < UNKNOWN:
            return self._expanded(pieces, codes, table.readings)
        shapes = np.array(list(map(shape, tokens)), np.uint8) if self.keep_shapes else None
        return EncodedText(pieces[::2], np.array(codes, np.int32), shapes, 0)

    def _expanded(self, pieces: list[str], codes: list[int], readings: list[Reading]) -> EncodedText:
        """Put the readings of compound and public tokens in their places."""
        before = pieces[::2]
        gaps, ids, shapes = before[:1], list[int](), list[int]()
        exempt = start = 0
        for i in [i for i, code in enumerate(codes) if code < UNKNOWN]:
            reading = readings[-2 - codes[i]]
            exempt += not reading.ids
            ids += codes[start:i]
            ids += reading.ids
            gaps += before[start + 1 : i + 1]
            gaps[-1] += reading.gaps[0]
            gaps += reading.gaps[1:]
            gaps[-1] += before[i + 1]
            if self.keep_shapes:
                shapes += map(shape, pieces[2 * start + 1 : 2 * i : 2])
                shapes += reading.shapes
            start = i + 1
        ids += codes[start:]
        gaps += before[start + 1 :]
        if self.keep_shapes:
            shapes += map(shape, pieces[2 * start + 1 :: 2])
        kept = np.array(shapes, np.uint8) if self.keep_shapes else None
        return EncodedText(gaps, np.array(ids, np.int32), kept, exempt)


def _add(table: _Table, token: str, reading: Reading) -> None:
    table.codes[token] = -2 - len(table.readings)
    table.readings.append(reading)
