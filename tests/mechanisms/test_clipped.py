"""Clipped Gaussian and clipped l2 noise: delta by other arithmetic and another integral, and exact diameters."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

import wordveil as wv
from wordveil.errors import CertificateError, ParameterError, RefutedClaimError
from wordveil.mechanisms.clipped_gaussian import ClippedGaussian
from wordveil.mechanisms.clipped_l2 import ClippedL2, clipped_diameter
from wordveil.mechanisms.gaussian_scale import analytic_scale, classical_scale, gaussian_epsilon, gaussian_log_delta
from wordveil.promises.guarantees import LocalDP, NoGuarantee, Standing
from worlds import placed, scattered


def oracle_delta(epsilon: float, scale: float) -> mpmath.mpf:
    """The formula of Balle and Wang in 60 digits."""
    with mpmath.workdps(60):
        half, shift = 1 / (2 * mpmath.mpf(scale)), mpmath.mpf(epsilon) * mpmath.mpf(scale)
        return mpmath.ncdf(half - shift) - mpmath.exp(epsilon) * mpmath.ncdf(-half - shift)


@settings(max_examples=60)
@given(st.floats(-3, 2.5), st.floats(-40, -0.05))
def test_the_analytic_scale_is_the_root_from_above(log_epsilon, log_delta):
    epsilon, delta = 10**log_epsilon, 10**log_delta
    scale = analytic_scale(epsilon, delta)
    assert oracle_delta(epsilon, scale) <= delta
    assert oracle_delta(epsilon, scale * (1 - 1e-6)) > delta
    assert gaussian_log_delta(epsilon, scale) >= float(mpmath.log(oracle_delta(epsilon, scale)))


@pytest.mark.parametrize(("epsilon", "draws", "known"), [(8.0, 10, 32.72), (0.5, 2, None), (1.0, 1000, None)])
def test_draws_together_are_one_of_less_noise(epsilon, draws, known):
    fitted = ClippedGaussian(epsilon=epsilon, delta=1e-5).for_dimensions(3)
    one = fitted.guarantee()
    together = fitted.together(one, draws)
    assert together.delta == pytest.approx(draws * 1e-5)
    assert together.epsilon < draws * epsilon
    assert together.epsilon == pytest.approx(known or together.epsilon, abs=0.005)
    with mpmath.workdps(60):
        # The likelihood ratio of that many draws is that of their mean, whose deviation is the root's share.
        scale = mpmath.mpf(fitted.sigma) / 2 / mpmath.sqrt(draws)
    assert oracle_delta(together.epsilon, scale) <= together.delta
    assert oracle_delta(together.epsilon * (1 - 1e-6), scale) > together.delta
    assert fitted.together(one, 1) == one


def test_the_smallest_epsilon_of_so_much_noise_that_any_will_do():
    assert gaussian_epsilon(0.5, 100.0) == 1e-9


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 1e-3])
def test_the_scale_is_never_too_small_where_the_difference_of_two_normals_cancels(epsilon, delta):
    # At epsilon 1e-12 both logarithms are ln(1/2) but for 1e-9: without its allowance for their rounding the true delta
    # is above the one promised, by 5e-8 of it, for one in three of these.
    for k in range(12):
        wanted = epsilon * (1 + k / 17), delta * (1 + k / 13)
        assert oracle_delta(wanted[0], analytic_scale(*wanted)) <= wanted[1]


@pytest.mark.parametrize("epsilon", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("delta", [5e-324, 1e-12, 0.999])
def test_extreme_parameters_have_a_finite_root(epsilon, delta):
    assert 0 < analytic_scale(epsilon, delta) < math.inf


def test_an_epsilon_beyond_float64_is_refused():
    with pytest.raises(ParameterError, match="at most 1e"):
        analytic_scale(1e300, 1e-300)


@settings(max_examples=60)
@given(st.floats(0.01, 0.99), st.floats(-12, -0.35))
def test_below_epsilon_1_the_classical_scale_is_a_theorem(epsilon, log_delta):
    mechanism = ClippedGaussian(epsilon=epsilon, delta=10**log_delta, calibration="classical")
    assert oracle_delta(epsilon, mechanism.unit_scale) <= 10**log_delta


def test_the_classical_scale_holds_where_the_exact_delta_says_so_and_is_refuted_elsewhere():
    assert classical_scale(0.5, 1e-5) == pytest.approx(math.sqrt(2 * math.log(1.25e5)) / 0.5)
    for calibration, scale in (("classical", classical_scale), ("analytic", analytic_scale)):
        fitted = ClippedGaussian(epsilon=0.5, clip_norm=2.0, calibration=calibration).for_dimensions(3)
        assert fitted.sigma == 4.0 * scale(0.5, 1e-5)
    assert isinstance(ClippedGaussian(epsilon=0.5, calibration="classical").for_dimensions(3).guarantee(), LocalDP)
    with pytest.raises(RefutedClaimError, match="exactly"):
        ClippedGaussian(epsilon=40.0, calibration="classical")
    claim = ClippedGaussian(epsilon=40.0, calibration="classical", allow_refuted=True).for_dimensions(3).guarantee()
    assert isinstance(claim, NoGuarantee)
    assert claim.standing is Standing.REFUTED
    exact = oracle_delta(40.0, classical_scale(40.0, 1e-5))
    assert exact > 1e-5
    assert f"{float(exact):.3g}"[:3] in claim.reason


def delta_in_the_plane(rate, distance, epsilon):
    """Integrate (p - e^epsilon q)_+ over the plane in polar coordinates around the first of two points."""
    radius, dr = np.linspace(0, 60 / rate, 6001, retstep=True)
    angle = (np.arange(2000) + 0.5) * math.pi / 2000  # half the plane: the other is its mirror image
    other = np.sqrt(radius[:, None] ** 2 + distance**2 - 2 * radius[:, None] * distance * np.cos(angle))
    gain = np.maximum(-np.expm1(epsilon - rate * (other - radius[:, None])), 0.0).mean(axis=1)
    return float(np.trapezoid(rate**2 * radius * np.exp(-rate * radius) * gain, dx=dr))


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-2), (4.0, 1e-3), (0.2, 0.1)])
def test_delta_is_spent_and_no_more_by_an_integral_over_the_plane(epsilon, delta):
    fitted = ClippedL2(epsilon=epsilon, delta=delta, clip_norm=1.5).for_dimensions(2)
    found = delta_in_the_plane(fitted.noise.epsilon, 3.0, epsilon)
    assert found == pytest.approx(delta, rel=1e-3)
    # A twin with noise 3 % smaller is refuted by the same integral.
    assert delta_in_the_plane(1.03 * fitted.noise.epsilon, 3.0, epsilon) > 1.01 * delta


@pytest.mark.parametrize(("d", "share"), [(5, 0.506), (50, 0.904), (300, 0.983)])
def test_noise_is_below_the_analytic_gaussian_s_by_the_checked_share(d, share):
    fitted = ClippedL2(epsilon=8.0, delta=1e-5).for_dimensions(d)
    assert fitted.deviation / (2 * analytic_scale(8.0, 1e-5)) == pytest.approx(share, abs=6e-4)
    assert fitted.deviation == pytest.approx(math.sqrt(d + 1) / fitted.noise.epsilon)


def test_pure_noise_is_29_percent_below_clipped_laplace_in_many_dimensions():
    fitted = ClippedL2(epsilon=2.0, delta=0.0).for_dimensions(10_000)
    laplace = math.sqrt(2) * wv.ClippedLaplace(epsilon=2.0).for_dimensions(10_000).scale
    assert 1 - fitted.deviation / laplace == pytest.approx(0.2929, abs=1e-4)


def test_guarantees_say_what_they_rest_on():
    pure, profile = (ClippedL2(epsilon=3.0, delta=delta).for_dimensions(5).guarantee() for delta in (0.0, 1e-5))
    assert (pure.epsilon, pure.delta, pure.standing, pure.slack) == (3.0, 0.0, wv.Standing.PROVED, 0.0)
    assert (profile.epsilon, profile.delta, profile.standing) == (3.0, 1e-5, wv.Standing.CERTIFIED)


def small_table():
    return placed(scattered(3, 300, 6) + np.float32(0.7))


@pytest.mark.parametrize("clip_norm", [0.3, 1.5, 3.0, 50.0])
def test_a_vocabulary_s_diameter_is_that_of_all_pairs(clip_norm):
    table = small_table()
    rows = table.vectors.astype(np.float64)
    norms = np.linalg.norm(rows, axis=1)
    brute = pdist(rows * np.minimum(1, clip_norm / norms)[:, None]).max()
    found = clipped_diameter(table.vectors, clip_norm)
    assert brute * (1 - 1e-11) <= found <= min(brute * (1 + 1e-12) + 1e-12, 2 * clip_norm)  # clipped a hair further
    mechanism = ClippedL2(epsilon=2.0, delta=0.0, clip_norm=clip_norm, diameter="vocabulary")
    fitted = mechanism.fit(table)
    assert 2.0 * (1 - 1e-12) <= fitted.noise.epsilon * found <= 2.0
    assert "words of the vocabulary" in fitted.guarantee().assumptions[0]
    assert fitted.inputs == "vocabulary vectors"


def test_constants_are_certified_and_a_changed_one_is_refused():
    table = small_table()
    certificate = wv.certify(ClippedL2(epsilon=2.0, clip_norm=1.5, diameter="vocabulary"), table)
    assert certificate.vocabulary == table.header.checksum
    assert wv.verify(certificate, table).numbers == certificate.numbers
    assert wv.certify(ClippedL2(epsilon=2.0), table).vocabulary == ""
    shrunk = placed(table.vectors * np.float32(0.9))
    with pytest.raises(CertificateError, match="vocabulary"):
        wv.verify(certificate, shrunk)
