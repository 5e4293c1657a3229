"""How often English words occur: counts in public text that come with the embedded vocabulary.

    default/counts.npy   (32 001,) uint32: occurrences of every embedded word, then of all other tokens

Counted by tools/build_frequencies.py in 328 000 sentences under CC0 or in the public domain (see NOTICE): old novels,
government writing, speeches and contributed sentences. A public fact, never an estimate from private text.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.vocabulary.packaged import PACKAGED_FOLDER, load_array
from wordveil.vocabulary.table import Embeddings, load_embeddings

__all__ = ["COUNTS_FILE", "word_frequencies"]

COUNTS_FILE = PACKAGED_FOLDER / "counts.npy"


@cache
def _listed() -> tuple[Embeddings, Float64Array]:
    """Return the embedded vocabulary and the counts of its words and of everything else, shape (32 001,)."""
    embeddings = load_embeddings()
    counts = load_array(COUNTS_FILE, np.uint32, (len(embeddings) + 1,))
    return embeddings, counts.astype(np.float64)


def word_frequencies(embeddings: Embeddings, *, smoothing: float = 0.0) -> Float64Array:
    """Return each word's share of the tokens of public English text, shape (v,).

    (count + smoothing) / (tokens + smoothing * v). An entry of another vocabulary takes the count of the embedded
    word of the same spelling, else of its lower-case spelling; an entry that is neither has count 0.

    Args:
        embeddings: Any vocabulary.
        smoothing: Added to every count, at least 0; above 0 no share is 0.

    Example:
        >>> from wordveil import load_embeddings
        >>> table = load_embeddings()
        >>> shares = word_frequencies(table)
        >>> bool(shares[table.id("the")] > 100 * shares[table.id("diabetes")] > 0)
        True
    """
    listed, counts = _listed()
    words = list(embeddings.words)
    ids = listed.ids(words)
    ids = np.where(ids < 0, listed.ids([word.lower() for word in words]), ids)
    found = np.where(ids < 0, 0.0, counts[ids])
    return np.asarray((found + smoothing) / (counts.sum() + smoothing * len(found)))
