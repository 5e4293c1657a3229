"""Clopper-Pearson bounds, and what two event counts prove about epsilon and delta.

If a mechanism keeps P0(S) <= e^epsilon P1(S) + delta for every event S, then it does so for the one event we
counted; a lower confidence bound on P0(S) and an upper one on P1(S) therefore bound epsilon and delta from below.
The event must have been chosen without looking at these counts. Nothing here chooses events.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from wordveil.arrays import Float64Array
from wordveil.errors import ParameterError
from wordveil.parameters import check_delta


def check_alpha(alpha: float) -> None:
    """Raise `ParameterError` unless alpha is in (0, 1)."""
    check_delta(alpha, name="alpha")


def lower_bound(hits: ArrayLike, n: int, alpha: float) -> Float64Array:
    """Return the one-sided Clopper-Pearson lower bound on a probability from hits, any shape, of n independent trials.

    It exceeds the probability with chance alpha at most, and is 0 where there is no hit.
    """
    k = np.asarray(hits, dtype=np.float64)
    return np.where(k <= 0, 0.0, betaincinv(np.maximum(k, 1), n - np.maximum(k, 1) + 1, alpha))


def upper_bound(hits: ArrayLike, n: int, alpha: float) -> Float64Array:
    """Return the one-sided Clopper-Pearson upper bound on a probability; see `lower_bound`."""
    return 1.0 - lower_bound(n - np.asarray(hits, dtype=np.float64), n, alpha)


@dataclass(frozen=True, kw_only=True)
class EventCounts:
    """How often one fixed event happened under each of two inputs; `ParameterError` if a number is out of range."""

    hits_first: int  # hits among the samples of the input called first
    hits_second: int  # hits among the samples of the other input
    n: int  # independent samples of each
    alpha: float  # chance, at most, that either bound below is wrong; half of it for each probability

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if self.n < 1 or not (0 <= self.hits_first <= self.n and 0 <= self.hits_second <= self.n):
            raise ParameterError("hits", (self.hits_first, self.hits_second), f"must both be in [0, n], n={self.n}.")

    @property
    def first_at_least(self) -> float:
        return float(lower_bound(self.hits_first, self.n, self.alpha / 2))

    @property
    def second_at_most(self) -> float:
        return float(upper_bound(self.hits_second, self.n, self.alpha / 2))

    def delta_at_least(self, epsilon: float) -> float:
        """Return a lower bound on delta(epsilon), in [0, 1]."""
        if epsilon > 700:  # exp would overflow; the second probability has a positive upper bound
            return 0.0
        return max(0.0, self.first_at_least - math.exp(epsilon) * self.second_at_most)

    def epsilon_at_least(self, delta: float = 0.0) -> float:
        """Return a lower bound on the loss, in nats, of any (epsilon, delta) statement with this delta."""
        excess = self.first_at_least - delta
        return max(0.0, math.log(excess / self.second_at_most)) if excess > 0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {
            "hits_first": self.hits_first,
            "hits_second": self.hits_second,
            "samples_each": self.n,
            "alpha": self.alpha,
            "first_at_least": self.first_at_least,
            "second_at_most": self.second_at_most,
        }
