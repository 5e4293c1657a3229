"""Training texts: encoded with a small public vocabulary, cut into padded batches.

The vocabulary of a model is a part of a public table: the words that the public training text uses most. Punctuation is
no token here, as everywhere in wordveil.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Embeddings, FloatArray, ParameterError
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.neural.private_embedding import PADDING, UNKNOWN
from wordveil_lab.rows import mixed_order


def frequent_words(whole: Embeddings, texts: Sequence[str], size: int = 10_000) -> Embeddings:
    """Return a model's public vocabulary: at most `size` words of a table, those that the training texts use most."""
    tokens = encode(whole, texts).tokens
    counts = np.bincount(tokens[tokens >= 0], minlength=len(whole))
    order = np.argsort(-counts, kind="stable")[:size]
    chosen = np.sort(order[counts[order] > 0])
    if not chosen.size:
        raise ParameterError("table", whole.header.name, "shares no word with the training text.")
    name = f"{whole.header.name}, {len(chosen)} words"
    return _with_rows(whole, [whole.words[int(i)] for i in chosen], np.asarray(whole.vectors[chosen]), name)


def random_vectors(words: Embeddings, dimensions: int, seed: int = 0) -> Embeddings:
    """Return a vocabulary with rows of N(0, 1/d) from a public seed in place of its own."""
    rows = np.random.Generator(np.random.PCG64(seed)).standard_normal((len(words), dimensions)) / np.sqrt(dimensions)
    return _with_rows(words, list(words.words), rows, f"random, public seed {seed}")


def _with_rows(table: Embeddings, words: list[str], rows: FloatArray, name: str) -> Embeddings:
    header = table.header
    made = Embeddings.from_arrays(
        words, rows, name=name, source=header.source, licence=header.licence, casing=header.casing
    )
    return made.with_header(tokenizer=header.tokenizer)


@dataclass(frozen=True)
class Batch:
    """Padded texts."""

    ids: NDArray[np.int64] = field(repr=False)  # shape (n, longest), int64: ids, `UNKNOWN` or `PADDING`
    lengths: NDArray[np.int64] = field(repr=False)  # tokens of each text, at least 1, shape (n,)
    labels: NDArray[np.int64] | None = field(repr=False)  # class of each text, shape (n,); None for rewriters


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Encoded texts without the empty ones."""

    corpus: Corpus = field(repr=False)
    labels: NDArray[np.int64] | None = field(default=None, repr=False)  # class of each text, shape (n,), or None
    max_tokens: int = 35  # longer texts are cut here

    def __len__(self) -> int:
        return len(self.corpus)

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """Return the texts of these rows, padded."""
        starts = self.corpus.offsets[rows]
        lengths = np.minimum(self.corpus.offsets[rows + 1] - starts, self.max_tokens)
        ids = np.full((len(rows), int(lengths.max())), PADDING, dtype=np.int64)
        for i, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
            ids[i, :length] = self.corpus.tokens[start : start + length]
        labels = None if self.labels is None else self.labels[rows]
        return Batch(ids, lengths, labels)

    def batches(self, size: int, order: NDArray[np.int64] | None = None) -> Iterator[Batch]:
        """Yield batches of at most `size` texts in the given order."""
        rows = np.arange(len(self)) if order is None else order
        for start in range(0, len(rows), size):
            yield self.batch(rows[start : start + size])

    def part(self, rows: NDArray[np.int64]) -> Dataset:
        """Return some of the texts as a data set of its own."""
        pieces = [self.corpus.tokens[self.corpus.offsets[i] : self.corpus.offsets[i + 1]] for i in rows.tolist()]
        return replace(self, corpus=Corpus.of(pieces), labels=None if self.labels is None else self.labels[rows])

    def split(self, share: float) -> tuple[Dataset, Dataset]:
        """Return training and held-out texts, this share of them held out, by a public seed."""
        rows = np.array(mixed_order(len(self)))
        cut = int(len(rows) * share)
        return self.part(rows[cut:]), self.part(rows[:cut])


def encode_texts(
    texts: Sequence[str],
    vocabulary: Embeddings,
    *,
    labels: Sequence[str] = (),
    classes: Sequence[str] = (),
    max_tokens: int = 35,
) -> Dataset:
    """Return texts as a data set; texts without a token are left out, unknown tokens are marked."""
    corpus = encode(vocabulary, texts)
    tokens = np.where(corpus.tokens < 0, UNKNOWN, corpus.tokens).astype(np.int32)
    place: dict[str, Any] = {label: i for i, label in enumerate(classes)}
    if any(label not in place for label in labels):
        raise ParameterError("labels", "<hidden>", f"must be among the {len(place)} classes of the training data.")
    numbers = np.array([place[label] for label in labels], dtype=np.int64) if labels else None
    whole = Dataset(corpus=replace(corpus, tokens=tokens), labels=numbers, max_tokens=max_tokens)
    rows = np.flatnonzero(np.diff(corpus.offsets) > 0)
    if not rows.size:
        raise ParameterError("texts", f"{len(texts)} texts", "hold no token.")
    return whole.part(rows)
