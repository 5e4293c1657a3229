"""The noise of every mechanism of vectors: its lengths, directions and signs by SciPy's laws, and the loss it makes."""

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import sqrtm
from tests.mechanisms.noise_checks import ALPHA, assert_law, direction_p_value, noise_of, radii, sign_p_value

import seeds
import wordveil as wv
from wordveil.mechanisms.gaussian_scale import analytic_scale, classical_scale
from wordveil.mechanisms.mahalanobis import Mahalanobis, scaled_covariance
from worlds import drawn, placed


def correlated(d, v=60, seed=0):
    """Words whose coordinates vary together, away from the origin, in no direction so little that the grid shows."""
    rng = seeds.rng(seed)
    turned = np.linspace(0.5, 2.0, d)[:, None] * np.linalg.qr(rng.standard_normal((d, d)))[0]
    return placed(rng.standard_normal((v, d)) @ turned + 3.0)


def noise_in(fitted, d):
    return lambda source: noise_of(fitted, source, d)


def whitened(fitted, table, d):
    """The noise of Mahalanobis times the inverse root of the covariance that it is stretched by."""
    covariance = (1 - fitted.mechanism.lam) * np.eye(d) + fitted.mechanism.lam * scaled_covariance(table.vectors)
    return lambda source: noise_of(fitted, source, d) @ np.linalg.inv(np.real(sqrtm(covariance)))


def gamma(d, scale, order=2):
    return radii(stats.gamma(d, scale=scale).cdf, order)


def cases():
    """Name, noise, the law of its lengths, and what else of it must be uniform."""
    for d, epsilon in ((1, 0.5), (2, 8.0), (3, 0.5), (50, 8.0)):
        fitted = wv.MultivariateLaplace(epsilon=epsilon).for_dimensions(d)
        yield f"laplace {epsilon} in {d}", noise_in(fitted, d), gamma(d, 1 / epsilon), direction_p_value
    for d in (1, 2, 8):
        fitted = wv.ClippedLaplace(epsilon=2.0, clip_norm=3.0).for_dimensions(d)
        # The L1 norm of d Laplace variates of scale b is Gamma(d, b).
        yield f"clipped laplace in {d}", noise_in(fitted, d), gamma(d, np.sqrt(d) * 3.0, order=1), sign_p_value
        for calibration, scale in (("analytic", analytic_scale), ("classical", classical_scale)):
            mechanism = wv.ClippedGaussian(epsilon=0.9, delta=1e-4, clip_norm=2.0, calibration=calibration)
            law = radii(stats.chi(d, scale=4.0 * scale(0.9, 1e-4)).cdf)
            yield f"clipped gaussian {calibration} in {d}", noise_in(mechanism.for_dimensions(d), d), law, sign_p_value
        for delta in (0.0, 1e-5):
            fitted = wv.ClippedL2(epsilon=2.0, delta=delta, clip_norm=3.0).for_dimensions(d)
            law = gamma(d, 1 / fitted.noise.epsilon)
            yield f"clipped l2 {delta} in {d}", noise_in(fitted, d), law, direction_p_value
    for m in (1, 2, 5):
        fitted = wv.Projection(epsilon=2.0, dimensions=m).fit(drawn(80, 6))
        yield f"projection to {m}", noise_in(fitted, 6), gamma(m, fitted.stretch / 2.0), direction_p_value
    for d, lam in ((1, 0.4), (2, 0.0), (2, 1.0), (6, 0.4)):
        table = correlated(d)
        fitted = wv.Mahalanobis(epsilon=2.0, lam=lam).fit(table)
        yield f"mahalanobis {lam} in {d}", whitened(fitted, table, d), gamma(d, 0.5), direction_p_value


CASES = {name: case for name, *case in cases()}


@pytest.mark.parametrize(("draw", "lengths", "uniform"), CASES.values(), ids=CASES)
def test_noise_follows_its_law(draw, lengths, uniform):
    assert_law(draw, lengths)
    for seed in range(2):
        assert uniform(draw(seeds.source(seed))) >= ALPHA


def test_directions_that_are_not_uniform_and_a_covariance_in_the_place_of_its_root_are_noticed():
    noise = noise_of(wv.MultivariateLaplace(epsilon=1.0).for_dimensions(3), seeds.source(0), 3)
    assert direction_p_value(noise * [1.0, 1.0, 1.2]) < ALPHA
    assert direction_p_value(np.abs(noise)) < ALPHA
    fitted = wv.Mahalanobis(epsilon=2.0, lam=1.0).fit(correlated(3))
    stretched_twice = noise_of(fitted, seeds.source(0), 3) @ fitted.root @ fitted.metric.whitening
    assert gamma(3, 0.5)(stretched_twice) < ALPHA


@pytest.mark.parametrize("kind", [wv.ClippedLaplace, wv.ClippedL2], ids=lambda kind: kind.__name__)
def test_pure_loss_between_clipped_vectors_is_reached_and_not_exceeded(kind):
    delta = {"delta": 0.0} if kind is wv.ClippedL2 else {}
    fitted = kind(epsilon=1.5, clip_norm=2.0, **delta).for_dimensions(4)
    rng = seeds.rng(0)
    rows, outputs = rng.standard_normal((200, 4)) * 50, rng.standard_normal((400, 4)) * 3
    assert np.ptp(fitted.log_density(outputs, rows), axis=1).max() <= 1.5
    corner = np.full((1, 4), 99.0)
    ends = np.concatenate((corner, -corner))
    assert np.ptp(fitted.log_density(corner, ends)) == pytest.approx(1.5, rel=1e-11)


@pytest.mark.parametrize("kind", [wv.ClippedGaussian, wv.ClippedL2, wv.ClippedLaplace, wv.TruncatedLaplace])
def test_vectors_are_clipped_to_the_ball_and_no_further(kind):
    fitted = kind(epsilon=1.0, clip_norm=0.5).for_dimensions(3)
    lengths = np.linalg.norm(fitted.sums(seeds.rng(1).standard_normal((50, 3)) * 1e6).rows, axis=1)
    assert lengths.max() <= 0.5
    assert lengths == pytest.approx(0.5, rel=1e-11)


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
