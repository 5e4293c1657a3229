"""Tasks on short texts whose words were released one by one: similarity, overlap with the original, retrieval.

A text's vector is the mean of its released vectors; what the task compares it with is public or the user's own.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr

from wordveil.arrays import Float64Array
from wordveil.embeddings.table import Embeddings
from wordveil.errors import MissingExtraError, ParameterError
from wordveil.evaluation.base import Score, Task, TaskKind
from wordveil.evaluation.corpora import (
    Corpus,
    as_texts,
    centroids,
    encode,
    means,
    place_unknown,
    released_tokens,
)
from wordveil.evaluation.data import read_labelled, scored_pairs, thinned
from wordveil.evaluation.subjects import Subject
from wordveil.evaluation.word_tasks import cosines
from wordveil.randomness import RandomSource

__all__ = ["Retrieval", "SentenceSimilarity", "TextOverlap", "released_centroids", "rouge_1"]


def released_centroids(corpus: Corpus, subject: Subject, source: RandomSource, label: str) -> Float64Array:
    """Return the mean released vector of each text, shape (n, m)."""
    if subject.vectors is None:
        return centroids(released_tokens(corpus, subject, source, label), corpus, subject.space.vectors)
    tokens = place_unknown(corpus.tokens, subject.embeddings, source, label)
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

    def run(self, prepared: SentencePairs, subject: Subject, source: RandomSource) -> Mapping[str, float]:
        first = released_centroids(prepared.first, subject, source, "sts first")
        second = released_centroids(prepared.second, subject, source, "sts second")
        found = cosines(first, second)
        if np.ptp(found) == 0:
            return {"pearson": 0.0, "spearman": 0.0}
        return {
            "pearson": float(pearsonr(found, prepared.scores).statistic),
            "spearman": float(spearmanr(found, prepared.scores).statistic),
        }


@dataclass(frozen=True, kw_only=True)
class TextOverlap(Task):
    """How much of the wording comes through: ROUGE-1, BLEU, and the cosine of centroids in the public table.

    These are utility and leakage at once: what overlaps was not protected.

    Attributes:
        path: File with a column text.
        limit: Texts at most.
    """

    name: ClassVar[str] = "overlap"
    kind: ClassVar[TaskKind] = TaskKind.UTILITY
    scores: ClassVar[tuple[Score, ...]] = (
        Score(name="meaning", meaning="mean cosine of original and released texts' centroids", better="higher"),
        Score(name="rouge-1", meaning="mean F1 of shared words", better="higher"),
        Score(name="bleu", meaning="corpus BLEU of released against original, 0 to 100", better="higher"),
    )
    trained: ClassVar[bool] = True
    path: str = "sentences/sst2.dev.tsv"
    limit: int | None = 400

    def prepare(self, embeddings: Embeddings) -> tuple[Corpus, list[str], Float64Array]:
        corpus = encode(embeddings, [item.text for item in read_labelled(self.path, limit=self.limit)])
        references = as_texts(corpus.tokens, corpus, embeddings)
        return corpus, references, centroids(corpus.tokens, corpus, embeddings.vectors)

    def run(self, prepared: Any, subject: Subject, source: RandomSource) -> Mapping[str, float]:
        corpus, references, original = prepared
        tokens = released_tokens(corpus, subject, source, self.name)
        texts = as_texts(tokens, corpus, subject.embeddings)
        overlaps = [rouge_1(text, reference) for text, reference in zip(texts, references, strict=True)]
        close = cosines(centroids(tokens, corpus, subject.embeddings.vectors), original)
        return {
            "meaning": float(close.mean()),
            "rouge-1": float(np.mean(overlaps)),
            "bleu": _bleu(texts, references),
        }


def rouge_1(text: str, reference: str) -> float:
    """Return the F1 of shared words, counted with multiplicity; 1 for two empty texts.

    Example:
        >>> rouge_1("the cat sat", "the cat ran off")
        0.5714285714285714
    """
    have, want = Counter(text.split()), Counter(reference.split())
    total = have.total() + want.total()
    return 2 * (have & want).total() / total if total else 1.0


def _bleu(texts: Sequence[str], references: Sequence[str]) -> float:
    try:
        sacrebleu = importlib.import_module("sacrebleu")
    except ImportError:
        raise MissingExtraError("BLEU", "sacrebleu", "evaluation") from None
    score = sacrebleu.corpus_bleu(list(texts), [list(references)], tokenize="none", force=True)
    return float(score.score)


@dataclass(frozen=True)
class Collection:
    """Queries, documents and what is relevant."""

    queries: Corpus = field(repr=False)
    documents: Corpus = field(repr=False)
    relevant: NDArray[np.bool_] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Retrieval(Task):
    """Recall and nDCG of a search in released documents by queries that are not randomized.

    The owner stores released vectors with a service and searches with vectors of his own. Documents are centroids of
    released vectors; queries are centroids in the public space, projected where the mechanism projects.

    Attributes:
        path: A pairs file (sentence1, sentence2, score) or a labelled file (text, label).
        threshold: Pairs with at least this score are relevant to each other.
        k: Results looked at.
        documents: Documents at most.
        queries: Queries at most; for a labelled file every fifth text is a query.
    """

    name: ClassVar[str] = "retrieval"
    kind: ClassVar[TaskKind] = TaskKind.UTILITY
    scores: ClassVar[tuple[Score, ...]] = (
        Score(name="ndcg", meaning="nDCG at k of a search in released document vectors", better="higher"),
        Score(
            name="recall",
            meaning="relevant documents among the first k, over the most there can be",
            better="higher",
        ),
    )
    path: str = "sentences/stsb.dev.tsv"
    threshold: float = 4.0
    k: int = 10
    documents: int = 2000
    queries: int = 400

    def prepare(self, embeddings: Embeddings) -> Collection:
        if self._is_pairs():
            return self._pairs(embeddings)
        items = read_labelled(self.path, limit=self.documents + self.queries)
        asked = [i for i in range(len(items)) if i % 5 == 0][: self.queries]
        stored = [i for i in range(len(items)) if i % 5][: self.documents]
        labels = np.array([item.label for item in items])
        relevant = labels[asked][:, None] == labels[stored]
        return self._collection(embeddings, [items[i].text for i in asked], [items[i].text for i in stored], relevant)

    def _is_pairs(self) -> bool:
        try:
            return bool(scored_pairs(self.path, ("sentence1", "sentence2")))
        except ValueError:
            return False

    def _pairs(self, embeddings: Embeddings) -> Collection:
        pairs = scored_pairs(self.path, ("sentence1", "sentence2"))[: self.documents]
        texts = sorted({pair.second for pair in pairs})
        place = {text: i for i, text in enumerate(texts)}
        close: dict[str, set[int]] = {}
        for pair in pairs:
            if pair.score >= self.threshold:
                close.setdefault(pair.first, set()).add(place[pair.second])
        asked = thinned(sorted(close), self.queries)
        relevant = np.zeros((len(asked), len(texts)), dtype=bool)
        for row, query in enumerate(asked):
            relevant[row, sorted(close[query])] = True
        return self._collection(embeddings, asked, texts, relevant)

    def _collection(
        self, embeddings: Embeddings, asked: list[str], stored: list[str], relevant: NDArray[np.bool_]
    ) -> Collection:
        if not relevant.any(axis=1).all() or not len(asked):
            kept = np.flatnonzero(relevant.any(axis=1)) if len(asked) else np.empty(0, dtype=np.int64)
            if not kept.size:
                raise ParameterError("path", self.path, "gives no query with a relevant document.")
            asked, relevant = [asked[i] for i in kept], relevant[kept]
        return Collection(encode(embeddings, asked), encode(embeddings, stored), relevant)

    def run(self, prepared: Collection, subject: Subject, source: RandomSource) -> Mapping[str, float]:
        queries = centroids(prepared.queries.tokens, prepared.queries, subject.space.vectors)
        stored = released_centroids(prepared.documents, subject, source, self.name)
        unit_queries, unit_stored = (_normalised(rows) for rows in (queries, stored))
        scores = unit_queries @ unit_stored.T
        k = min(self.k, scores.shape[1])
        top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        hits = np.take_along_axis(prepared.relevant, top, axis=1)
        total = prepared.relevant.sum(axis=1)
        discount = 1 / np.log2(np.arange(k) + 2)
        ideal = np.cumsum(discount)[np.minimum(total, k) - 1]
        return {
            "ndcg": float(((hits * discount).sum(axis=1) / ideal).mean()),
            "recall": float((hits.sum(axis=1) / np.minimum(total, k)).mean()),
        }


def _normalised(rows: Float64Array) -> Float64Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1.0, lengths))
