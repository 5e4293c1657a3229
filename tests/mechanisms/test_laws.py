"""What a mechanism answers of itself: its law is what every kernel draws, its profile what its noise loses."""

import math

import numpy as np
import pytest

import seeds
from wordveil.certification import certify
from wordveil.decoding.decoded import Decoded
from wordveil.mechanisms.exponential import FittedExponential
from wordveil.mechanisms.mahalanobis import Mahalanobis
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace
from wordveil.mechanisms.precomputation import precompute
from wordveil.mechanisms.projection import Projection
from wordveil.mechanisms.santext import SanText
from wordveil.mechanisms.tem import TEM
from wordveil.mechanisms.tight import TightConstraints
from wordveil.metrics.distances import Angular, Euclidean, Precomputed
from wordveil.metrics.table import DistanceTable
from wordveil.vocabulary.rank_metric import NeighbourRank
from worlds import distances, drawn

WORDS = drawn(60, 5, seed=4, twins=3, barred=8)
ROOTS = DistanceTable(distances(Euclidean(), WORDS.vectors, WORDS.vectors) ** 0.5)
MATRIX = Precomputed(label="root", vocabulary=WORDS.header.checksum, table=ROOTS, error=1e-9)
METRICS = [Euclidean(), Angular(), NeighbourRank(k=8), MATRIX]


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
@pytest.mark.parametrize("kind", [TEM, SanText])
def test_every_kernel_draws_the_law_that_the_mechanism_states(kind, metric):
    fitted = kind(epsilon=3.0, metric=metric).fit(WORDS)
    ids = np.arange(len(WORDS), dtype=np.int32)
    law = fitted.law(ids)
    assert law.shape == (60, 52)
    np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=1e-12)
    if not isinstance(metric, NeighbourRank):  # in which equal vectors are apart
        assert law[:3].tobytes() == law[-3:].tobytes(), "equal vectors have equal rows"
    assert excess(fitted, law) <= 0
    assert excess(precompute(fitted), law) <= 0
    # Last bits may differ with the size of a product, as on a processor without AVX.
    np.testing.assert_allclose(fitted.law(ids[[5, 50]]), law[[5, 50]], rtol=1e-12)
    wrong = kind(epsilon=3.3, metric=metric).fit(WORDS)
    assert excess(fitted, wrong.law(ids)) > 0.01, "a law of another rate is told apart"


def test_the_law_of_tight_constraints_has_its_base_measure():
    mechanism = TightConstraints(epsilon=3.0)
    fitted = mechanism.fit(WORDS, certify(mechanism, WORDS))
    ids = np.arange(len(WORDS), dtype=np.int32)
    assert excess(fitted, fitted.law(ids)) <= 0
    flat = SanText(epsilon=2 * fitted.rows.rate).fit(WORDS).law(ids)
    assert excess(fitted, flat) > 0.01, "the base measure is part of it"


def test_what_stays_is_read_off_the_law_where_nothing_faster_is_known():
    fitted = TEM(epsilon=3.0).fit(WORDS)
    ids = WORDS.candidates
    from_law = super(FittedExponential, fitted).keep_probabilities(ids)
    np.testing.assert_allclose(from_law, fitted.keep_probabilities(ids), rtol=rounding(fitted))


NOISE = [MultivariateLaplace(epsilon=2.0), Mahalanobis(epsilon=2.0), Projection(epsilon=2.0, dimensions=3)]


def sampled_delta(fitted, pair, epsilon, n=200_000):
    """The delta of two inputs at epsilon by a mean over samples of (1 - exp(epsilon - loss))_+, and its error."""
    inputs = np.stack([pair.first, pair.second])
    draws = fitted.sample(seeds.source(8).fresh_stream(), n)
    outputs = fitted.randomize(np.repeat(inputs[:1], n, axis=0), draws)
    logs = fitted.log_density(outputs, inputs)
    excess = -np.expm1(np.minimum(epsilon - (logs[:, 0] - logs[:, 1]), 0.0))
    return float(excess.mean()), float(excess.std() / math.sqrt(n))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "decoded"),
    [(one, False) for one in NOISE] + [(NOISE[0], True)],
    ids=lambda of: getattr(of, "name", of),
)
def test_the_profile_of_noise_is_what_two_inputs_at_the_diameter_lose(mechanism, decoded):
    fitted = mechanism.fit(WORDS)
    pair = fitted.worst_pairs(embeddings=WORDS)[1]
    image = np.stack([pair.first, pair.second])
    if mechanism.name == "projection":  # the pair loses by the distance of its images
        image = image @ fitted.matrix.T / fitted.stretch
    diameter = float(distances(fitted.metric if image.shape[1] == 5 else Euclidean(), image[:1], image[1:])[0, 0])
    asked = Decoded(mechanism=mechanism).fit(WORDS) if decoded else fitted
    profile, smaller = asked.loss_profile(diameter), asked.loss_profile(0.8 * diameter)
    assert asked.loss_profile() is None, "its loss grows with the distance without end"
    for step in (64, 200, 300):
        epsilon = step * profile.interval
        found, error = sampled_delta(fitted, pair, epsilon)
        error *= 6.5  # with a chance below 1e-10
        assert found - error <= profile.deltas[step] <= found + error + 1e-6
        assert np.interp(epsilon, np.arange(len(smaller.deltas)) * smaller.interval, smaller.deltas) < found - error


def test_a_chance_of_an_unlucky_matrix_is_in_no_profile():
    assert Projection(epsilon=2.0, sensitivity="union-bound").fit(WORDS).loss_profile(1.0) is None
