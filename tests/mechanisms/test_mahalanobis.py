import numpy as np
import pytest
from tests.mechanisms.test_noise_laws import correlated

import seeds
import wordveil as wv
from wordveil.mechanisms.mahalanobis import Mahalanobis, scaled_covariance
from worlds import placed


def test_the_covariance_is_that_of_the_table_scaled_to_trace_d():
    rows = correlated(4).vectors
    covariance = scaled_covariance(rows)
    expected = np.cov(rows.astype(np.float64).T)
    assert np.allclose(covariance, expected * 4 / np.trace(expected), rtol=1e-12)


def test_both_epsilons_bound_the_exact_loss_of_the_density():
    table = correlated(3)
    fitted = Mahalanobis(epsilon=2.0, lam=0.8).fit(table)
    points = seeds.rng(3).standard_normal((300, 3)) * 20
    x, y = table.vectors[:1].astype(np.float64), table.vectors[1:2].astype(np.float64)
    white = fitted.metric.coordinates
    loss = 2.0 * np.abs(np.linalg.norm(white(points - x), axis=1) - np.linalg.norm(white(points - y), axis=1)).max()
    distance = np.linalg.norm(white(x - y))
    assert loss <= 2.0 * distance <= fitted.euclidean_epsilon * np.linalg.norm(x - y)


def test_the_euclidean_epsilon_is_reached_along_the_smallest_axis():
    table = correlated(4)
    fitted = Mahalanobis(epsilon=1.5, lam=1.0).fit(table)
    values, axes = np.linalg.eigh(scaled_covariance(table.vectors))
    step = axes[:, :1].T
    assert 1.5 * np.linalg.norm(fitted.metric.coordinates(step)) == pytest.approx(fitted.euclidean_epsilon, rel=1e-9)
    assert fitted.euclidean_guarantee().epsilon == pytest.approx(1.5 / np.sqrt(values[0]), rel=1e-9)
    claim = fitted.guarantee()
    assert isinstance(claim, wv.MetricDP)
    assert claim.standing is wv.Standing.PROVED
    assert "Euclidean" in claim.assumptions[0]


def test_the_smallest_eigenvalue_is_that_of_the_blend():
    flat = seeds.rng(0).standard_normal((20, 3))
    flat[:, 2] = flat[:, 0] + flat[:, 1]
    table = placed(flat)
    assert Mahalanobis(epsilon=1.0, lam=0.9).fit(table).smallest_eigenvalue == pytest.approx(0.1, abs=1e-6)
    single = placed([[1.0, 2.0]])
    assert Mahalanobis(epsilon=1.0, lam=0.0).fit(single).smallest_eigenvalue == pytest.approx(1.0)
