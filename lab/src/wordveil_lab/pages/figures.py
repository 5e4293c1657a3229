"""The figures of mechanisms: clipped noise, noise in a metric, noise or laws that depend on the word, and decoders."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

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

DISTANCES = (1.0, 2.0, 4.0, 8.0, 12.0)
"""Where pairs are audited; of a local mechanism its epsilons."""
SELECTION_EPSILON, DECODED_EPSILON = 5.0, 20.0


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
    make: Callable[..., Any], marks: Sequence[float], d: int, sampling: Sampling, delta: float = DELTA
) -> list[Case]:
    """Return two ends of a diameter of the ball to audit, for a mechanism at each of some claimed epsilons."""
    end = np.full(d, 1 / math.sqrt(d))
    return [case(e, make(epsilon=e).for_dimensions(d), (end, -end), (e, delta), sampling) for e in marks]


@cache
def profile(epsilon: float, d: int) -> Callable[[float], float]:
    """Return the loss at delta of multivariate Laplace noise, as a function of the distance; values are kept."""
    return cache(lambda t: wv.laplace_epsilon(DELTA, dimensions=d, loss=epsilon * t))


def laplace(sampling: Sampling) -> Figure:
    """Multivariate Laplace at epsilon 1: the metric-DP line, the exact profile, audits in ten dimensions."""
    d, grid = 10, places(0.25, 12)
    randomizer = wv.MultivariateLaplace(epsilon=1.0).for_dimensions(d)
    axis = np.eye(d)[0]
    cases = [case(t, randomizer, (0 * axis, t * axis), (t, DELTA), sampling) for t in DISTANCES]
    claimed = curve("claimed, delta 0", "claimed", grid, lambda t: t)
    low, high = (
        curve(f"certified at delta {DELTA:g}, {n} dimensions", "certified", grid, profile(1.0, n)) for n in (d, 128)
    )
    measured = audited(f"audited, {d} dimensions", cases, sampling)
    return figure("laplace", sampling, claimed, low, high, *measured, d=d)


def mahalanobis(table: wv.Embeddings, sampling: Sampling) -> Figure:
    """Mahalanobis noise on the first ten columns of a table, along the direction with the least noise."""
    d = 10
    few = wv.Embeddings.from_arrays(list(table.words), np.ascontiguousarray(table.vectors[:, :d]))
    randomizer = wv.Mahalanobis(epsilon=1.0, lam=0.5).fit(few)
    _, axes = np.linalg.eigh(randomizer.root)
    worst, rate, grid = axes[:, 0] / np.linalg.norm(axes[:, 0]), randomizer.euclidean_epsilon, places(0.25, 12)
    cases = [case(t, randomizer, (0 * worst, t * worst), (rate * t, DELTA), sampling) for t in DISTANCES]
    claimed = curve("claimed, in Euclidean terms", "claimed", grid, lambda t: rate * t)
    certified = curve(f"certified at delta {DELTA:g}", "certified", grid, profile(rate, d))
    misread = curve("epsilon read as if Euclidean: too low", "refuted", grid, lambda t: t)
    measured = audited("audited", cases, sampling)
    return figure("mahalanobis", sampling, claimed, certified, misread, *measured, words=len(few), d=d, rate=rate)


def clipped_laplace(sampling: Sampling) -> Figure:
    """Clipped Laplace: local DP that a diameter attains."""
    grid, lines = places(0.25, 12), list[Series]()
    for d in (1, 50):
        cases = across(wv.ClippedLaplace, DISTANCES, d, sampling)
        lines += audited(f"audited, {d} dimension{'s' if d > 1 else ''}", cases, sampling)
    claimed = curve("claimed, delta 0", "claimed", grid, lambda e: e)
    certified = curve(f"certified at delta {DELTA:g}, 1 dimension", "certified", grid, profile(1.0, 1))
    return figure("clipped-laplace", sampling, claimed, certified, *lines)


def clipped_l2(sampling: Sampling) -> Figure:
    """Clipped l2: calibrated by its profile, which a diameter spends."""
    d, grid, marks = 50, places(0.5, 16, log=True), (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    cases = across(partial(wv.ClippedL2, delta=DELTA), marks, d, sampling)
    with_delta, without = (wv.ClippedL2(epsilon=8.0, delta=delta).for_dimensions(d).deviation for delta in (DELTA, 0.0))
    claimed = curve("claimed, attained", "claimed", grid, lambda e: e)
    measured = audited("audited", cases, sampling)
    return figure("clipped-l2", sampling, claimed, *measured, d=d, pure=without / with_delta)


def clipped_gaussian(sampling: Sampling) -> Figure:
    """Clipped Gaussian: the analytic scale is exact, the classical one wrong for large epsilon."""
    d, grid = 50, places(0.5, 32, log=True)
    old = partial(wv.ClippedGaussian, delta=DELTA, calibration="classical", allow_refuted=True)

    def exact(e: float) -> float:
        return solve_epsilon(partial(wv.gaussian_log_delta, scale=old(epsilon=e).unit_scale), DELTA)

    classical = [(e, exact(e)) for e in grid]
    analytic = across(partial(wv.ClippedGaussian, delta=DELTA), (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0), d, sampling)
    claimed = curve("claimed; analytic: attained", "claimed", grid, lambda e: e)
    holds = series_at("classical, exact: holds", "certified", [p for p in classical if p[1] <= p[0]], line=True)
    fails = series_at("classical, exact: refuted", "refuted", [p for p in classical if p[1] > p[0]], line=True)
    measured = audited("audited, analytic", analytic, sampling)
    measured += audited("audited, classical", across(old, (16.0, 32.0), d, sampling), sampling)
    return figure("clipped-gaussian", sampling, claimed, holds, fails, *measured, d=d)


def truncated_laplace(sampling: Sampling) -> Figure:
    """Truncated Laplace: certified as claimed, published refuted at the setting of its paper."""
    d, published, grid = 300, 4.0**-300, places(0.1, 8, log=True)
    marks = (0.1, 1.0, 5.0, 8.0)
    old = partial(wv.TruncatedLaplace, delta=published, calibration="published", allow_refuted=True)
    new = partial(wv.TruncatedLaplace, delta=DELTA, calibration="certified")
    deltas = [wv.largest_delta(d, e, old(epsilon=e).for_dimensions(d).half_width) for e in marks]
    notes, high = [f"{math.ceil(x * 1e4) / 1e4:.4f}" for x in deltas], [(e, 40.0) for e in marks]
    claimed = curve("claimed", "claimed", grid, lambda e: e)
    certified = curve(f"certified at delta {DELTA:g}", "certified", grid, lambda e: e)
    refuted = series_at("published: no loss bound holds; exact delta", "refuted", high, notes=notes)
    measured = audited("audited, published", across(old, marks, d, sampling, published), sampling, deltas=True)
    measured += audited("audited, certified", across(new, marks, d, sampling), sampling)
    return figure("truncated-laplace", sampling, claimed, certified, refuted, *measured, d=d)


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
    grid, plan = places(0.1, 2.6), f"published plan ({published.dimensions} dimensions): exact, delta 0"
    claimed = curve("claimed; exact stretch: certified, delta 0", "claimed", grid, lambda t: epsilon * t)
    certified = curve(f"certified at delta {DELTA:g}, {m} dimensions", "certified", grid, profile(epsilon, m))
    planned = curve(plan, "certified", grid, lambda t: share * epsilon * t)
    measured, facts = audited("audited", cases, sampling), _sizes(table, epsilon) | {"m": m, "percent": 100 * share}
    return figure("projection", sampling, claimed, certified, planned, *measured, **facts)


def nadp(table: wv.Embeddings, sampling: Sampling) -> Figure:
    """NADP: the exact Gaussian loss of every edge, and audits of pairs that nothing is promised for."""
    epsilon = 4.0
    randomizer = wv.NADP(epsilon=epsilon, delta=DELTA).fit(table)
    edges, rows = randomizer.graph.edges, table.vectors.astype(np.float64)
    lengths = np.linalg.norm(rows[edges[:, 0]] - rows[edges[:, 1]], axis=1)
    pairs = randomizer.worst_pairs(6)
    audited_too = np.isin(lengths, [pair.distance or 0.0 for pair in pairs])
    spread = np.argsort(lengths, kind="stable")[:: max(1, len(edges) // 80)]
    order = np.union1d(spread, np.flatnonzero(audited_too))
    scales = randomizer.sigmas[edges[order, 0]] / lengths[order]
    losses = [solve_epsilon(partial(wv.gaussian_log_delta, scale=float(scale)), DELTA) for scale in scales]
    cases = [case(float(p.distance or 0), randomizer, (p.first, p.second), (epsilon, DELTA), sampling) for p in pairs]
    loose = randomizer.worst_pairs(claim=wv.LocalDP(epsilon=epsilon, delta=DELTA, standing=wv.Standing.REFUTED))[0]
    far = [case(float(loose.distance or 0), randomizer, (loose.first, loose.second), (epsilon, DELTA), sampling)]
    top = 1.1 * max(float(lengths.max()), float(loose.distance or 0))
    claimed = curve("claimed, adjacent words", "claimed", places(0.1, top), lambda _: epsilon)
    exact = series_at("certified: exact loss of edges", "certified", zip(lengths[order], losses, strict=True))
    measured = audited("audited, adjacent words", cases, sampling)
    measured += audited("audited, words of two components: no promise", far, sampling, kind="unpromised")
    return figure("nadp", sampling, claimed, exact, *measured, **_sizes(table, epsilon), edges=len(edges))


def jaccard(table: wv.Embeddings, sampling: Sampling) -> Figure:
    """Jaccard: the exact loss between its two classes does not depend on the epsilon claimed."""
    grid, marks, d = places(0.5, 16, log=True), (0.5, 2.0, 8.0, 16.0), table.dimensions
    fitted = wv.Jaccard(epsilon=1.0, allow_refuted=True).fit(table)
    ratio = fitted.mechanism.dense_factor / fitted.mechanism.sparse_factor
    exact = solve_epsilon(lambda e: math.log(max(wv.class_delta(d, ratio, e), 1e-300)), DELTA)
    cases = []
    for e in marks:
        randomizer = wv.Jaccard(epsilon=e, allow_refuted=True).fit(table)
        pair = randomizer.worst_pairs()[0]
        cases.append(case(e, randomizer, (pair.first, pair.second), (e, DELTA), sampling))
    notes = [f"{math.ceil(wv.class_delta(d, ratio, e) * 1e4) / 1e4:.4f}" for e in marks]
    claimed = curve("claimed", "claimed", grid, lambda e: e)
    same_place = f"exact, two classes at the same place, delta {DELTA:g}: refuted"
    level = curve(same_place, "refuted", grid, lambda _: exact)
    deltas = series_at("exact delta at the claimed epsilon", "refuted", [(e, exact) for e in marks], notes=notes)
    measured = audited("audited", cases, sampling, deltas=True)
    return figure("jaccard", sampling, claimed, level, deltas, *measured, words=len(table), d=d)


def selection(mechanism: type[Any], table: wv.Embeddings, sampling: Sampling) -> Figure:
    """A selection mechanism on the embedded vocabulary: exact losses of pairs at both rates, and audits."""
    textbook = mechanism(epsilon=SELECTION_EPSILON).fit(table)
    certified: wv.SelectionMechanism = mechanism(epsilon=SELECTION_EPSILON, calibration="certified")
    certificate = wv.shipped_certificate(certified, table)
    if certificate is None:
        raise wv.CertificateError(f"No certificate of {mechanism.__name__} at {SELECTION_EPSILON:g} is shipped.")
    fitted: Any = certified.fit(table, certificate)
    rates = {"textbook": textbook.rows.rate, "certified": fitted.rows.rate}
    series = _losses(fitted, "certified rate", textbook, "textbook rate", sampling)
    return figure("selection", sampling, *series, **_sizes(table, SELECTION_EPSILON), **rates)


def tight(table: wv.Embeddings, sampling: Sampling) -> Figure:
    """Tight constraints beside SanText at the textbook rate, on words few enough to solve for in a second."""
    mechanism = wv.TightConstraints(epsilon=SELECTION_EPSILON)
    fitted = mechanism.fit(table, wv.certify(mechanism, table))
    plain = wv.SanText(epsilon=SELECTION_EPSILON, calibration="certified")
    certified = plain.fit(table, wv.certify(plain, table))
    textbook = wv.SanText(epsilon=SELECTION_EPSILON).fit(table)
    kept = [float(words.keep_probabilities(table.candidates).mean()) for words in (textbook, certified, fitted)]
    rates = {"textbook": textbook.rows.rate, "certified": certified.rows.rate, "solved": fitted.rows.rate}
    series = _losses(fitted, "solved measure", textbook, "SanText's textbook rate", sampling)
    return figure("tight", sampling, *series, **_sizes(table, SELECTION_EPSILON), **rates, kept=kept)


def _sizes(table: wv.Embeddings, epsilon: float) -> dict[str, float]:
    return {"epsilon": epsilon, "words": len(table), "d": table.dimensions}


def _losses(
    fitted: wv.FittedExponential, label: str, textbook: wv.FittedExponential, other: str, sampling: Sampling
) -> tuple[Series, ...]:
    """Return the claim, exact losses of pairs under two fits of it, and audits of the first."""
    table, claim = fitted.embeddings, textbook.guarantee()
    assert claim.metric
    centres = table.ids(["dog", "house", "red", "doctor", "music", "seven", "river", "angry", "paris", "walked"])
    centres = centres[centres >= 0]
    near, _ = wv.NearestWords(table.vectors, table.candidates).top(table.vectors[centres], 3)
    ids = np.unique(np.concatenate([centres, near.ravel()])).astype(np.int32)
    rows = table.vectors[ids].astype(np.float64)
    distance = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    i, j = np.triu_indices(len(ids), 1)
    pick = np.argsort(distance[i, j], kind="stable")[:: max(1, len(i) // 60)]
    i, j = i[pick], j[pick]
    apart = [float(t) for t in distance[i, j]]
    wanted = np.linspace(min(apart), max(apart), 5)
    chosen = [int(np.abs(np.array(apart) - t).argmin()) for t in wanted]
    cases = [_case(fitted, ids[i[p]], ids[j[p]], apart[p], claim, sampling) for p in chosen]
    losses, others = (zip(apart, _exact_losses(words, ids, i, j), strict=True) for words in (fitted, textbook))
    claimed = curve("claimed", "claimed", places(0.1, 1.1 * max(apart)), claim.loss)
    exact, beside = series_at(f"exact, {label}", "certified", losses), series_at(f"exact, {other}", "textbook", others)
    return (claimed, exact, beside, *audited(f"audited, {label}", cases, sampling))


def _case(
    fitted: wv.WordRandomizer, first: int, second: int, distance: float, claim: wv.Guarantee, sampling: Sampling
) -> Case:
    """Return one pair of words to audit at its distance."""
    loss, label = claim.loss(distance), f"at {distance:g}"
    pair = wv.Pair(first=int(first), second=int(second), label=label, epsilon=loss, delta=DELTA)
    return distance, wv.WordSubject(fitted, sampling.source()), pair


def _exact_losses(fitted: wv.WordRandomizer, ids: Any, i: Any, j: Any) -> list[float]:
    """Return the largest log-ratio of two rows of the law for each pair of places, 0 where no law is known."""
    law = fitted.law(np.asarray(ids, dtype=np.int32))
    if law is None:
        return [0.0] * len(i)
    logs = np.log(law[:, law.max(axis=0) > 0])  # words without base measure are never output
    return [float(np.abs(logs[a] - logs[b]).max()) for a, b in zip(i, j, strict=True)]


def any_mechanism(example: wv.Mechanism, table: wv.Embeddings, sampling: Sampling) -> Figure:
    """The claimed loss of the worst pair at several epsilons, the exact one where the law is known, and audits."""
    exact, cases = list[tuple[float, float]](), list[Case]()
    for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0):
        mechanism = example.with_epsilon(epsilon)
        fitted = wv.fit_words(mechanism, table, wv.certify(mechanism, table) if mechanism.needs_certificate else None)
        pairs = [pair for pair in fitted.worst_pairs() if pair.epsilon is not None]
        losses = [_exact_losses(fitted, (pair.first, pair.second), (0,), (1,))[0] for pair in pairs]
        loss, pair = max(zip(losses, pairs, strict=True), key=lambda one: one[0])
        assert pair.epsilon is not None
        exact.append((pair.epsilon, loss))
        pair = replace(pair, delta=max(pair.delta, DELTA))
        cases.append((exact[-1][0], wv.WordSubject(fitted, sampling.source()), pair))
    grid = places(0.5 * min(exact)[0], 1.2 * max(exact)[0], log=True)
    law = series_at("exact", "certified", exact)
    series = (curve("claimed", "claimed", grid, lambda e: e), *((law,) if max(law.y) > 0 else ()))
    measured = audited("audited", cases, sampling)
    return figure("any", sampling, *series, *measured, example=example, words=len(table), d=table.dimensions)


def decoder(chosen: wv.Decoder, table: wv.Embeddings, sampling: Sampling) -> Figure:
    """Multivariate Laplace decoded: the vectors' guarantee, and what is left of the loss in the words."""
    mechanism = wv.MultivariateLaplace(epsilon=DECODED_EPSILON)
    fitted = wv.Decoded(mechanism=mechanism, decoder=chosen).fit(table)
    claim = fitted.guarantee()
    assert claim.metric
    rows, d = table.vectors.astype(np.float64), table.dimensions
    lengths = np.linalg.norm(rows[:300, None] - rows[None, :300], axis=2)
    positive = np.where(lengths > 0, lengths, np.inf)
    cases = []
    for t in (0.5, 1.0, 1.5, 2.0, 2.45):
        i, j = divmod(int(np.abs(positive - t).argmin()), len(lengths))
        cases.append(_case(fitted, i, j, float(lengths[i, j]), claim, sampling))
    grid, name = places(0.1, 2.6), f"certified for the vectors at delta {DELTA:g}"
    claimed = curve("claimed, delta 0", "claimed", grid, claim.loss)
    certified = curve(name, "certified", grid, profile(DECODED_EPSILON, d))
    measured = audited("audited on released words", cases, sampling)
    return figure("decoder", sampling, claimed, certified, *measured, **_sizes(table, DECODED_EPSILON))
