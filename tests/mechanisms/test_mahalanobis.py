import numpy as np
import pytest
from scipy import stats
from scipy.linalg import sqrtm
from tests.mechanisms.noise_checks import ALPHA, assert_law, direction_p_value, noise_of, radii

import seeds
from wordveil.errors import GuaranteeError, ParameterError
from wordveil.mechanisms.mahalanobis import Mahalanobis, scaled_covariance
from wordveil.promises.composing import compose_releases
from wordveil.promises.guarantees import MetricDP, Standing
from wordveil.vocabulary.table import Embeddings
from worlds import placed


def vocabulary(d: int, v: int = 60, seed: int = 0) -> Embeddings:
    rng = seeds.rng(seed)
    rows = rng.standard_normal((v, d)) @ rng.standard_normal((d, d)) + 3.0
    return placed(rows)


def test_the_covariance_is_that_of_the_table_scaled_to_trace_d():
    rows = vocabulary(4).vectors
    covariance = scaled_covariance(rows)
    expected = np.cov(rows.astype(np.float64).T)
    assert np.allclose(covariance, expected * 4 / np.trace(expected), rtol=1e-12)


@pytest.mark.parametrize("lam", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("d", [1, 2, 6])
def test_whitened_noise_is_multivariate_laplace(d, lam):
    table = vocabulary(d)
    fitted = Mahalanobis(epsilon=2.0, lam=lam).fit(table)
    blend = (1 - lam) * np.eye(d) + lam * scaled_covariance(table.vectors)
    whitening = np.linalg.inv(np.real(sqrtm(blend)))

    def draw(source):
        return noise_of(fitted, source, d) @ whitening

    assert_law(draw, radii(stats.gamma(d, scale=0.5).cdf))
    assert direction_p_value(draw(seeds.source(5))) >= ALPHA


def test_noise_stretched_by_the_covariance_instead_of_its_root_is_noticed():
    table = vocabulary(3)
    fitted = Mahalanobis(epsilon=2.0, lam=1.0).fit(table)
    wrong = noise_of(fitted, seeds.source(0), 3) @ fitted.root @ fitted.metric.whitening
    assert radii(stats.gamma(3, scale=0.5).cdf)(wrong) < ALPHA


def test_both_epsilons_bound_the_exact_loss_of_the_density():
    table = vocabulary(3)
    fitted = Mahalanobis(epsilon=2.0, lam=0.8).fit(table)
    points = seeds.rng(3).standard_normal((300, 3)) * 20
    x, y = table.vectors[:1].astype(np.float64), table.vectors[1:2].astype(np.float64)
    white = fitted.metric.coordinates
    loss = 2.0 * np.abs(np.linalg.norm(white(points - x), axis=1) - np.linalg.norm(white(points - y), axis=1)).max()
    distance = np.linalg.norm(white(x - y))
    assert loss <= 2.0 * distance <= fitted.euclidean_epsilon * np.linalg.norm(x - y)


def test_the_euclidean_epsilon_is_reached_along_the_smallest_axis():
    table = vocabulary(4)
    fitted = Mahalanobis(epsilon=1.5, lam=1.0).fit(table)
    values, axes = np.linalg.eigh(scaled_covariance(table.vectors))
    step = axes[:, :1].T
    assert 1.5 * np.linalg.norm(fitted.metric.coordinates(step)) == pytest.approx(fitted.euclidean_epsilon, rel=1e-9)
    assert fitted.euclidean_guarantee().epsilon == pytest.approx(1.5 / np.sqrt(values[0]), rel=1e-9)
    claim = fitted.guarantee()
    assert isinstance(claim, MetricDP)
    assert claim.standing is Standing.PROVED
    assert "Euclidean" in claim.assumptions[0]


def test_releases_under_different_tables_do_not_compose():
    a, b = (Mahalanobis(epsilon=1.0).fit(vocabulary(3, seed=s)).guarantee() for s in (0, 1))
    with pytest.raises(GuaranteeError, match="metric"):
        compose_releases([a, b])


def test_a_singular_covariance_and_a_vocabulary_of_one_word_are_refused():
    flat = seeds.rng(0).standard_normal((20, 3))
    flat[:, 2] = flat[:, 0] + flat[:, 1]
    table = placed(flat)
    with pytest.raises(ParameterError, match="singular"):
        Mahalanobis(epsilon=1.0, lam=1.0).fit(placed(np.round(flat * 64) / 64 * [1, 1, 0]))
    assert Mahalanobis(epsilon=1.0, lam=0.9).fit(table).smallest_eigenvalue == pytest.approx(0.1, abs=1e-6)
    single = placed([[1.0, 2.0]])
    with pytest.raises(ParameterError, match="no spread"):
        Mahalanobis(epsilon=1.0, lam=0.5).fit(single)
    assert Mahalanobis(epsilon=1.0, lam=0.0).fit(single).smallest_eigenvalue == pytest.approx(1.0)
