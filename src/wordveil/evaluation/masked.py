"""Inversion by masked prediction: an attacker who knows the mechanism and guesses each word from its noisy context.

What a token's own release says (`evidence`) is joined with what a model trained on public text expects at its place
(`word_predictor`), given the releases around it. A second pass reads the context through the first one's posteriors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array, FloatArray, IdArray
from wordveil.embeddings.table import Embeddings
from wordveil.errors import ParameterError
from wordveil.evaluation.base import Score, Task, TaskKind
from wordveil.evaluation.corpora import Corpus, encode, place_unknown
from wordveil.evaluation.data import read_labelled
from wordveil.evaluation.evidence import Evidence, certain_evidence, channel_evidence, vector_evidence
from wordveil.evaluation.likelihoods import law_known
from wordveil.evaluation.subjects import Subject
from wordveil.evaluation.word_predictor import WordPredictor, context_features
from wordveil.randomness import RandomSource

__all__ = ["MaskedInversion", "guess_in_context"]

ROWS = 256


@dataclass(frozen=True)
class Attack:
    """The texts to invert and the model of public text."""

    corpus: Corpus = field(repr=False)
    model: WordPredictor = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class MaskedInversion(Task):
    """Share of tokens whose original is found from their own release and the releases around them.

    The attacker sees what is released at its rawest: the words of a selection mechanism, whose channel he knows
    exactly, and the vectors of the others, whose law he knows.

    Attributes:
        path: Labelled file whose texts are attacked.
        public: Labelled file of public text for the model.
        limit: Texts attacked.
        public_limit: Public texts.
        epochs: Passes over them.
        candidates: Originals considered for each token.
        passes: Times the context is read, at least 1.
    """

    name: ClassVar[str] = "masked-inversion"
    kind: ClassVar[TaskKind] = TaskKind.ATTACK
    scores: ClassVar[tuple[Score, ...]] = (
        Score(name="success", meaning="share of known tokens found from their release and its context", better="lower"),
        Score(name="alone", meaning="the same without context: the best guess from the release itself", better="lower"),
    )
    path: str = "sentences/sst2.dev.tsv"
    public: str = "documents/imdb.train.jsonl.gz"
    limit: int = 300
    public_limit: int = 2000
    epochs: int = 3
    candidates: int = 300
    passes: int = 2

    def prepare(self, embeddings: Embeddings) -> Attack:
        if min(self.candidates, self.passes, self.epochs) < 1:
            raise ParameterError("candidates", self.candidates, "must be at least 1, like passes and epochs.")
        texts = [item.text for item in read_labelled(self.path, limit=self.limit)]
        public = [item.text for item in read_labelled(self.public, limit=self.public_limit)]
        model = WordPredictor.of(encode(embeddings, public), embeddings, epochs=self.epochs)
        return Attack(encode(embeddings, texts), model)

    def applies(self, subject: Subject) -> bool:
        if subject.vectors is not None:
            return law_known(subject.vectors)
        return subject.selection is not None or subject.is_baseline

    def run(self, prepared: Attack, subject: Subject, source: RandomSource) -> Mapping[str, float]:
        corpus, model = prepared.corpus, prepared.model
        inputs = place_unknown(corpus.tokens, subject.embeddings, source, self.name)
        evidence = self._evidence(inputs, model, subject, source)
        known = corpus.tokens >= 0
        alone = _best(evidence, np.log(model.prior)[evidence.ids])
        joint = guess_in_context(evidence, corpus, model, passes=self.passes)
        right = [float((guess == corpus.tokens)[known].mean()) if known.any() else 0.0 for guess in (joint, alone)]
        return {"success": right[0], "alone": right[1]}

    def _evidence(self, inputs: IdArray, model: WordPredictor, subject: Subject, source: RandomSource) -> Evidence:
        if subject.vectors is not None:
            released = subject.release_vectors(inputs, source, self.name)
            return vector_evidence(subject, released, model.prior, model.features, self.candidates)
        words = subject.release_words(inputs, source, self.name)
        if subject.selection is None:
            return certain_evidence(words, model.features)
        distinct, places = np.unique(words, return_inverse=True)
        found = channel_evidence(
            subject.selection, distinct.astype(np.int32), model.prior, model.features, self.candidates
        )
        return Evidence(found.ids[places], found.logs[places], found.expected[places])


def guess_in_context(evidence: Evidence, corpus: Corpus, model: WordPredictor, *, passes: int) -> IdArray:
    """Return the likeliest original of every token given its evidence and its context, shape (t,)."""
    rows = evidence.expected
    context: Float64Array = np.log(model.prior)[evidence.ids]
    for step in range(passes):
        if step:  # read the context again, through what it says about each of its words
            rows = _means(evidence, context, model)
        context = _expected_at(evidence.ids, context_features(rows, corpus), model)
    return _best(evidence, context)


def _expected_at(ids: IdArray, contexts: FloatArray, model: WordPredictor) -> Float64Array:
    """Return ln P(word | context) of every candidate up to a constant per token, shape (t, k)."""
    found = np.empty(ids.shape)
    for start in range(0, len(ids), ROWS):
        span = slice(start, start + ROWS)
        found[span] = np.take_along_axis(model.scores(contexts[span]), ids[span].astype(np.int64), axis=1)
    return found


def _means(evidence: Evidence, context: Float64Array, model: WordPredictor) -> Float64Array:
    """Return the mean features of every token's candidates under the posterior, shape (t, m)."""
    logs = evidence.logs + context
    weights: NDArray[np.float64] = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("tk,tkm->tm", weights, model.features[evidence.ids]))


def _best(evidence: Evidence, context: Float64Array) -> IdArray:
    best = (evidence.logs + context).argmax(axis=1)
    return np.asarray(evidence.ids[np.arange(len(best)), best], dtype=np.int32)
