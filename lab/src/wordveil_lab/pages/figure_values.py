"""What a mechanism's plot shows, as values: curves and points of claimed, certified and audited loss on one axis.

Nothing is drawn here; `wordveil_lab.plots` does that. JSON round-trips exactly, so that pages can be rebuilt from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordveil.api import Pair, RandomSource, Subject, audit_pair, bracket
from wordveil_lab.package import told

DELTA = 1e-5
"""Hockey-stick delta at which certified and audited losses are shown."""
ALPHA = 1e-6
"""Chance, at most, that one audited bound is wrong."""
POINTS = 21


Case = tuple[float, Subject, Pair]
"""A pair to be audited, at its place on the axis."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One curve or one set of points."""

    label: str  # as the legend and the table say it
    kind: str  # "claimed", "certified", "audited", "refuted" or "unpromised"
    x: tuple[float, ...]  # places on the axis of the figure
    y: tuple[float, ...]  # losses in nats: bounds from above, but from below for "audited" and "unpromised"
    line: bool = False  # whether it is a curve
    notes: tuple[str, ...] = ()  # one text for each point, or none


@dataclass(frozen=True, kw_only=True)
class Figure:
    """The plot of one mechanism."""

    setting: str  # one sentence: parameters, inputs, samples
    axis: str  # label of the horizontal axis
    series: tuple[Series, ...]
    log: bool = False  # whether both axes are logarithmic
    reading: str = ""  # what to see in it

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Figure:
        """Rebuild a figure from `asdict` or its JSON."""
        lists = ("x", "y", "notes")
        series = ({**one, **{key: tuple(one[key]) for key in lists}} for one in values["series"])
        return cls(**{**values, "series": tuple(Series(**each) for each in series)})


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How hard the audits of the pages try."""

    samples: int | None = 10_000  # of each input; None leaves audits out, which makes figures quick
    seed: int = 1

    def source(self) -> RandomSource:
        """Return a repeatable source: a page must not change from run to run."""
        return RandomSource.seeded_for_tests(self.seed)


def figure(name: str, sampling: Sampling, *series: Series, **facts: Any) -> Figure:
    """Return a figure with the words that figures.toml has for it, braces filled."""
    known = {"samples": sampling.samples, "delta": DELTA, **facts}
    words = told("pages/figures.toml")[name].items()
    filled: dict[str, Any] = {key: word.format(**known) if isinstance(word, str) else word for key, word in words}
    return Figure(series=series, **filled)


def digits(value: float) -> float:
    """Return a number with eight significant digits: what the last bits of a machine's BLAS cannot change."""
    return float(f"{value:.8g}")


def series_at(
    label: str, kind: str, points: Iterable[tuple[float, float]], *, line: bool = False, notes: Sequence[str] = ()
) -> Series:
    """Return a series of some points, (place, loss) each."""
    known = [(digits(at), digits(loss)) for at, loss in points]
    x, y = (tuple(pair[i] for pair in known) for i in (0, 1))
    return Series(label=label, kind=kind, x=x, y=y, line=line, notes=tuple(notes))


def curve(label: str, kind: str, x: Sequence[float], loss: Callable[[float], float]) -> Series:
    """Return a series of the given function at the given places."""
    return series_at(label, kind, [(a, loss(a)) for a in x], line=True)


def audited(
    label: str, cases: Sequence[Case], sampling: Sampling, *, kind: str = "audited", deltas: bool = False
) -> tuple[Series, ...]:
    """Return certified lower bounds of the losses of pairs at their places; nothing where audits are left out.

    A pair's delta is the one that the bound grants. With `deltas` each point notes the certified lower bound of delta
    at the claimed epsilon.
    """
    if sampling.samples is None:
        return ()
    found = [audit_pair(subject, pair, samples=sampling.samples, alpha=ALPHA) for _, subject, pair in cases]
    losses = [(place, max(0.0, audit.epsilon_at_least)) for (place, _, _), audit in zip(cases, found, strict=True)]
    notes = [f"delta at least {audit.delta_at_least:.3f}" for audit in found] if deltas else ()
    return (series_at(label, kind, losses, notes=notes),)


def solve_epsilon(log_delta: Callable[[float], float], delta: float) -> float:
    """Return the smallest epsilon whose ln delta, non-increasing, is at most ln `delta`, rounded up within 1e-10."""
    low, high = 0.0, 1e-6
    while log_delta(high) > math.log(delta):
        low, high = high, 2 * high
        if high > 1e6:
            return math.inf
    return bracket(lambda epsilon: log_delta(epsilon) <= math.log(delta), low, high, 1e-10)[1]


def places(start: float, stop: float, *, log: bool = False) -> list[float]:
    """Return evenly spread places on an axis, on a logarithmic one by ratio."""
    return [digits(float(place)) for place in (np.geomspace if log else np.linspace)(start, stop, POINTS)]
