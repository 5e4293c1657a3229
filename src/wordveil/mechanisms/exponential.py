"""The fitted form that every selection mechanism shares: P(y | x) proportional to b(y) exp(-rate * min(dist, cap)).

The mechanisms themselves (TEM, SanText) live in their own files; each chooses rate, cap and claim and returns a
`FittedExponential`. This module draws, gives the exact channel, and makes no claim of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.embeddings.table import Embeddings
from wordveil.errors import ParameterError
from wordveil.guarantees import Guarantee
from wordveil.kernels.selection import SelectionRows
from wordveil.mechanisms.base import Progress, WordRandomizer
from wordveil.randomness import Draws, Stream, words

__all__ = ["FittedExponential", "check_epsilon"]


@dataclass(frozen=True, kw_only=True)
class FittedExponential(WordRandomizer):
    """A selection mechanism bound to a vocabulary.

    Attributes:
        embeddings: The public vocabulary; outputs are its candidates.
        rows: The exact rows that draw.
        claim: The guarantee, computed by the mechanism that was fitted.
    """

    embeddings: Embeddings
    rows: SelectionRows
    claim: Guarantee
    draw_width: int = 2

    def guarantee(self) -> Guarantee:
        return self.claim

    def sample(self, stream: Stream, n: int) -> Draws:
        return (words(stream.lane(0), (n, 2)),)

    def randomize(
        self, ids: IdArray, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        return self.rows.draw(ids, draws[0], threads=threads, progress=progress)

    def channel(self) -> Float64Array:
        """Return the exact channel P(output | input), shape (v, number of candidates); for small vocabularies.

        Raises:
            ParameterError: If the matrix would exceed 2 GiB.
        """
        v, outputs = len(self.embeddings), len(self.rows.outputs)
        if 8 * v * outputs > 2**31:
            raise ParameterError("embeddings", f"{v} x {outputs}", "is too large for a whole channel (2 GiB at most).")
        weights = self.rows.weights(np.arange(v, dtype=np.int32))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def check_epsilon(epsilon: float) -> None:
    """Raise `ParameterError` unless epsilon is in (0, inf)."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError("epsilon", epsilon, "must be in (0, inf).")
