"""Attribute inference: what released texts still tell about their authors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wordveil.api import Embeddings, ParameterError, RandomSource
from wordveil_lab.corpora import encode
from wordveil_lab.evaluation.base import Score, Task, TaskKind
from wordveil_lab.evaluation.corpora import released_tokens
from wordveil_lab.evaluation.data import mixed_order, read_labelled
from wordveil_lab.evaluation.models import as_numbers, bag_of_words, fit_quietly, linear_model, weighted_bag
from wordveil_lab.evaluation.subjects import Entrant

__all__ = ["AttributeInference", "cross_validated"]


@dataclass(frozen=True, kw_only=True)
class AttributeInference(Task):
    """Accuracy of a classifier for an author's attribute, trained on texts released by the same mechanism.

    The attacker runs the public mechanism on labelled texts of their own: the other folds of a cross-validation. The
    score to compare with is that of always guessing the commonest value. In the default set an author writes several
    texts, so that recognizing the author helps too.

    Attributes:
        path: File with a text and a label.
        text: Column of the text.
        label: Column of the attribute, a.b for nested.
        model: "logistic" or "svm".
        folds: Parts of the cross-validation, at least 2.
    """

    name: ClassVar[str] = "attribute-inference"
    reads_words: ClassVar[bool] = True
    kind: ClassVar[TaskKind] = TaskKind.ATTACK
    scores: ClassVar[tuple[Score, ...]] = (
        Score(name="accuracy", meaning="share of authors whose attribute is inferred", better="lower"),
        Score(name="guessing", meaning="share with the commonest value", better="neither"),
    )
    needs: ClassVar[tuple[str, ...]] = ("sklearn",)
    path: str = "privacy/llmprivacy-synthetic.jsonl.gz"
    text: str = "text"
    label: str = "profile.sex"
    model: str = "logistic"
    folds: int = 5

    def prepare(self, embeddings: Embeddings) -> Any:
        items = [item for item in read_labelled(self.path, text=self.text, label=self.label) if item.label]
        classes = sorted({item.label for item in items})
        if self.folds < 2 or len(classes) < 2 or len(items) < 2 * self.folds:
            raise ParameterError("folds", self.folds, "must be at least 2, with two values and two texts a fold.")
        return encode(embeddings, [item.text for item in items]), as_numbers([item.label for item in items], classes)

    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        corpus, labels = prepared
        counts = bag_of_words(released_tokens(corpus, subject, source, self.name), corpus, len(subject.embeddings))
        commonest = Counter(labels.tolist()).most_common(1)[0][1]
        right = cross_validated(counts, counts, labels, model=self.model, folds=self.folds)
        return {"accuracy": right, "guessing": commonest / len(labels)}


def cross_validated(
    learnt: csr_array, asked: csr_array, labels: NDArray[np.int64], *, model: str = "logistic", folds: int
) -> float:
    """Return the accuracy of a linear model that learns each text's class from the other folds.

    Args:
        learnt: Token counts of the texts to learn from, shape (n, v).
        asked: Token counts of the same texts as they are read in the test, shape (n, v).
        labels: Classes, shape (n,).
        model: "logistic" or "svm".
        folds: Parts, at least 2.
    """
    fold = np.array(mixed_order(len(labels))) % folds
    right = 0
    for held in range(folds):
        train, weights = weighted_bag(learnt[fold != held])
        fitted = fit_quietly(linear_model(model), train, labels[fold != held])
        right += int((fitted.predict(weighted_bag(asked[fold == held], weights)[0]) == labels[fold == held]).sum())
    return right / len(labels)
