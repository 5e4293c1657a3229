"""What a history of releases comes to beside the plain sum of its losses: shown, and never what limits.

What is released next may depend on all that was seen, and a sum may be looked at whenever it is low. Both sums here
hold all the same, at all times at once, because the steps they may take are set beforehand, each with its share of the
probability that is left out.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from decimal import Decimal
from functools import lru_cache

import numpy as np
from scipy.special import betainc

from wordveil.service.costs import DELTA_UNITS, LARGEST, NAT_UNITS, nats

__all__ = ["advanced", "composed"]

LEFT_OUT = Decimal("0.000001")
"""Probability outside of which a sum holds, besides the releases' own deltas."""

LADDER = range(-80, 141)
"""Steps of `advanced`, in quarters of a power of two: from 1e-6 to beyond what squares can hold."""

COUNTS = sorted({math.ceil(2 ** (step / 16)) for step in range(16 * 30 + 1)})
"""Steps of `composed`, numbers of tokens: from 1 to 2^30."""

SAFETY = 1e-4  # of a chance, far above what floats and the functions below lose of it
TERMS = 1 << 15


def advanced(promise: str, squares: int, delta_units: int) -> dict[str, str] | None:
    """Return what a history costs by advanced composition: an epsilon, and the delta outside of which it holds.

    A loss of at most e nats is e^2/2-zCDP, these add up to r, and r-zCDP is a loss of at most r + 2 sqrt(r ln(1/delta))
    outside probability delta. The step taken is the first of `LADDER` that r does not exceed.

    Returns:
        None for metric DP, whose losses grow with a distance that this sum does not know, and for budgets spent from
        before squares were counted.

    Reference:
        Bun, Steinke (2016), Concentrated Differential Privacy, arXiv:1605.02065, Propositions 1.3 and 1.4; Whitehouse,
        Ramdas, Rogers, Wu (2023), Fully-Adaptive Composition in Differential Privacy, arXiv:2203.05481.
    """
    if squares >= LARGEST or json.loads(promise)["promise"] == "metric DP":
        return None
    rho = squares / NAT_UNITS / 2
    step = next(step for step in LADDER if rho <= 2 ** (step / 4)) if rho else None
    level = 0.0 if step is None else 2 ** (step / 4)
    epsilon = level + 2 * math.sqrt(level * math.log(len(LADDER) / float(LEFT_OUT)))
    whole = Decimal(math.ceil(epsilon * 1e6)) / 10**6  # far above what the floats lose
    return {"epsilon": f"{whole:f}", "delta": f"{LEFT_OUT + Decimal(delta_units) / DELTA_UNITS:f}"}


def composed(promise: str, loss: int, tokens: int, delta_units: int, spent: int) -> dict[str, str] | None:
    """Return what a history costs by its privacy loss distribution: an epsilon, and a delta outside of which it holds.

    Of any two inputs, a token that loses at most e nats tells no more than a coin that says which it is and is right
    with odds of e^e (randomized response): whatever the mechanism, its output can be drawn from that coin. So all that
    was seen after at most n tokens can be drawn from n coins tossed beforehand, whichever tokens were asked for, in
    whatever order and however few. The epsilon is what n coins lose outside a share of delta, exactly:
    delta(epsilon) = sum over h of P(h right) * max(0, 1 - exp(epsilon - e (2 h - n))). n is the first of `COUNTS` that
    the number of tokens does not exceed, e the loss of the first release: both are set before anything is seen. Where
    the plain sum is smaller, it is that.

    Returns:
        None for metric DP, where a later token lost more than the first, beyond 2^30 tokens, and for budgets spent from
        before tokens were counted.

    Reference:
        Kairouz, Oh, Viswanath (2015), The Composition Theorem for Differential Privacy, arXiv:1311.0776, Theorem 3.3
        (whose proof this is); docs/design/2026-11-22-service.md.
    """
    if tokens * loss < spent:  # by a release that nobody counted
        return None
    if tokens > COUNTS[-1] or loss >= LARGEST or json.loads(promise)["promise"] == "metric DP":
        return None
    epsilon = Decimal(nats(spent))
    if tokens:
        share = float(LEFT_OUT) / len(COUNTS)
        epsilon = min(epsilon, Decimal(_of_coins(loss / NAT_UNITS, COUNTS[bisect_left(COUNTS, tokens)], share)))
    return {"epsilon": f"{epsilon:f}", "delta": f"{LEFT_OUT + Decimal(delta_units) / DELTA_UNITS:f}"}


@lru_cache(maxsize=4096)
def _of_coins(loss: float, count: int, delta: float) -> str:
    """Return the smallest epsilon, rounded up to a millionth, that coins of a loss keep outside delta."""
    low, high = 0.0, count * loss * (1 + 1e-9)
    while high - low > 1e-7 * max(1.0, high):
        middle = (low + high) / 2
        low, high = (low, middle) if _beyond(middle, loss, count) <= delta else (middle, high)
    return f"{Decimal(math.ceil(high * 1e6)) / 10**6:f}"


def _beyond(epsilon: float, loss: float, count: int) -> float:
    """Return delta(epsilon) of so many coins, rounded up."""
    right = math.floor((epsilon / loss + count) / 2) + 1  # the fewest that lose more than epsilon
    if right > count:
        return 0.0
    chance = 1 / (1 + math.exp(-loss))
    tail = float(betainc(right, count - right + 1, chance))
    alone = tail - (float(betainc(right + 1, count - right, chance)) if right < count else 0.0)
    # exp(-loss of h) P(h) is the chance of h under the other input: a falling series, and what is cut off of it only
    # makes delta larger.
    h = np.arange(right, min(count, right + TERMS), dtype=np.float64)
    series = 1 + float(np.cumprod((count - h) / (h + 1) * math.exp(-loss)).sum())
    first = alone * math.exp(min(0.0, epsilon - loss * (2 * right - count)))
    return max(0.0, tail * (1 + SAFETY) - first * series * (1 - SAFETY))
