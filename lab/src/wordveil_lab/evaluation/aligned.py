"""How close each released word is to the word in whose place it stands, by a judge that the mechanism never saw.

Token by token, not by means of whole texts: those of random words are alike as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Embeddings, Float32Array, IdArray, RandomSource, load_embeddings
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.evaluation.base import Score, Task, TaskKind
from wordveil_lab.evaluation.corpora import released_tokens
from wordveil_lab.evaluation.data import read_texts
from wordveil_lab.evaluation.priors import content_words
from wordveil_lab.evaluation.subjects import Entrant
from wordveil_lab.rows import locate

__all__ = ["AlignedSimilarity"]


@dataclass(frozen=True)
class Judged:
    """Texts, the judge's unit vector of every word (zero where it has none), and which words carry content."""

    corpus: Corpus = field(repr=False)
    units: Float32Array = field(repr=False)
    content: NDArray[np.bool_] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class AlignedSimilarity(Task):
    """Mean cosine of each original word and the word released for it, in vectors made by others than the vocabulary's.

    Read it beside the row of random words, whose cosine is not 0: common words are alike.

    Attributes:
        path: File with a column text.
        judge: File of vectors that the cosines are taken in; words it lacks count as unlike everything.
        limit: Texts at most.
    """

    name: ClassVar[str] = "aligned-similarity"
    reads_words: ClassVar[bool] = True
    kind: ClassVar[TaskKind] = TaskKind.UTILITY
    scores: ClassVar[tuple[Score, ...]] = (
        Score(name="content", meaning="mean cosine, words rarer than 2e-4 in public text", better="higher"),
        Score(name="all", meaning="mean cosine, all words", better="higher"),
        Score(name="kept", meaning="share of words released as they were", better="neither"),
    )
    path: str = "sentences/sst2.dev.tsv"
    judge: str = "embeddings/glove.6B.50d.top100k.npz"
    limit: int | None = 400

    def prepare(self, embeddings: Embeddings) -> Judged:
        corpus = encode(embeddings, read_texts(self.path, limit=self.limit))
        return Judged(corpus, _units(embeddings, load_embeddings(locate(self.judge))), content_words(embeddings))

    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        corpus, units = prepared.corpus, prepared.units
        known = np.flatnonzero(corpus.tokens >= 0)
        original = corpus.tokens[known]
        released = released_tokens(corpus, subject, source, self.name)[known]
        close = np.einsum("ij,ij->i", units[original], units[released])
        content = prepared.content[original]
        return {
            "content": float(close[content].mean()) if content.any() else 0.0,
            "all": float(close.mean()) if len(close) else 0.0,
            "kept": float((original == released).mean()) if len(close) else 0.0,
        }


def _units(embeddings: Embeddings, judge: Embeddings) -> Float32Array:
    """Return the judge's vector of every word at length 1, shape (v, d); zero where it has none."""
    ids: IdArray = judge.ids(list(embeddings.words))
    rows = np.where((ids >= 0)[:, None], judge.vectors[ids], np.float32(0))
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), dtype=np.float32)
