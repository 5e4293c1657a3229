"""The private step: ids of tokens through the mechanism, each document with the draws of its own stream.

    ids --one draw a token, or a distinct word--> released ids

Ids of -1 are unknown tokens, left out where the options disclose them; ids below are typed tokens. The mechanism
answers for all of them (`mechanisms.wrappers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import PrivateIds, PrivateText, Progress, ReleasedIds, write_ids
from wordveil.randomness import RandomSource
from wordveil.sanitizing.assembly import Assembled, TextReader
from wordveil.text.encoding import EncodedBatch, tokens_per_document, tokens_per_text
from wordveil.text.readings import UNKNOWN

Counts = NDArray[np.int64]

DRAW_VALUES = 1 << 22  # eight-byte values drawn at a time: 32 MiB


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Prepared:
    """Documents, read once; still private, so its `repr` shows counts only."""

    documents: Sequence[Sequence[PrivateText]]  # the private texts of each
    parts: list[EncodedBatch]  # what a writer needs of them: all but the ids
    tokens: PrivateIds  # the private ids of all documents end to end
    cost: Counts  # tokens of each document that a release randomizes, shape (n,)

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


def release_ids(
    parts: Assembled,
    source: RandomSource,
    threads: int | None,
    tokens: PrivateIds,
    counts: Counts,
    nonces: Sequence[int],
    progress: Progress | None = None,
) -> ReleasedIds:
    """Return the released id of every token: the draws of each document's stream, seated, through the mechanism.

    Documents lie end to end; `counts` are their tokens, `nonces` the places of their noise. A token is -1 where
    unknown, below where typed; a released one -1 where it was unknown and the options disclose it, above v for a
    surrogate.
    """
    shown = ReleasedIds(np.full(len(tokens), UNKNOWN, dtype=np.int32))
    drawn = np.ones(len(tokens), np.bool_)
    if parts.options.unknown in ("drop", "mask"):
        drawn = tokens >= 0
        running = np.concatenate(([0], np.cumsum(drawn)))
        counts = np.diff(running[np.cumsum(counts)], prepend=0)
    ids, spread = PrivateIds(tokens[drawn]), None
    if parts.options.per == "document":
        first, counts, spread = once_per_document(ids, counts)
        ids = PrivateIds(ids[first])
    released, start = ReleasedIds(np.empty(len(ids), dtype=np.int32)), 0
    mechanism, streams = parts.randomizer, source.documents(nonces, counts.tolist())
    for draws in mechanism.draws(streams, max(1, DRAW_VALUES // mechanism.draw_width)):
        stop = start + len(draws[0])
        part = mechanism.randomize(PrivateIds(ids[start:stop]), draws, threads=threads, progress=progress)
        write_ids(released, slice(start, stop), part)
        start = stop
    write_ids(shown, drawn, released if spread is None else ReleasedIds(released[spread]))
    return shown


def once_per_document(tokens: PrivateIds, counts: Counts) -> tuple[NDArray[np.int64], Counts, NDArray[np.int64]]:
    """Return the tokens to draw for, how many each document has, and the place of every token among them.

    The occurrences of a known word share a draw. An unknown token shares one with nothing, whatever word stands for it:
    were it to join a word of the document, that the two positions agree would tell of that word a second time.
    """
    unknown = tokens < 0
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
