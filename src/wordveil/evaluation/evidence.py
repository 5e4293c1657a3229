"""What one released token says about its original: the likeliest words, ln p(released | word), and the mean vector.

Exact for selection mechanisms, whose channel is known, and for released vectors whose law is stated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.evaluation.likelihoods import log_likelihoods
from wordveil.evaluation.subjects import Subject
from wordveil.mechanisms.exponential import FittedExponential

__all__ = ["Evidence", "certain_evidence", "channel_evidence", "vector_evidence"]

INPUTS = 512  # rows of the channel computed at a time
OUTPUTS = 128  # released vectors compared with the vocabulary at a time
CERTAIN = 1e9  # in place of infinity, where a word without noise gives itself away


@dataclass(frozen=True)
class Evidence:
    """Of m released words or vectors, seen without their context.

    Attributes:
        ids: The words of highest posterior probability, shape (m, k).
        logs: ln p(released | word) of each up to a constant per row, shape (m, k).
        expected: Posterior mean of the word's features, shape (m, d).
    """

    ids: IdArray = field(repr=False)
    logs: Float64Array = field(repr=False)
    expected: Float64Array = field(repr=False)


def channel_evidence(
    selection: FittedExponential, released: IdArray, prior: Float64Array, features: Float64Array, k: int
) -> Evidence:
    """Return what the exact channel says about each released word, in blocks of inputs.

    Args:
        selection: A selection mechanism.
        released: Released words, shape (m,).
        prior: Probability of every word, shape (v,).
        features: A row for every word, shape (v, d).
        k: Words kept for each.
    """
    v, m = len(prior), len(released)
    place = np.full(v, -1)
    place[selection.rows.outputs] = np.arange(len(selection.rows.outputs))
    columns = place[released]
    ids, logs = np.zeros((0, m), dtype=np.int32), np.zeros((0, m))
    mass, total = np.zeros(m), np.zeros((m, features.shape[1]))
    for start in range(0, v, INPUTS):
        part = np.arange(start, min(start + INPUTS, v), dtype=np.int32)
        rows = selection.rows.weights(part)
        chances = rows[:, columns] / rows.sum(axis=1)[:, None]
        joint = chances * prior[part][:, None]
        mass += joint.sum(axis=0)
        total += joint.T @ features[part]
        ids = np.concatenate((ids, np.repeat(part[:, None], m, axis=1)))
        logs = np.concatenate((logs, np.log(chances)))
        if len(ids) > k:
            best = np.argpartition(-(logs + np.log(prior)[ids]), k - 1, axis=0)[:k]
            ids, logs = np.take_along_axis(ids, best, axis=0), np.take_along_axis(logs, best, axis=0)
    return Evidence(ids.T, logs.T, total / mass[:, None])


def vector_evidence(
    subject: Subject, released: Float64Array, prior: Float64Array, features: Float64Array, k: int
) -> Evidence:
    """Return what the mechanism's law says about each released vector; for mechanisms with a law that is known."""
    ids, logs, expected = [], [], []
    size = min(k, len(prior))
    for start in range(0, len(released), OUTPUTS):
        found = log_likelihoods(subject.vectors, released[start : start + OUTPUTS], subject.embeddings)
        assert found is not None
        found = np.clip(found, -CERTAIN, CERTAIN)
        found -= found.max(axis=1, keepdims=True)
        posterior = np.exp(found) * prior
        best = np.argpartition(-(found + np.log(prior)), size - 1, axis=1)[:, :size]
        ids.append(best)
        logs.append(np.take_along_axis(found, best, axis=1))
        expected.append((posterior @ features) / posterior.sum(axis=1, keepdims=True))
    return Evidence(np.concatenate(ids).astype(np.int32), np.concatenate(logs), np.concatenate(expected))


def certain_evidence(tokens: IdArray, features: Float64Array) -> Evidence:
    """Return the evidence of words that are seen as they are."""
    return Evidence(tokens[:, None], np.zeros((len(tokens), 1)), features[tokens])
