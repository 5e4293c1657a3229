"""Blocks of documents through a sanitizer: one after the other, or with the text work in other processes.

With workers, three blocks are in work at once: the texts of one are read, the words of the one before are drawn, the
texts of the one before that are written. All draws happen in this process, in order, so that the released bytes are
those of one process; so is all work on a block that holds a long text, which goes through in pieces. Nothing here reads
or writes files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.documents import Answers, Record
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.pipeline.workers import TextWorkers
from wordveil.text import EncodedBatch
from wordveil.text.chunks import LONG
from wordveil.text.encoded import tokens_per_document

__all__ = ["BlockCounts", "BlockSanitizer", "OverlappedSanitizer"]

BLOCKS_IN_WORK = 3


@dataclass
class BlockCounts:
    """Tokens and public words of the blocks that were handed out."""

    tokens: int = 0
    exempt: int = 0
    tokens_here: int = 0

    def add(self, tokens: int, exempt: int) -> None:
        """Count one block."""
        self.tokens += tokens
        self.tokens_here += tokens
        self.exempt += exempt


@dataclass(frozen=True)
class BlockSanitizer:
    """Sanitizes a block of records in this process.

    Args:
        sanitizer: The pipeline.
        counts: Where tokens are counted.
    """

    sanitizer: Sanitizer
    counts: BlockCounts

    def __call__(self, records: list[Record]) -> Answers:
        """Return the released texts of each record."""
        documents, ids = _documents(records)
        batch = self.sanitizer.release_documents(documents, ids=ids)
        self.counts.add(batch.tokens, batch.exempt)
        return _by_record(records, iter(batch.texts))


@dataclass(frozen=True)
class _Reading:
    records: list[Record]
    documents: list[list[PrivateText]]
    nonces: list[int]
    parts: list[Future[EncodedBatch]] | None  # None: with a text too long for the workers


@dataclass(frozen=True)
class _Writing:
    records: list[Record]
    tokens: int
    exempt: int
    parts: list[Future[list[ReleasedText]]]


@dataclass(frozen=True)
class OverlappedSanitizer:
    """Sanitizes blocks with the text work in other processes; a `Pipeline`.

    Args:
        sanitizer: The pipeline.
        counts: Where tokens are counted, when a block is handed out.
        workers: The processes.
    """

    sanitizer: Sanitizer
    counts: BlockCounts
    workers: TextWorkers

    def run(self, blocks: Iterator[list[Record]]) -> Iterator[Answers]:
        """Yield the answers of each block, in order; two more blocks are taken ahead."""
        reading, writing = deque[_Reading](), deque[_Writing]()
        for block in blocks:
            reading.append(self._read(block))
            if len(reading) > 1:
                writing.append(self._draw(reading.popleft()))
            if len(writing) > 1:
                yield self._finish(writing.popleft())
        writing.extend(map(self._draw, reading))
        yield from map(self._finish, writing)

    def _read(self, records: list[Record]) -> _Reading:
        documents, ids = _documents(records)
        texts = list(chain.from_iterable(documents))
        if max(map(len, texts), default=0) > LONG:
            return _Reading(records, documents, [], None)
        parts = [self.workers.encode(part) for part in _parts(texts, self.workers.count)]
        return _Reading(records, documents, self.sanitizer.nonces(documents, ids), parts)

    def _draw(self, block: _Reading) -> _Writing:
        if block.parts is None:
            return self._here(block.records)
        encoded = [self.workers.answer(part) for part in block.parts]
        ids = np.concatenate([np.empty(0, np.int32), *(part.ids for part in encoded)])
        counts = np.concatenate([np.empty(0, np.int64), *(part.counts for part in encoded)])
        released = self.sanitizer.release_ids(ids, tokens_per_document(counts, block.documents), block.nonces)
        cuts = np.cumsum([len(part.ids) for part in encoded])[:-1]
        pieces = zip(encoded, np.split(released, cuts) if encoded else [], strict=True)
        writing = [self.workers.write(part.without_ids(), piece) for part, piece in pieces]
        return _Writing(block.records, len(ids), sum(int(part.exempt.sum()) for part in encoded), writing)

    def _here(self, records: list[Record]) -> _Writing:
        """Read, draw and write in this process."""
        documents, ids = _documents(records)
        batch = self.sanitizer.release_documents(documents, ids=ids)
        written = Future[list[ReleasedText]]()
        written.set_result(list(batch.texts))
        return _Writing(records, batch.tokens, batch.exempt, [written])

    def _finish(self, block: _Writing) -> Answers:
        released = (text for part in block.parts for text in self.workers.answer(part))
        answers = _by_record(block.records, released)
        self.counts.add(block.tokens, block.exempt)
        return answers


def _documents(records: list[Record]) -> tuple[list[list[PrivateText]], list[str]]:
    """Return the texts of every record of a block that has any, and its id: a record is one document."""
    found = [([text for text in record.texts if text is not None], record.key) for record in records]
    return [texts for texts, _ in found if texts], [key for texts, key in found if texts]


def _by_record(records: list[Record], released: Iterator[ReleasedText]) -> Answers:
    return [[None if text is None else next(released) for text in record.texts] for record in records]


def _parts(texts: Sequence[PrivateText], count: int) -> list[Sequence[PrivateText]]:
    """Cut texts into at most so many parts of about equal length."""
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1)
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, [total * part // count for part in range(count)]).tolist()
    bounds = sorted({*cuts, len(texts)})
    return [texts[first:stop] for first, stop in pairwise(bounds)]
