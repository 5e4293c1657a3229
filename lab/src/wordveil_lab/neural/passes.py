"""How often a private sentence went through the noise, and what that many releases of it promise together.

Every pass draws afresh, so every pass is one more release of the same sentence, and their losses add up. A training
epoch is one pass over each of its sentences. Passes over public text cost nothing and are not counted here. A counter
counts passes of one promise and refuses others: a number of passes says nothing unless each is known to cost the same.
A counter is of one process: what other processes pass is theirs to count, and their promises add up.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from wordveil.api import Guarantee, GuaranteeError, ParameterError, WordveilError


def promise_text(guarantee: Guarantee) -> str:
    """Return a promise with all its digits, as counters compare it."""
    return json.dumps(guarantee.as_dict(), sort_keys=True, default=str)


def check_promise(counted: str, promise: str) -> None:
    """Refuse to add passes of unlike promises: nobody could say what they come to.

    Raises:
        GuaranteeError: If passes were counted under another promise; "" stands for none yet.
    """
    if counted not in ("", promise):
        raise GuaranteeError(
            "These passes are counted under another promise: another mechanism, epsilon, vocabulary or source. "
            "Give each promise a counter or record of its own, and add up what they promise."
        )


def _keys(sentences: Any) -> list[Hashable]:
    """Return the keys of sentences as values that are equal where the keys are, also from tensors and arrays."""
    keys = [key.tolist() if hasattr(key, "tolist") else key for key in sentences]
    if not all(map(_is_key, keys)):
        raise ParameterError("sentences", "<hidden>", "must be keys that are str, bytes, int, or tuples of them.")
    return keys


def _is_key(key: object) -> bool:
    return all(map(_is_key, key)) if isinstance(key, tuple) else isinstance(key, str | bytes | int)


class PassCounter:
    """Counts passes over private sentences by key; without keys a pass counts for every sentence there is.

    Keys are held in memory only: what is saved is the largest count. Equal sentences must have equal keys. Every
    pass counts.
    """

    def __init__(self) -> None:
        self._name, self._process = os.urandom(16).hex(), os.getpid()
        self._common, self._promise = 0, ""
        self._others: dict[str, int] = {}
        self._own: Counter[Hashable] = Counter()
        self._lock = threading.Lock()  # replicas of a layer count together

    @property
    def promise(self) -> str:
        return self._promise

    def count(self, sentences: Sequence[Hashable] | None, *, promise: str) -> None:
        """Add one pass over these sentences, or over all where they are not named; a key given twice counts twice.

        Raises:
            WordveilError: In a fork of the process that made the counter.
            GuaranteeError: If passes were counted under another promise.
            ParameterError: If a key is no value that equal sentences share.
        """
        if os.getpid() != self._process:  # the process that made the counter would never learn of the pass
            raise WordveilError(
                "A forked process cannot count passes for the process it came from. Make the layer in the process that "
                "uses it, or give it a counter of its own, and add up what both promise."
            )
        keys = None if sentences is None else _keys(sentences)
        with self._lock:
            check_promise(self._promise, promise)
            self._promise = promise
            if keys is None:
                self._common += 1
            else:
                self._own.update(keys)

    @property
    def largest(self) -> int:
        """The most passes that any one sentence may have gone through; in a fork, those before it."""
        return sum(self.counts.values())

    @property
    def counts(self) -> Mapping[str, int]:
        """The largest count of each counter that has gone into this one, its own included, by the counter's name."""
        with self._lock:
            own = self._common + max(self._own.values(), default=0)
            # A counter that has counted nothing leaves no name: trainings on public text save equal bytes.
            return {**self._others, **({self._name: own} if own else {})}

    def add(self, counts: Mapping[str, int], promise: str) -> None:
        """Add what other counters have counted, as if all had passed one sentence."""
        if not any(counts.values()):
            return
        with self._lock:
            check_promise(self._promise, promise)
            self._promise = promise
            for name, count in counts.items():
                if name != self._name and count:  # its own has only grown since
                    self._others[name] = max(self._others.get(name, 0), int(count))
