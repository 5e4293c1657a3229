"""Scores of rewrites: cross-entropy, ROUGE-1, BLEU, and the share of words that come back unchanged.

What overlaps with the private text was not protected: these are utility and leakage at once. BERTScore is not
computed: it needs a language model that does not come with wordveil.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.sentence_tasks import rouge_1
from wordveil.neural.corpora import Dataset
from wordveil.neural.models import Rewriter
from wordveil.neural.training import measure

__all__ = ["RewriteScores", "score_rewrites"]


@dataclass(frozen=True, kw_only=True)
class RewriteScores:
    """Scores of one pass over a data set.

    Attributes:
        loss: Mean cross-entropy per word, nats.
        rouge1: Mean F1 of shared words, 0 to 1.
        bleu: Corpus BLEU, 0 to 100; None without the package sacrebleu.
        n_w: Share of words that come out as themselves.
    """

    loss: float
    rouge1: float
    bleu: float | None
    n_w: float


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
    return RewriteScores(
        loss=loss, rouge1=float(np.mean(overlaps)), bleu=_bleu(rewritten, originals), n_w=same / max(counted, 1)
    )


def _spell(model: Rewriter, ids: NDArray[np.integer]) -> str:
    entries = model.embedding.vocabulary.words
    return " ".join(entries[int(i)] for i in ids)


def _bleu(texts: list[str], references: list[str]) -> float | None:
    try:
        sacrebleu = importlib.import_module("sacrebleu")
    except ImportError:
        return None
    return float(sacrebleu.corpus_bleu(texts, [references], tokenize="none", force=True).score)
