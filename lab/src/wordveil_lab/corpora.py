"""Texts as ids of a vocabulary: one array for a whole corpus, and the places where its texts begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Embeddings, Encoder, IdArray, PrivateText, ReleasedText, tokenizer_for


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Encoded texts."""

    tokens: IdArray = field(repr=False)  # ids of all tokens, shape (t,), int32, -1 where unknown
    offsets: NDArray[np.int64] = field(repr=False)  # where each text begins, and the end, shape (n + 1,)

    @classmethod
    def of(cls, texts: Sequence[IdArray]) -> Corpus:
        """Return the corpus of texts given as ids."""
        tokens = np.concatenate(texts) if len(texts) else np.empty(0, dtype=np.int32)
        ends = np.cumsum([len(text) for text in texts])
        return cls(tokens=tokens, offsets=np.concatenate(([0], ends)).astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def owners(self) -> NDArray[np.int64]:
        """The number of each token's text, shape (t,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))


def part_of(table: Embeddings, ids: NDArray[np.integer], name: str = "unnamed", **facts: str) -> Embeddings:
    """Return some words of a table as a vocabulary, every one of them allowed as output."""
    words = [table.words[i] for i in ids.tolist()]
    return Embeddings.from_arrays(words, table.vectors[ids], name=name, candidate_rule="all", **facts)


def released_texts(releaser: Any, texts: Sequence[str]) -> list[ReleasedText]:
    """Return what a sanitizer or rephraser releases of public texts; with ids, so that a seeded one repeats itself."""
    private = [PrivateText(text) for text in texts]
    return list(releaser.release_batch(private, ids=[str(i) for i in range(len(texts))]).texts)


def encode(embeddings: Embeddings, texts: Sequence[str]) -> Corpus:
    """Return some public texts as a sanitizer would read them with this vocabulary and default options."""
    header = embeddings.header
    casing: Any = "cased" if header.casing == "cased" else "lower"
    encoder = Encoder(lookup=embeddings.ids, casing=casing, tokenizer=tokenizer_for(header.tokenizer))
    return Corpus.of([text.ids for text in encoder.encode([PrivateText(text) for text in texts])])
