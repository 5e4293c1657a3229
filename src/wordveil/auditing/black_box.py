"""Statistical audit of one pair of inputs: bounds that hold whatever the mechanism is.

Samples are cut into three: a quarter to fit scores, a quarter to choose one event for epsilon and one for delta, half
to count them. The counts were never seen when the events were chosen, so Clopper-Pearson bounds on them
are exact. Both orders of the pair are candidates. Not covered: dependence between samples (`reuse` checks that first).

The whole (epsilon, delta) curve of a pair has a band that holds at every epsilon at once. Its lower edge trusts
nothing: each point is certified by an event chosen on other samples (Bonferroni over the events), and an event
certified at one epsilon bounds delta at all. The upper edge exists only where the law is known and trusted: with L the
log-likelihood ratio, delta(e) = E[(1 - exp(e - L))_+] over outputs of the favoured input, a mean of a variable in
[0, 1], bounded by Clopper-Pearson after rounding each value to 0 or 1 at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array, Int64Array
from wordveil.auditing.intervals import EventCounts, check_alpha, lower_bound, upper_bound
from wordveil.auditing.scorers import Score, Scorer, scorers_for
from wordveil.auditing.subjects import Subject
from wordveil.parameters import check_whole
from wordveil.promises.relations import Pair

CHUNK_VALUES = 1 << 22  # output values held at a time: 32 MiB
FIT_VALUES = 1 << 23  # output values kept for fitting scores
SMALLEST = 200
COARSE, FINE = 400, 200  # thresholds tried: over all scores, then around the best of those


@dataclass(frozen=True, kw_only=True)
class Event:
    """score >= threshold (or below it), and which input it speaks for."""

    scorer: str  # name of the score
    threshold: float  # in the score's units
    # False: the event is score >= threshold and the first input's probability is the larger one; True: score <
    # threshold and the second's
    swapped: bool

    def counts(self, first: Float64Array, second: Float64Array, alpha: float) -> EventCounts:
        hits = [int(np.count_nonzero(scores >= self.threshold)) for scores in (first, second)]
        if self.swapped:
            hits = [len(second) - hits[1], len(first) - hits[0]]
        return EventCounts(hits_first=hits[0], hits_second=hits[1], n=len(first), alpha=alpha)


@dataclass(frozen=True, kw_only=True)
class PairAudit:
    """What the samples of one pair prove."""

    pair: Pair  # the inputs and the claim
    samples: int  # samples of each input, all three parts together
    alpha: float  # chance, at most, that any bound here (the curve's excepted, which states its own) is wrong
    epsilon_event: Event  # the event that bounds epsilon
    epsilon_counts: EventCounts  # its counts
    delta_event: Event  # the event that bounds delta at the claimed epsilon (at 0 where nothing is claimed)
    delta_counts: EventCounts  # its counts
    curve: TradeOff | None = None  # the trade-off band, where asked for

    @property
    def epsilon_at_least(self) -> float:
        """Certified lower bound on the pair's loss in nats, given the claimed delta."""
        return self.epsilon_counts.epsilon_at_least(self.pair.delta)

    @property
    def delta_at_least(self) -> float:
        """Certified lower bound on delta at the claimed epsilon (at epsilon 0 where nothing is claimed)."""
        return self.delta_counts.delta_at_least(self.pair.epsilon or 0.0)

    @property
    def refuted(self) -> bool:
        if self.pair.epsilon is None:
            return False
        return self.epsilon_at_least > self.pair.epsilon or self.delta_at_least > self.pair.delta

    def as_dict(self) -> dict[str, Any]:
        return {
            "pair": self.pair.label,
            "distance": self.pair.distance,
            "claimed_epsilon_nats": self.pair.epsilon,
            "claimed_delta": self.pair.delta,
            "samples_each": self.samples,
            "alpha": self.alpha,
            "epsilon_at_least": self.epsilon_at_least,
            "delta_at_least": self.delta_at_least,
            "refuted": self.refuted,
            "epsilon_event": {**vars(self.epsilon_event), **self.epsilon_counts.as_dict()},
            "delta_event": {**vars(self.delta_event), **self.delta_counts.as_dict()},
            "curve": None if self.curve is None else self.curve.as_dict(),
        }


Objective = Callable[[Float64Array, Float64Array], Float64Array]
"""(lower bounds on the favoured input's probability, upper bounds on the other's) to a value to be maximized."""


def audit_pair(
    subject: Subject,
    pair: Pair,
    *,
    samples: int,
    alpha: float,
    scorers: Sequence[Scorer] | None = None,
    classifier: bool = False,
    curve_points: int = 0,
    seed: int = 0,
) -> PairAudit:
    """Bound epsilon and delta of one pair from below, from so many samples of each input, at least 200.

    A bound is wrong with chance alpha at most. None for scorers takes those that apply; 0 curve points make no
    trade-off band, whose upper edge is rounded by the seed: no bound depends on its choice. `ParameterError` if samples
    or alpha is out of range.
    """
    check_alpha(alpha)
    check_whole("samples", samples, SMALLEST)
    scorers = scorers_for(subject, pair, classifier=classifier) if scorers is None else list(scorers)
    quarter = samples // 4
    scores = _fit(subject, pair, scorers, quarter)
    chosen = [_scores(subject, x, quarter, scores) for x in (pair.first, pair.second)]
    share = alpha / (2 * (2 if curve_points else 1))
    n = samples - 2 * quarter
    events = []
    factor = math.exp(min(pair.epsilon or 0.0, 700.0))
    objectives: tuple[Objective, Objective] = (
        lambda favoured, other: np.log(np.maximum(favoured - pair.delta, 1e-300) / other),
        lambda favoured, other: favoured - factor * other,
    )
    for objective in objectives:
        found = [
            (*choose_event(chosen[0][i], chosen[1][i], objective, n, share, scorer.name), i)
            for i, scorer in enumerate(scorers)
        ]
        events.append(max(found, key=lambda item: item[0])[1:])
    (epsilon_event, epsilon_score), (delta_event, delta_score) = events
    known = next((i for i, scorer in enumerate(scorers) if scorer.known), None)
    of_curve = delta_score if known is None or not curve_points else known
    used = sorted({epsilon_score, delta_score, of_curve})
    fresh = [_scores(subject, x, n, [scores[i] for i in used]) for x in (pair.first, pair.second)]
    at = {i: (fresh[0][place], fresh[1][place]) for place, i in enumerate(used)}
    curve = None
    if curve_points:
        curve = trade_off(
            (chosen[0][of_curve], chosen[1][of_curve]),
            at[of_curve],
            epsilons=np.linspace(0.0, 1.25 * (pair.epsilon or 4.0), curve_points),
            alpha=alpha / 2,
            exact=known is not None,
            generator=np.random.default_rng(seed),
        )
    return PairAudit(
        pair=pair,
        samples=samples,
        alpha=2 * share,
        epsilon_event=epsilon_event,
        epsilon_counts=epsilon_event.counts(*at[epsilon_score], share),
        delta_event=delta_event,
        delta_counts=delta_event.counts(*at[delta_score], share),
        curve=curve,
    )


def _fit(subject: Subject, pair: Pair, scorers: Sequence[Scorer], n: int) -> list[Score]:
    if all(scorer.known for scorer in scorers):
        empty = np.empty((0, 1))
        return [scorer.fit(empty, empty) for scorer in scorers]
    width = 1 if subject.discrete else subject.sample(pair.first, 2).shape[1]
    n = min(n, max(100, FIT_VALUES // width))
    step = max(1, CHUNK_VALUES // width)
    outputs = [
        np.concatenate([subject.sample(x, min(step, n - start)) for start in range(0, n, step)])
        for x in (pair.first, pair.second)
    ]
    return [scorer.fit(*outputs) for scorer in scorers]


def _scores(subject: Subject, private: Any, n: int, scores: Sequence[Score]) -> Float64Array:
    """Return fresh scores, shape (number of scores, n), without holding all outputs."""
    out = np.empty((len(scores), n))
    start, step = 0, 1024
    while start < n:
        outputs = subject.sample(private, min(step, n - start))
        for i, score in enumerate(scores):
            out[i, start : start + len(outputs)] = score(outputs)
        start += len(outputs)
        step = max(1, CHUNK_VALUES // max(1, outputs.size // len(outputs)))
    return out


def choose_event(
    first: Float64Array, second: Float64Array, objective: Objective, n: int, alpha: float, scorer: str
) -> tuple[float, Event]:
    """Choose the threshold and order that promise the best bound from n counted samples; return (promise, event)."""
    ordered = [np.sort(first), np.sort(second)]
    pooled = np.sort(np.concatenate(ordered))
    found = []
    for swapped in (False, True):

        def promise(places: Int64Array, swapped: bool = swapped) -> Float64Array:
            at_least = [len(part) - np.searchsorted(part, pooled[places], side="left") for part in ordered]
            hits = (len(second) - at_least[1], len(first) - at_least[0]) if swapped else (at_least[0], at_least[1])
            scale = n / len(first)
            return objective(lower_bound(hits[0] * scale, n, alpha / 2), upper_bound(hits[1] * scale, n, alpha / 2))

        coarse = _places(len(pooled))
        i = int(promise(coarse).argmax())
        low, high = coarse[max(i - 1, 0)], coarse[min(i + 1, len(coarse) - 1)]
        fine = np.unique(np.linspace(low, high, FINE).astype(np.int64))
        values = promise(fine)
        j = int(values.argmax())
        threshold = float(pooled[fine[j]])
        found.append((float(values[j]), Event(scorer=scorer, threshold=threshold, swapped=swapped)))
    return max(found, key=lambda item: item[0])


def _places(size: int) -> Int64Array:
    """Return places in the sorted scores to try first: an even grid, and a finer and finer one towards both ends."""
    last = size - 1
    tails = np.unique(np.geomspace(1, size, 80).astype(np.int64)) - 1
    return np.unique(np.concatenate([np.linspace(0, last, COARSE).astype(np.int64), tails, last - tails]))


@dataclass(frozen=True, kw_only=True)
class TradeOff:
    """A simultaneous confidence band for delta(epsilon), the larger of both orders."""

    epsilons: Float64Array  # shape (m,), nats, ascending
    lower: Float64Array  # shape (m,), certified whatever the law
    upper: Float64Array | None  # shape (m,), if the mechanism draws from the claimed law; None without a law
    alpha: float  # chance, at most, that the band misses the curve anywhere

    def as_dict(self) -> dict[str, Any]:
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
    """Return the band at the given epsilons, shape (m,), ascending; it misses the curve with a chance of alpha at most.

    Thresholds come from the chosen scores of both inputs and are certified by the fresh ones. `exact` says that the
    score is the log-likelihood ratio of the claimed law; the generator rounds at random in the upper edge.
    """
    share = alpha / 2 if exact else alpha
    lower = np.zeros(len(epsilons))
    factors = np.exp(np.minimum(epsilons, 700.0))

    def certain(a: Float64Array, b: Float64Array, thresholds: Float64Array) -> Float64Array:
        hits = [len(part) - np.searchsorted(np.sort(part), thresholds, side="left") for part in (a, b)]
        favoured = lower_bound(hits[0], len(a), share / (4 * len(epsilons)))
        other = upper_bound(hits[1], len(b), share / (4 * len(epsilons)))
        return np.asarray(favoured[None, :] - factors[:, None] * other[None, :])

    for (a, b), drawn in ((chosen, fresh), ((-chosen[1], -chosen[0]), (-fresh[1], -fresh[0]))):
        candidates = np.unique(np.concatenate([np.sort(a), np.sort(b)])[:: max(1, (len(a) + len(b)) // 2000)])
        thresholds = candidates[certain(a, b, candidates).argmax(axis=1)]
        lower = np.maximum(lower, certain(*drawn, thresholds).max(axis=1))
    upper = _upper(fresh, epsilons, share, generator) if exact else None
    return TradeOff(epsilons=epsilons, lower=lower, upper=upper, alpha=alpha)


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
