"""Exact profiles of noise: checked numbers, a second quadrature, their order; and pairs that dominate them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

import seeds
import wordveil as wv
from certification.small_vocabularies import small_embeddings
from wordveil.certification.accounting import laplace_to_local
from wordveil.errors import GuaranteeError, ParameterError
from wordveil.mechanisms.laplace_profile import laplace_delta, laplace_epsilon
from wordveil.promises.guarantees import PrivacyUnit
from worlds import placed

EPSILONS = [
    (300, 30, 8.194003), (300, 60, 19.373890), (300, 100, 38.071112), (100, 30, 15.148082), (50, 10, 5.847168),
    (50, 30, 20.968327), (10, 10, 9.508765), (768, 60, 10.912856),
]  # fmt: skip


@pytest.mark.parametrize(("dimensions", "loss", "expected"), EPSILONS)
def test_checked_epsilons(dimensions, loss, expected):
    found = laplace_epsilon(1e-5, dimensions=dimensions, loss=loss)
    assert found == pytest.approx(expected, abs=6e-7)
    assert laplace_delta(found, dimensions=dimensions, loss=loss) <= 1e-5
    assert laplace_delta(found * (1 - 1e-6), dimensions=dimensions, loss=loss) > 1e-5


def second_quadrature(epsilon, d, t):
    """E[(1 - e^(epsilon - loss))_+] over radius and angle, by plain Gauss-Legendre panels, without any cdf."""
    nodes, weights = np.polynomial.legendre.leggauss(40)

    def panels(low, high, count):
        edges = np.linspace(low, high, count + 1)
        half = np.diff(edges)[:, None] / 2
        return (edges[:-1, None] + half * (nodes + 1)).ravel(), (half * weights).ravel()

    spread = 14 * math.sqrt(d) + 30
    total = 0.0
    split = (t - epsilon) / 2
    for low, high in [(0.0, split), (split, split + 1), (split + 1, max(d + spread, split + spread))]:
        radius, mass = (
            panels(max(low, d - spread, 1e-300), high, 30) if high > d - spread else (np.ones(1), np.zeros(1))
        )
        mass = mass * np.exp((d - 1) * np.log(radius) - radius - gammaln(d))
        cosine = (2 * radius * epsilon + epsilon**2 - t * t) / (2 * radius * t)
        widest = np.arccos(np.clip(cosine, -1, 1))
        share, angle_mass = panels(0.0, 1.0, 6)
        angle = widest[:, None] * share
        loss = np.sqrt(radius[:, None] ** 2 + 2 * radius[:, None] * t * np.cos(angle) + t * t) - radius[:, None]
        gain = np.maximum(-np.expm1(epsilon - loss), 0) * np.sin(angle) ** (d - 2)
        inner = widest * (gain @ angle_mass) * math.exp(gammaln(d / 2) - gammaln((d - 1) / 2)) / math.sqrt(math.pi)
        total += float(mass @ inner)
    return total


@pytest.mark.parametrize("dimensions", [2, 3, 4, 10, 50, 300])
@pytest.mark.parametrize("loss", [0.01, 2.0, 30.0])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.6])
def test_a_second_quadrature_agrees_and_is_never_above(dimensions, loss, share):
    epsilon = share * loss
    found = laplace_delta(epsilon, dimensions=dimensions, loss=loss)
    expected = second_quadrature(epsilon, dimensions, loss)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-13)
    assert found >= expected * (1 - 1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.9])
def test_one_dimension_has_a_closed_form(epsilon):
    assert laplace_delta(epsilon, dimensions=1, loss=2.0) == pytest.approx(-math.expm1((epsilon - 2) / 2), rel=1e-14)
    found = laplace_epsilon(1e-3, dimensions=1, loss=2.0)
    assert found == pytest.approx(2 + 2 * math.log1p(-1e-3), rel=1e-9)


@settings(max_examples=40)
@given(st.integers(1, 400), st.floats(0.05, 80.0), st.floats(0.0, 1.0), st.floats(1.001, 2.0))
def test_the_profile_is_ordered(dimensions, loss, share, factor):
    delta = laplace_delta(share * loss, dimensions=dimensions, loss=loss)
    assert 0 <= delta <= 1
    # The allowance is what rounding up may add to the smaller side.
    assert laplace_delta(share * loss, dimensions=dimensions, loss=loss * factor) >= delta * (1 - 1e-9) - 1e-10
    assert laplace_delta(min(share * factor, 1) * loss, dimensions=dimensions, loss=loss) <= delta + 1e-10
    assert laplace_delta(loss, dimensions=dimensions, loss=loss) == 0.0


def test_conversion_to_local_dp_beats_the_diameter_alone():
    noise = wv.MultivariateLaplace(epsilon=2.0)
    local = laplace_to_local(noise.for_dimensions(300), diameter=15.0, delta=1e-5)
    assert isinstance(local, wv.LocalDP)
    assert local.epsilon == pytest.approx(8.194003, abs=1e-6)
    assert (local.delta, local.standing, local.slack) == (1e-5, wv.Standing.CERTIFIED, 0.0)
    assert local.epsilon < wv.to_local(noise.for_dimensions(300).guarantee(), diameter=15.0).epsilon
    assert any("diameter of 15" in a for a in local.assumptions)
    # At a distance that delta alone covers, the loss is nil, yet a guarantee states a positive epsilon.
    assert 0 < laplace_to_local(noise.for_dimensions(3), diameter=1e-9, delta=1e-3).epsilon < 1e-8


def test_decoded_words_and_whitened_noise_have_the_same_profile():
    words = small_embeddings("gaussian")
    for mechanism, dimensions in (
        (wv.MultivariateLaplace(epsilon=4.0), 7),
        (wv.Mahalanobis(epsilon=4.0), 7),
        (wv.Projection(epsilon=4.0, dimensions=3), 3),
    ):
        local = laplace_to_local(wv.Decoded(mechanism=mechanism).fit(words), diameter=5.0, delta=1e-4)
        assert local.epsilon == laplace_epsilon(1e-4, dimensions=dimensions, loss=math.nextafter(20.0, 21.0))
        assert (local.unit, local.standing) == (PrivacyUnit.TOKEN, wv.Standing.CERTIFIED)


def test_an_assumed_diameter_is_printed_no_larger_than_it_is():
    local = laplace_to_local(wv.MultivariateLaplace(epsilon=2.0).for_dimensions(3), diameter=1.00099, delta=1e-5)
    assert "all inputs lie within a public euclidean diameter of 1" in local.assumptions
    pair = wv.dominating_pair(wv.MultivariateLaplace(epsilon=2.0).for_dimensions(3), diameter=1.00099)
    assert pair.assumptions == ("all inputs lie within a public euclidean diameter of 1",)
    assert "within a loss of 2.00198" in pair.speaks_of


def test_profiles_over_two_tables_or_metrics_are_not_taken_for_one():
    words = small_embeddings("gaussian")
    wide = placed(20 * words.vectors)
    mechanism = wv.Decoded(mechanism=wv.MultivariateLaplace(epsilon=1.0))
    claims = [laplace_to_local(mechanism.fit(table), diameter=3.0, delta=1e-6) for table in (words, wide)]
    assert wv.compose_releases([claims[0], claims[0]]).scope == mechanism.fit(words).guarantee().scope
    with pytest.raises(GuaranteeError, match="differ in their scope"):
        wv.compose_releases(claims)
    rows = [laplace_to_local(kind.fit(words), diameter=3.0, delta=1e-6) for kind in (
        wv.MultivariateLaplace(epsilon=1.0), wv.Mahalanobis(epsilon=1.0))]  # fmt: skip
    assert len({line for claim in rows for line in claim.assumptions if "diameter of 3" in line}) == 2


def test_conversions_without_a_theorem_are_refused():
    noise = wv.MultivariateLaplace(epsilon=2.0).for_dimensions(3)
    claim = noise.guarantee()
    # A promise does not say what noise it is of, nor a sum of two that they are of one draw.
    for promise in (claim, wv.compose_releases([claim, claim]), wv.ClippedLaplace(epsilon=2.0).for_dimensions(3)):
        with pytest.raises(GuaranteeError, match="pass the fitted mechanism"):
            laplace_to_local(promise, diameter=1.0, delta=1e-5)
    unlucky = wv.Projection(epsilon=2.0, sensitivity="published", beta=2.0).for_dimensions(3)
    with pytest.raises(GuaranteeError, match="a delta of its own"):
        laplace_to_local(unlucky, diameter=1.0, delta=1e-5)
    for diameter in (math.inf, 0.0, -1.0, math.nan, "3", True):
        with pytest.raises(ParameterError, match="diameter="):
            laplace_to_local(noise, diameter=diameter, delta=1e-5)
    with pytest.raises(ParameterError, match=r"delta=0\.0"):
        laplace_epsilon(0.0, dimensions=2, loss=1.0)
    for epsilon, dimensions, loss, wrong in (
        (1, 0, 2.0, "dimensions=0"),
        (1, 2, 0.0, "loss=0"),
        (-1, 2, 1, "epsilon=-1"),
    ):
        with pytest.raises(ParameterError, match=wrong):
            laplace_delta(epsilon, dimensions=dimensions, loss=loss)


POINTS, STEPS = 900, (0, 40, 128, 300)  # of the grid, a side; indices into the pair's steps
TABLE = placed(seeds.rng(1).normal(size=(40, 2)) * [1.0, 3.0])


def profile(fitted, first, second, epsilons, reach):
    """Return sum (p - e^epsilon q)_+ for two vectors, from the density that the mechanism states."""
    axis = np.linspace(-reach, reach, POINTS)
    outputs = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    p, q = (np.exp(fitted.log_density(outputs, row[None]))[:, 0] for row in (first, second))
    p, q = p / p.sum(), q / q.sum()
    return np.array([np.maximum(p - np.exp(epsilon) * q, 0.0).sum() for epsilon in epsilons])


CASES = {
    "projection": (wv.Projection(epsilon=2.0, dimensions=2, directions="orthonormal", sensitivity="spectral"), 1.0),
    "mahalanobis": (wv.Mahalanobis(epsilon=2.0, lam=0.5), 1.0),
    "clipped-l2": (wv.ClippedL2(epsilon=2.0, delta=0.01), None),
    "truncated-laplace": (wv.TruncatedLaplace(epsilon=2.0, delta=0.01), None),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_pair_of_inputs_lies_above_it(name):
    mechanism, diameter = CASES[name]
    fitted = mechanism.fit(TABLE)
    pair = wv.dominating_pair(fitted, diameter=diameter)
    steps = [k for k in STEPS if k < len(pair.deltas)]
    found = []
    for angle in (0.0, 0.3, np.pi / 4, np.pi / 2):
        unit = np.array([np.cos(angle), np.sin(angle)])
        if diameter is None:
            ends = unit, -unit  # of the ball of radius 1
        else:
            half = unit if name == "projection" else unit @ fitted.root
            ends = half * diameter / 2, -half * diameter / 2
        found.append(profile(fitted, *ends, [k * pair.interval for k in steps], reach=12.0))
    worst, given = np.max(found, axis=0), np.array([pair.deltas[k] for k in steps])
    assert np.all(worst <= given + 2e-3)
    if name != "truncated-laplace":  # of which (epsilon, delta) is known and no more
        np.testing.assert_allclose(worst, given, atol=2e-3)


@pytest.mark.slow
def test_decoding_keeps_the_pair_of_the_vectors():
    vectors = wv.Mahalanobis(epsilon=2.0).fit(TABLE)
    words = wv.Decoded(mechanism=wv.Mahalanobis(epsilon=2.0)).fit(TABLE)
    assert wv.dominating_pair(words, diameter=1.5).deltas == wv.dominating_pair(vectors, diameter=1.5).deltas


def test_a_wide_box_is_composed_by_the_delta_that_it_has():
    mechanism = wv.TruncatedLaplace(epsilon=2.0, delta=0.01)
    pair = wv.dominating_pair(mechanism.for_dimensions(30))
    assert pair.interval == 2.0
    # The theorem that chose the box bounds the chance of leaving it; the exact chance is smaller.
    assert 0.001 < pair.deltas[-1] < 0.01
