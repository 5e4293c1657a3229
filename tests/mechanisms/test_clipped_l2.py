"""The clipped l2 mechanism: its law, its delta by another integral, exact diameters by brute force."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import wordveil as wv
from wordveil.errors import CertificateError
from wordveil.mechanisms.clipped_l2 import ClippedL2, clipped_diameter
from wordveil.mechanisms.gaussian_scale import analytic_scale
from worlds import placed, scattered


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
