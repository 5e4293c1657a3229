"""How much of one text's wording comes back in another: ROUGE-1 and BLEU.

What overlaps with a private text was not protected: these are utility and leakage at once. For meaning rather than
wording see `bert_score`.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Sequence

from wordveil_lab.extras import missing_extra

__all__ = ["bleu", "rouge_1"]


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
    """Return the corpus BLEU of texts against one reference each, 0 to 100; the texts are split at spaces.

    Raises:
        MissingExtraError: If sacrebleu is not installed.
    """
    try:
        sacrebleu = importlib.import_module("sacrebleu")
    except ImportError:
        raise missing_extra("BLEU", "sacrebleu", "evaluation") from None
    return float(sacrebleu.corpus_bleu(list(texts), [list(references)], tokenize="none", force=True).score)
