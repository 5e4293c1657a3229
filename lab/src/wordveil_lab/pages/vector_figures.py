"""The figures of mechanisms that clip to a ball, and of additive noise in a metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Literal

import numpy as np

import wordveil.api as wv
from wordveil_lab.pages.figure_values import (
    DELTA,
    Case,
    Figure,
    Sampling,
    Series,
    audited,
    curve,
    figure,
    places,
    series_at,
    solve_epsilon,
)


def case(
    place: float,
    randomizer: wv.VectorRandomizer,
    ends: Sequence[wv.Float64Array],
    claim: tuple[float, float],
    sampling: Any,
) -> Case:
    """Return one pair of vectors to audit at a place of the axis, on a grid as releases are."""
    subject = wv.OnGrid(wv.VectorSubject(randomizer, sampling.source()), ends[0])
    pair = wv.Pair(first=ends[0], second=ends[1], label=f"at {place:g}", epsilon=claim[0], delta=claim[1])
    return place, subject, pair


def across(
    make: Callable[[float], wv.VectorMechanism],
    marks: Sequence[float],
    d: int,
    sampling: Sampling,
    delta: float = DELTA,
) -> list[Case]:
    """Return two ends of a diameter of the ball to audit, for a mechanism at each of some claimed epsilons."""
    end = np.full(d, 1 / math.sqrt(d))
    return [case(e, make(e).for_dimensions(d), (end, -end), (e, delta), sampling) for e in marks]


@cache
def profile(epsilon: float, d: int) -> Callable[[float], float]:
    """Return the loss at delta of multivariate Laplace noise, as a function of the distance; values are kept."""
    return cache(lambda t: wv.laplace_epsilon(DELTA, dimensions=d, loss=epsilon * t))


def laplace(sampling: Sampling) -> Figure:
    """Multivariate Laplace at epsilon 1: the metric-DP line, the exact profile, audits in ten dimensions."""
    d, grid = 10, places(0.25, 12)
    randomizer = wv.MultivariateLaplace(epsilon=1.0).for_dimensions(d)
    axis = np.eye(d)[0]
    cases = [case(t, randomizer, (0 * axis, t * axis), (t, DELTA), sampling) for t in (1.0, 2.0, 4.0, 8.0, 12.0)]
    return figure(
        "laplace",
        sampling,
        curve("claimed, delta 0", "claimed", grid, lambda t: t),
        curve(f"certified at delta {DELTA:g}, {d} dimensions", "certified", grid, profile(1.0, d)),
        curve(f"certified at delta {DELTA:g}, 128 dimensions", "certified", grid, profile(1.0, 128)),
        *audited(f"audited, {d} dimensions", cases, sampling),
        d=d,
    )


def mahalanobis(table: wv.Embeddings, sampling: Sampling) -> Figure:
    """Mahalanobis noise on the first ten columns of a table, along the direction with the least noise."""
    d = 10
    few = wv.Embeddings.from_arrays(list(table.words), np.ascontiguousarray(table.vectors[:, :d]))
    randomizer = wv.Mahalanobis(epsilon=1.0, lam=0.5).fit(few)
    _, axes = np.linalg.eigh(randomizer.root)
    worst, rate, grid = axes[:, 0] / np.linalg.norm(axes[:, 0]), randomizer.euclidean_epsilon, places(0.25, 12)
    cases = [
        case(t, randomizer, (0 * worst, t * worst), (rate * t, DELTA), sampling) for t in (1.0, 2.0, 4.0, 8.0, 12.0)
    ]
    return figure(
        "mahalanobis",
        sampling,
        curve("claimed, in Euclidean terms", "claimed", grid, lambda t: rate * t),
        curve(f"certified at delta {DELTA:g}", "certified", grid, profile(rate, d)),
        curve("epsilon read as if Euclidean: too low", "refuted", grid, lambda t: t),
        *audited("audited", cases, sampling),
        words=len(few),
        d=d,
        rate=rate,
    )


def clipped_laplace(sampling: Sampling) -> Figure:
    """Clipped Laplace: local DP that a diameter attains."""
    grid, marks = places(0.25, 12), (1.0, 2.0, 4.0, 8.0, 12.0)
    lines: list[Series] = []
    for d in (1, 50):
        cases = across(lambda e: wv.ClippedLaplace(epsilon=e), marks, d, sampling)
        lines += audited(f"audited, {d} dimension{'s' if d > 1 else ''}", cases, sampling)
    claimed = curve("claimed, delta 0", "claimed", grid, lambda e: e)
    certified = curve(f"certified at delta {DELTA:g}, 1 dimension", "certified", grid, profile(1.0, 1))
    return figure("clipped-laplace", sampling, claimed, certified, *lines)


def clipped_l2(sampling: Sampling) -> Figure:
    """Clipped l2: calibrated by its profile, which a diameter spends."""
    d, grid, marks = 50, places(0.5, 16, log=True), (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    cases = across(lambda e: wv.ClippedL2(epsilon=e, delta=DELTA), marks, d, sampling)
    with_delta, without = (wv.ClippedL2(epsilon=8.0, delta=delta).for_dimensions(d).deviation for delta in (DELTA, 0.0))
    claimed = curve("claimed, attained", "claimed", grid, lambda e: e)
    measured = audited("audited", cases, sampling)
    return figure("clipped-l2", sampling, claimed, *measured, d=d, pure=without / with_delta)


def clipped_gaussian(sampling: Sampling) -> Figure:
    """Clipped Gaussian: the analytic scale is exact, the classical one wrong for large epsilon."""
    d, grid = 50, places(0.5, 32, log=True)

    def exact(e: float) -> float:
        scale = wv.ClippedGaussian(epsilon=e, delta=DELTA, calibration="classical", allow_refuted=True).unit_scale
        return solve_epsilon(lambda x: wv.gaussian_log_delta(x, scale), DELTA)

    def cases(calibration: Literal["analytic", "classical"], marks: Sequence[float]) -> Any:
        make = partial(wv.ClippedGaussian, calibration=calibration, allow_refuted=True)
        return across(lambda e: make(epsilon=e), marks, d, sampling)

    classical = [(e, exact(e)) for e in grid]
    return figure(
        "clipped-gaussian",
        sampling,
        curve("claimed; analytic: attained", "claimed", grid, lambda e: e),
        series_at("classical, exact: holds", "certified", [p for p in classical if p[1] <= p[0]], line=True),
        series_at("classical, exact: refuted", "refuted", [p for p in classical if p[1] > p[0]], line=True),
        *audited("audited, analytic", cases("analytic", (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)), sampling),
        *audited("audited, classical", cases("classical", (16.0, 32.0)), sampling),
        d=d,
    )


def truncated_laplace(sampling: Sampling) -> Figure:
    """Truncated Laplace: certified as claimed, published refuted at the setting of its paper."""
    d, published, grid = 300, 4.0**-300, places(0.1, 8, log=True)
    marks = (0.1, 1.0, 5.0, 8.0)

    def cases(calibration: Literal["certified", "published"], delta: float) -> Any:
        make = partial(
            wv.TruncatedLaplace, delta=delta, calibration=calibration, allow_refuted=calibration == "published"
        )
        return across(lambda e: make(epsilon=e), marks, d, sampling, delta)

    widths = [
        wv.TruncatedLaplace(epsilon=e, delta=published, calibration="published", allow_refuted=True).for_dimensions(d)
        for e in marks
    ]
    deltas = [wv.largest_delta(d, e, w.half_width) for e, w in zip(marks, widths, strict=True)]
    notes, high = [f"{math.ceil(x * 1e4) / 1e4:.4f}" for x in deltas], [(e, 40.0) for e in marks]
    return figure(
        "truncated-laplace",
        sampling,
        curve("claimed", "claimed", grid, lambda e: e),
        curve(f"certified at delta {DELTA:g}", "certified", grid, lambda e: e),
        series_at("published: no loss bound holds; exact delta", "refuted", high, notes=notes),
        *audited("audited, published", cases("published", published), sampling, deltas=True),
        *audited("audited, certified", cases("certified", DELTA), sampling),
        d=d,
    )


def projection(table: wv.Embeddings, sampling: Sampling) -> Figure:
    """Projection to 16 dimensions with the exact stretch, and the published plan's true stretch."""
    m, epsilon = 16, 5.0
    randomizer = wv.Projection(epsilon=epsilon, dimensions=m).fit(table)
    published = wv.Projection(epsilon=epsilon, sensitivity="published").fit(table)
    share = wv.exact_stretch(table.vectors, published.matrix) / published.stretch
    rows = table.vectors[:300].astype(np.float64)
    lengths = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    images = rows @ randomizer.matrix.T
    stretches = np.linalg.norm(images[:, None] - images[None], axis=2) / np.where(lengths > 0, lengths, np.inf)
    cases = []
    for t in (0.5, 1.0, 1.5, 2.0, 2.4):
        # The most stretched pair of words at about this distance.
        near = np.where(np.abs(lengths - t) < 0.2, stretches, 0.0)
        i, j = np.unravel_index(int(near.argmax()), near.shape)
        length = float(lengths[i, j])
        cases.append(case(length, randomizer, (rows[i], rows[j]), (epsilon * length, DELTA), sampling))
    grid = places(0.1, 2.6)
    plan = f"published plan ({published.dimensions} dimensions): exact, delta 0"
    return figure(
        "projection",
        sampling,
        curve("claimed; exact stretch: certified, delta 0", "claimed", grid, lambda t: epsilon * t),
        curve(f"certified at delta {DELTA:g}, {m} dimensions", "certified", grid, profile(epsilon, m)),
        curve(plan, "certified", grid, lambda t: share * epsilon * t),
        *audited("audited", cases, sampling),
        **{"epsilon": epsilon, "words": len(table), "d": table.dimensions, "m": m, "percent": 100 * share},
    )
