"""The figures of mechanisms whose noise or law depends on the word, and of decoders."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import wordveil as wv
from wordveil.api import (
    CertificateError,
    Decoder,
    FittedExponential,
    Float64Array,
    IdArray,
    Mechanism,
    NearestWords,
    Pair,
    SelectionMechanism,
    WordRandomizer,
    WordSubject,
    class_delta,
    fit_words,
    gaussian_log_delta,
    shipped_certificate,
)
from wordveil_lab.pages.figure_values import (
    DELTA,
    Case,
    Figure,
    Sampling,
    Series,
    audited,
    curve,
    digits,
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
    losses = [solve_epsilon(partial(gaussian_log_delta, scale=float(scale)), DELTA) for scale in scales]
    cases = [case(float(p.distance or 0), randomizer, (p.first, p.second), (epsilon, DELTA), sampling) for p in pairs]
    loose = randomizer.worst_pairs(claim=wv.LocalDP(epsilon=epsilon, delta=DELTA, standing=wv.Standing.REFUTED))[0]
    far = [case(float(loose.distance or 0), randomizer, (loose.first, loose.second), (epsilon, DELTA), sampling)]
    top = 1.1 * max(float(lengths.max()), float(loose.distance or 0))
    return Figure(
        setting=(
            f"epsilon = {epsilon:g}, delta = {DELTA:g}, {len(table)} public words in {table.dimensions} dimensions, "
            f"{len(edges)} edges; {sampling.samples} samples of each word."
        ),
        axis="Euclidean distance between two words",
        series=(
            curve("claimed, adjacent words", "claimed", places(0.1, top), lambda _: epsilon),
            series_at("certified: exact loss of edges", "certified", zip(lengths[order], losses, strict=True)),
            *audited("audited, adjacent words", cases, sampling),
            *audited("audited, words of two components: no promise", far, sampling, kind="unpromised"),
        ),
        reading=(
            "The longest edge of each component attains the claim, shorter ones lose less. Words of two components get "
            "noise of different size, which the size of the noise gives away: nothing is promised there."
        ),
    )


def jaccard(table: wv.Embeddings, sampling: Sampling) -> Figure:
    """Jaccard: the exact loss between its two classes does not depend on the epsilon claimed."""
    grid, marks, d = places(0.5, 16, log=True), (0.5, 2.0, 8.0, 16.0), table.dimensions
    fitted = wv.Jaccard(epsilon=1.0, allow_refuted=True).fit(table)
    ratio = fitted.mechanism.dense_factor / fitted.mechanism.sparse_factor
    exact = solve_epsilon(lambda e: math.log(max(class_delta(d, ratio, e), 1e-300)), DELTA)
    cases = []
    for e in marks:
        randomizer = wv.Jaccard(epsilon=e, allow_refuted=True).fit(table)
        pair = randomizer.worst_pairs()[0]
        cases.append(case(e, randomizer, (pair.first, pair.second), (e, DELTA), sampling))
    return Figure(
        setting=(
            f"delta = {DELTA:g}, {len(table)} public words in {d} dimensions; a dense word and the nearest sparse one, "
            f"{sampling.samples} samples of each."
        ),
        axis="claimed epsilon (nats)",
        log=True,
        series=(
            curve("claimed", "claimed", grid, lambda e: e),
            curve(f"exact, two classes at the same place, delta {DELTA:g}: refuted", "refuted", grid, lambda _: exact),
            series_at(
                "exact delta at the claimed epsilon",
                "refuted",
                [(e, exact) for e in marks],
                notes=[f"{math.ceil(class_delta(d, ratio, e) * 1e4) / 1e4:.4f}" for e in marks],
            ),
            *audited("audited", cases, sampling, deltas=True),
        ),
        reading=(
            "The loss comes from the two sizes of noise, not from the words: it stays where it is however small the "
            "claimed epsilon. Audited points end where the samples do."
        ),
    )


SELECTION_EPSILON = 5.0


def selection(mechanism: type[Any], table: wv.Embeddings, sampling: Sampling) -> Figure:
    """A selection mechanism on the embedded vocabulary: exact losses of pairs at both rates, and audits."""
    textbook = mechanism(epsilon=SELECTION_EPSILON).fit(table)
    certified: SelectionMechanism = mechanism(epsilon=SELECTION_EPSILON, calibration="certified")
    certificate = shipped_certificate(certified, table)
    if certificate is None:
        raise CertificateError(f"No certificate of {mechanism.__name__} at epsilon {SELECTION_EPSILON:g} is shipped.")
    fitted: Any = certified.fit(table, certificate)
    return Figure(
        setting=(
            f"epsilon = {SELECTION_EPSILON:g} per unit of distance, the embedded vocabulary ({len(table)} words, "
            f"{table.dimensions} dimensions), its shipped certificate; {sampling.samples} samples of each word."
        ),
        axis="Euclidean distance between two words",
        series=_losses(fitted, "certified rate", textbook, "textbook rate", sampling),
        reading=(
            f"Both rates keep the same promise. The textbook rate {textbook.rows.rate:.4g} leaves part unused; the "
            f"certified rate {fitted.rows.rate:.4g} comes nearer, so words keep more of their meaning."
        ),
    )


def tight(table: wv.Embeddings, sampling: Sampling) -> Figure:
    """Tight constraints beside SanText at the textbook rate, on words few enough to solve for in a second."""
    mechanism = wv.TightConstraints(epsilon=SELECTION_EPSILON)
    fitted = mechanism.fit(table, wv.certify(mechanism, table))
    plain = wv.SanText(epsilon=SELECTION_EPSILON, calibration="certified")
    certified = plain.fit(table, wv.certify(plain, table))
    textbook = wv.SanText(epsilon=SELECTION_EPSILON).fit(table)
    kept = [float(words.keep_probabilities(table.candidates).mean()) for words in (textbook, certified, fitted)]
    return Figure(
        setting=(
            f"epsilon = {SELECTION_EPSILON:g} per unit of distance, {len(table)} public words in {table.dimensions} "
            f"dimensions; {sampling.samples} samples of each word."
        ),
        axis="Euclidean distance between two words",
        series=_losses(fitted, "solved measure", textbook, "SanText's textbook rate", sampling),
        reading=(
            f"All keep the same promise. SanText's textbook rate is {textbook.rows.rate:.4g} and its certified one "
            f"{certified.rows.rate:.4g}; with a solved measure it is {fitted.rows.rate:.4g}, and every pair comes near "
            f"its bound. A word stays itself with a mean probability of {kept[0]:.3f}, {kept[1]:.3f} and {kept[2]:.3f}."
        ),
    )


def _losses(
    fitted: FittedExponential, label: str, textbook: FittedExponential, other: str, sampling: Sampling
) -> tuple[Series, ...]:
    """Return the claim, exact losses of pairs under two fits of it, and audits of the first."""
    table, claim = fitted.embeddings, textbook.guarantee()
    assert claim.metric
    centres = table.ids(["dog", "house", "red", "doctor", "music", "seven", "river", "angry", "paris", "walked"])
    centres = centres[centres >= 0]
    near, _ = NearestWords(table.vectors, table.candidates).top(table.vectors[centres], 3)
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
    places_of = tuple(digits(t) for t in apart)
    return (
        curve("claimed", "claimed", places(0.1, 1.1 * max(apart)), claim.loss),
        Series(label=f"exact, {label}", kind="certified", x=places_of, y=_exact_losses(fitted, ids, i, j)),
        Series(label=f"exact, {other}", kind="textbook", x=places_of, y=_exact_losses(textbook, ids, i, j)),
        *audited(f"audited, {label}", cases, sampling),
    )


def _case(
    fitted: WordRandomizer, first: int, second: int, distance: float, claim: wv.Guarantee, sampling: Sampling
) -> Case:
    """Return one pair of words to audit at its distance."""
    loss, label = claim.loss(distance), f"at {distance:g}"
    pair = Pair(first=int(first), second=int(second), label=label, epsilon=loss, delta=DELTA)
    return distance, WordSubject(fitted, sampling.source()), pair


def _exact_losses(fitted: FittedExponential, ids: IdArray, i: Any, j: Any) -> tuple[float, ...]:
    weights = fitted.rows.weights(ids)
    weights = weights[:, weights.max(axis=0) > 0]  # words without base measure are never output
    logs: Float64Array = np.log(weights) - np.log(weights.sum(axis=1, keepdims=True))
    return tuple(digits(float(np.abs(logs[a] - logs[b]).max())) for a, b in zip(i, j, strict=True))


def any_mechanism(example: Mechanism, table: wv.Embeddings, sampling: Sampling) -> Figure:
    """The claimed loss of the worst pair at several epsilons, the exact one where the law is known, and audits."""
    places_of: list[float] = []
    exact: list[float] = []
    cases: list[Case] = []
    for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0):
        mechanism = example.with_epsilon(epsilon)
        fitted = fit_words(mechanism, table, wv.certify(mechanism, table) if mechanism.needs_certificate else None)
        losses = [(_exact_loss(fitted, pair), pair) for pair in fitted.worst_pairs() if pair.epsilon is not None]
        loss, pair = max(losses, key=lambda one: one[0])
        assert pair.epsilon is not None
        places_of.append(pair.epsilon)
        exact.append(loss)
        cases.append(
            (pair.epsilon, WordSubject(fitted, sampling.source()), replace(pair, delta=max(pair.delta, DELTA)))
        )
    grid = places(0.5 * min(places_of), 1.2 * max(places_of), log=True)
    law = series_at("exact", "certified", zip(places_of, exact, strict=True))
    return Figure(
        setting=(
            f"`{example}` at five epsilons, {len(table)} public words in {table.dimensions} dimensions; "
            f"{sampling.samples} samples of each word."
        ),
        axis="claimed loss of a pair of words (nats)",
        log=True,
        series=(
            curve("claimed", "claimed", grid, lambda e: e),
            *((law,) if max(exact) > 0 else ()),
            *audited("audited", cases, sampling),
        ),
        reading="No pair of words loses more than is claimed of it; audited points end where the samples do.",
    )


def _exact_loss(fitted: WordRandomizer, pair: Pair) -> float:
    """Return the largest log-ratio of two rows of the law, 0 where there is none."""
    rows = fitted.law(np.array([pair.first, pair.second], dtype=np.int32))
    if rows is None:
        return 0.0
    logs = np.log(rows[:, rows.max(axis=0) > 0])
    return float(np.abs(logs[0] - logs[1]).max())


def decoder(chosen: Decoder, table: wv.Embeddings, sampling: Sampling) -> Figure:
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
    return Figure(
        setting=(
            f"multivariate Laplace at epsilon = {DECODED_EPSILON:g}, {len(table)} public words in {d} dimensions, "
            f"{sampling.samples} samples of each word."
        ),
        axis="Euclidean distance between two words",
        series=(
            curve("claimed, delta 0", "claimed", grid, claim.loss),
            curve(f"certified for the vectors at delta {DELTA:g}", "certified", grid, profile(DECODED_EPSILON, d)),
            *audited("audited on released words", cases, sampling),
        ),
        reading="Decoding is post-processing: it can lose information and never adds to the loss of the vectors.",
    )
