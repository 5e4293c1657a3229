"""What is left of attacked texts for whoever reads a release: as released, and as the reader of triples writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from wordveil.api import Embeddings, Float32Array, Float64Array, IdArray
from wordveil_lab.corpora import encode
from wordveil_lab.evaluation.aligned import AlignedSimilarity
from wordveil_lab.evaluation.base import Score
from wordveil_lab.evaluation.classification import CentroidClassification
from wordveil_lab.evaluation.corpora import centroids
from wordveil_lab.evaluation.data import plain, read_labelled, read_texts
from wordveil_lab.evaluation.inversion import Attack, ReviewInversion
from wordveil_lab.evaluation.models import as_numbers, fit_quietly, linear_model, standardized
from wordveil_lab.evaluation.retrieval import Retrieval
from wordveil_lab.evaluation.subjects import Entrant

READERS = {"released": "naming", "denoised": "triples"}
"""What is read -> the attacker whose words it is made of: the released word, or the reader who denoises."""


def scores_of(*used: str) -> tuple[Score, ...]:
    """Return the scores of the attack, and of each use of what is read."""
    meanings = {"similarity": "mean cosine, content words", "search": "nDCG, queries as they are"}
    return (
        *ReviewInversion.scores,
        *(
            Score(name=f"{kind} {use}", meaning=meanings.get(use, "accuracy, learnt from originals"), better="higher")
            for use in used
            for kind in READERS
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Reading(ReviewInversion):
    """The attack, and what the attacked texts are still good for, as released and as the reader of triples writes them.

    Attributes:
        judge: Vectors that similarity is taken in.
        train: Texts as they are, less the attacked, which a classifier of mean vectors learns from.
    """

    told: ClassVar[str] = "sentiment"
    scores: ClassVar[tuple[Score, ...]] = scores_of("similarity", "sentiment")
    judge: str = AlignedSimilarity.judge
    train: str = CentroidClassification.train

    def scored(self, prepared: Attack, subject: Entrant, guesses: Any) -> Mapping[str, float]:
        found = dict(super().scored(prepared, subject, guesses))
        for kind, reader in READERS.items():
            left = self.left_to_use(prepared, subject.embeddings, guesses[reader][0])
            found |= {f"{kind} {use}": value for use, value in left.items()}
        return {score.name: found[score.name] for score in self.scores}

    def left_to_use(self, attack: Attack, embeddings: Embeddings, read: IdArray) -> dict[str, float]:
        """Return how close the words that are read are to the content words, and how often the class is told."""
        units, means, model, labels = _judges(self, embeddings)
        original = attack.corpus.tokens
        content = np.isin(original, attack.content_words)
        close = np.einsum("ij,ij->i", units[original[content]], units[read[content]])
        texts = centroids(np.where(attack.known, read, -1), attack.corpus, embeddings.vectors)
        told = model.predict(standardized(means, texts)[1])
        return {"similarity": float(close.mean()), self.told: float((told == labels).mean())}


@lru_cache(maxsize=3)
def _judges(task: Reading, embeddings: Embeddings) -> tuple[Float32Array, Float64Array, Any, Any]:
    """Return unit vectors of all words, mean vectors of training texts, their classifier, and the attacked labels."""
    units = AlignedSimilarity(limit=1, judge=task.judge).prepare(embeddings).units
    attacked = set(read_texts(task.path, column=task.text, limit=task.limit))
    items = read_labelled(task.train, text=task.text, limit=3000)
    items = [item for item in items if plain(item.text) not in attacked]
    corpus = encode(embeddings, [item.text for item in items])
    means, classes = centroids(corpus.tokens, corpus, embeddings.vectors), sorted({item.label for item in items})
    known = as_numbers([item.label for item in items], classes)
    model = fit_quietly(linear_model("logistic"), standardized(means)[0], known)
    labels = [item.label for item in read_labelled(task.path, text=task.text, limit=task.limit)]
    return units, means, model, as_numbers(labels, classes)


@dataclass(frozen=True, kw_only=True)
class News(Reading):
    """The same of news and its section; attackers and classifier know other news of the same file."""

    name: ClassVar[str] = "AG News attack"
    told: ClassVar[str] = "topic"
    scores: ClassVar[tuple[Score, ...]] = scores_of("similarity", "topic")
    path: str = "documents/agnews.test.tsv"
    train: str = "documents/agnews.test.tsv"
    public: str = "documents/agnews.test.tsv"
    text: str = "description"
    public_text: str = "description"


@dataclass(frozen=True, kw_only=True)
class Captions(ReviewInversion):
    """The attack on captions and headlines, and the search in what is read of them."""

    name: ClassVar[str] = "STS attack"
    scores: ClassVar[tuple[Score, ...]] = scores_of("search")
    path: str = "sentences/stsb.dev.tsv"
    public: str = "sentences/stsb.train.tsv"
    text: str = "sentence1"
    public_text: str = "sentence1"

    def prepare(self, embeddings: Embeddings) -> Attack:
        stored = self._search.prepare(embeddings).documents
        return replace(super().prepare(embeddings), corpus=stored, known=stored.tokens >= 0)

    @property
    def _search(self) -> Retrieval:
        return Retrieval(path=self.path, documents=self.limit)

    def scored(self, prepared: Attack, subject: Entrant, guesses: Any) -> Mapping[str, float]:
        found = dict(super().scored(prepared, subject, guesses))
        sought = self._search.prepare(subject.embeddings)
        for kind, reader in READERS.items():
            read = np.where(prepared.known, guesses[reader][0], -1)
            stored = centroids(read, prepared.corpus, subject.embeddings.vectors)
            found[f"{kind} search"] = self._search.found(sought, stored, subject.embeddings)["ndcg"]
        return {score.name: found[score.name] for score in self.scores}
