"""Scores of rewrites: cross-entropy, ROUGE-1, BLEU, BERTScore, and the share of words that come back unchanged.

What overlaps with the private text was not protected: these are utility and leakage at once. A score that needs a
package that is not installed is left out.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from wordveil.api import MissingExtraError
from wordveil_lab.evaluation.bert_score import MINILM, ROBERTA, bert_score_by_roberta, matching_scores, unit_states
from wordveil_lab.evaluation.overlap import bleu, rouge_1
from wordveil_lab.neural.corpora import Dataset
from wordveil_lab.neural.models import Rewriter
from wordveil_lab.neural.training import measure


def score_rewrites(model: Rewriter, texts: Dataset, *, batch: int = 256) -> dict[str, float]:
    """Rewrite public texts with fresh noise and return the scores; unknown words count in nothing.

    `loss` is in nats a word, `ROUGE-1` and `BLEU` are 0 to 100, `N_w` is the share of words written as they were.
    """
    loss, _ = measure(model, texts, batch)
    model.eval()
    rewritten, originals, same, counted = [], [], 0, 0
    for part in texts.batches(batch):
        for row, length, written in zip(part.ids, part.lengths.tolist(), model.rewrite(part), strict=True):
            original = row[:length]
            known = original >= 0
            same, counted = same + int((written == original)[known].sum()), counted + int(known.sum())
            originals.append(_spell(model, original[known]))
            rewritten.append(_spell(model, written[known]))
    overlaps = [rouge_1(text, original) for text, original in zip(rewritten, originals, strict=True)]
    scores = {"loss": loss, "ROUGE-1": 100 * float(np.mean(overlaps)), "N_w": same / max(counted, 1)}
    for name, score in (("BLEU", bleu), (MINILM, _by_minilm), (ROBERTA, bert_score_by_roberta)):
        with suppress(MissingExtraError):
            scores[name] = score(rewritten, originals)
    return scores


def _spell(model: Rewriter, ids: NDArray[np.integer]) -> str:
    entries = model.embedding.vocabulary.words
    return " ".join(entries[int(i)] for i in ids)


def _by_minilm(texts: list[str], references: list[str]) -> float:
    return float(matching_scores(unit_states(texts), _states(tuple(references))).f1.mean())


_states = lru_cache(maxsize=1)(unit_states)  # of originals, which all models of an experiment are held against
