"""Text work in other processes: words read out of texts, released words written back.

The mechanism stays in the process that owns the run: its key never leaves it, the rows it keeps are computed once
whatever the number of workers, and its own threads use the processors. A worker holds the words and their index
(mapped, where the vocabulary is a directory), never the vectors; it keeps nothing between two tasks.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, final, overload

from wordveil.arrays import IdArray, PrivateText, ReleasedText
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.text_reader import PackedWords
from wordveil.text import EncodedBatch, Encoder, Writer
from wordveil.vocabulary.table import Embeddings, open_embeddings
from wordveil.vocabulary.word_index import WordIndex, build_index
from wordveil.vocabulary.wordlist import WordList, encode_queries

__all__ = ["TextWorkers", "VocabularyWords"]

Answer = TypeVar("Answer")
_DIED = (
    "a worker process ended before its work (killed, or out of memory). Run again with --resume to go on from the "
    "last checkpoint, with fewer --workers or a smaller --block-tokens if memory was short."
)


@final
class VocabularyWords(Sequence[str]):
    """The words of a vocabulary and their ids without its vectors; travels to other processes.

    Args:
        embeddings: The vocabulary. One that is mapped from a directory travels as its path.
    """

    def __init__(self, embeddings: Embeddings) -> None:
        self._directory = embeddings.directory
        self._embeddings: Embeddings | None = embeddings
        self._words = embeddings.words
        self._index: WordIndex | None = None

    def ids(self, words: Sequence[str]) -> IdArray:
        """Return the id of each word, -1 where it is no entry, shape (n,), int32."""
        if self._embeddings is not None:
            return self._embeddings.ids(words)
        assert self._index is not None
        return self._index.find(self._words, encode_queries(words))

    @property
    def index(self) -> PackedWords:
        """The words and their index as compiled kernels take them."""
        if self._embeddings is not None:
            return self._embeddings.packed_words
        assert self._index is not None
        return self._index.packed(self._words)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._words[index]

    def __len__(self) -> int:
        return len(self._words)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._directory is not None:
            return _mapped_words, (self._directory,)
        return _packed_words, (self._words, self._index or build_index(self._words))


def _mapped_words(directory: Path) -> VocabularyWords:
    return VocabularyWords(open_embeddings(directory))


def _packed_words(words: WordList, index: WordIndex) -> VocabularyWords:
    made = VocabularyWords.__new__(VocabularyWords)
    made._directory, made._embeddings, made._words, made._index = None, None, words, index
    return made


@dataclass(frozen=True, slots=True)
class _Side:
    """What a worker does its work with; set once, when it starts."""

    encoder: Encoder
    writer: Writer


_sides: list[_Side] = []


def _start(pickled: bytes) -> None:
    # Ctrl-C reaches the whole process group; the run decides what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _sides.append(pickle.loads(pickled))  # noqa: S301 (written by the parent process)


def _end_with_parent() -> None:
    """End this process when the run's process is gone, even if that was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _encode(texts: Sequence[PrivateText]) -> EncodedBatch:
    return _sides[0].encoder.encode_batch(texts)


def _write(encoded: EncodedBatch, released: IdArray) -> list[ReleasedText]:
    return _sides[0].writer.write(encoded, released)


class TextWorkers:
    """Processes that encode and write batches; a context manager that ends them.

    Processes are started afresh (not forked: this one has threads), so a program that asks for workers must be
    importable: its own start belongs under `if __name__ == "__main__":`.

    Args:
        embeddings: The vocabulary.
        encoder: Reads texts.
        writer: Writes texts.
        count: Number of processes, at least 1.

    Raises:
        ParameterError: If the count is below 1.
    """

    def __init__(self, embeddings: Embeddings, encoder: Encoder, writer: Writer, count: int) -> None:
        if count < 1:
            raise ParameterError("workers", count, "must be at least 1.")
        words = VocabularyWords(embeddings)
        side = _Side(replace(encoder, lookup=words.ids, index=words.index), replace(writer, words=words, index=words.index))
        self.count = count
        self._pool = ProcessPoolExecutor(
            count, multiprocessing.get_context("spawn"), initializer=_start, initargs=(pickle.dumps(side),)
        )

    def encode(self, texts: Sequence[PrivateText]) -> Future[EncodedBatch]:
        """Start encoding a batch; see `Encoder.encode_batch`."""
        return self._submit(_encode, texts)

    def write(self, encoded: EncodedBatch, released: IdArray) -> Future[list[ReleasedText]]:
        """Start writing a batch; see `Writer.write`."""
        return self._submit(_write, encoded, released)

    def _submit(self, work: Any, *arguments: Any) -> Future[Any]:
        try:
            return self._pool.submit(work, *arguments)
        except BrokenProcessPool:
            died = True
        assert died
        raise ChildProcessError(_DIED)

    @staticmethod
    def answer(future: Future[Answer]) -> Answer:
        """Wait for an answer.

        Raises:
            ChildProcessError: If a worker was killed.
        """
        try:
            return future.result()
        except BrokenProcessPool:
            died = True
        assert died
        raise ChildProcessError(_DIED)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
