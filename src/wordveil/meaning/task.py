"""What a classifier of public labelled texts keeps when it learns from releases and reads releases.

The texts must be public, since the numbers speak of them. A fixed public rule parts them in two: a ridge regression on
the mean vector of a text's words learns from one half and reads the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordveil.arrays import Float64Array, IdArray, PrivateText
from wordveil.errors import ParameterError
from wordveil.meaning.neighbour_points import NeighbourPoint
from wordveil.mechanisms.base import WordRandomizer
from wordveil.mechanisms.neighbours import NeighbourResponse
from wordveil.randomness import RandomSource
from wordveil.text.encoding import Encoder
from wordveil.text.tokenizer import tokenizer_for
from wordveil.vocabulary.table import Embeddings

MOST = 8000  # texts that are looked at, half of them learnt from
TEXTS_A_CLASS = 4
PENALTY = 1.0  # beside mean vectors whose columns have variance one


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """Share of texts whose class is found, in [0, 1], and its standard error by the choice of texts read."""

    share: float
    error: float


@dataclass(frozen=True, kw_only=True)
class TaskPoint:
    """A choice of epsilon, k and outputs beside what it keeps of a task."""

    point: NeighbourPoint  # the choice
    accuracy: Accuracy  # when releases are learnt from and read
    ahead: bool  # whether no choice before it, at which the attacker names as few words, finds as many labels


class Task:
    """Public labelled texts, of more than 8 000 a public choice, and how well a linear classifier tells classes apart.

    `ParameterError` if there is one class only, or fewer than four texts a class in the mean.
    """

    def __init__(self, embeddings: Embeddings, texts: Sequence[str], labels: Sequence[str]) -> None:
        classes = len(set(labels))
        if classes < 2 or len(labels) < TEXTS_A_CLASS * classes:
            sentence = f"A task needs two classes or more, and {TEXTS_A_CLASS} texts of each or more."
            raise ParameterError("task", classes, sentence=sentence)
        order = np.argsort(RandomSource.public("task").lane(0).random(len(labels)), kind="stable")[:MOST]
        header = embeddings.header
        encoder = Encoder(
            lookup=embeddings.ids,
            index=embeddings.packed_words,
            casing="cased" if header.casing == "cased" else "lower",
            tokenizer=tokenizer_for(header.tokenizer),
        )
        batch = encoder.encode_batch([PrivateText(texts[i]) for i in order])
        self._embeddings, self._ids = embeddings, np.asarray(batch.ids)
        self._text = np.repeat(np.arange(len(order)), batch.counts)  # of each token
        self._truth = np.unique(np.asarray(labels)[order], return_inverse=True)[1].astype(np.int32)
        self._learnt = len(order) // 2

    def as_written(self) -> Accuracy:
        """Return the accuracy without noise."""
        return self._accuracy(self._ids)

    def majority(self) -> float:
        """Return the share of the class that is most frequent among the texts learnt from."""
        usual = np.bincount(self._truth[: self._learnt]).argmax()
        return float(np.mean(self._truth[self._learnt :] == usual))

    def released(self, randomizer: WordRandomizer) -> Accuracy:
        """Return the accuracy when both halves are released, by public draws."""
        return self._accuracy(np.asarray(randomizer.trial(self._ids, RandomSource.public("task"))))

    def points(self, choices: Sequence[NeighbourPoint]) -> tuple[TaskPoint, ...]:
        """Return what each choice keeps: by how many words in a thousand the attacker names, then the best first."""
        fitted = (NeighbourResponse(epsilon=one.epsilon, k=one.k, outputs=one.outputs) for one in choices)
        kept = [self.released(mechanism.fit(self._embeddings)) for mechanism in fitted]
        ordered = sorted(zip(choices, kept, strict=True), key=lambda row: (round(row[0].attacker, 3), -row[1].share))
        best, rows = -1.0, []
        for one, accuracy in ordered:
            rows.append(TaskPoint(point=one, accuracy=accuracy, ahead=accuracy.share > best))
            best = max(best, accuracy.share)
        return tuple(rows)

    def _accuracy(self, ids: IdArray) -> Accuracy:
        known = ids >= 0
        means = np.zeros((len(self._truth), self._embeddings.vectors.shape[1]))
        np.add.at(means, self._text[known], self._embeddings.vectors[ids[known]])
        means /= np.maximum(np.bincount(self._text[known], minlength=len(means)), 1)[:, None]
        found = _classified(means, self._truth, self._learnt)
        share = float(np.mean(found == self._truth[self._learnt :]))
        return Accuracy(share=share, error=float(np.sqrt(share * (1 - share) / len(found))))


def _classified(rows: Float64Array, truth: IdArray, learnt: int) -> IdArray:
    """Return the class of every row after the first `learnt`, by ridge regression on these."""
    known = rows[:learnt]
    centre, spread = known.mean(axis=0), known.std(axis=0)
    units = (rows - centre) / np.where(spread > 0, spread, 1.0)
    targets = np.eye(int(truth.max()) + 1)[truth[:learnt]]
    mean = targets.mean(axis=0)
    known = units[:learnt]
    weights = np.linalg.solve(known.T @ known + PENALTY * np.eye(known.shape[1]), known.T @ (targets - mean))
    return np.asarray((units[learnt:] @ weights + mean).argmax(axis=1))
