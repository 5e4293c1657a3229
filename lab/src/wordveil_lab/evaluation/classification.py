"""Classification of texts after release, and what a classifier gives away of the texts that it was trained on.

Texts are classified from their words and from their centroids, single words by polarity. In membership inference the
target model T is trained on the released half of the training texts. The attacker trains a shadow model S on texts of
their own, learns from S's outputs on texts it saw and did not see, and asks T about both halves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Embeddings, Float64Array, IdArray, ParameterError, RandomSource
from wordveil_lab.corpora import Corpus
from wordveil_lab.evaluation import models
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.models import MeanClassifier
from wordveil_lab.evaluation.subjects import Entrant, centroids, released_centroids, released_tokens
from wordveil_lab.evaluation.word_tasks import word_ids
from wordveil_lab.rows import mixed_order, read_rows, train_and_test

Labelled = tuple[Corpus, NDArray[np.int64]]
"""Texts as ids, and their classes as numbers."""


@dataclass(frozen=True, kw_only=True)
class _TwoFiles(Task):
    """What both text tasks share: where the texts are."""

    train: str = "sentences/sst2.train.tsv"  # training file with columns text and label
    test: str | None = "sentences/sst2.dev.tsv"  # test file; None holds out a random fifth of the training texts
    released_test: bool = True  # whether the test texts are released too, or read as they are (as in TEM's experiments)
    limit: int | None = None  # training texts at most
    test_limit: int | None = None  # test texts at most
    text: str = "text"  # column of the text; several joined by "+"
    label: str = "label"

    def prepare(self, embeddings: Embeddings) -> tuple[Labelled, Labelled]:
        """Return the texts to learn from and those to test on."""
        train, test = train_and_test(
            self.train, self.test, text=self.text, label=self.label, limits=(self.limit, self.test_limit)
        )
        classes = sorted({item.label for item in train})
        if len(classes) < 2 or not test:
            raise ParameterError("train", self.train, "must hold at least two classes, and some texts to test on.")
        return models.encode_labelled(embeddings, train, classes), models.encode_labelled(embeddings, test, classes)


FASTTEXT_WIDTH = 32
FASTTEXT_RATE = 0.01  # short texts: at the usual 0.001 twenty passes hardly move the word vectors


@dataclass(frozen=True, kw_only=True)
class TextClassification(_TwoFiles):
    """Two models on the words of the same released texts.

    Logistic regression on a weighted bag of words, and the fastText-style model of `MeanClassifier`.
    """

    name: ClassVar[str] = "text-classification"
    epochs: int = 20  # passes of the fastText-style model

    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        (train, known), (test, asked) = prepared
        v = len(subject.embeddings)
        learnt = released_tokens(train, subject, source, "train")
        tested = released_tokens(test, subject, source, "test") if self.released_test else test.tokens
        features, weights = models.weighted_bag(models.bag_of_words(learnt, train, v))
        logistic = models.fit_quietly(models.linear_model("logistic"), features, known)
        guesses = {"logistic": logistic.predict(models.weighted_bag(models.bag_of_words(tested, test, v), weights)[0])}
        network = MeanClassifier(v, int(known.max()) + 1, FASTTEXT_WIDTH, source.stream("model"), rate=FASTTEXT_RATE)
        network.fit(learnt, train, known, epochs=self.epochs, batch=64)
        guesses["fasttext"] = network.probabilities(tested, test).argmax(axis=1)
        return {name: float((found == asked).mean()) for name, found in guesses.items()}


@dataclass(frozen=True, kw_only=True)
class CentroidClassification(_TwoFiles):
    """A linear model on the mean released vector of each text."""

    name: ClassVar[str] = "centroid-classification"
    model: str = "logistic"  # "logistic" or "svm"

    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        (train, known), (test, asked) = prepared
        learnt = released_centroids(train, subject, source, "train")
        if self.released_test:
            tested = released_centroids(test, subject, source, "test")
        else:
            tested = centroids(test.tokens, test, subject.space.vectors)
        features, unseen = models.standardized(learnt, tested)
        model = models.fit_quietly(models.linear_model(self.model), features, known)
        return {
            "accuracy": float((model.predict(unseen) == asked).mean()),
            "training": float((model.predict(features) == known).mean()),
        }


@dataclass(frozen=True, kw_only=True)
class LexiconClassification(Task):
    """A linear SVM that tells positive from negative words by their released vectors.

    Both polarities are capped at the same number; a random fifth, the same in every run, is tested on.
    """

    name: ClassVar[str] = "lexicon"
    path: str = "lexicon/opinion-lexicon.tsv"  # file with columns word and polarity
    cap: int = 1899  # words of each polarity at most
    model: str = "svm"  # "logistic" or "svm"

    def prepare(self, embeddings: Embeddings) -> tuple[IdArray, NDArray[np.int64], NDArray[np.bool_]]:
        polarity: dict[str, set[str]] = {}
        for row in read_rows(self.path, ("word", "polarity")):
            polarity.setdefault(str(row["word"]), set()).add(str(row["polarity"]))
        kinds = sorted({kind for kinds in polarity.values() for kind in kinds})
        groups = [[word for word, kinds_ in polarity.items() if kinds_ == {kind}] for kind in kinds]
        found = [ids[ids >= 0] for ids in (word_ids(embeddings, words) for words in groups)]
        size = min(self.cap, *(len(ids) for ids in found)) if len(found) == 2 else 0
        if size < 5:
            raise ParameterError("path", self.path, "must hold two polarities with at least 5 vocabulary words each.")
        generator = np.random.Generator(np.random.PCG64(0))  # a fixed public split
        ids = np.concatenate([generator.permutation(group)[:size] for group in found]).astype(np.int32)
        tested = np.tile(np.arange(size) < max(1, size // 5), 2)
        return ids, np.repeat([0, 1], size), tested

    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        ids, labels, tested = prepared
        rows = subject.release_vectors(ids, source, self.name)
        train, test = models.standardized(rows[~tested], rows[tested])
        model = models.fit_quietly(models.linear_model(self.model), train, labels[~tested])
        scores = model.decision_function(test)
        return {
            "accuracy": float((model.predict(test) == labels[tested]).mean()),
            "auc": float(models.load_sklearn("metrics").roc_auc_score(labels[tested], scores)),
        }


@dataclass(frozen=True, kw_only=True)
class MembershipInference(Task):
    """AUC of a membership attack on a classifier trained on released texts, and that classifier's accuracy.

    Reference:
        Carvalho, Vasiloudis, Feyisetan (2021), arXiv:2107.07928, appendix C. The classifier is the fastText-style
        one of `mean_classifier`; the attack model has two hidden layers of 64.
    """

    name: ClassVar[str] = "membership"
    train: str = "sentences/sst2.train.tsv"  # file split at random, the same way every time, into TR1 and TR2
    test: str | None = "sentences/sst2.dev.tsv"  # likewise into TE1 and TE2; None takes a fifth of the first for it
    limit: int | None = 3000  # rows of each file at most
    epochs: int = 20
    batch: int = 64  # texts a step
    width: int = 32  # dimensions of the classifier's own word vectors

    def prepare(self, embeddings: Embeddings) -> list[tuple[Corpus, NDArray[np.int64]]]:
        """Return texts and classes of TR1 (train), TR2 (never trained on), TE1 (test) and TE2 (the shadow's)."""
        files = train_and_test(self.train, self.test, limits=(self.limit, self.limit))
        halves = [[file[i] for i in mixed_order(len(file))] for file in files]
        parts = [half[start::2] for half in halves for start in (0, 1)]
        classes = sorted({item.label for item in parts[0]})
        if len(classes) < 2 or min(map(len, parts)) < 2:
            raise ParameterError("limit", self.limit, "must leave two texts a quarter and two classes.")
        return [models.encode_labelled(embeddings, part, classes) for part in parts]

    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        (seen, learnt), (unseen, _), (tested, asked), (shadow, known_labels) = prepared

        def trained(name: str, tokens: IdArray, corpus: Corpus, labels: NDArray[np.int64]) -> MeanClassifier:
            classes = int(learnt.max()) + 1
            model = MeanClassifier(len(subject.embeddings), classes, self.width, source.stream(name))
            return model.fit(tokens, corpus, labels, epochs=self.epochs, batch=self.batch)

        target = trained("target", released_tokens(seen, subject, source, self.name), seen, learnt)
        own = trained("shadow", shadow.tokens, shadow, known_labels)
        known, inside = _evidence(own, shadow, tested)
        network = models.load_sklearn("neural_network").MLPClassifier
        attack = network((64, 64), batch_size=min(64, len(known)), max_iter=20, random_state=0)
        models.fit_quietly(attack, known, inside)
        evidence, member = _evidence(target, seen, unseen)
        guess = attack.predict_proba(evidence)[:, 1]
        right = target.probabilities(tested.tokens, tested).argmax(axis=1) == asked
        return {
            "auc": float(models.load_sklearn("metrics").roc_auc_score(member, guess)),
            "accuracy": float(right.mean()),
        }


def _evidence(model: MeanClassifier, inside: Corpus, outside: Corpus) -> tuple[Float64Array, NDArray[np.int64]]:
    """Return a model's outputs on texts it was trained on and others, and which is which."""
    outputs = np.concatenate([model.probabilities(part.tokens, part) for part in (inside, outside)])
    return outputs, np.repeat([1, 0], [len(inside), len(outside)])
