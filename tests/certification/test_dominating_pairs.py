"""Dominating pairs against the profile itself: densities in the plane, added up over a fine grid."""

import numpy as np
import pytest

import seeds
import wordveil as wv
from worlds import placed

POINTS, EPSILONS = 900, (0, 40, 128, 300)  # of the grid, a side; indices into the pair's steps
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
    steps = [k for k in EPSILONS if k < len(pair.deltas)]
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
