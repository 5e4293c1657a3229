"""Training texts: encoded with a small public vocabulary, cut into padded batches.

The vocabulary of a model is a part of a public table: the words that the public training text uses most. Punctuation is
no token here, as everywhere in wordveil.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.api import (
    DEFAULT_SCHEME,
    Embeddings,
    ParameterError,
    PrivateText,
    load_embeddings,
    tokenizer_for,
)
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.neural.private_embedding import PADDING, UNKNOWN

__all__ = ["TABLES", "Batch", "Dataset", "encode_texts", "model_vocabulary"]

TABLES = ("random", "glove", "word2vec", "embedded")
"""Where a model's vectors come from; glove and word2vec need a file."""


def model_vocabulary(
    table: str,
    texts: Sequence[str],
    *,
    vectors: Path | None = None,
    size: int = 10_000,
    dimensions: int = 300,
    seed: int = 0,
) -> Embeddings:
    """Return the public vocabulary of a model: at most `size` words with their vectors.

    Args:
        table: One of `TABLES`. "random" draws N(0, 1/d) rows from a public seed.
        texts: The training texts.
        vectors: Embedding file or vocabulary directory, for glove and word2vec.
        size: Words at most.
        dimensions: The d of random rows.
        seed: Public seed of random rows.

    Raises:
        ParameterError: If the table does not exist, lacks its file, or shares no word with the texts.
    """
    if table not in TABLES:
        raise ParameterError("embeddings", table, f"must be one of {', '.join(TABLES)}.")
    if table == "random":
        return _random_rows(_frequent_words(texts, size), dimensions, seed)
    if table != "embedded" and vectors is None:
        raise ParameterError("vectors", None, f"must name the {table} file.")
    whole = load_embeddings(None if table == "embedded" else vectors)
    tokens = encode(whole, texts).tokens
    counts = np.bincount(tokens[tokens >= 0], minlength=len(whole))
    order = np.argsort(-counts, kind="stable")[:size]
    chosen = np.sort(order[counts[order] > 0])
    if not chosen.size:
        raise ParameterError("embeddings", table, "shares no word with the training text.")
    part = Embeddings.from_arrays(
        [whole.words[int(i)] for i in chosen],
        np.asarray(whole.vectors[chosen]),
        name=f"{whole.header.name}, {len(chosen)} words",
        source=whole.header.source,
        licence=whole.header.licence,
        casing=whole.header.casing,
    )
    return part.with_header(tokenizer=whole.header.tokenizer)


def _frequent_words(texts: Sequence[str], size: int) -> list[str]:
    split = tokenizer_for(DEFAULT_SCHEME).split
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(token for token in split(PrivateText(text.lower()))[1::2] if token.isalpha())
    if not counts:
        raise ParameterError("texts", f"{len(texts)} texts", "hold no word.")
    return [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:size]]


def _random_rows(words: list[str], dimensions: int, seed: int) -> Embeddings:
    rows = np.random.Generator(np.random.PCG64(seed)).standard_normal((len(words), dimensions)) / np.sqrt(dimensions)
    return Embeddings.from_arrays(words, rows, name="random", source=f"public seed {seed}", casing="lower")


@dataclass(frozen=True)
class Batch:
    """Padded texts.

    Attributes:
        ids: Shape (n, longest), int64: ids, `UNKNOWN` or `PADDING`.
        lengths: Tokens of each text, at least 1, shape (n,).
        labels: Class of each text, shape (n,); None for rewriters.
    """

    ids: NDArray[np.int64] = field(repr=False)
    lengths: NDArray[np.int64] = field(repr=False)
    labels: NDArray[np.int64] | None = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Encoded texts without the empty ones.

    Attributes:
        corpus: The tokens.
        labels: Class of each text, shape (n,), or None.
        max_tokens: Longer texts are cut here.
    """

    corpus: Corpus = field(repr=False)
    labels: NDArray[np.int64] | None = field(default=None, repr=False)
    max_tokens: int = 35

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
        offsets = np.concatenate(([0], np.cumsum([len(piece) for piece in pieces]))).astype(np.int64)
        tokens = np.concatenate(pieces) if pieces else self.corpus.tokens[:0]
        labels = None if self.labels is None else self.labels[rows]
        corpus = Corpus(tokens=tokens, offsets=offsets)
        return Dataset(corpus=corpus, labels=labels, max_tokens=self.max_tokens)


def encode_texts(
    texts: Sequence[str],
    vocabulary: Embeddings,
    *,
    labels: Sequence[str] = (),
    classes: Sequence[str] = (),
    max_tokens: int = 35,
) -> Dataset:
    """Return texts as a data set; texts without a token are left out, unknown tokens are marked.

    Args:
        texts: The texts.
        vocabulary: The model's vocabulary.
        labels: Their classes, where the data set has some.
        classes: The classes, in the order of their numbers.
        max_tokens: Longer texts are cut here.

    Raises:
        ParameterError: If a label is no class, or no text is left.
    """
    corpus = encode(vocabulary, texts)
    tokens = np.where(corpus.tokens < 0, UNKNOWN, corpus.tokens).astype(np.int32)
    place: dict[str, Any] = {label: i for i, label in enumerate(classes)}
    if any(label not in place for label in labels):
        raise ParameterError("labels", "<hidden>", f"must be among the {len(place)} classes of the training data.")
    whole = Dataset(
        corpus=Corpus(tokens=tokens, offsets=corpus.offsets),
        labels=np.array([place[label] for label in labels], dtype=np.int64) if labels else None,
        max_tokens=max_tokens,
    )
    rows = np.flatnonzero(np.diff(corpus.offsets) > 0)
    if not rows.size:
        raise ParameterError("texts", f"{len(texts)} texts", "hold no token.")
    return whole.part(rows)
