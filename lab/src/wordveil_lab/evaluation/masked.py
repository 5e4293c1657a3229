"""The best guess at every word of a text by masked prediction: its own release, and what a model expects at its place.

The model of public text (`word_predictor`) reads the releases around a word, two on either side and some beyond. A
second pass reads the context through the first one's posteriors. Only a few candidates of each token are weighed, those
of highest probability without context: an attacker of its own, not an approximation of a better one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Float64Array, FloatArray, IdArray
from wordveil_lab.corpora import Corpus
from wordveil_lab.evaluation.word_predictor import WordPredictor, context_features

__all__ = ["Candidates", "guess_in_context"]

ROWS = 64


@dataclass(frozen=True)
class Candidates:
    """What t released tokens say without their context.

    Attributes:
        ids: The words of highest posterior probability, shape (t, k).
        logs: ln p(release | word) of each up to a constant per row, shape (t, k).
        expected: Posterior mean of the word's features, shape (t, m).
    """

    ids: IdArray = field(repr=False)
    logs: Float64Array = field(repr=False)
    expected: Float64Array = field(repr=False)

    @classmethod
    def of(cls, likelihoods: FloatArray, model: WordPredictor, k: int) -> Candidates:
        """Return the k likeliest originals of each token from P(release | word) up to a factor, shape (t, v)."""
        joint = likelihoods * model.prior.astype(likelihoods.dtype)
        size = min(k, joint.shape[1])
        ids = np.argpartition(-joint, size - 1, axis=1)[:, :size].astype(np.int32)
        expected = (joint @ model.features.astype(joint.dtype)) / joint.sum(axis=1, keepdims=True)
        chosen = np.take_along_axis(likelihoods, ids.astype(np.int64), axis=1)
        return cls(ids, np.log(np.maximum(chosen, np.finfo(chosen.dtype).tiny)), expected)

    def chosen(self, rows: NDArray[np.intp]) -> Candidates:
        """Return those of some rows, in the order given."""
        return Candidates(self.ids[rows], self.logs[rows], self.expected[rows])

    @classmethod
    def joined(cls, parts: list[Candidates]) -> Candidates:
        """Return the tokens of several parts in order."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("ids", "logs", "expected")))


def guess_in_context(found: Candidates, corpus: Corpus, model: WordPredictor, *, passes: int) -> IdArray:
    """Return the likeliest original of every token given its release and its context, shape (t,)."""
    rows = found.expected
    context: Float64Array = np.log(model.prior)[found.ids]
    for step in range(passes):
        if step:  # read the context again, through what it says about each of its words
            rows = _means(found, context, model)
        context = _expected_at(found.ids, context_features(rows, corpus), model)
    best = (found.logs + context).argmax(axis=1)
    return np.asarray(found.ids[np.arange(len(best)), best], dtype=np.int32)


def _expected_at(ids: IdArray, contexts: FloatArray, model: WordPredictor) -> Float64Array:
    """Return ln P(word | context) of every candidate up to a constant per token, shape (t, k)."""
    found = np.empty(ids.shape)
    for start in range(0, len(ids), ROWS):
        span = slice(start, start + ROWS)
        found[span] = model.scores(contexts[span], ids[span])
    return found


def _means(found: Candidates, context: Float64Array, model: WordPredictor) -> Float64Array:
    """Return the mean features of every token's candidates under the posterior, shape (t, m)."""
    logs = found.logs + context
    weights: NDArray[np.float64] = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("tk,tkm->tm", weights, model.features[found.ids]))
