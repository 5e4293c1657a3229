"""Membership inference: can a model trained on released texts be asked which texts it was trained on?

The target model T is trained on the released half of the training texts. The attacker trains a shadow model S on
texts of their own, learns from S's outputs on texts it saw and did not see, and asks T about both halves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Embeddings, Float64Array, IdArray, ParameterError, RandomSource
from wordveil_lab.corpora import Corpus
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.data import mixed_order, train_and_test
from wordveil_lab.evaluation.models import MeanClassifier, encode_labelled, fit_quietly, load_sklearn
from wordveil_lab.evaluation.subjects import Entrant, released_tokens


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
        return [encode_labelled(embeddings, part, classes) for part in parts]

    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        (seen, learnt), (unseen, _), (tested, asked), (shadow, known_labels) = prepared

        def trained(name: str, tokens: IdArray, corpus: Corpus, labels: NDArray[np.int64]) -> MeanClassifier:
            classes = int(learnt.max()) + 1
            model = MeanClassifier(len(subject.embeddings), classes, self.width, source.stream(name))
            return model.fit(tokens, corpus, labels, epochs=self.epochs, batch=self.batch)

        target = trained("target", released_tokens(seen, subject, source, self.name), seen, learnt)
        own = trained("shadow", shadow.tokens, shadow, known_labels)
        known, inside = _evidence(own, shadow, tested)
        network = load_sklearn("neural_network").MLPClassifier
        attack = network((64, 64), batch_size=min(64, len(known)), max_iter=20, random_state=0)
        fit_quietly(attack, known, inside)
        evidence, member = _evidence(target, seen, unseen)
        guess = attack.predict_proba(evidence)[:, 1]
        right = target.probabilities(tested.tokens, tested).argmax(axis=1) == asked
        return {"auc": float(load_sklearn("metrics").roc_auc_score(member, guess)), "accuracy": float(right.mean())}


def _evidence(model: MeanClassifier, inside: Corpus, outside: Corpus) -> tuple[Float64Array, NDArray[np.int64]]:
    """Return a model's outputs on texts it was trained on and others, and which is which."""
    outputs = np.concatenate([model.probabilities(part.tokens, part) for part in (inside, outside)])
    return outputs, np.repeat([1, 0], [len(inside), len(outside)])
