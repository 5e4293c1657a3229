"""How often English words occur: counts in public text that come with the embedded vocabulary.

    default/counts.npy   (32 001,) uint32: occurrences of every embedded word, then of all other tokens

Counted by tools/build_frequencies.py in 328 000 sentences under CC0 or in the public domain (see NOTICE): old novels,
government writing, speeches and contributed sentences. A public fact, never an estimate from private text.
"""

from __future__ import annotations

from functools import cache
from os import PathLike
from pathlib import Path

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.errors import EmbeddingFormatError, ParameterError
from wordveil.parameters import check_whole
from wordveil.vocabulary.packaged import PACKAGED_FOLDER, REMEDY, packaged_header
from wordveil.vocabulary.storage import load_array
from wordveil.vocabulary.table import Embeddings, load_embeddings

COUNTS_FILE = PACKAGED_FOLDER / "counts.npy"


@cache
def _counts() -> Float64Array:
    return load_array(COUNTS_FILE, np.uint32, (packaged_header().rows + 1,), remedy=REMEDY).astype(np.float64)


@cache
def _listed() -> Embeddings:
    return load_embeddings()


def word_frequencies(embeddings: Embeddings, *, smoothing: float = 0.0) -> Float64Array:
    """Return each word's share of the tokens of public English text, shape (v,).

    (count + smoothing) / (tokens + smoothing * v), no share 0 where smoothing is above 0. An entry of another
    vocabulary takes the count of the embedded word of the same spelling, else of its lower-case spelling; an entry that
    is neither has count 0.
    """
    counts = _counts()
    found = counts[:-1]
    if embeddings.header.checksum != packaged_header().checksum:
        listed, words = _listed(), list(embeddings.words)
        ids = listed.ids(words)
        ids = np.where(ids < 0, listed.ids([word.lower() for word in words]), ids)
        found = np.where(ids < 0, 0.0, counts[ids])
    return np.asarray((found + smoothing) / (counts.sum() + smoothing * len(found)))


def most_frequent(embeddings: Embeddings, m: int, *, counts: str | PathLike[str] | None = None) -> IdArray:
    """Return the ids of the m most frequent of the words that may be output, ascending, shape (m,).

    A vocabulary whose header says `order="frequency"` is taken at its word: its first m. For any other the counts are
    those of `word_frequencies`, or of a public file of lines: a word, white space and a number. Words of one count are
    taken in the order of their ids. `ParameterError` if m is out of range, or larger than the number of such words with
    a count; `EmbeddingFormatError` if the file of counts is malformed.
    """
    check_whole("outputs", m)
    candidates = embeddings.candidates
    if m > len(candidates):
        raise ParameterError("outputs", m, f"must be at most {len(candidates)}, the words that may be output.")
    if counts is None and embeddings.header.order == "frequency":
        return candidates[:m]
    known = (word_frequencies(embeddings) if counts is None else _read_counts(embeddings, Path(counts)))[candidates]
    counted = int(np.count_nonzero(known))
    if counted < m < len(candidates):
        limit = f"must be at most {counted}, the words whose frequency is known; or give ids or other counts."
        raise ParameterError("outputs", m, limit)
    return np.sort(candidates[np.argsort(-known, kind="stable")[:m]])


def _read_counts(embeddings: Embeddings, path: Path) -> Float64Array:
    """Return the counts that a file gives to the words, shape (v,), 0 where it gives none."""
    found = np.zeros(len(embeddings))
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        word, _, count = line.strip().rpartition("\t" if "\t" in line else " ")
        try:
            value = float(count)
        except ValueError:
            value = -1.0
        if not word or not 0 <= value < np.inf:
            problem = f"line {number} is not a word, white space and a count of at least 0."
            raise EmbeddingFormatError(path, problem, remedy="Mend the line.")
        place = embeddings.id(word.strip())
        if place is not None:
            found[place] += value
    return found
