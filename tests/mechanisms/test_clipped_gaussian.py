import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordveil.errors import ParameterError, RefutedClaimError
from wordveil.mechanisms.clipped_gaussian import ClippedGaussian
from wordveil.mechanisms.gaussian_scale import analytic_scale, classical_scale, gaussian_epsilon, gaussian_log_delta
from wordveil.promises.guarantees import LocalDP, NoGuarantee, Standing


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
