"""The statistical audit: what it must find, what it must not, whether its bands hold, and what counts prove.

alpha = 1e-9 per statement unless a test says otherwise; a test of soundness may fail with that probability, for
any seed.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import seeds
import wordveil as wv
from wordveil.auditing.black_box import audit_pair
from wordveil.auditing.intervals import EventCounts, lower_bound, upper_bound
from wordveil.auditing.scorers import GAUSSIANS, SUPPORT, classifier_on, known_density, nearer_input
from wordveil.auditing.subjects import OnGrid, Subject, TextSubject, VectorFunctionSubject, VectorSubject
from wordveil.errors import ParameterError
from wordveil.mechanisms.laplace_profile import laplace_delta
from wordveil.promises.relations import Pair

ALPHA = 1e-9


def laplace_subject(d: int, epsilon: float = 1.0, seed: int = 0) -> OnGrid:
    fitted = wv.MultivariateLaplace(epsilon=epsilon).for_dimensions(d)
    return OnGrid(VectorSubject(fitted, seeds.source(seed)), np.zeros(d))


def line(d: int, distance: float, epsilon: float, delta: float = 0.0) -> Pair:
    second = np.zeros(d)
    second[0] = distance
    return Pair(first=np.zeros(d), second=second, label="line", epsilon=epsilon, delta=delta, distance=distance)


def test_one_dimensional_laplace_is_audited_to_95_percent():
    # A million samples show .970 with a spread of .004 from draw to draw.
    audit = audit_pair(laplace_subject(1), line(1, 1.0, 1.0), samples=2 * 10**6, alpha=ALPHA)
    assert 0.95 <= audit.epsilon_at_least <= 1.0
    assert not audit.refuted


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [0.9, 1.1])
def test_a_claim_ten_percent_too_small_is_refuted_and_ten_percent_too_large_is_not(seed, scale):
    # 200 000 samples show .935 with a spread of .013, a million .970 with .004.
    audit = audit_pair(laplace_subject(1, seed=seed), line(1, 1.0, scale), samples=500_000, alpha=ALPHA)
    assert audit.refuted == (scale < 1)


@pytest.mark.parametrize(("d", "loss", "samples"), [(300, 60.0, 20_000), (50, 30.0, 20_000), (10, 10.0, 200_000),
                                                    (1, 3.0, 200_000)])  # fmt: skip
def test_the_whole_exact_profile_lies_inside_the_band_and_that_of_a_tenth_more_does_not(d, loss, samples):
    audit = audit_pair(laplace_subject(d, seed=8), line(d, loss, loss), samples=samples, alpha=ALPHA, curve_points=26)
    curve = audit.curve

    def inside(loss):
        exact = np.array([laplace_delta(float(e), dimensions=d, loss=loss) for e in curve.epsilons])
        return np.all((curve.lower <= exact) & (exact <= curve.upper))

    assert inside(loss)
    assert not inside(1.1 * loss)


class Coin(Subject):
    """Randomized response over two answers."""

    discrete = True

    def __init__(self, epsilon: float, seed: int) -> None:
        self._keep, self._generator = 1 / (1 + math.exp(-epsilon)), seeds.rng(seed)

    def sample(self, private, n):
        return np.where(self._generator.random(n) < self._keep, private, 1 - private)


def test_alpha_is_kept_when_it_is_large():
    # alpha = .05: of 200 honest audits at most 33 may be refuted (binomial tail below 1e-9 above that).
    pair = Pair(first=0, second=1, label="coin", epsilon=1.0)
    refuted = sum(audit_pair(Coin(1.0, seed), pair, samples=2000, alpha=0.05).refuted for seed in range(200))
    assert binom.sf(33, 200, 0.05) < ALPHA
    assert refuted <= 33
    low = Pair(first=0, second=1, label="coin", epsilon=0.7)
    assert all(audit_pair(Coin(1.0, seed), low, samples=20_000, alpha=0.05).refuted for seed in range(20))


SCORERS = {
    "direction": (lambda g, rows: rows + g.normal(size=rows.shape), [GAUSSIANS]),
    "width": (lambda g, rows: g.normal(size=rows.shape) * (1 + np.abs(rows[:, :1])), [GAUSSIANS]),
    "support": (lambda g, rows: rows + g.uniform(-1, 1, size=rows.shape), [SUPPORT]),
    "distance": (
        lambda g, rows: rows + g.laplace(size=rows.shape),
        [nearer_input(np.zeros(3), np.array([3.0, 0, 0]), 1)],
    ),
}


@pytest.mark.parametrize("name", SCORERS)
def test_each_event_family_finds_what_it_is_for(name):
    noise, scorers = SCORERS[name]
    generator = seeds.rng(4)
    subject = VectorFunctionSubject(lambda rows: noise(generator, rows))
    audit = audit_pair(subject, line(3, 3.0, 0.2), samples=20_000, alpha=ALPHA, scorers=scorers)
    assert audit.refuted
    assert audit.epsilon_at_least > 1.0


def test_a_classifier_finds_a_difference_that_moments_do_not():
    pytest.importorskip("sklearn", reason="needs the extra audit")
    generator = seeds.rng(5)

    def ring(rows):
        # Same mean and covariance under both inputs: a ring against two rings.
        inner = rows[:, 0] == 0
        radius = np.where(inner, 1.0, np.where(generator.random(len(rows)) < 0.5, 0.6, math.sqrt(2 - 0.36)))
        angle = generator.random(len(rows)) * 2 * math.pi
        return (radius * np.stack([np.cos(angle), np.sin(angle)]) + generator.normal(size=(2, len(rows))) * 0.05).T

    subject = VectorFunctionSubject(ring)
    pair = Pair(first=np.zeros(2), second=np.ones(2), label="rings", epsilon=1.0)
    audit = audit_pair(subject, pair, samples=8000, alpha=ALPHA, scorers=[classifier_on()])
    assert audit.refuted
    assert audit.delta_event.scorer == "trained classifier"


def test_impossible_outputs_have_infinite_likelihood_ratio():
    mechanism = wv.TruncatedLaplace(epsilon=1.0, delta=0.1, clip_norm=1.0)
    fitted = mechanism.for_dimensions(1)
    subject = VectorSubject(fitted, seeds.source(0))
    pair = Pair(first=np.array([1.0]), second=np.array([-1.0]), label="ends", epsilon=1.0, delta=0.1)
    ratio = known_density(subject.log_ratio(pair)).fit(np.empty((0, 1)), np.empty((0, 1)))
    edge = fitted.half_width
    assert ratio(np.array([[1.0 + edge - 0.01], [-1.0 - edge + 0.01], [0.0]])).tolist() == [math.inf, -math.inf, 0.0]


@pytest.mark.parametrize(("samples", "alpha"), [(100, 0.1), (1000, 0.0), (1000, 1.0)])
def test_parameters_are_checked(samples, alpha):
    with pytest.raises(ParameterError, match="must be"):
        audit_pair(Coin(1.0, 0), Pair(first=0, second=1, label="", epsilon=1.0), samples=samples, alpha=alpha)


def test_what_ends_a_text_in_nul_is_seen():
    def leaky(text: str) -> str:
        return f"{np.random.default_rng().integers(2)}" + ("\x00" if text == "yes" else "")

    pair = Pair(first="yes", second="no", label="texts", epsilon=1.0)
    assert audit_pair(TextSubject(leaky), pair, samples=1000, alpha=ALPHA).refuted


@given(
    n=st.integers(1, 500) | st.sampled_from([25_000, 1_000_000]),
    share=st.floats(0, 1),
    alpha=st.sampled_from([0.2, 1e-3, 1e-9]),
)
def test_bounds_are_where_the_binomial_tail_is_alpha(n, share, alpha):
    k = round(share * n)
    low, high = float(lower_bound(k, n, alpha)), float(upper_bound(k, n, alpha))
    assert low <= k / n <= high
    if k > 0:
        assert binom.sf(k - 1, n, low) == pytest.approx(alpha, rel=1e-6)
    else:
        assert low == 0.0
    if k < n:
        assert binom.cdf(k, n, high) == pytest.approx(alpha, rel=1e-6)
    else:
        assert high == 1.0


@given(a=st.integers(0, 1000), b=st.integers(0, 1000), delta=st.floats(0, 0.5))
def test_epsilon_and_delta_are_two_views_of_one_inequality(a, b, delta):
    counts = EventCounts(hits_first=a, hits_second=b, n=1000, alpha=1e-3)
    epsilon = counts.epsilon_at_least(delta)
    if epsilon > 0:
        assert counts.delta_at_least(epsilon) == pytest.approx(delta, abs=1e-9)
        assert counts.delta_at_least(epsilon * 0.99) >= delta
    assert counts.delta_at_least(800.0) == 0.0


@pytest.mark.parametrize(("first", "second"), [(700, 200), (1, 999), (1000, 0)])
def test_each_of_two_bounds_may_be_wrong_half_as_often(first, second):
    counts = EventCounts(hits_first=first, hits_second=second, n=1000, alpha=1e-3)
    assert binom.sf(first - 1, 1000, counts.first_at_least) == pytest.approx(5e-4, rel=1e-6)
    assert binom.cdf(second, 1000, counts.second_at_most) == pytest.approx(5e-4, rel=1e-6)


@pytest.mark.parametrize("bad", [{"hits_first": 11}, {"hits_second": -1}, {"n": 0}, {"alpha": 0.0}])
def test_impossible_counts_are_refused(bad):
    with pytest.raises(ParameterError, match="must"):
        EventCounts(**({"hits_first": 1, "hits_second": 1, "n": 10, "alpha": 0.1} | bad))
