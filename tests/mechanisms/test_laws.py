"""What a mechanism answers of itself: its law is what every kernel draws."""

import numpy as np
import pytest

import wordveil as wv
from wordveil.metrics.table import DistanceTable
from worlds import distances, drawn

WORDS = drawn(60, 5, seed=4, twins=3, barred=8)
ROOTS = DistanceTable(distances(wv.Euclidean(), WORDS.vectors, WORDS.vectors) ** 0.5)
MATRIX = wv.Precomputed(label="root", vocabulary=WORDS.header.checksum, table=ROOTS, error=1e-9)
METRICS = [wv.Euclidean(), wv.Angular(), wv.NeighbourRank(k=8), MATRIX]


def rounding(fitted):
    """Slack, and what the law's distances may be off by, which come from products; most between close words."""
    return fitted.guarantee().slack + 1e-6


def excess(fitted, law):
    """How far the kernel's channel lies from a law, in nats, beyond what the slack allows."""
    with np.errstate(divide="ignore"):
        channel, expected = np.log(fitted.channel()), np.log(law)
    gap = np.abs(channel - expected)[np.isfinite(expected)]
    assert np.array_equal(np.isfinite(channel), np.isfinite(expected))
    return float(gap.max()) - rounding(fitted)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name.split()[0])
@pytest.mark.parametrize("kind", [wv.TEM, wv.SanText])
def test_every_kernel_draws_the_law_that_the_mechanism_states(kind, metric):
    fitted = kind(epsilon=3.0, metric=metric).fit(WORDS)
    ids = np.arange(len(WORDS), dtype=np.int32)
    law = fitted.law(ids)
    assert law.shape == (60, 52)
    np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=1e-12)
    if not isinstance(metric, wv.NeighbourRank):  # in which equal vectors are apart
        assert law[:3].tobytes() == law[-3:].tobytes(), "equal vectors have equal rows"
    assert excess(fitted, law) <= 0
    assert excess(wv.precompute(fitted), law) <= 0
    # Last bits may differ with the size of a product, as on a processor without AVX.
    np.testing.assert_allclose(fitted.law(ids[[5, 50]]), law[[5, 50]], rtol=1e-12)
    wrong = kind(epsilon=3.3, metric=metric).fit(WORDS)
    assert excess(fitted, wrong.law(ids)) > 0.01, "a law of another rate is told apart"


def test_the_law_of_tight_constraints_has_its_base_measure():
    mechanism = wv.TightConstraints(epsilon=3.0)
    fitted = mechanism.fit(WORDS, wv.certify(mechanism, WORDS))
    ids = np.arange(len(WORDS), dtype=np.int32)
    assert excess(fitted, fitted.law(ids)) <= 0
    flat = wv.SanText(epsilon=2 * fitted.rows.rate).fit(WORDS).law(ids)
    assert excess(fitted, flat) > 0.01, "the base measure is part of it"


def test_a_chance_of_an_unlucky_matrix_is_in_no_profile():
    assert wv.Projection(epsilon=2.0, sensitivity="union-bound").fit(WORDS).loss_profile(1.0) is None
