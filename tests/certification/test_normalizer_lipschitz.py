"""The pair-maximum kernels against loops over all pairs, and the checked numbers on GloVe."""

import math

import numpy as np
import pytest

from certification.small_vocabularies import SMALL, small_embeddings, worst_by_definition
from wordveil.certification.normalizer_lipschitz import TOLERANCE, LossComputation
from wordveil.certification.pair_spaces import DistinctVectors
from wordveil.errors import ParameterError
from wordveil.kernels.pair_tiles import NormaliserSums, PairTiles
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis, Metric
from worlds import distances, placed, shared


class Rooted(Metric):
    """A user's metric of which nothing is known: the square root of the Euclidean distance."""

    name = "rooted"

    def coordinates(self, vectors):
        return np.ascontiguousarray(vectors, dtype=np.float64)

    def from_squared(self, squared):
        np.sqrt(np.sqrt(squared, out=squared), out=squared)

    def distance_error(self, squared_error):
        return squared_error**0.25


def metric_for(name, d):
    if name == "mahalanobis":
        return Mahalanobis(whitening=np.diag(np.linspace(0.5, 2.0, d)) + 0.1)
    return {"euclidean": Euclidean(), "angular": Angular(), "rooted": Rooted()}[name]


def by_definition(embeddings, metric, rate, cap):
    """Both largest losses by the definition, the one per distance at least the rate, and the least distance.

    What is forgiven on ln Z, and on words that may not be output the error of a distance, a small distance magnifies.
    """
    table = distances(metric, embeddings.vectors, embeddings.vectors)
    table[embeddings.canonical[:, None] == embeddings.canonical[None, :]] = 0.0
    per_distance, largest = worst_by_definition(np.minimum(table, cap), rate, embeddings.candidates)
    return max(rate, per_distance), largest, table[table > 0].min()


@pytest.mark.parametrize("case", SMALL)
@pytest.mark.parametrize("outputs", ["all", "some"])
@pytest.mark.parametrize(("rate", "cap"), [(0.7, math.inf), (6.0, 1.5)])
def test_both_maxima_equal_the_loop_over_all_pairs(case, outputs, rate, cap):
    embeddings = small_embeddings(case, outputs)
    work = LossComputation(DistinctVectors.of(embeddings, Euclidean()), threads=1)
    per_distance, largest, least = by_definition(embeddings, Euclidean(), rate, cap)
    exact, rel = work.metric(rate, cap), 1e-6 if outputs == "all" else 1e-4
    assert exact.computed == pytest.approx(per_distance, rel=rel, abs=(TOLERANCE + exact.error) / least)
    assert work.local(rate, cap).computed == pytest.approx(largest, rel=1e-7, abs=1e-8 if outputs == "all" else 1e-5)


@pytest.mark.parametrize("name", ["angular", "mahalanobis", "rooted"])
@pytest.mark.parametrize("case", ["gaussian", "outlier"])
def test_other_metrics_equal_the_loop(name, case):
    embeddings = small_embeddings(case)
    metric = metric_for(name, embeddings.dimensions)
    work = LossComputation(DistinctVectors.of(embeddings, metric), threads=1)
    per_distance, largest, least = by_definition(embeddings, metric, 3.0, 1.2)
    assert work.metric(3.0, 1.2).computed == pytest.approx(per_distance, rel=1e-9, abs=2 * TOLERANCE / least)
    assert work.local(3.0, 1.2).computed == pytest.approx(largest, rel=1e-9, abs=2 * TOLERANCE)


def test_the_error_bound_covers_ln_z_computed_with_fifty_digits():
    mpmath = pytest.importorskip("mpmath")
    embeddings = small_embeddings("far from origin")
    vocabulary = DistinctVectors.of(embeddings, Euclidean())
    sums = NormaliserSums(PairTiles(vocabulary.coordinates, Euclidean()), vocabulary.measure, rate=3.0, cap=5.0)
    for _ in sums.steps(1):
        pass
    with mpmath.workdps(50):
        rows = [[mpmath.mpf(float(x)) for x in row] for row in embeddings.vectors]
        for i in range(0, len(rows), 60):
            exact = mpmath.log(
                mpmath.fsum(
                    mpmath.exp(
                        -3 * min(mpmath.sqrt(mpmath.fsum((a - b) ** 2 for a, b in zip(rows[i], y, strict=True))), 5)
                    )
                    for y in rows
                )
            )
            assert abs(float(exact - mpmath.mpf(float(sums.logs()[i])))) <= sums.log_error()


def test_bad_parameters_are_refused():
    work = LossComputation(DistinctVectors.of(small_embeddings("two words"), Euclidean()))
    with pytest.raises(ParameterError, match=r"rate=-1.0 must be in \(0, inf\)"):
        work.metric(-1.0)
    with pytest.raises(ParameterError, match=r"cap=0.0 must be in \(0, inf\]"):
        work.metric(1.0, 0.0)
    barred = small_embeddings("two words").without_outputs(["w1"])
    with pytest.raises(ParameterError, match="finite non-negative"):
        DistinctVectors.of(barred, Euclidean(), np.array([-1.0]))
    with pytest.raises(ParameterError, match="positive weight"):
        DistinctVectors.of(barred, Euclidean(), np.array([0.0]))


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("rate", "epsilon"), [(0.5, 0.861177), (2.0, 2.766642), (10.0, 10.094030)])
def test_checked_numbers_on_glove(rate, epsilon):
    with np.load(shared("embeddings", "glove.6B.50d.top100k.npz")) as stored:
        words = placed(stored["vectors"][:20_000])
    found = LossComputation(DistinctVectors.of(words, Euclidean())).metric(rate)
    assert math.ceil(found.epsilon * 1e6) / 1e6 == pytest.approx(epsilon, abs=1.5e-6)
    assert found.error < 1e-4
