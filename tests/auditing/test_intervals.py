"""Clopper-Pearson bounds against their definition, and what counts prove."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from wordveil.auditing.intervals import EventCounts, lower_bound, upper_bound
from wordveil.errors import ParameterError


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
