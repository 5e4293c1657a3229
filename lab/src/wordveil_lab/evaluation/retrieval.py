"""Search in released documents by queries that are not randomized: recall and nDCG.

The owner stores released vectors with a service and searches with vectors of their own. Documents are centroids of
released vectors; queries are centroids in the public space, projected where the mechanism projects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Embeddings, Float64Array, ParameterError, RandomSource
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.evaluation.authors import parse_post
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.subjects import Entrant, centroids, released_centroids, unit_rows
from wordveil_lab.rows import read_labelled, scored_pairs, thinned

Collection = tuple[Corpus, Corpus, NDArray[np.bool_]]
"""Queries, documents, and which of these are relevant to which."""


@dataclass(frozen=True, kw_only=True)
class _Search(Task):
    """What both searches share."""

    k: int = 10
    documents: int = 2000
    queries: int = 400

    def run(self, prepared: Collection, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        queries, documents, relevant = prepared
        stored = unit_rows(released_centroids(documents, subject, source, self.name))
        asked = unit_rows(centroids(queries.tokens, queries, subject.space.vectors))
        ndcg, recall = ranked(asked @ stored.T, relevant, self.k)
        return {"ndcg": float(ndcg.mean()), "recall": float(recall.mean())}


def ranked(scores: Float64Array, relevant: NDArray[np.bool_], k: int) -> tuple[Float64Array, Float64Array]:
    """Return nDCG at k of each query, and the share of its relevant documents, of k at most, among the first k.

    Scores and relevance are of each document for each query, shape (n, m); ties stand in the order of the documents,
    and each query has a relevant one.
    """
    k = min(k, scores.shape[1])
    top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    hits, total = np.take_along_axis(relevant, top, axis=1), np.minimum(relevant.sum(axis=1), k)
    discount = 1 / np.log2(np.arange(k) + 2)
    return np.asarray((hits * discount).sum(axis=1) / np.cumsum(discount)[total - 1]), hits.sum(axis=1) / total


@dataclass(frozen=True, kw_only=True)
class Retrieval(_Search):
    """Search for the sentences that humans found close in meaning."""

    name: ClassVar[str] = "retrieval"
    path: str = "sentences/stsb.dev.tsv"  # file with columns sentence1, sentence2, score
    threshold: float = 4.0  # pairs with at least this score are relevant to each other

    def prepare(self, embeddings: Embeddings) -> Collection:
        pairs = scored_pairs(self.path, ("sentence1", "sentence2"))[: self.documents]
        texts = sorted({pair.second for pair in pairs})
        close = {pair[:2] for pair in pairs if pair.score >= self.threshold}
        asked = thinned(sorted({query for query, _ in close}), self.queries)
        relevant = np.array([[(query, text) in close for text in texts] for query in asked], dtype=bool)
        return _collection(self.path, embeddings, asked, texts, relevant)


@dataclass(frozen=True, kw_only=True)
class TopicRetrieval(_Search):
    """Search for the documents of the query's own topic; every fifth text is a query."""

    name: ClassVar[str] = "topic-retrieval"
    path: str = "documents/20news.test.jsonl.gz"
    posts: bool = True  # whether the texts are newsgroup posts, whose headers name the topic and must be stripped
    words: int = 100  # words of each text at most
    text: str = "text"
    label: str = "label"

    def prepare(self, embeddings: Embeddings) -> Collection:
        items = read_labelled(self.path, text=self.text, label=self.label, limit=self.documents + self.queries)
        texts = [parse_post(item.text)[1] if self.posts else item.text for item in items]
        short = [" ".join(text.split()[: self.words]) for text in texts]
        asked = [i for i in range(len(items)) if i % 5 == 0][: self.queries]
        stored = [i for i in range(len(items)) if i % 5][: self.documents]
        labels = np.array([item.label for item in items])
        relevant = labels[asked][:, None] == labels[stored]
        return _collection(self.path, embeddings, [short[i] for i in asked], [short[i] for i in stored], relevant)


def _collection(
    path: str, embeddings: Embeddings, asked: list[str], stored: list[str], relevant: NDArray[np.bool_]
) -> Collection:
    """Encode queries that have a relevant document, and the documents."""
    kept = np.flatnonzero(relevant.any(axis=1)) if asked and stored else np.empty(0, dtype=np.int64)
    if not kept.size:
        raise ParameterError("path", path, "gives no query with a relevant document.")
    return encode(embeddings, [asked[i] for i in kept]), encode(embeddings, stored), relevant[kept]
