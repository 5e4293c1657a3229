import math

import numpy as np
import pytest
from scipy.optimize import minimize

import seeds
import wordveil as wv
from wordveil.errors import ParameterError, RefutedClaimError
from wordveil.mechanisms.truncated_law import certified_half_width, escape, largest_delta, published_half_width


def published(dimensions, epsilon, **parameters):
    """The published calibration, which is refuted, by default at the paper's delta."""
    parameters = {"epsilon": epsilon, "delta": 4.0**-300, **parameters}
    mechanism = wv.TruncatedLaplace(calibration="published", allow_refuted=True, **parameters)
    return mechanism.for_dimensions(dimensions)


def magnitude_cdf(fitted):
    total = -math.expm1(-fitted.alpha * fitted.half_width)
    return lambda x: np.where(x > fitted.half_width, 1.0, -np.expm1(-fitted.alpha * x) / total)


@pytest.mark.parametrize(("epsilon", "spread"), [(0.1, 0.9866), (1, 0.9790), (5, 0.8430), (8, 0.2845)])
def test_the_counter_example_to_the_published_calibration(epsilon, spread):
    d = 300
    fitted = published(d, epsilon)
    shift = np.array([2 / math.sqrt(d)])
    by_hand = 1 - (1 - escape(shift, fitted.alpha, fitted.half_width)[0]) ** d
    assert spread - 1e-4 < by_hand <= spread  # the design's numbers are rounded up
    claim = fitted.guarantee()
    assert isinstance(claim, wv.NoGuarantee)
    assert claim.standing is wv.Standing.REFUTED
    assert largest_delta(d, epsilon, fitted.half_width) == pytest.approx(spread, abs=1e-4)


def test_one_coordinate_and_the_half_width_at_the_papers_setting():
    width = published_half_width(300, 0.1, 4.0**-300)
    assert width == pytest.approx(4.0233, abs=5e-5)
    assert escape(np.array([2.0]), 0.1 / (2 * math.sqrt(300)), width)[0] == pytest.approx(0.2478, abs=5e-5)


def test_the_published_claim_is_mended_by_no_padding():
    padded = published(300, 0.1, padded_dimensions=500)
    assert isinstance(padded.guarantee(), wv.NoGuarantee)
    assert padded.half_width == pytest.approx(published_half_width(500, 0.1, 4.0**-300), rel=1e-15)


def test_in_one_dimension_the_published_width_is_sound_and_says_so():
    claim = published(1, 0.1, delta=0.1)
    assert isinstance(claim.guarantee(), wv.LocalDP)
    assert claim.guarantee().standing is wv.Standing.CERTIFIED


def test_a_box_narrower_than_the_shift_is_never_certified():
    fitted = published(1, 0.1, delta=0.9)
    assert fitted.half_width < 2
    assert isinstance(fitted.guarantee(), wv.NoGuarantee)


def test_escape_equals_the_integral_of_the_density():
    alpha, width = 0.7, 3.0
    grid = np.linspace(-width, width, 2_000_001)
    density = np.exp(-alpha * np.abs(grid))
    density /= density.sum()
    for shift in (0.0, 0.4, 2.9, 3.5, 5.9, 6.5):
        assert escape(np.array([shift]), alpha, width)[0] == pytest.approx(
            density[grid > width - shift].sum(), abs=2e-6
        )


@pytest.mark.parametrize(("d", "epsilon", "width"), [(2, 8.0, 5.9), (2, 1.0, 31.0), (5, 20.0, 4.0), (7, 3.0, 20.0)])
def test_no_shift_found_by_free_search_beats_the_exact_delta(d, epsilon, width):
    alpha = epsilon / (2 * math.sqrt(d))
    bound = largest_delta(d, epsilon, width)

    def negative(x):
        shift = np.abs(2 * x / np.linalg.norm(x))
        return np.log1p(-escape(shift, alpha, width)).sum()

    rng = seeds.rng(0)
    found = [minimize(negative, rng.standard_normal(d), method="Nelder-Mead").fun for _ in range(12)]
    best = max(-np.expm1(value) for value in found)
    assert best <= bound
    assert best >= bound * (1 - 1e-4)


@pytest.mark.parametrize("calibration", ["certified", "exact"])
@pytest.mark.parametrize(("d", "epsilon"), [(1, 1.0), (3, 2.0), (40, 30.0)])
def test_claimed_deltas_are_reached_by_the_exact_width_and_never_exceeded(d, epsilon, calibration):
    fitted = wv.TruncatedLaplace(epsilon=epsilon, delta=1e-4, calibration=calibration).for_dimensions(d)
    exact = largest_delta(d, epsilon, fitted.half_width)
    assert exact <= 1e-4 * (1 + 1e-8)
    if calibration == "exact":
        assert largest_delta(d, epsilon, fitted.half_width * (1 - 1e-6)) > 1e-4
    assert fitted.guarantee().delta == 1e-4


def test_a_quantile_grid_goes_through_the_inverse_exactly():
    fitted = wv.TruncatedLaplace(epsilon=2.0, delta=0.01).for_dimensions(3)
    uniforms = (np.arange(1000) + 0.5) / 1000
    words = (uniforms * 2.0**63).astype(np.uint64) << np.uint64(1) | np.uint64(1)
    tails = np.zeros((1000, 2), dtype=np.uint64)
    noise = fitted.points(np.zeros((1000, 3)), (np.repeat(words[:, None], 3, axis=1), tails), 2.0**-26)[:, 0]
    assert np.all(np.diff(noise) < 0)
    assert np.allclose(magnitude_cdf(fitted)(noise), 1 - uniforms, atol=2.0**-26)
    ends = np.array([[0, 1, 2**64 - 1]], dtype=np.uint64)  # of either sign: the last steps before the edge, and 0
    released = fitted.randomize(np.zeros((1, 3)), (ends, tails[:1]))
    assert np.all(np.abs(released) <= fitted.half_width + fitted.grid / 2)
    assert (released[0, :2] * [-1, 1] > fitted.half_width - 1.5 * fitted.grid).all()
    assert released[0, 2] == 0


def test_the_published_calibration_needs_opting_in_and_a_small_epsilon():
    with pytest.raises(RefutedClaimError, match="refuted"):
        wv.TruncatedLaplace(epsilon=0.1, calibration="published")
    with pytest.raises(ParameterError, match="must be below"):
        published(300, 9.0)
    with pytest.raises(ParameterError, match="at least 3"):
        published(3, 0.1, delta=0.1, padded_dimensions=2)


@pytest.mark.parametrize("dimensions", [1, 2, 300])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 29.9, 30.1, 700.0, 1e5])
@pytest.mark.parametrize("delta", [0.4, 1e-5, 1e-300])
def test_the_certified_half_width_is_rounded_up(dimensions, epsilon, delta):
    """In fifty digits, never below the formula and above it by less than 1e-13; a huge epsilon does not overflow."""
    mpmath = pytest.importorskip("mpmath")
    found = certified_half_width(dimensions, epsilon, delta)
    with mpmath.workdps(1000 if epsilon > 700 else 400):
        root = mpmath.sqrt(dimensions)
        exact = mpmath.log1p(root * mpmath.expm1(mpmath.mpf(epsilon) / root) / (2 * mpmath.mpf(delta)))
        exact *= 2 * root / mpmath.mpf(epsilon)
        assert exact <= found <= exact * (1 + mpmath.mpf(10) ** -13)
    if dimensions == 1:
        with mpmath.workdps(60):
            alpha = mpmath.mpf(epsilon) / 2  # a shift of 2C leaves the box with exactly this probability
            escaping = (
                -mpmath.expm1(-2 * alpha) * mpmath.exp(-alpha * (found - 2)) / (-2 * mpmath.expm1(-alpha * found))
            )
            assert escaping <= mpmath.mpf(delta)
