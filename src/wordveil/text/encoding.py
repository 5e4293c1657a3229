"""Texts to gaps and token ids, a batch at a time.

`reference` says what one text is encoded to. Here every distinct token of a batch is read once; where kernels are
compiled, they read all that is plain, and the reference the rest. The tables die with the call: a cache keyed by
private words must not outlive the batch. The result holds no private character but those of the public gap list and
of the words the user listed as public. This module does not draw words for unknown tokens; it marks them with -1, or
with a number below for their kind.

Long texts are worked on in pieces. A stretch between spaces gives, read alone, the tokens it gives inside its text
unless a token could hold the space beside it. By `patterns`, only these can:

- a number, and then there is a digit (Unicode N) on both sides of the space;
- an IBAN, and then two capitals and two digits open it and each later group opens with a capital or a digit;
- a tag, where markup is read, and then it opens on the left with "<".

No other alternative holds a space or looks past one: to every look-around, a space is what the end of a text is, and
so is a line end, which only a tag can span. The compiled reader (`reading.c`) leaves stretches alone
by these conditions; here, a piece begins before a letter that is no capital, and outside a tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray, PrivateIds, PrivateText
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.library import text_library
from wordveil.kernels.compiled.text import CompiledReader, Left, PackedWords, ReaderSettings
from wordveil.parameters import check_choice
from wordveil.text.assembling import Assembler
from wordveil.text.characters import plain_characters
from wordveil.text.joining import joined
from wordveil.text.readings import FULL_WORDS, FUSED, UNKNOWN, Reading, shape, spellings
from wordveil.text.reference import Rules, TextReading, caseless, encode_text, read_token
from wordveil.text.surrogates import Surrogates
from wordveil.text.tokenizer import Tokenizer

LONG = 1 << 20
"""Characters of a text that are worked on at a time."""

LONGEST = 1 << 23
"""A text with a longer stretch without white space before a letter cannot be worked on in pieces, and is refused."""

# Before a letter these are in no number, no IBAN and no address.
_NO_TOKEN = re.compile(r"[ \n](?![A-Z])|[。、，](?=[\u3040-\u9fff])")
_TAG_CHARACTERS = 2001  # "<", a letter, and at most so many up to ">"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class EncodedText:
    """One text as gaps around token ids; still private, so its `repr` shows counts only."""

    gaps: list[str]  # m + 1 strings of public gap characters (and public words); `gaps[i]` precedes token i
    ids: PrivateIds  # token ids, shape (m,), int32; -1 stands for an unknown token, a number below for one of a kind
    # casing shapes, shape (m,), uint8: 0 lower or mixed, 1 Capitalized, 2 UPPER; None unless asked for
    shapes: NDArray[np.uint8] | None
    exempt: int  # how many public words passed verbatim into the gaps

    @property
    def unknown(self) -> int:
        return int(np.count_nonzero(self.ids == UNKNOWN))

    def __repr__(self) -> str:
        return f"EncodedText(tokens={len(self.ids)}, unknown={self.unknown}, exempt={self.exempt})"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class EncodedBatch:
    """n texts, or pieces of long ones, end to end, with t tokens in all; still private."""

    gaps: list[str]  # the distinct gaps; the first is empty, the second one space
    ids: PrivateIds  # token ids, shape (t,), int32; -1 stands for an unknown token, a number below for one of a kind
    before: IdArray  # position in `gaps` of the gap before each token, shape (t,), int32
    closing: IdArray  # position in `gaps` of the gap that ends each text, shape (n,), int32
    counts: NDArray[np.int64]  # tokens of each text, shape (n,), int64
    exempt: NDArray[np.int64]  # how many public words of each text passed verbatim into the gaps, shape (n,), int64
    shapes: NDArray[np.uint8] | None  # casing shapes, shape (t,), uint8, as in `EncodedText`; None unless asked for
    last: NDArray[np.bool_]  # whether each piece is the last one of its text, shape (n,)

    def texts(self) -> list[EncodedText]:
        table = np.array(self.gaps, dtype=object)
        ends = np.cumsum(self.counts)
        encoded = []
        for end, size, closing, exempt in zip(
            ends.tolist(), self.counts.tolist(), self.closing.tolist(), self.exempt.tolist(), strict=True
        ):
            some = slice(end - size, end)
            gaps = [*table[self.before[some]].tolist(), self.gaps[closing]]
            shapes = None if self.shapes is None else self.shapes[some]
            encoded.append(EncodedText(gaps, PrivateIds(self.ids[some]), shapes, exempt))
        return encoded

    def without_ids(self) -> EncodedBatch:
        """Return the batch as a writer needs it: without what only the mechanism may see."""
        return replace(self, ids=PrivateIds(np.empty(0, np.int32)))  # a slice would keep them

    def __repr__(self) -> str:
        return f"EncodedBatch(texts={len(self.counts)}, tokens={len(self.ids)})"


def tokens_per_text(parts: Sequence[EncodedBatch]) -> NDArray[np.int64]:
    """Return the number of tokens of each text of a batch that was encoded in parts, shape (texts,)."""
    if not parts:
        return np.empty(0, np.int64)
    running = np.cumsum(np.concatenate([part.counts for part in parts]))
    return np.asarray(np.diff(running[np.concatenate([part.last for part in parts])], prepend=0))


def tokens_per_document(counts: NDArray[np.int64], documents: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Turn the number of tokens of each text into that of each document, which may have any number of texts."""
    running = np.concatenate(([0], np.cumsum(counts)))
    return np.asarray(np.diff(running[np.cumsum([0, *map(len, documents)])]))


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """Turns texts into token ids of one vocabulary."""

    lookup: Callable[[Sequence[str]], IdArray]  # maps spellings to token ids, shape (n,), int32, -1 where absent
    # the words that `lookup` knows, for the compiled reader; None leaves everything to the reference
    index: PackedWords | None = field(default=None, repr=False, compare=False)
    # "lower" if the vocabulary is in lower case; "cased" tries the surface, lower case, Capitalized
    casing: Literal["lower", "cased"] = "lower"
    tokenizer: Tokenizer = field(default_factory=Tokenizer)  # cuts the texts
    # "unknown" makes every token with a digit (Unicode Nd, Nl, No) unknown; "vocabulary" looks it up, which discloses
    # more and is to be declared on the release
    numbers: Literal["unknown", "vocabulary"] = "unknown"
    # exempt words: whole tokens that equal one of them but for case and the form of apostrophes and hyphens stand as
    # it is spelled here. Each must be one token for `tokenizer`.
    public_words: frozenset[str] = frozenset()
    keep_shapes: bool = False  # whether to record casing shapes, which discloses them
    # what stands for tokens of a kind, which are then no words, whatever the vocabulary lists (with `numbers`
    # "vocabulary" those with a digit are, where it lists them); None knows no kinds
    typed: Surrogates | None = None
    rules: Rules = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choice("casing", self.casing, ("lower", "cased"))
        check_choice("numbers", self.numbers, ("unknown", "vocabulary"))
        for word in sorted(self.public_words):
            if self.tokenizer.split(PrivateText(word)) != ["", word, ""]:
                raise ParameterError("public_words", word, "is not one token, so it can never match; list its parts.")
        listed = {caseless(word): word for word in sorted(self.public_words, reverse=True)}
        rules = Rules(casing=self.casing, numbers=self.numbers, public=listed, typed=self.typed)
        object.__setattr__(self, "rules", rules)

    def encode(self, texts: Sequence[PrivateText]) -> list[EncodedText]:
        """Encode a batch of texts.

        Guarantee:
            None by itself. Gaps hold listed gap characters, fixed HTML tags in lower case if the tokenizer keeps them,
            and public words as listed; every other character of the texts is represented by an id or by -1.
        """
        return self.encode_batch(texts).texts()

    def encode_batch(self, texts: Sequence[PrivateText]) -> EncodedBatch:
        """Encode a batch of texts into one value; `encode` with its parts end to end."""
        given = list(self._joined(texts))
        return self._reading()(given, [True] * len(given))

    def encode_parts(self, texts: Iterable[PrivateText]) -> Iterator[EncodedBatch]:
        """Encode a batch of texts a part at a time, long texts in pieces; memory is bounded whatever their length.

        Raises:
            ParameterError: If a text has `LONGEST` characters without white space before a letter.
        """
        read = self._reading()
        for pieces, last in _portions(self._joined(texts), markup=self.tokenizer.markup):
            yield read(pieces, last)

    def _joined(self, texts: Iterable[PrivateText]) -> Iterable[PrivateText]:
        return texts if self.typed is None else map(joined, texts)

    def _reading(self) -> Callable[[Sequence[str], Sequence[bool]], EncodedBatch]:
        fields: Callable[[Sequence[str]], dict[str, Any]]
        if self.index is None or text_library() is None:
            fields = partial(self._assembled, Assembler(self._read_tokens))
        else:
            fields = CompiledReader(self._compiled, self._left).read

        def read(texts: Sequence[str], last: Sequence[bool]) -> EncodedBatch:
            found = fields(texts) if self.keep_shapes else fields(texts) | {"shapes": None}
            return EncodedBatch(**found, last=np.array(last, np.bool_))

        return read

    @cached_property
    def _compiled(self) -> ReaderSettings:
        full = self.known(set(FULL_WORDS.values()))
        cased, html = self.casing == "cased", self.tokenizer.markup == "html"
        return ReaderSettings(
            words=cast(PackedWords, self.index),
            characters=plain_characters(cased=cased, html=html),
            public=self.rules.public,
            parts={part: full[word] for part, word in FULL_WORDS.items() if word in full},
            cased=cased,
            html=html,
            numbers=self.numbers == "unknown" and self.typed is None,
        )

    def _assembled(self, assemble: Assembler, texts: Sequence[str]) -> dict[str, Any]:
        """Return the fields of a batch but for `last`, put together by arrays."""
        split = (self.tokenizer.split(PrivateText(text)) for text in texts)
        if self.tokenizer.markup != "none":
            split = ([piece if i % 2 else piece.lower() for i, piece in enumerate(pieces)] for pieces in split)
        return assemble(split)

    def _read_tokens(self, tokens: Sequence[str]) -> list[Reading]:
        """Read tokens; what is a plain word, as most are, is read whole or not at all, and asked for as it stands."""
        plain = (token for token in tokens if self.casing == "lower" and token.isascii() and token.isalpha())
        lowered = ((token, token.lower()) for token in plain)
        whole = {token: lower for token, lower in lowered if lower not in FUSED and lower not in self.rules.public}
        others = [token for token in tokens if token not in whole]
        ids = dict(zip(whole, self.lookup([*whole.values()]).tolist() if whole else (), strict=True))
        known = self.known({spelling for token in others for spelling in spellings(token, self.casing)})
        return [
            Reading((ids[token],), ("", ""), (shape(token),)) if token in ids else read_token(token, self.rules, known)
            for token in tokens
        ]

    def read_texts(self, texts: Sequence[str]) -> list[TextReading]:
        """Read texts by the reference, every distinct token once."""
        split = [self.tokenizer.split(PrivateText(text)) for text in texts]
        tokens = list({*chain.from_iterable(pieces[1::2] for pieces in split)})
        readings = dict(zip(tokens, self._read_tokens(tokens), strict=True))
        return [encode_text(pieces, readings, self.tokenizer.markup) for pieces in split]

    def _left(self, stretches: list[str]) -> Left:
        """Read what the compiled reader leaves alone."""
        read = self.read_texts(stretches)
        return Left(
            [len(own.ids) for own in read],
            [own.exempt for own in read],
            chain.from_iterable(own.ids for own in read),
            chain.from_iterable(own.shapes for own in read),
            chain.from_iterable(own.gaps for own in read),
        )

    def known(self, words: Iterable[str]) -> dict[str, int]:
        """Return the ids of the words that are in the vocabulary."""
        asked = list(words)
        ids = self.lookup(asked).tolist() if asked else []
        return {word: id_ for word, id_ in zip(asked, ids, strict=True) if id_ != UNKNOWN}


def _portions(
    texts: Iterable[PrivateText], *, markup: Literal["none", "html"] = "none"
) -> Iterator[tuple[list[str], list[bool]]]:
    """Yield texts, long ones in several pieces, about `LONG` characters at a time."""
    pieces, last, size = list[str](), list[bool](), 0
    for text in texts:
        for piece, is_last in _pieces(text, markup):
            pieces.append(piece)
            last.append(is_last)
            size += len(piece)
            if size >= LONG:
                yield pieces, last
                pieces, last, size = [], [], 0
    if pieces:
        yield pieces, last


def _pieces(text: str, markup: Literal["none", "html"]) -> Iterator[tuple[str, bool]]:
    """Cut a long text where no token can be, and say which piece is the last one."""
    start = 0
    while len(text) - start > LONG:
        places = (found.end() for found in _NO_TOKEN.finditer(text, start + LONG, start + LONGEST))
        letters = (place for place in places if text[place : place + 1].isalpha())
        stop = next((place for place in letters if markup == "none" or not _in_tag(text, place)), 0)
        if not stop and len(text) - start > LONGEST:
            raise ParameterError(
                "text",
                f"<{len(text)} characters>",
                f"must have a space or line end before a letter in every {LONGEST} characters; break it into lines.",
            )
        if not stop:
            break
        yield text[start:stop], False
        start = stop
    yield text[start:], True


def _in_tag(text: str, place: int) -> bool:
    first = max(0, place - 2 * _TAG_CHARACTERS)
    return text.rfind("<", first, place) > text.rfind(">", first, place)
