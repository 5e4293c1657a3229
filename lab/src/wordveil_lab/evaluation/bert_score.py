"""BERTScore: how much of a text's meaning another keeps, by the greedy matching of contextual token states.

The states are the last layer's of MiniLM (`token_states`), a sentence model: figures are comparable with each other,
not with those of the RoBERTa or BERT layers that most publications use.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

import wordveil.api as wv

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
