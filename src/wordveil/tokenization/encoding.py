"""Texts to gaps and token ids, a batch at a time.

Within one call every distinct token is resolved once, all of them in two look-ups (whole tokens, then the
spellings of what was left). That table dies with the call: a cache keyed by private words must not outlive the
batch. The result holds no private character but those of the public gap list and of the words the user listed as
public. This module does not draw words for unknown tokens; it marks them with -1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray, PrivateText
from wordveil.errors import ParameterError
from wordveil.tokenization.patterns import digit_pattern
from wordveil.tokenization.readings import UNKNOWN, Reading, has_other_readings, read, shape, spellings
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


class _Batch:
    """All texts of a batch end to end: each token as the number of its type, and the gaps.

    Numbering the tokens while they are fresh costs one hash each; all later work is per type or vectorised, and
    few large lists spare the garbage collector.
    """

    __slots__ = ("_number_of", "_numbers", "ends", "gaps", "types")

    def __init__(self, texts: Sequence[PrivateText], tokenizer: Tokenizer) -> None:
        self._number_of = defaultdict[str, int](count().__next__)
        self._numbers = [np.empty(0, np.int32)]
        self.gaps: list[str] = []
        for text in texts:
            self._add(tokenizer.split(text))
        self.ends = np.cumsum([len(numbers) for numbers in self._numbers])[1:]
        self.types = list(self._number_of)

    def _add(self, pieces: list[str]) -> None:
        numbers = map(self._number_of.__getitem__, pieces[1::2])
        self._numbers.append(np.fromiter(numbers, np.int32, len(pieces) // 2))
        self.gaps += pieces[::2]

    def numbers(self) -> IdArray:
        """The type number of every token, shape (tokens,)."""
        return np.concatenate(self._numbers)


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
        batch = _Batch(texts, self.tokenizer)
        readings: list[Reading] = []
        codes = self._codes(batch.types, readings)
        return self._encoded(batch, codes, readings)

    def _codes(self, types: list[str], readings: list[Reading]) -> IdArray:
        """One code per type: an id, `UNKNOWN`, or -2 - i for `readings[i]`, which are appended."""
        codes = np.full(len(types), UNKNOWN, np.int32)
        rest = np.arange(len(types))
        if self._public:
            exempt = np.fromiter((token.casefold() in self._public for token in types), np.bool_, len(types))
            for i in np.flatnonzero(exempt).tolist():
                codes[i] = _compound(readings, Reading((), (types[i],), ()))
            rest = rest[~exempt]
        if self.numbers == "unknown":
            no_digit = [i for i in rest.tolist() if types[i].isalpha() or not digit_pattern().search(types[i])]
            rest = np.array(no_digit, np.intp)
        tokens = [types[i] for i in rest.tolist()]
        codes[rest] = self._found(list(map(str.lower, tokens)) if self.casing == "lower" else tokens)
        missed = [i for i in rest[codes[rest] == UNKNOWN].tolist() if has_other_readings(types[i], self.casing)]
        wanted = list({spelling for i in missed for spelling in spellings(types[i], self.casing)})
        ids = zip(wanted, self._found(wanted).tolist(), strict=True)
        known = {spelling: id_ for spelling, id_ in ids if id_ != UNKNOWN}
        for i in missed:
            reading = read(types[i], known, self.casing)
            codes[i] = reading.ids[0] if reading.gaps == ("", "") else _compound(readings, reading)
        return codes

    def _found(self, words: list[str]) -> IdArray:
        return self.lookup(words) if words else np.empty(0, np.int32)

    def _encoded(self, batch: _Batch, codes: IdArray, readings: list[Reading]) -> list[EncodedText]:
        """Cut the batch into texts again, putting the readings of compound and public tokens in their places."""
        numbers = batch.numbers()
        ids = codes[numbers]
        shapes = None
        if self.keep_shapes:
            shapes = np.fromiter(map(shape, batch.types), np.uint8, len(batch.types))[numbers]
        compound = np.flatnonzero(ids < UNKNOWN)
        places, cuts = compound.tolist(), np.searchsorted(compound, batch.ends).tolist()
        encoded = []
        start = cut = 0
        for number, (end, next_cut) in enumerate(zip(batch.ends.tolist(), cuts, strict=True)):
            gaps = batch.gaps[start + number : end + number + 1]
            text = EncodedText(gaps, ids[start:end], None if shapes is None else shapes[start:end], 0)
            if next_cut > cut:
                text = _expanded(text, [i - start for i in places[cut:next_cut]], readings)
            encoded.append(text)
            start, cut = end, next_cut
        return encoded


def _expanded(text: EncodedText, places: list[int], readings: list[Reading]) -> EncodedText:
    """The text with the readings of the tokens at `places` written out; uses up its gaps."""
    codes, before = text.ids.tolist(), text.gaps
    ids, gaps = list[int](), list[str]()
    exempt = start = 0
    for i in places:
        own_ids, own_gaps, _ = readings[-2 - codes[i]]
        ids += codes[start:i]
        ids += own_ids
        if not own_ids:
            exempt += 1
            gaps += before[start:i]
            before[i + 1] = before[i] + own_gaps[0] + before[i + 1]
        else:  # readings with ids open with an empty gap
            gaps += before[start : i + 1]
            gaps += own_gaps[1:-1]
            if own_gaps[-1]:
                before[i + 1] = own_gaps[-1] + before[i + 1]
        start = i + 1
    ids += codes[start:]
    gaps += before[start:]
    shapes = None if text.shapes is None else _expanded_shapes(text, text.shapes, places, readings)
    return EncodedText(gaps, np.array(ids, np.int32), shapes, exempt)


def _expanded_shapes(
    text: EncodedText, shapes: NDArray[np.uint8], places: list[int], readings: list[Reading]
) -> NDArray[np.uint8]:
    kept = list[int]()
    start = 0
    for i in places:
        kept += shapes[start:i].tolist()
        kept += readings[-2 - int(text.ids[i])].shapes
        start = i + 1
    return np.array(kept + shapes[start:].tolist(), np.uint8)


def _compound(readings: list[Reading], reading: Reading) -> int:
    """Append a reading and return the code that stands for it."""
    readings.append(reading)
    return -1 - len(readings)
