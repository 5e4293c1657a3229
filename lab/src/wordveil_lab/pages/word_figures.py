"""The figures of mechanisms whose noise or law depends on the word, and of decoders."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
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
from wordveil_lab.pages.vector_figures import case, profile

DECODED_EPSILON = 20.0


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
    return figure(
        "nadp",
        sampling,
        curve("claimed, adjacent words", "claimed", places(0.1, top), lambda _: epsilon),
        series_at("certified: exact loss of edges", "certified", zip(lengths[order], losses, strict=True)),
        *audited("audited, adjacent words", cases, sampling),
        *audited("audited, words of two components: no promise", far, sampling, kind="unpromised"),
        **{"epsilon": epsilon, "words": len(table), "d": table.dimensions, "edges": len(edges)},
    )


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
    return figure(
        "jaccard",
        sampling,
        curve("claimed", "claimed", grid, lambda e: e),
        curve(f"exact, two classes at the same place, delta {DELTA:g}: refuted", "refuted", grid, lambda _: exact),
        series_at("exact delta at the claimed epsilon", "refuted", [(e, exact) for e in marks], notes=notes),
        *audited("audited", cases, sampling, deltas=True),
        words=len(table),
        d=d,
    )


SELECTION_EPSILON = 5.0


def selection(mechanism: type[Any], table: wv.Embeddings, sampling: Sampling) -> Figure:
    """A selection mechanism on the embedded vocabulary: exact losses of pairs at both rates, and audits."""
    textbook = mechanism(epsilon=SELECTION_EPSILON).fit(table)
    certified: wv.SelectionMechanism = mechanism(epsilon=SELECTION_EPSILON, calibration="certified")
    certificate = wv.shipped_certificate(certified, table)
    if certificate is None:
        raise wv.CertificateError(
            f"No certificate of {mechanism.__name__} at epsilon {SELECTION_EPSILON:g} is shipped."
        )
    fitted: Any = certified.fit(table, certificate)
    rates = {"textbook": textbook.rows.rate, "certified": fitted.rows.rate}
    series = _losses(fitted, "certified rate", textbook, "textbook rate", sampling)
    return figure("selection", sampling, *series, **_sizes(table), **rates)


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
    return figure("tight", sampling, *series, **_sizes(table), **rates, kept=kept)


def _sizes(table: wv.Embeddings) -> dict[str, float]:
    return {"epsilon": SELECTION_EPSILON, "words": len(table), "d": table.dimensions}


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
    return (
        curve("claimed", "claimed", places(0.1, 1.1 * max(apart)), claim.loss),
        series_at(f"exact, {label}", "certified", losses),
        series_at(f"exact, {other}", "textbook", others),
        *audited(f"audited, {label}", cases, sampling),
    )


def _case(
    fitted: wv.WordRandomizer, first: int, second: int, distance: float, claim: wv.Guarantee, sampling: Sampling
) -> Case:
    """Return one pair of words to audit at its distance."""
    loss, label = claim.loss(distance), f"at {distance:g}"
    pair = wv.Pair(first=int(first), second=int(second), label=label, epsilon=loss, delta=DELTA)
    return distance, wv.WordSubject(fitted, sampling.source()), pair


def _exact_losses(fitted: wv.FittedExponential, ids: wv.IdArray, i: Any, j: Any) -> list[float]:
    weights = fitted.rows.weights(ids)
    weights = weights[:, weights.max(axis=0) > 0]  # words without base measure are never output
    logs: wv.Float64Array = np.log(weights) - np.log(weights.sum(axis=1, keepdims=True))
    return [float(np.abs(logs[a] - logs[b]).max()) for a, b in zip(i, j, strict=True)]


def any_mechanism(example: wv.Mechanism, table: wv.Embeddings, sampling: Sampling) -> Figure:
    """The claimed loss of the worst pair at several epsilons, the exact one where the law is known, and audits."""
    places_of: list[float] = []
    exact: list[float] = []
    cases: list[Case] = []
    for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0):
        mechanism = example.with_epsilon(epsilon)
        fitted = wv.fit_words(mechanism, table, wv.certify(mechanism, table) if mechanism.needs_certificate else None)
        losses = [(_exact_loss(fitted, pair), pair) for pair in fitted.worst_pairs() if pair.epsilon is not None]
        loss, pair = max(losses, key=lambda one: one[0])
        assert pair.epsilon is not None
        places_of.append(pair.epsilon)
        exact.append(loss)
        cases.append(
            (pair.epsilon, wv.WordSubject(fitted, sampling.source()), replace(pair, delta=max(pair.delta, DELTA)))
        )
    grid = places(0.5 * min(places_of), 1.2 * max(places_of), log=True)
    law = series_at("exact", "certified", zip(places_of, exact, strict=True))
    series = (curve("claimed", "claimed", grid, lambda e: e), *((law,) if max(exact) > 0 else ()))
    measured = audited("audited", cases, sampling)
    return figure("any", sampling, *series, *measured, example=example, words=len(table), d=table.dimensions)


def _exact_loss(fitted: wv.WordRandomizer, pair: wv.Pair) -> float:
    """Return the largest log-ratio of two rows of the law, 0 where there is none."""
    rows = fitted.law(np.array([pair.first, pair.second], dtype=np.int32))
    if rows is None:
        return 0.0
    logs = np.log(rows[:, rows.max(axis=0) > 0])
    return float(np.abs(logs[0] - logs[1]).max())


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
    grid = places(0.1, 2.6)
    return figure(
        "decoder",
        sampling,
        curve("claimed, delta 0", "claimed", grid, claim.loss),
        curve(f"certified for the vectors at delta {DELTA:g}", "certified", grid, profile(DECODED_EPSILON, d)),
        *audited("audited on released words", cases, sampling),
        **{"epsilon": DECODED_EPSILON, "words": len(table), "d": d},
    )
