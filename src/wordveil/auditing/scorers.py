"""Scores that order outputs by which of two inputs they came from; events are score >= threshold.

A scorer may learn from samples set aside for it. Whatever it learns, the counts that bound epsilon and delta come from
other samples, so a bad scorer costs power and never soundness.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from wordveil.arrays import Float64Array
from wordveil.auditing.subjects import LogRatio, Outputs, Subject
from wordveil.errors import MissingExtraError
from wordveil.promises.relations import Pair

Score = Callable[[Outputs], Float64Array]
"""Outputs to scores, shape (n,): high where the first input is likelier. May be +-inf, never NaN."""

FULL_COVARIANCE = 32  # largest dimension at which a full covariance is estimated


class Scorer(NamedTuple):
    """A family of events."""

    name: str  # in reports
    fit: Callable[[Outputs, Outputs], Score]  # learns a score from outputs of each input
    known: bool = False  # whether the score is that of the claimed law, and learns nothing


def known_density(ratio: LogRatio) -> Scorer:
    """Return the log-likelihood ratio of the claimed law: the best events, if the mechanism draws from it."""
    return Scorer("likelihood ratio of the claimed law", lambda *_: ratio, known=True)


def nearer_input(first: Float64Array, second: Float64Array, order: int) -> Scorer:
    """Return how much nearer the output is to the first input, in the L2 (order 2) or L1 (order 1) norm."""

    def score(y: Outputs) -> Float64Array:
        far = np.linalg.norm(y - second, ord=order, axis=1)
        return np.asarray(far - np.linalg.norm(y - first, ord=order, axis=1))

    return Scorer(f"distance to the two inputs (L{order})", lambda *_: score)


def _gaussians(first: Outputs, second: Outputs) -> Score:
    one, two = _log_gaussian(first), _log_gaussian(second)
    return lambda y: one(y) - two(y)


def _log_gaussian(samples: Outputs) -> Callable[[Outputs], Float64Array]:
    mean, spread = samples.mean(axis=0), samples.var(axis=0)
    floor = 1e-12 * (float(spread.max()) + 1e-300)
    if samples.shape[1] > FULL_COVARIANCE or len(samples) < 10 * samples.shape[1]:
        variance = spread + floor
        constant = 0.5 * float(np.log(variance).sum())
        return lambda y: -0.5 * np.square(y - mean) @ (1 / variance) - constant
    covariance = np.atleast_2d(np.cov(samples, rowvar=False)) + floor * np.eye(samples.shape[1])
    values, axes = np.linalg.eigh(covariance)
    scaled = axes / np.sqrt(np.maximum(values, floor))
    shift = 0.5 * float(np.log(np.maximum(values, floor)).sum())
    return lambda y: -0.5 * np.square((y - mean) @ scaled).sum(axis=1) - shift


def _support(first: Outputs, second: Outputs) -> Score:
    boxes = [(part.min(axis=0), part.max(axis=0)) for part in (first, second)]
    width = np.maximum(boxes[0][1] - boxes[0][0], boxes[1][1] - boxes[1][0]) + 1e-300

    def outside(y: Outputs, box: tuple[Any, Any]) -> Float64Array:
        return np.asarray(np.maximum((y - box[1]) / width, (box[0] - y) / width).max(axis=1))

    return lambda y: np.maximum(outside(y, boxes[1]), 0) - np.maximum(outside(y, boxes[0]), 0)


def _frequencies(first: Outputs, second: Outputs) -> Score:
    values = np.unique(np.concatenate([first, second]))
    counts = [np.bincount(np.searchsorted(values, part), minlength=len(values)) + 0.5 for part in (first, second)]
    table = np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum())

    def score(y: Outputs) -> Float64Array:
        place = np.minimum(np.searchsorted(values, y), len(values) - 1)
        return np.where(values[place] == y, table[place], 0.0)

    return score


GAUSSIANS = Scorer("two fitted Gaussians", _gaussians)
"""Likelihood ratio of two fitted Gaussians: linear and quadratic differences, and singular noise."""
SUPPORT = Scorer("support (outputs outside the other input's range)", _support)
"""How far an output lies outside the box of the second input's outputs, less the same for the first."""
FREQUENCIES = Scorer("output frequencies", _frequencies)
"""Smoothed log-ratio of how often each discrete output was seen; unseen outputs score 0."""


def classifier_on(*inputs: Float64Array) -> Scorer:
    """Return a gradient-boosted classifier on coordinates and on the distances to the two inputs (extra `audit`)."""

    def features(y: Outputs) -> Float64Array:
        columns = [y[:, :64], np.linalg.norm(y, axis=1)[:, None]]
        for point in inputs:
            columns.append(np.linalg.norm(y - point, axis=1)[:, None])
            columns.append(np.abs(y - point).max(axis=1)[:, None])
        return np.hstack(columns)

    def fit(first: Outputs, second: Outputs) -> Score:
        try:
            from sklearn.ensemble import HistGradientBoostingClassifier
        except ImportError:
            raise MissingExtraError("The classifier of an audit", "scikit-learn", "audit") from None
        model = HistGradientBoostingClassifier(max_iter=60, random_state=0, early_stopping=False)
        labels = np.repeat([1, 0], [len(first), len(second)])
        with threadpool_limits(limits=1):  # one thread: idle OpenMP threads would spin beside ours
            model.fit(features(np.concatenate([first, second])), labels)

        def score(y: Outputs) -> Float64Array:
            with threadpool_limits(limits=1):
                return np.asarray(model.decision_function(features(y)), dtype=np.float64)

        return score

    return Scorer("trained classifier", fit)


def scorers_for(subject: Subject, pair: Pair, *, classifier: bool = False) -> list[Scorer]:
    """Return the event families that apply to a subject and a pair, a trained classifier among them if asked for."""
    if subject.discrete:
        return [FREQUENCIES]
    chosen: list[Scorer] = []
    ratio = subject.log_ratio(pair)
    if ratio is not None:
        chosen.append(known_density(ratio))
    first, second = (np.asarray(x, dtype=np.float64) for x in (pair.first, pair.second))
    same_space = subject.sample(first, 2).shape[1] == len(first)
    if same_space:
        chosen += [nearer_input(first, second, 2), nearer_input(first, second, 1)]
    chosen += [GAUSSIANS, SUPPORT]
    if classifier:
        chosen.append(classifier_on(first, second) if same_space else classifier_on())
    return chosen
