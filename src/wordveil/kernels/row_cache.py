"""Block masses, or their ceilings, of inputs already seen, kept for one batch job on the owner's machine.

A cache keyed by the true word would show in the timing of later requests, so it belongs to a job and dies with it;
a service never uses one. It changes no draw: a kept row holds the same numbers that would be computed again.
"""

from __future__ import annotations

import numpy as np

from wordveil.arrays import Float32Array, IdArray

__all__ = ["RowCache"]


class RowCache:
    """Keeps the block masses of the first inputs seen, up to a memory limit.

    Args:
        vocabulary: Number of possible inputs v.
        blocks: Masses per input.
        limit_bytes: Most memory the masses may take.
    """

    def __init__(self, vocabulary: int, blocks: int, limit_bytes: int) -> None:
        self._slot = np.full(vocabulary, -1, dtype=np.int32)
        self._capacity = min(vocabulary, max(0, limit_bytes // (4 * blocks)))
        self._rows = np.empty((self._capacity, blocks), dtype=np.float32)  # pages are taken as they fill
        self._used = 0

    def holds(self, ids: IdArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which inputs are kept."""
        return np.asarray(self._slot[ids] >= 0)

    def rows(self, ids: IdArray) -> Float32Array:
        """Return the masses of inputs that are kept, shape (n, blocks)."""
        return self._rows[self._slot[ids]]

    def keep(self, ids: IdArray, masses: Float32Array) -> None:
        """Keep new inputs' masses while there is room; called from one thread only."""
        room = min(len(ids), self._capacity - self._used)
        places = np.arange(self._used, self._used + room, dtype=np.int32)
        self._rows[places] = masses[:room]
        self._slot[ids[:room]] = places
        self._used += room
