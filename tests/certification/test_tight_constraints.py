"""Tight constraints: the solution against a dense solver, the certificate against exact channels, checked numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from certification.small_vocabularies import small_embeddings
from wordveil.certification.normaliser_lipschitz import LossComputation
from wordveil.certification.tight_constraints import (
    BASE_TAIL_NATS,
    fit_tight_constraints,
    solve_tight_constraints,
)
from wordveil.certification.vocabulary import DistinctVectors
from wordveil.embeddings.table import Embeddings
from wordveil.errors import ParameterError
from wordveil.guarantees import Standing
from wordveil.metrics import Angular, Euclidean, Metric, distances


def spread_embeddings(outputs="all"):
    """Return a vocabulary so spread out that the solution is positive everywhere at rate 3."""
    rng = np.random.Generator(np.random.PCG64(4))
    rows = (2 * rng.normal(size=(150, 10))).astype(np.float32)
    rows = np.concatenate([rows, rows[:9]])
    words = [f"w{i}" for i in range(len(rows))]
    embeddings = Embeddings.from_arrays(words, rows, candidate_rule="all")
    return embeddings if outputs == "all" else embeddings.without_outputs(words[1::3])


def channel_losses(fitted, embeddings, cap):
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = np.log(fitted.channel())
        losses = np.stack([np.nan_to_num(np.abs(log_p - row), nan=0.0, posinf=np.inf).max(axis=1) for row in log_p])
    s = np.minimum(distances(Euclidean(), embeddings.vectors, embeddings.vectors), cap)
    return losses, s


def test_the_solution_equals_the_dense_one_and_costs_nothing_beyond_the_rate():
    embeddings = spread_embeddings()
    solution = solve_tight_constraints(embeddings, rate=3.0, tolerance=1e-12, threads=1)
    distinct = np.unique(embeddings.canonical)
    kernel = np.exp(-3.0 * distances(Euclidean(), embeddings.vectors[distinct], embeddings.vectors[distinct]))
    dense = np.linalg.solve(kernel, np.ones(len(distinct)))
    assert solution.negative == 0
    count = np.bincount(embeddings.canonical, minlength=len(embeddings))
    expected = (dense[embeddings.canonical] / count[embeddings.canonical]) / dense.max()
    np.testing.assert_allclose(solution.base, expected / expected.max(), rtol=1e-8)
    assert solution.loss.epsilon == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("outputs", ["all", "some"])
@pytest.mark.parametrize("rate", [0.5, 1.5, 4.0])
def test_the_exact_channel_keeps_the_certified_claim(outputs, rate):
    embeddings = spread_embeddings(outputs)
    solution = solve_tight_constraints(embeddings, rate=rate, threads=1)
    fitted = fit_tight_constraints(embeddings, solution)
    claim = fitted.guarantee()
    assert (claim.standing, claim.largest_distance) == (Standing.CERTIFIED, BASE_TAIL_NATS / rate)
    losses, s = channel_losses(fitted, embeddings, claim.largest_distance)
    assert np.all(losses <= claim.epsilon * s + claim.slack)
    assert claim.slack < 0.05
    plain = LossComputation(DistinctVectors.of(embeddings, Euclidean())).metric(rate, BASE_TAIL_NATS / rate)
    if outputs == "all":
        assert rate < claim.epsilon < plain.epsilon <= 2 * rate * (1 + 1e-8)


def test_a_clipped_solution_that_claims_the_bare_rate_fails():
    embeddings = spread_embeddings()
    solution = solve_tight_constraints(embeddings, rate=0.5, threads=1)
    assert solution.negative > 0
    broken = replace(solution, loss=replace(solution.loss, epsilon=0.5))
    fitted = fit_tight_constraints(embeddings, broken)
    losses, s = channel_losses(fitted, embeddings, fitted.guarantee().largest_distance)
    assert not np.all(losses <= fitted.guarantee().epsilon * s + fitted.guarantee().slack)


@pytest.mark.parametrize("case", ["duplicates", "one dimension", "two words", "hair apart"])
def test_odd_vocabularies_end_with_a_certificate(case):
    solution = solve_tight_constraints(small_embeddings(case), rate=2.0, most_iterations=50, threads=1)
    assert solution.base.min() >= 0
    assert solution.base.max() == 1
    assert 2.0 < solution.loss.epsilon <= 4.0 * (1 + 1e-8)


def test_stopping_early_is_certified_all_the_same():
    steps = []
    solution = solve_tight_constraints(
        spread_embeddings(), rate=1.0, most_iterations=1, progress=lambda step, residual: steps.append((step, residual))
    )
    assert [step for step, _ in steps] == [1] == [solution.iterations]
    assert solution.residual > 1e-8
    exact = solve_tight_constraints(spread_embeddings(), rate=1.0)
    assert exact.loss.epsilon < solution.loss.epsilon


def test_angles_are_allowed_and_unknown_metrics_are_not():
    embeddings = small_embeddings("gaussian")
    assert solve_tight_constraints(embeddings, rate=8.0, metric=Angular()).loss.epsilon > 8.0

    class Unknown(Metric):
        name = "unknown"

        def coordinates(self, vectors):
            return np.asarray(vectors, dtype=np.float64)

    with pytest.raises(ParameterError, match="not known to be of negative type"):
        solve_tight_constraints(embeddings, rate=1.0, metric=Unknown())
    with pytest.raises(ParameterError, match=r"rate=inf must be in \(0, inf\)"):
        solve_tight_constraints(embeddings, rate=math.inf)
    with pytest.raises(ParameterError, match=r"tolerance=1.0 must be in \(0, 1\)"):
        solve_tight_constraints(embeddings, rate=1.0, tolerance=1.0)
    solution = solve_tight_constraints(small_embeddings("two words"), rate=1.0)
    with pytest.raises(ParameterError, match="must cover 300 candidates"):
        fit_tight_constraints(embeddings, solution)


@pytest.fixture(scope="module")
def glove_8000(glove_50d):
    return Embeddings.from_arrays(
        list(glove_50d.words)[:8000], np.asarray(glove_50d.vectors[:8000]), candidate_rule="all"
    )


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "epsilon", "plain", "negative", "kept"),
    [(2.0, 2.250, 2.725, 0.00713, 0.805), (1.5, 1.843, 2.102, None, 0.442)],
)
def test_checked_numbers_on_glove(glove_8000, rate, epsilon, plain, negative, kept):
    solution = solve_tight_constraints(glove_8000, rate=rate)
    assert solution.loss.epsilon == pytest.approx(epsilon, abs=1.1e-3)
    assert negative is None or solution.negative == pytest.approx(negative, abs=1e-5)
    assert np.diagonal(fit_tight_constraints(glove_8000, solution).channel()).mean() == pytest.approx(kept, abs=1e-3)
    certified = LossComputation(DistinctVectors.of(glove_8000, Euclidean())).metric(rate)
    assert certified.epsilon == pytest.approx(plain, abs=1.1e-3)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(("rate", "excess"), [(2.5, 2e-6), (3.0, 1e-6)])
def test_positive_solutions_cost_only_the_solver_s_tolerance_on_glove(glove_8000, rate, excess):
    solution = solve_tight_constraints(glove_8000, rate=rate)
    assert solution.negative == 0
    assert solution.loss.computed - rate < excess
