"""Scores of rewrites: cross-entropy, ROUGE-1, BLEU, BERTScore, and the share of words that come back unchanged.

What overlaps with the private text was not protected: these are utility and leakage at once. Scores that need a
package that is not installed are None, and `RewriteScores.absent` says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wordveil.api import MissingExtraError
from wordveil_lab.evaluation.bert_score import bert_score
from wordveil_lab.evaluation.overlap import bleu, rouge_1
from wordveil_lab.neural.corpora import Dataset
from wordveil_lab.neural.models import Rewriter
from wordveil_lab.neural.training import measure

__all__ = ["RewriteScores", "score_rewrites"]


@dataclass(frozen=True, kw_only=True)
class RewriteScores:
    """Scores of one pass over a data set.

    Attributes:
        loss: Mean cross-entropy per word, nats.
        rouge1: Mean F1 of shared words, 0 to 1.
        bleu: Corpus BLEU, 0 to 100, or None.
        bert: Mean F1 of BERTScore with MiniLM's token states, or None; unrelated sentences score well above 0.
        n_w: Share of words that come out as themselves.
        absent: Why a score is None, by its name.
    """

    loss: float
    rouge1: float
    bleu: float | None
    bert: float | None
    n_w: float
    absent: Mapping[str, str] = field(default_factory=dict)


def score_rewrites(model: Rewriter, texts: Dataset, *, batch: int = 256) -> RewriteScores:
    """Rewrite public texts with fresh noise and compare; unknown words count in nothing."""
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
    optional: dict[str, float | None] = {}
    absent: dict[str, str] = {}
    for name, score in (("bleu", bleu), ("bert", _bert)):
        try:
            optional[name] = score(rewritten, originals)
        except MissingExtraError as error:
            optional[name], absent[name] = None, str(error)
    share = same / max(counted, 1)
    return RewriteScores(loss=loss, rouge1=float(np.mean(overlaps)), n_w=share, absent=absent, **optional)


def _spell(model: Rewriter, ids: NDArray[np.integer]) -> str:
    entries = model.embedding.vocabulary.words
    return " ".join(entries[int(i)] for i in ids)


def _bert(texts: list[str], references: list[str]) -> float:
    return float(bert_score(texts, references).f1.mean())
