"""The whole (epsilon, delta) curve of a pair, with a band that holds at every epsilon at once.

The lower edge trusts nothing: each point is certified by an event chosen on other samples (Bonferroni over the
events), and an event certified at one epsilon bounds delta at all. The upper edge exists only where the law is known
and trusted: with L the log-likelihood ratio, delta(e) = E[(1 - exp(e - L))_+] over outputs of the favoured input,
a mean of a variable in [0, 1], bounded by Clopper-Pearson after rounding each value to 0 or 1 at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.auditing.intervals import lower_bound, upper_bound


@dataclass(frozen=True, kw_only=True)
class TradeOff:
    """A simultaneous confidence band for delta(epsilon), the larger of both orders.

    Attributes:
        epsilons: Shape (m,), nats, ascending.
        lower: Shape (m,), certified whatever the law.
        upper: Shape (m,), or None where the law is not known; holds if the mechanism draws from the claimed law.
        alpha: Chance, at most, that the band misses the curve anywhere.
    """

    epsilons: Float64Array
    lower: Float64Array
    upper: Float64Array | None
    alpha: float

    def as_dict(self) -> dict[str, Any]:
        """Return lists, ready for JSON."""
        upper = None if self.upper is None else self.upper.tolist()
        return {"epsilon": self.epsilons.tolist(), "lower": self.lower.tolist(), "upper": upper, "alpha": self.alpha}


def trade_off(
    chosen: tuple[Float64Array, Float64Array],
    fresh: tuple[Float64Array, Float64Array],
    *,
    epsilons: Float64Array,
    alpha: float,
    exact: bool,
    generator: np.random.Generator,
) -> TradeOff:
    """Return the band at the given epsilons.

    Args:
        chosen: Scores of the first and second input from which thresholds are chosen.
        fresh: Scores of the two from which they are certified.
        epsilons: Shape (m,), ascending.
        alpha: Chance, at most, of a miss anywhere.
        exact: Whether the score is the log-likelihood ratio of the claimed law.
        generator: For random rounding in the upper edge.
    """
    share = alpha / 2 if exact else alpha
    lower = np.zeros(len(epsilons))
    factors = np.exp(np.minimum(epsilons, 700.0))
    for (a, b), (fresh_a, fresh_b) in ((chosen, fresh), ((-chosen[1], -chosen[0]), (-fresh[1], -fresh[0]))):
        thresholds = _best_thresholds(np.sort(a), np.sort(b), factors, share / (4 * len(epsilons)))
        hits = [len(part) - np.searchsorted(np.sort(part), thresholds, side="left") for part in (fresh_a, fresh_b)]
        favoured = lower_bound(hits[0], len(fresh_a), share / (4 * len(epsilons)))
        other = upper_bound(hits[1], len(fresh_b), share / (4 * len(epsilons)))
        lower = np.maximum(lower, (favoured[None, :] - factors[:, None] * other[None, :]).max(axis=1))
    upper = _upper(fresh, epsilons, share, generator) if exact else None
    return TradeOff(epsilons=epsilons, lower=lower, upper=upper, alpha=alpha)


def _best_thresholds(a: Float64Array, b: Float64Array, factors: Float64Array, alpha: float) -> Float64Array:
    candidates = np.unique(np.concatenate([a, b])[:: max(1, (len(a) + len(b)) // 2000)])
    rates = [1 - np.searchsorted(part, candidates, side="left") / len(part) for part in (a, b)]
    low = lower_bound(rates[0] * len(a), len(a), alpha)
    high = upper_bound(rates[1] * len(b), len(b), alpha)
    return np.asarray(candidates[(low[None, :] - factors[:, None] * high[None, :]).argmax(axis=1)])


def _upper(
    fresh: tuple[Float64Array, Float64Array], epsilons: Float64Array, alpha: float, generator: np.random.Generator
) -> Float64Array:
    edges = []
    for losses in (fresh[0], -fresh[1]):
        uniform = generator.random(len(losses))
        # (1 - exp(e - L))_+ > u  <=>  L > e - ln(1 - u): one sort answers every epsilon.
        reach = np.sort(losses + np.log1p(-uniform))
        hits = len(reach) - np.searchsorted(reach, epsilons, side="right")
        edges.append(upper_bound(hits, len(reach), alpha / (2 * len(epsilons))))
    # delta(epsilon) never rises, so a bound at a smaller epsilon holds at a larger one.
    return np.minimum.accumulate(np.maximum(edges[0], edges[1]))
