"""Block masses, or their ceilings, of inputs already seen, kept for one batch job on the owner's machine.

A cache keyed by the true word would show in the timing of later requests, so it belongs to a job and dies with it;
a service never uses one. It changes no draw: a kept row holds the same numbers that would be computed again. Threads
may share it.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import Any
from weakref import WeakSet

import numpy as np

from wordveil.arrays import Float32Array, IdArray

_CACHES: WeakSet[RowCache] = WeakSet()


class RowCache:
    """Keeps the block masses of the first inputs seen, up to a memory limit.

    A copy, also by pickling, is empty: what was seen does not travel.

    Args:
        vocabulary: Number of possible inputs v.
        blocks: Masses per input.
        limit_bytes: Most memory the masses may take.
    """

    def __init__(self, vocabulary: int, blocks: int, limit_bytes: int) -> None:
        self._limits = vocabulary, blocks, limit_bytes
        self._slot = np.full(vocabulary, -1, dtype=np.int32)
        self._capacity = min(vocabulary, max(0, limit_bytes // (4 * blocks)))
        self._rows = np.empty((self._capacity, blocks), dtype=np.float32)  # pages are taken as they fill
        self._used = 0
        self._lock = Lock()  # two threads at once would take the same places, and a word get another's row
        _CACHES.add(self)

    def holds(self, ids: IdArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which inputs are kept; more may be by the time that the answer is looked at, never fewer."""
        return np.asarray(self._slot[ids] >= 0)

    def rows(self, ids: IdArray) -> Float32Array | None:
        """Return the masses of inputs that are all kept, shape (n, blocks); None where one of them is not."""
        with self._lock:
            slots = self._slot[ids]
            return None if np.any(slots < 0) else self._rows[slots]

    def keep(self, ids: IdArray, masses: Float32Array) -> None:
        """Keep the masses of inputs, none twice, while there is room; those that are kept already stay as they are."""
        with self._lock:
            new = np.flatnonzero(self._slot[ids] < 0)[: self._capacity - self._used]
            places = np.arange(self._used, self._used + len(new), dtype=np.int32)
            self._rows[places] = masses[new]
            self._slot[ids[new]] = places
            self._used += len(new)

    def renew(self) -> None:
        """Begin anew in a forked process: a thread that stayed behind may have held the lock in the middle of a row."""
        RowCache.__init__(self, *self._limits)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowCache, self._limits


def _renew_all() -> None:
    for cache in list(_CACHES):
        cache.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
