"""Texts to gaps and token ids, a batch at a time.

Within one call every distinct chunk between spaces is cut once (`chunks`), and every distinct token is resolved once,
all of them in two look-ups (whole tokens, then the spellings of what was left). These tables die with the call: a
cache keyed by private words must not outlive the batch. The result holds no private character but those of the
public gap list and of the words the user listed as public. This module does not draw words for unknown tokens; it
marks them with -1, or with a number below for their kind.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, count
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray, PrivateText
from wordveil.errors import ParameterError
from wordveil.text.characters import plain_spelling
from wordveil.text.chunks import cut_at_spaces, portions
from wordveil.text.encoded import EncodedBatch, EncodedText
from wordveil.text.joining import joined
from wordveil.text.lexicon import GapNumbers, Lexicon, expanded
from wordveil.text.patterns import digit_pattern
from wordveil.text.readings import UNKNOWN, Reading, forms, has_other_readings, read, shape, spellings
from wordveil.text.schemes import DEFAULT_SCHEME, SCHEMES
from wordveil.text.surrogates import Surrogates
from wordveil.text.tokenizer import Tokenizer

__all__ = ["Encoder"]

_PART = 1 << 17  # chunks put together at a time: arrays that stay in the second cache


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """Turns texts into token ids of one vocabulary.

    Attributes:
        lookup: Maps spellings to token ids, shape (n,), int32, -1 where absent.
        casing: "lower" if the vocabulary is in lower case; "cased" tries the surface, lower case, Capitalized.
        tokenizer: Cuts the texts.
        numbers: "unknown" makes every token with a digit (Unicode Nd, Nl, No) unknown; "vocabulary" looks it up,
            which discloses more and is to be declared on the release.
        public_words: Exempt words: whole tokens that equal one of them but for case and the form of apostrophes and
            hyphens stand as it is spelled here. Each must be one token for `tokenizer`.
        keep_shapes: Whether to record casing shapes, which discloses them.
        typed: What stands for tokens of a kind, which are then no words, whatever the vocabulary lists (with `numbers`
            "vocabulary" those with a digit are, where it lists them); None knows no kinds.
    """

    lookup: Callable[[Sequence[str]], IdArray]
    casing: Literal["lower", "cased"] = "lower"
    tokenizer: Tokenizer = SCHEMES[DEFAULT_SCHEME]
    numbers: Literal["unknown", "vocabulary"] = "unknown"
    public_words: frozenset[str] = frozenset()
    keep_shapes: bool = False
    typed: Surrogates | None = None
    _public: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.casing not in ("lower", "cased"):
            raise ParameterError("casing", self.casing, "must be 'lower' or 'cased'.")
        if self.numbers not in ("unknown", "vocabulary"):
            raise ParameterError("numbers", self.numbers, "must be 'unknown' or 'vocabulary'.")
        for word in sorted(self.public_words):
            if self.tokenizer.split(PrivateText(word)) != ["", word, ""]:
                raise ParameterError("public_words", word, "is not one token, so it can never match; list its parts.")
        # Written as listed: how a token was spelled in the private text is nobody's business.
        listed = {_caseless(word): word for word in sorted(self.public_words, reverse=True)}
        object.__setattr__(self, "_public", listed)

    def encode(self, texts: Sequence[PrivateText]) -> list[EncodedText]:
        """Encode a batch of texts.

        Guarantee:
            None by itself. Gaps hold listed gap characters, fixed HTML tags in lower case if the tokenizer keeps them,
            and public words as listed; every other character of the texts is represented by an id or by -1.

        Args:
            texts: The batch; its size affects speed only.

        Returns:
            One encoded text per text, in order.

        Edge cases:
            An empty text gives one gap and no ids.
        """
        return self.encode_batch(texts).texts()

    def encode_batch(self, texts: Sequence[PrivateText]) -> EncodedBatch:
        """Encode a batch of texts into one value; `encode` with its parts end to end."""
        chunks = cut_at_spaces(self._joined(texts), markup=self.tokenizer.markup)
        return self._lexicon(chunks.types).assemble(chunks)

    def encode_parts(self, texts: Iterable[PrivateText]) -> Iterator[EncodedBatch]:
        """Encode a batch of texts a part at a time, long texts in pieces; memory is bounded whatever their length.

        Raises:
            ParameterError: If a text has `LONGEST` characters without white space before a letter.
        """
        for chunks in portions(self._joined(texts), markup=self.tokenizer.markup):
            lexicon = self._lexicon(chunks.types)
            yield from map(lexicon.assemble, chunks.parts(_PART))

    def _joined(self, texts: Iterable[PrivateText]) -> Iterable[PrivateText]:
        return texts if self.typed is None else map(joined, texts)

    def _lexicon(self, chunks: list[str]) -> Lexicon:
        """Tokenize every distinct chunk and read every distinct token."""
        split = self.tokenizer.split
        gaps, tokens, lengths = list[str](), list[str](), list[int]()
        for chunk in chunks:
            pieces = split(PrivateText(chunk))
            gaps += pieces[::2] if self.tokenizer.markup == "none" else map(str.lower, pieces[::2])
            tokens += pieces[1::2]
            lengths.append(len(pieces) // 2)
        number_of = defaultdict[str, int](count().__next__)
        types = np.fromiter(map(number_of.__getitem__, tokens), np.int32, len(tokens))
        readings = list[Reading]()
        ids = self._codes(list(number_of), readings)[types]
        shapes = None
        if self.keep_shapes:
            shapes = np.fromiter(map(shape, number_of), np.uint8, len(number_of))[types]
        numbers = GapNumbers()
        around = np.fromiter(map(numbers.__getitem__, gaps), np.int32, len(gaps))
        counts = np.array(lengths, np.int64)
        ends = np.cumsum(counts)
        closes = ends + np.arange(len(chunks))  # each chunk has one gap more than tokens
        lexicon = Lexicon(
            starts=ends - counts,
            counts=counts,
            ids=ids,
            before=np.delete(around, closes),
            closing=around[closes],
            exempt=np.zeros(len(chunks), np.int64),
            shapes=shapes,
            numbers=numbers,
        )
        return expanded(lexicon, readings) if readings else lexicon

    def _codes(self, types: list[str], readings: list[Reading]) -> IdArray:
        """One code per type: an id, `UNKNOWN`, or -2 - i for `readings[i]`, which are appended."""
        codes = np.full(len(types), UNKNOWN, np.int32)
        rest = np.arange(len(types))
        if self._public:
            listed = [self._public.get(_caseless(token)) for token in types]
            for i, word in enumerate(listed):
                if word is not None:
                    codes[i] = _compound(readings, Reading((), (word,), ()))
            rest = np.array([i for i, word in enumerate(listed) if word is None], np.intp)
        if self.typed is not None:
            rest = self._typed(types, rest, codes, readings)
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

    def _typed(
        self, types: list[str], rest: NDArray[np.intp], codes: IdArray, readings: list[Reading]
    ) -> NDArray[np.intp]:
        """Write the codes of tokens that have a kind; returns the others."""
        assert self.typed is not None
        kinds = {i: code for i in rest.tolist() if (code := self.typed.code(types[i])) is not None}
        if self.numbers == "vocabulary":
            digits = {i: forms(types[i], self.casing) for i in kinds if digit_pattern().search(types[i])}
            wanted = list({form for listed in digits.values() for form in listed})
            found = set(compress(wanted, self._found(wanted) != UNKNOWN))
            kinds = {i: code for i, code in kinds.items() if found.isdisjoint(digits.get(i, ()))}
        for i, code in kinds.items():
            codes[i] = _compound(readings, Reading((code,), ("", ""), (0,)))
        return np.array([i for i in rest.tolist() if i not in kinds], np.intp)

    def _found(self, words: list[str]) -> IdArray:
        return self.lookup(words) if words else np.empty(0, np.int32)


def _caseless(word: str) -> str:
    """Return what two spellings of a word have in common without regard to case, apostrophes and hyphens."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", plain_spelling(word)).casefold())


def _compound(readings: list[Reading], reading: Reading) -> int:
    """Append a reading and return the code that stands for it."""
    readings.append(reading)
    return -1 - len(readings)
