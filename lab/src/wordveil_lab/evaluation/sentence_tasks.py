"""The similarity of sentences whose words were released one by one.

A text's vector is the mean of its released vectors; what the task compares it with is public or the user's own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.stats import pearsonr, spearmanr

from wordveil.api import Embeddings, Float64Array, ParameterError, RandomSource
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.evaluation.base import Score, Task, TaskKind
from wordveil_lab.evaluation.corpora import centroids, means, place_unknown, released_tokens
from wordveil_lab.evaluation.data import scored_pairs
from wordveil_lab.evaluation.subjects import Entrant
from wordveil_lab.evaluation.word_tasks import cosines
from wordveil_lab.rows import thinned

__all__ = ["SentenceSimilarity", "released_centroids"]


def released_centroids(corpus: Corpus, subject: Entrant, source: RandomSource, label: str) -> Float64Array:
    """Return the mean released vector of each text, shape (n, m)."""
    if subject.vectors is None:
        return centroids(released_tokens(corpus, subject, source, label), corpus, subject.space.vectors)
    tokens = place_unknown(corpus.tokens, subject, source, label)
    rows = subject.release_vectors(tokens, source, label)
    owner = np.repeat(np.arange(len(corpus)), np.diff(corpus.offsets))
    return means(rows, owner, len(corpus))


@dataclass(frozen=True)
class SentencePairs:
    """Two corpora of equal length and human scores."""

    first: Corpus = field(repr=False)
    second: Corpus = field(repr=False)
    scores: Float64Array = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class SentenceSimilarity(Task):
    """Correlation of the cosines of two released texts' centroids with human scores.

    Attributes:
        path: File with columns sentence1, sentence2, score.
        limit: Pairs at most, or None.
    """

    name: ClassVar[str] = "sts"
    kind: ClassVar[TaskKind] = TaskKind.UTILITY
    scores: ClassVar[tuple[Score, ...]] = (
        Score(name="pearson", meaning="correlation of released sentences' cosines with human scores", better="higher"),
        Score(name="spearman", meaning="the same with ranks", better="higher"),
        Score(name="both", meaning="the geometric mean of the two, 0 where one is negative", better="higher"),
    )
    path: str = "sentences/stsb.dev.tsv"
    limit: int | None = None

    def prepare(self, embeddings: Embeddings) -> SentencePairs:
        pairs = thinned(scored_pairs(self.path, ("sentence1", "sentence2")), self.limit)
        if len(pairs) < 3:
            raise ParameterError("path", self.path, "must hold at least 3 pairs.")
        first, second = ([getattr(pair, side) for pair in pairs] for side in ("first", "second"))
        scores = np.array([pair.score for pair in pairs])
        return SentencePairs(encode(embeddings, first), encode(embeddings, second), scores)

    def run(self, prepared: SentencePairs, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        first = released_centroids(prepared.first, subject, source, "sts first")
        second = released_centroids(prepared.second, subject, source, "sts second")
        found = cosines(first, second)
        if np.ptp(found) == 0:
            return {"pearson": 0.0, "spearman": 0.0, "both": 0.0}
        pearson, spearman = (float(test(found, prepared.scores).statistic) for test in (pearsonr, spearmanr))
        both = math.sqrt(max(pearson, 0.0) * max(spearman, 0.0))
        return {"pearson": pearson, "spearman": spearman, "both": both}
