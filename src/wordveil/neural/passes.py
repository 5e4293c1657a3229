"""How often a private sentence went through the noise, and what that many releases of it promise together.

Every pass draws afresh, so every pass is one more release of the same sentence: epsilons and deltas add. A training
epoch is one pass over each of its sentences. Passes over public text cost nothing and are not counted here.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Protocol

from wordveil.errors import ParameterError
from wordveil.promises.guarantees import Guarantee, compose_releases

__all__ = ["KEY_BYTES", "PassCounter", "Passes", "all_passes", "text_digest"]

KEY_BYTES = 32
DIGEST_BYTES = 16


def text_digest(text: str, key: bytes) -> bytes:
    """Return what stands for a text where passes are counted: equal texts have one, and only the key can make it."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=DIGEST_BYTES).digest()


class Passes(Protocol):
    """Whatever counts passes: in memory, or in a file (`pass_records`)."""

    @property
    def largest(self) -> int:
        """The most passes that any one sentence may have gone through."""

    def count(self, sentences: Sequence[Hashable] | None) -> None:
        """Add one pass over these sentences, or over all where they are not named."""


def all_passes(passes: Passes, guarantee: Guarantee) -> Guarantee | None:
    """Return what all passes together promise for one token of the worst sentence; None before the first pass.

    Args:
        passes: The counted passes.
        guarantee: The promise of one pass.
    """
    return compose_releases([guarantee] * passes.largest) if passes.largest else None


class PassCounter:
    """Counts passes over private sentences by key; without keys a pass counts for every sentence there is.

    Keys are held in memory only: what is saved is the largest count. Equal sentences must have equal keys.
    """

    def __init__(self, largest: int = 0) -> None:
        if largest < 0:
            raise ParameterError("largest", largest, "must be at least 0.")
        self._common = largest
        self._own: Counter[Hashable] = Counter()
        self._lock = threading.Lock()  # replicas of a layer count together

    def count(self, sentences: Sequence[Hashable] | None) -> None:
        """Add one pass over these sentences, or over all where they are not named; a key given twice counts twice."""
        with self._lock:
            if sentences is None:
                self._common += 1
            else:
                self._own.update(sentences)

    @property
    def largest(self) -> int:
        """The most passes that any one sentence may have gone through."""
        return self._common + max(self._own.values(), default=0)
