"""Context-aware inversion: an attacker who reads whole sentences and knows which words follow which.

A word model of pairs, trained on public text, is joined with what a released word says about its original; the
likeliest sequence of originals is found by dynamic programming over a few candidates for each token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wordveil.arrays import Float64Array, IdArray
from wordveil.embeddings.table import Embeddings
from wordveil.errors import ParameterError
from wordveil.evaluation.base import Score, Task, TaskKind
from wordveil.evaluation.corpora import Corpus, encode, place_unknown
from wordveil.evaluation.data import read_labelled
from wordveil.evaluation.evidence import channel_evidence
from wordveil.evaluation.priors import draw_words
from wordveil.evaluation.subjects import Subject
from wordveil.randomness import RandomSource

__all__ = ["ContextInversion", "PairModel", "likeliest_sequence"]


@dataclass(frozen=True)
class PairModel:
    """Word frequencies and pair counts of public text, interpolated."""

    unigram: Float64Array = field(repr=False)
    pairs: csr_array = field(repr=False)
    followers: Float64Array = field(repr=False)
    trust: float = 0.7

    @classmethod
    def of(cls, corpus: Corpus, v: int) -> PairModel:
        """Count a corpus; unknown tokens break the chain."""
        tokens = corpus.tokens
        counts = np.bincount(tokens[tokens >= 0], minlength=v) + 0.5
        inside = np.ones(len(tokens), dtype=bool)
        ends = corpus.offsets[1:-1]
        inside[ends[ends < len(tokens)]] = False  # the first token of a text follows nothing
        both = inside[1:] & (tokens[1:] >= 0) & (tokens[:-1] >= 0)
        left, right = tokens[:-1][both], tokens[1:][both]
        pairs = csr_array((np.ones(len(left)), (left, right)), shape=(v, v))
        pairs.sum_duplicates()
        followers = np.maximum(np.bincount(left, minlength=v), 1).astype(np.float64)
        return cls(counts / counts.sum(), pairs, followers)

    def log_transitions(self, left: IdArray, right: IdArray) -> Float64Array:
        """Return ln P(right | left), shape (len(left), len(right))."""
        block = np.asarray(self.pairs[left][:, right].todense()) / self.followers[left][:, None]
        return np.asarray(np.log(self.trust * block + (1 - self.trust) * self.unigram[right]))


@dataclass(frozen=True, kw_only=True)
class ContextInversion(Task):
    """Share of tokens whose original is found by an attacker who uses the words around them.

    What a released word says about its original is the mechanism's channel where that is known. For decoded noise the
    attacker knows how often a word stays itself and takes all other originals alike, which is what such noise does
    in many dimensions; the score is then a lower bound.

    Attributes:
        path: Labelled file whose texts are attacked.
        public: Labelled file of public text for the pair model.
        limit: Texts attacked.
        public_limit: Public texts.
        candidates: Originals considered for each token.
    """

    name: ClassVar[str] = "context-inversion"
    kind: ClassVar[TaskKind] = TaskKind.ATTACK
    scores: ClassVar[tuple[Score, ...]] = (
        Score(name="success", meaning="share of known tokens whose original is found from context", better="lower"),
    )
    path: str = "sentences/sst2.dev.tsv"
    public: str = "documents/imdb.train.jsonl.gz"
    limit: int = 100
    public_limit: int = 2000
    candidates: int = 30

    def prepare(self, embeddings: Embeddings) -> tuple[Corpus, PairModel]:
        if self.candidates < 2:
            raise ParameterError("candidates", self.candidates, "must be at least 2.")
        texts = [item.text for item in read_labelled(self.path, limit=self.limit)]
        public = [item.text for item in read_labelled(self.public, limit=self.public_limit)]
        return encode(embeddings, texts), PairModel.of(encode(embeddings, public), len(embeddings))

    def run(self, prepared: Any, subject: Subject, source: RandomSource) -> Mapping[str, float]:
        corpus, model = prepared
        inputs = place_unknown(corpus.tokens, subject.embeddings, source, self.name)
        released = subject.release_words(inputs, source, self.name)
        emissions = _Emissions(subject, model, self.candidates, source)
        emissions.learn(np.unique(released))
        right = known = 0
        for start, stop in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
            if stop > start:
                guess = likeliest_sequence([emissions.of(int(y)) for y in released[start:stop]], model)
                counted = corpus.tokens[start:stop] >= 0
                right += int((guess == corpus.tokens[start:stop])[counted].sum())
                known += int(counted.sum())
        return {"success": right / max(known, 1)}


Emission = tuple[IdArray, Float64Array]
"""Candidate originals of one released word, and ln P(released | candidate) for each."""


class _Emissions:
    """What each released word says about its original, for a few candidates each."""

    def __init__(self, subject: Subject, model: PairModel, size: int, source: RandomSource) -> None:
        self._subject, self._model = subject, model
        v = len(model.unigram)
        self._size = min(size, v)
        self._common = np.argsort(-model.unigram, kind="stable")[: self._size].astype(np.int32)
        self._known: dict[int, Emission] = {}
        self._kept = 1.0
        if subject.selection is None:
            words = draw_words(model.unigram, 4000, source, "context words")
            released = subject.release_words(words, source, "context simulation")
            self._kept = float(np.clip((released == words).mean(), 1e-6, 1 - 1e-6))

    def learn(self, released: IdArray) -> None:
        """Compute the candidates of released words where the channel is known exactly."""
        selection = self._subject.selection
        if selection is None:
            return
        unigram = self._model.unigram
        found = channel_evidence(selection, released, unigram, np.empty((len(unigram), 0)), self._size)
        self._known = {y: (ids, logs) for y, ids, logs in zip(released.tolist(), found.ids, found.logs, strict=True)}

    def of(self, y: int) -> Emission:
        if y in self._known:
            return self._known[y]
        ids = np.concatenate(([y], self._common[self._common != y])).astype(np.int32)
        logs = np.full(len(ids), np.log((1 - self._kept) / max(len(self._model.unigram) - 1, 1)))
        logs[0] = np.log(self._kept)
        return ids, logs


def likeliest_sequence(emissions: list[Emission], model: PairModel) -> NDArray[np.int32]:
    """Return the originals of highest joint probability, shape (len(emissions),)."""
    ids, logs = emissions[0]
    score = np.log(model.unigram[ids]) + logs
    back: list[NDArray[np.int64]] = []
    for following, emitted in emissions[1:]:
        total = score[:, None] + model.log_transitions(ids, following)
        best = total.argmax(axis=0)
        back.append(best)
        score = total[best, np.arange(len(following))] + emitted
        ids = following
    place = int(score.argmax())
    path = [place]
    for best in reversed(back):
        place = int(best[place])
        path.append(place)
    path.reverse()
    return np.array([emission[0][i] for emission, i in zip(emissions, path, strict=True)], dtype=np.int32)
