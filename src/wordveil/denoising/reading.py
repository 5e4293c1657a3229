"""Released (or public) text to states of a prior, and chosen words back into the same layout.

A text is cut at sentence ends into segments, which the prior takes for independent. Between its words stand pauses,
which are seen as they are. What is no word of the vocabulary, surrogates of numbers, dates and so on among them, stays
as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray, PrivateText, ReleasedText
from wordveil.promises.release import Casing, Markup, Numbers
from wordveil.text.kinds import kind
from wordveil.text.readings import Reading, spellings
from wordveil.text.reference import Rules, caseless, encode_text, read_token, write_text
from wordveil.text.tokenizer import tokenizer_for
from wordveil.vocabulary.table import Embeddings

OTHER, TYPED, STOP, PAUSE = range(4)
"""States beside the v words, from v on: a token that is none of them, one of a kind, a sentence's end, a pause."""
STATES = 4
LONGEST = 200  # words of a segment: a text without a full stop is cut there
_STOP = re.compile(r"[.!?…\n\r]")
_PAUSE = re.compile(r"[^\s\w.'’`\-]")


@dataclass(frozen=True)
class Layout:
    """One text between reading and writing."""

    gaps: list[str] = field(repr=False)  # what stands around its tokens, one more than these
    tokens: list[str | None] = field(repr=False)  # the tokens as written where they are no words; None for a word
    # their casing as `readings.shape` tells it, 0 where there is no word, shape (t,)
    shapes: NDArray[np.uint8] = field(repr=False)
    ids: IdArray = field(repr=False)  # the words, -1 where there is none, shape (t,)
    states: IdArray = field(repr=False)  # the segments' states end to end, each from stop to stop, shape (s,)
    places: IdArray = field(repr=False)  # which token each state is, -1 for stops and pauses, shape (s,)


class ReleaseReader:
    """Reads texts whose words are those of one vocabulary, but for what stays verbatim; see `TextOptions`."""

    def __init__(
        self,
        embeddings: Embeddings,
        *,
        markup: Markup = "none",
        numbers: Numbers = "unknown",
        casing: Casing = "sentence",
        verbatim: Sequence[str] = (),
    ) -> None:
        header = embeddings.header
        self._embeddings, self._markup, self._shown = embeddings, markup, casing
        self._tokenizer = tokenizer_for(header.tokenizer, markup=markup)
        self._cased = header.casing == "cased"
        self._rules = Rules(
            casing="cased" if self._cased else "lower",
            numbers="vocabulary" if numbers == "vocabulary" else "unknown",
            public={caseless(word): word for word in verbatim},
        )

    def read(self, texts: Sequence[ReleasedText]) -> list[Layout]:
        """Read texts; nothing in them is private."""
        split = [self._tokenizer.split(PrivateText(text)) for text in texts]  # more careful than need be
        tokens = sorted({token for pieces in split for token in pieces[1::2]})
        wanted = sorted({spelling for token in tokens for spelling in spellings(token, self._rules.casing)})
        found = self._embeddings.ids(wanted).tolist()
        known = {word: id_ for word, id_ in zip(wanted, found, strict=True) if id_ >= 0}
        readings = {token: self._token(token, known) for token in tokens}
        return [self._layout(pieces, readings) for pieces in split]

    def _token(self, token: str, known: dict[str, int]) -> Reading:
        """Return the words of a token; one id of -1 - OTHER or -1 - TYPED where it is none."""
        if kind(token) is not None and (self._rules.numbers == "unknown" or token.lower() not in known):
            return Reading((-1 - TYPED,), ("", ""), (0,))
        read = read_token(token, self._rules, known)
        whole = min(read.ids, default=-1) >= 0 and not (read.gaps[0] or read.gaps[-1])
        return read if whole else Reading((-1 - OTHER,), ("", ""), (0,))

    def _layout(self, pieces: list[str], readings: dict[str, Reading]) -> Layout:
        read = encode_text(pieces, readings, self._markup)
        tokens: list[str | None] = []
        for token in pieces[1::2]:
            own = readings[token].ids
            tokens += [token] if own[0] < 0 else [None] * len(own)
        states, places = self._states(read.gaps, read.ids)
        return Layout(
            gaps=read.gaps,
            tokens=tokens,
            shapes=np.array(read.shapes, np.uint8),
            ids=np.maximum(np.array(read.ids, np.int32), -1),
            states=np.array(states, np.int32),
            places=np.array(places, np.int32),
        )

    def _states(self, gaps: list[str], ids: list[int]) -> tuple[list[int], list[int]]:
        """Return states and places: a stop at both ends and wherever a sentence ends, no two in a row."""
        v = len(self._embeddings)
        states, places, length = [v + STOP], [-1], 0
        for i, (id_, gap) in enumerate(zip(ids, gaps[1:], strict=True)):
            states.append(id_ if id_ >= 0 else v - 1 - id_)
            places.append(i)
            length += 1
            if _STOP.search(gap) or length == LONGEST or i + 1 == len(ids):
                states.append(v + STOP)
                places.append(-1)
                length = 0
            elif _PAUSE.search(gap):
                states.append(v + PAUSE)
                places.append(-1)
        return states, places

    def write(self, layout: Layout, ids: IdArray, marks: Sequence[str] | None = None) -> ReleasedText:
        """Return a text with other words in the places of its words, shape (t,), and marks behind all tokens."""
        words = self._embeddings.words
        chosen = zip(layout.tokens, ids.tolist(), strict=True)
        shown = [words[id_] if token is None else token for token, id_ in chosen]
        if marks is not None:
            shown = [word + mark for word, mark in zip(shown, marks, strict=True)]
        shapes = layout.shapes if self._shown == "shape" else None
        return write_text(layout.gaps, shown, shapes, self._shown, cased=self._cased, mask="")

    def segments(self, layout: Layout) -> Iterator[slice]:
        """Yield the places of each segment's states, the stops at both ends included."""
        stops = np.flatnonzero(layout.states == len(self._embeddings) + STOP).tolist()
        for first, last in pairwise(stops):
            yield slice(first, last + 1)
