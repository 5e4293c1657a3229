"""Selection mechanisms: exact channels keep the claim, broken twins do not, and TEM is the paper's own algorithm."""

import math

import numpy as np
import pytest

import seeds
from wordveil.errors import ParameterError
from wordveil.mechanisms.santext import SanText
from wordveil.mechanisms.tem import TEM, truncation_distance
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis
from worlds import distances, placed

METRICS = [Euclidean(), Angular(), Mahalanobis(whitening=np.diag([2.0, 1.0, 0.5, 1.0]))]


def vocabulary(seed=0, v=70, *, barred=0):
    rng = seeds.rng(seed)
    rows = np.concatenate([rng.normal(size=(v - 20, 4)), 3 + 0.05 * rng.normal(size=(15, 4))])
    return placed(np.concatenate([rows, rows[:5]]).astype(np.float32), barred=barred)


def capped_distances(embeddings, metric, cap):
    table = np.minimum(distances(metric, embeddings.vectors, embeddings.vectors), cap)
    table[embeddings.canonical[:, None] == embeddings.canonical[None, :]] = 0.0
    return table


def paper_form(table, epsilon, gamma):
    """TEM as the paper states it: Gumbel noise of scale 2/epsilon makes the winner softmax(score * epsilon / 2).

    Words within gamma score -distance, the bottom -gamma + 2 ln(number beyond)/epsilon; a winning bottom is replaced
    by a uniform word beyond gamma.
    """
    law = np.zeros_like(table)
    for x, row in enumerate(table):
        near = np.flatnonzero(row <= gamma)
        far = np.flatnonzero(row > gamma)
        scores = list(-row[near])
        if len(far):
            scores.append(-gamma + 2 * math.log(len(far)) / epsilon)
        share = np.exp(epsilon / 2 * np.array(scores))
        share /= share.sum()
        law[x, near] = share[: len(near)]
        if len(far):
            law[x, far] = share[-1] / len(far)
    return law


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
@pytest.mark.parametrize(("epsilon", "gamma"), [(2.0, None), (2.0, 1.0), (8.0, 2.0), (1.0, 1e-6), (1.0, 20.0)])
@pytest.mark.parametrize("barred", [0, 25])
def test_tem_is_the_papers_algorithm(metric, epsilon, gamma, barred):
    embeddings = vocabulary(barred=barred)
    fitted = TEM(epsilon=epsilon, gamma=gamma, metric=metric).fit(embeddings)
    table = capped_distances(embeddings, metric, math.inf)[:, embeddings.candidates]
    expected = paper_form(table, epsilon, fitted.rows.cap)
    np.testing.assert_allclose(fitted.channel(), expected, rtol=fitted.guarantee().slack + 1e-11, atol=1e-15)


def test_gamma_keeps_the_paper_s_probability_of_staying_near():
    embeddings = vocabulary()
    mechanism = TEM(epsilon=4.0, beta=0.01)
    fitted = mechanism.fit(embeddings)
    gamma = truncation_distance(4.0, 0.01, 70)
    assert fitted.rows.cap == gamma == pytest.approx(0.5 * math.log(0.99 * 69 / 0.01))
    far = capped_distances(embeddings, Euclidean(), math.inf) > gamma
    assert np.where(far, fitted.channel(), 0.0).sum(axis=1).max() <= 0.01
    assert fitted.guarantee().loss(1e9) == pytest.approx(2 * math.log(0.99 * 69 / 0.01), rel=1e-3)


@pytest.mark.parametrize("scale", [1e20, 1e160, 1e-25, 1e-170])
def test_distances_that_cannot_be_weighed_are_refused(scale):
    """Squared, they leave float32 or float64: words came from another law, at a loss beyond the promise."""
    table = vocabulary()
    whitening = np.eye(table.dimensions) * scale
    with pytest.raises(ParameterError, match="too large or too small to be weighed"):
        SanText(epsilon=4 / scale, metric=Mahalanobis(whitening=whitening)).fit(table)
    if 1e-38 < scale < 1e38:
        with pytest.raises(ParameterError, match="too large or too small to be weighed"):
            SanText(epsilon=4 / scale).fit(placed((table.vectors * scale).astype(np.float32), list(table.words)))
