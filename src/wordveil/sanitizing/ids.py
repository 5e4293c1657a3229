"""The private step: ids of tokens through the mechanism, each document with the draws of its own stream.

    ids --stand-ins for unknown tokens--> ids --one draw a token, or a distinct word--> released ids

Ids of -1 are unknown tokens. They are left out where the options disclose them, replaced by public words otherwise, or
handed to a mechanism that answers for them itself. Ids below are typed tokens: the mechanism takes them for unknown,
and a surrogate is written over what it drew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray, PrivateIds, PrivateText, ReleasedIds, write_ids
from wordveil.kernels.compiled.library import document_bits
from wordveil.mechanisms.base import Progress
from wordveil.randomness import RandomSource, multiply_high
from wordveil.sanitizing.assembly import Assembled, TextReader
from wordveil.text.encoding import EncodedBatch, tokens_per_document, tokens_per_text
from wordveil.text.readings import UNKNOWN
from wordveil.text.surrogates import Surrogates

__all__ = ["Counts", "IdReleaser", "Prepared", "once_per_document"]

Counts = NDArray[np.int64]

UNKNOWN_LANE, TYPED_LANE = 255, 254  # the last lanes: mechanisms and decoders stay below them
DRAW_VALUES = 1 << 22  # eight-byte values drawn at a time: 32 MiB
PLACED = 1 << 16  # stand-ins and surrogates drawn at a time: arrays that stay in the second cache


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Prepared:
    """Documents, read once; still private, so its `repr` shows counts only.

    Attributes:
        documents: The private texts of each.
        parts: What a writer needs of them: all but the ids.
        tokens: The private ids of all documents end to end.
        cost: Tokens of each document that a release randomizes, shape (n,).
    """

    documents: Sequence[Sequence[PrivateText]]
    parts: list[EncodedBatch]
    tokens: PrivateIds
    cost: Counts

    @classmethod
    def read(cls, reader: TextReader, documents: Sequence[Sequence[PrivateText]], width: int = 1) -> Prepared:
        """Read documents; every token has so many ids."""
        parts, ids = list[EncodedBatch](), [np.empty(0, np.int32)]
        for part in reader.encode_parts(chain.from_iterable(documents)):
            parts.append(part.without_ids())
            ids.append(part.ids)
        cost = tokens_per_document(tokens_per_text(parts), documents) // width
        return cls(documents=documents, parts=parts, tokens=PrivateIds(np.concatenate(ids)), cost=cost)

    @classmethod
    def joined(cls, several: Sequence[Prepared]) -> Prepared:
        """Return what was read apart, to be released together."""
        return cls(
            documents=[document for each in several for document in each.documents],
            parts=[part for each in several for part in each.parts],
            tokens=PrivateIds(np.concatenate([each.tokens for each in several])),
            cost=np.concatenate([each.cost for each in several]),
        )

    @property
    def exempt(self) -> int:
        """Public words that pass verbatim."""
        return sum(int(part.exempt.sum()) for part in self.parts)

    def __repr__(self) -> str:
        return f"Prepared(documents={len(self.documents)}, tokens={self.cost.sum()})"


class IdReleaser:
    """Releases the ids of documents.

    Args:
        parts: What a sanitizer is made of.
        source: Randomness.
        threads: Threads for the mechanism.
    """

    def __init__(self, parts: Assembled, source: RandomSource, threads: int | None) -> None:
        self._randomizer, self._stand_ins, self._options = parts.randomizer, parts.stand_ins, parts.options
        self._source, self._threads, self._typed = source, threads, parts.encoder.typed

    def release(
        self, tokens: PrivateIds, counts: Counts, nonces: Sequence[int], progress: Progress | None = None
    ) -> ReleasedIds:
        """Return the released id of every token.

        Args:
            tokens: Ids of all documents end to end, shape (t,), -1 where unknown, below where typed.
            counts: Tokens of each document, shape (n,).
            nonces: One per document: the places of their noise.
            progress: Called with the number of tokens done since the last call.

        Returns:
            Shape (t,), int32; -1 where a token was unknown and the options disclose it, above v for surrogates.
        """
        unknown = tokens < 0
        if self._options.unknown in ("random", "typed"):
            if self._randomizer.answers_unknown:
                placed = PrivateIds(np.maximum(tokens, UNKNOWN))
            else:
                placed = self._place_unknown(tokens, nonces, counts)
            released = self._randomize(placed, unknown, counts, nonces, progress)
            if self._typed is not None:
                self._place_surrogates(self._typed, released, tokens, nonces, counts)
            return released
        known = ~unknown
        running = np.zeros(len(tokens) + 1, dtype=np.int64)
        np.cumsum(known, out=running[1:])
        counts = np.diff(running[np.cumsum(counts)], prepend=0)
        shown, placed = ReleasedIds(np.full(len(tokens), -1, dtype=np.int32)), PrivateIds(tokens[known])
        write_ids(shown, known, self._randomize(placed, unknown[known], counts, nonces, progress))
        return shown

    def _place_surrogates(
        self, typed: Surrogates, released: ReleasedIds, tokens: PrivateIds, nonces: Sequence[int], counts: Counts
    ) -> None:
        """Write a surrogate over what was drawn for each typed token.

        One word is drawn per token, typed or not: what becomes of one place never depends on what stands at others.
        """
        for part, drawn in self._words(TYPED_LANE, nonces, counts):
            some = np.flatnonzero(tokens[part] < UNKNOWN)
            codes = PrivateIds(tokens[part][some])
            write_ids(released, part.start + some, typed.draw(codes, drawn[some]))

    def _place_unknown(self, tokens: PrivateIds, nonces: Sequence[int], counts: Counts) -> PrivateIds:
        """Replace every unknown token by a uniformly drawn public word.

        One word is drawn per token, known or not, so that timing does not depend on which are unknown.
        """
        candidates, placed = self._stand_ins, tokens.copy()
        for part, drawn in self._words(UNKNOWN_LANE, nonces, counts):
            public = candidates[multiply_high(drawn, np.uint64(len(candidates)))]
            placed[part] = np.where(tokens[part] < 0, public, tokens[part])
        return PrivateIds(placed)

    def _words(self, lane: int, nonces: Sequence[int], counts: Counts) -> Iterator[tuple[slice, NDArray[np.uint64]]]:
        """Yield a random word for each token, with where these tokens stand."""
        start = 0
        for drawn in document_bits(self._source.documents(nonces, counts.tolist()), lane, PLACED):
            yield slice(start, start + len(drawn)), drawn
            start += len(drawn)

    def _randomize(
        self,
        tokens: PrivateIds,
        unknown: NDArray[np.bool_],
        counts: Counts,
        nonces: Sequence[int],
        progress: Progress | None,
    ) -> ReleasedIds:
        """Run the mechanism over ids, so many for each document; once per distinct known word if so chosen."""
        spread: NDArray[np.int64] | None = None
        if self._options.per == "document":
            first, counts, spread = once_per_document(tokens, unknown, counts)
            tokens = PrivateIds(tokens[first])
        released = ReleasedIds(np.empty(len(tokens), dtype=np.int32))
        size = max(1, DRAW_VALUES // self._randomizer.draw_width)
        start = 0
        for draws in self._randomizer.draws(self._source.documents(nonces, counts.tolist()), size):
            stop = start + len(draws[0])
            drawn = self._randomizer.randomize(tokens[start:stop], draws, threads=self._threads, progress=progress)
            write_ids(released, slice(start, stop), drawn)
            start = stop
        return released if spread is None else ReleasedIds(released[spread])


def once_per_document(
    tokens: IdArray, unknown: NDArray[np.bool_], counts: Counts
) -> tuple[NDArray[np.int64], Counts, NDArray[np.int64]]:
    """Return the tokens to draw for, how many each document has, and the place of every token among them.

    The occurrences of a known word share a draw. An unknown token shares one with nothing, whatever word stands for it:
    were it to join a word of the document, that the two positions agree would tell of that word a second time.
    """
    alone = np.cumsum(unknown, dtype=np.int64)  # from 1: a number of its own for each, above all ids
    kinds = np.where(unknown, np.iinfo(np.int32).max + alone, tokens)
    firsts, numbers, spread = [np.empty(0, np.int64)], list[int](), [np.empty(0, np.int64)]
    start = total = 0
    for count in counts.tolist():
        _, first, place = np.unique(kinds[start : start + count], return_index=True, return_inverse=True)
        firsts.append(start + first)
        spread.append(total + place)
        numbers.append(len(first))
        start, total = start + count, total + len(first)
    return np.concatenate(firsts), np.array(numbers, np.int64), np.concatenate(spread)
