"""What survives of the words that should not: personal data with marked spans, and rare words of clinical notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Embeddings, ParameterError, RandomSource
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.corpora import released_tokens
from wordveil_lab.evaluation.data import Spans, read_spans, read_texts
from wordveil_lab.evaluation.priors import content_words
from wordveil_lab.evaluation.subjects import Entrant
from wordveil_lab.rows import thinned


def _unchanged(corpus: Corpus, subject: Entrant, source: RandomSource, label: str) -> NDArray[np.bool_]:
    """Return which tokens are released as they were; without a mechanism all are, unknown words too."""
    if subject.is_baseline:
        return np.ones(len(corpus.tokens), dtype=bool)
    return np.asarray((released_tokens(corpus, subject, source, label) == corpus.tokens) & (corpus.tokens >= 0))


@dataclass(frozen=True, kw_only=True)
class PersonalDataSurvival(Task):
    """Share of personal data that is released as it was, token by token and entity by entity.

    Each span is released as the tokens it holds. An unknown token never survives: it is replaced before the
    mechanism. An entity survives when all its tokens do, and partly when one does.
    """

    name: ClassVar[str] = "pii-survival"
    path: str = "privacy/presidio-synth.jsonl.gz"  # file with fields text and spans
    limit: int | None = None

    def prepare(self, embeddings: Embeddings) -> Corpus:
        """Return one text a span."""
        items: list[Spans] = thinned(read_spans(self.path), self.limit)
        spans = [item.text[start:end] for item in items for _, start, end in item.spans]
        if not spans:
            raise ParameterError("path", self.path, "marks no span.")
        return encode(embeddings, spans)

    def run(self, prepared: Corpus, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        unchanged, lengths = _unchanged(prepared, subject, source, self.name), np.diff(prepared.offsets)
        counted = lengths > 0
        kept = np.add.reduceat(unchanged, prepared.offsets[:-1][counted]) if counted.any() else np.zeros(0)
        whole, touched = float((kept == lengths[counted]).mean()), float((kept > 0).mean())
        return {"tokens": float(unchanged.mean()), "entities": whole, "touched": touched}


@dataclass(frozen=True, kw_only=True)
class RareWordSurvival(Task):
    """Share of a clinical note's rare words that are released unchanged: diagnoses, drugs, names, places.

    A word is rare if its share of the public list is below 2e-4, or it is not in the vocabulary; see `priors`.
    """

    name: ClassVar[str] = "rare-word-survival"
    path: str = "privacy/mts-dialog.test.jsonl.gz"  # file with the column named by `text`
    text: str = "note"
    limit: int | None = None

    def prepare(self, embeddings: Embeddings) -> tuple[Corpus, NDArray[np.bool_]]:
        corpus = encode(embeddings, read_texts(self.path, column=self.text, limit=self.limit))
        rare = content_words(embeddings)[corpus.tokens] | (corpus.tokens < 0)
        if not rare.any():
            raise ParameterError("path", self.path, "must hold at least one rare word.")
        return corpus, rare

    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        corpus, rare = prepared
        unchanged, owner = _unchanged(corpus, subject, source, self.name), corpus.owners
        counts = np.bincount(owner[rare], minlength=len(corpus))
        kept = np.bincount(owner[rare & unchanged], minlength=len(corpus))[counts > 0]
        return {"tokens": float(unchanged[rare].mean()), "notes": float((2 * kept >= counts[counts > 0]).mean())}
