"""Public words chosen by a fixed public rule: what private texts hold has no part in the choice."""

from __future__ import annotations

import numpy as np

from wordveil.arrays import IdArray
from wordveil.randomness import RandomSource
from wordveil.vocabulary.table import Embeddings

SAMPLE = 1000


def public_sample(embeddings: Embeddings, size: int = SAMPLE) -> IdArray:
    """Return `size` candidate ids drawn uniformly without replacement by a fixed public rule (all, where fewer)."""
    candidates = embeddings.candidates
    if len(candidates) <= size:
        return candidates
    uniforms = RandomSource.public("public sample").lane(0).random(len(candidates))
    return np.sort(candidates[np.argsort(uniforms, kind="stable")[:size]])
