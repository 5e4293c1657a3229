"""Composition by privacy loss distributions, against closed forms and exact sums."""

import importlib.util
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import seeds
import wordveil as wv
from wordveil.errors import GuaranteeError, MissingExtraError, ParameterError
from wordveil.mechanisms.common import UNCHECKED
from wordveil.mechanisms.gaussian_scale import analytic_scale, gaussian_pair
from wordveil.mechanisms.laplace_profile import laplace_epsilon, laplace_pair
from wordveil.promises.guarantees import PrivacyUnit, Standing
from wordveil.promises.pair_loss import channel_pair, generic_pair
from worlds import drawn, placed

DELTA = 1e-5
composing = pytest.mark.skipif(
    importlib.util.find_spec("dp_accounting") is None, reason="needs the extra wordveil[accounting]"
)


def compose(loss, count, delta):
    """Tokens of one mechanism."""
    return wv.compose_many([(loss, count)], delta)


@pytest.fixture(scope="module")
def laplace():
    return laplace_pair(10, 10.0)


def binomial_delta(epsilon, parts):
    """delta(epsilon) of randomized responses, n of each loss: truthful answers are binomial in both worlds."""
    p = q = np.ones(())
    for single, n in parts:
        truth, k = 1 / (1 + math.exp(-single)), np.arange(n + 1)
        p, q = np.multiply.outer(p, binom.pmf(k, n, truth)), np.multiply.outer(q, binom.pmf(k, n, 1 - truth))
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def pairwise_delta(epsilon, first, second):
    """delta(epsilon) of two tokens, by a loop over every pair of outputs and every order at each of the tokens."""
    worst = 0.0
    for p, q in ((first, second), (second, first)):
        for a, b in ((first, second), (second, first)):
            worst = max(worst, np.maximum(np.outer(p, a) - math.exp(epsilon) * np.outer(q, b), 0).sum())
    return worst


@composing
@pytest.mark.parametrize(
    "parts",
    [
        *([(u, n)] for u in (0.7, 5.0) for n in (1, 4, 100)),
        *([(9.0, m), (4.0, n)] for m, n in ((1, 1), (3, 5), (40, 10))),
    ],
)
def test_gaussians_compose_to_the_closed_form(parts):
    """mu adds in squares: mu = sqrt(sum count_i / u_i^2), and delta is that of one Gaussian."""
    found = wv.compose_many([(gaussian_pair(u), count) for u, count in parts], DELTA)
    whole = 1 / math.sqrt(sum(count / u**2 for u, count in parts))
    # The analytic scale of what was found must be the noise of the sum: never more, and hardly less.
    needed = analytic_scale(found.epsilon, DELTA)
    assert needed <= whole <= needed * 1.0005
    assert (found.unit, found.standing, found.slack) == (PrivacyUnit.TEXT, Standing.CERTIFIED, 0.0)
    tokens = "1 token" if parts[0][1] == 1 else f"{parts[0][1]} tokens"
    assert (f"{tokens} of kind 1" if len(parts) > 1 else f"at most {tokens}") in found.assumptions[-1]


@composing
@pytest.mark.parametrize("parts", [*([(0.8, n)] for n in (1, 2, 10, 60)), [(0.8, 1), (0.3, 1)], [(0.8, 4), (0.3, 6)]])
def test_randomized_responses_compose_to_the_exact_sum(parts):
    found = wv.compose_many([(generic_pair(single), n) for single, n in parts], 1e-4).epsilon
    assert binomial_delta(found, parts) <= 1e-4
    # Grid points lie 0.8 / 1024 apart, and a loss is rounded up to one: by at most that a token.
    allowed = 1e-3 * sum(n for _, n in parts)
    assert binomial_delta(found - allowed, parts) > 1e-4 or found <= sum(single * n for single, n in parts) + 1e-3
    truths = [1 / (1 + math.exp(-single)) for single, _ in parts]
    channels = [channel_pair(np.array([[truth, 1 - truth], [1 - truth, truth]])) for truth in truths]
    by_channels = wv.compose_many([(pair, n) for pair, (_, n) in zip(channels, parts, strict=True)], 1e-4)
    assert by_channels.epsilon == pytest.approx(found, rel=1e-6)


@composing
def test_one_laplace_is_the_single_claim_and_more_are_monotone(laplace):
    single = laplace_epsilon(DELTA, dimensions=10, loss=10.0)
    found = [compose(laplace, count, DELTA).epsilon for count in (1, 2, 3, 20, 21)]
    assert single <= found[0] <= single * (1 + 1e-3)
    assert found == sorted(found)
    assert found[3] < 20 * laplace_epsilon(DELTA / 20, dimensions=10, loss=10.0)


def test_every_grid_point_of_a_pair_is_at_least_the_exact_delta(laplace):
    rows = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    pair = channel_pair(rows)
    for k in range(0, len(pair.deltas), 37):
        scaled = math.exp(k * pair.interval)
        exact = max(np.maximum(rows[0] - scaled * rows[1], 0).sum(), np.maximum(rows[1] - scaled * rows[0], 0).sum())
        assert exact <= pair.deltas[k] <= exact + 1e-14
    for both in (pair.both_sides(), laplace.both_sides(), gaussian_pair(1.0).both_sides()):
        assert np.all(np.diff(both) <= 1e-12)
        assert np.all((both >= 0) & (both <= 1))


@composing
@settings(max_examples=15)
@given(st.lists(st.integers(1, 30), min_size=6, max_size=6), st.floats(1e-4, 0.1))
def test_two_tokens_never_fall_below_an_exact_sum_over_outputs_and_orders(masses, delta):
    first, second = np.array(masses[:3]) / sum(masses[:3]), np.array(masses[3:]) / sum(masses[3:])
    forward = compose(channel_pair(np.array([first, second])), 2, delta)
    assert pairwise_delta(forward.epsilon, first, second) <= delta
    backward = compose(channel_pair(np.array([second, first])), 2, delta)
    assert forward.epsilon == pytest.approx(backward.epsilon, rel=1e-9)


@composing
def test_the_worst_pair_of_a_channel_dominates_each_of_its_pairs():
    rows = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.05, 0.05, 0.9]])
    whole = compose(channel_pair(rows), 5, 1e-3).epsilon
    pairs = [compose(channel_pair(rows[[x, y]]), 5, 1e-3).epsilon for x, y in ((0, 1), (0, 2), (1, 2))]
    assert whole >= max(pairs) * (1 - 1e-9)
    assert min(pairs) < 0.8 * max(pairs)


@composing
def test_outputs_that_one_input_lacks_need_their_probability_as_delta():
    pair = channel_pair(np.array([[0.5, 0.499, 0.001], [0.5, 0.5, 0.0]]))
    assert compose(pair, 2, 0.003).epsilon < 0.1
    with pytest.raises(ParameterError, match=r"delta=0\.0019 must be above 0\.00\d+ for 2 tokens"):
        compose(pair, 2, 0.0019)


@composing
@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 50), (1.0, 20), (6.0, 3)])
def test_the_generic_pair_is_below_basic_and_advanced_composition(epsilon, count):
    single, extra = 1e-8, 1e-6
    found = compose(generic_pair(epsilon, single), count, count * single + extra).epsilon
    advanced = math.sqrt(2 * count * math.log(1 / extra)) * epsilon + count * epsilon * math.expm1(epsilon)
    assert found <= min(count * epsilon, advanced)
    one = compose(generic_pair(epsilon, single), 1, single + 1e-11).epsilon
    assert epsilon * (1 - 1e-6) <= one <= epsilon * (1 + 1e-12)


@composing
def test_slack_adds_up_and_costs_delta():
    rows = np.array([[0.75, 0.25], [0.25, 0.75]])
    clean, slack = compose(channel_pair(rows), 5, 1e-3), compose(channel_pair(rows, slack=0.01), 5, 1e-3)
    assert slack.slack == pytest.approx(0.05)
    assert clean.epsilon < slack.epsilon


@composing
def test_fitted_mechanisms_bring_their_own_pair():
    gaussian = wv.ClippedGaussian(epsilon=2.0, delta=DELTA).for_dimensions(300)
    one = compose(wv.dominating_pair(gaussian), 1, DELTA)
    assert 2.0 <= one.epsilon <= 2.0 * (1 + 1e-3)
    noise = wv.MultivariateLaplace(epsilon=2.0).for_dimensions(1)
    many = compose(wv.dominating_pair(noise, diameter=1.0), 3, DELTA)
    assert "all inputs lie within a public euclidean diameter of 1" in many.assumptions
    assert any("differ in at most 3 tokens" in sentence for sentence in many.assumptions)
    assert many.epsilon < 6


@composing
def test_texts_over_two_vocabularies_are_not_added():
    rows = seeds.rng(0).normal(size=(6, 2))
    tables = [placed(rows, [f"{a}{b}" for b in "abcdef"]) for a in "xy"]
    fitted = [wv.NeighbourResponse(epsilon=2.0, k=1, outputs=None).fit(table) for table in tables]
    pairs = [wv.dominating_pair(one) for one in fitted]
    texts = [compose(pair, 1, 1e-6) for pair in pairs]
    assert [text.scope for text in texts] == [one.guarantee().scope for one in fitted]
    assert wv.compose_releases([texts[0], texts[0]]).epsilon == 2 * texts[0].epsilon
    with pytest.raises(GuaranteeError, match="differ in their scope"):
        wv.compose_releases(texts)
    with pytest.raises(ParameterError, match="must be of one scope"):
        wv.compose_many([(pairs[0], 1), (pairs[1], 1)], delta=1e-6)
    whole = wv.compose_many([(pairs[0], 1), (generic_pair(1.0), 1)], delta=1e-6)
    with pytest.raises(GuaranteeError, match="Nothing says what"):
        wv.compose_releases([whole, whole])


@composing
def test_what_a_promise_takes_for_granted_goes_with_its_loss(tmp_path):
    table = drawn(6, 2)
    fitted = wv.NeighbourResponse(epsilon=2.0, k=1, outputs=None).fit(table.save(tmp_path / "v"))
    assert UNCHECKED in compose(wv.dominating_pair(fitted), 1, 1e-6).assumptions


@composing
def test_a_selection_mechanism_brings_its_exact_channel_and_twice_its_slack():
    fitted = wv.TEM(epsilon=2.0).fit(placed([[0.0], [0.5], [2.0]]))
    channel = fitted.channel()
    found = compose(wv.dominating_pair(fitted), 1, 1e-6)
    largest = float(np.log(channel[:, None] / channel).max())
    assert largest * (1 - 1e-3) <= found.epsilon <= largest
    assert found.slack == pytest.approx(2 * fitted.guarantee().slack)
    assert found.assumptions[-1].endswith("differ in at most 1 token")


def test_what_has_no_pair_is_refused():
    with pytest.raises(GuaranteeError, match="no dominating pair of it is known"):
        wv.dominating_pair(wv.ClippedLaplace(epsilon=1.0).for_dimensions(3))
    refuted = wv.ClippedGaussian(epsilon=20.0, delta=DELTA, calibration="classical", allow_refuted=True)
    with pytest.raises(GuaranteeError, match="no promise to compose"):
        wv.dominating_pair(refuted.for_dimensions(3))
    with pytest.raises(ParameterError, match="diameter=None must be a number in"):
        wv.dominating_pair(wv.MultivariateLaplace(epsilon=1.0).for_dimensions(3))
    with pytest.raises(ParameterError, match="belongs to noise whose loss grows"):
        wv.dominating_pair(wv.ClippedGaussian(epsilon=1.0).for_dimensions(3), diameter=2.0)


def test_bad_parameters_are_named():
    rows = np.eye(3)
    for call, message in [
        (lambda: gaussian_pair(0.0), "noise_multiplier=0.0 must be"),
        (lambda: laplace_pair(0, 1.0), "dimensions=0 must be"),
        (lambda: channel_pair(rows * 2), "each summing to 1"),
        (lambda: channel_pair(np.full((200, 200), 1 / 200)), "must have n"),
        (lambda: channel_pair(rows, slack=-1.0), "slack=-1.0 must be"),
        (lambda: generic_pair(701.0), "at most 700 nats"),
        (lambda: compose(generic_pair(1.0), 0, DELTA), "count=0 must be a whole number, at least 1"),
        (lambda: wv.compose_many([], DELTA), "must name at least one pair"),
        (lambda: compose(generic_pair(1.0), 1, 0.0), "delta=0.0 must be"),
    ]:
        with pytest.raises(ParameterError, match=message):
            call()


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(MissingExtraError, match=r"wordveil\[accounting\]"):
        compose(generic_pair(1.0), 2, DELTA)


@composing
def test_a_pair_with_less_loss_than_the_mechanism_is_caught_by_the_oracle():
    """Power twin: 5 % of every delta missing must be seen by the binomial check above."""
    pair = channel_pair(np.array([[0.69, 0.31], [0.31, 0.69]]))
    broken = replace(pair, deltas=tuple(0.95 * d for d in pair.deltas))
    assert binomial_delta(compose(broken, 10, 1e-4).epsilon, [(0.8, 10)]) > 1e-4


@composing
def test_adding_a_mechanism_never_lowers_epsilon_and_sharing_a_kind_changes_little(laplace):
    gaussian = gaussian_pair(6.0)
    alone = compose(gaussian, 20, DELTA).epsilon
    assert wv.compose_many([(gaussian, 20), (generic_pair(0.01), 1)], DELTA).epsilon >= alone
    assert wv.compose_many([(gaussian, 12), (gaussian, 8)], DELTA).epsilon == pytest.approx(alone, rel=1e-6)
    mixed = wv.compose_many([(laplace, 2), (gaussian, 3)], DELTA)
    assert mixed.epsilon <= compose(laplace, 2, DELTA / 2).epsilon + compose(gaussian, 3, DELTA / 2).epsilon
    assert mixed.epsilon > compose(laplace, 2, DELTA).epsilon


@given(epsilon=st.floats(0.01, 20.0), single=st.floats(0.0, 0.1), step=st.floats(0.003, 5.0))
@settings(max_examples=200)
def test_another_grid_bounds_the_same_profile_from_above(epsilon, single, step):
    """The profile of randomized response that may fail is known at every point."""
    pair = generic_pair(epsilon, single).in_steps_of(step)
    truth, lie = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    for k, bound in enumerate(pair.deltas):
        exact = single + (1 - single) * max(0.0, truth - math.exp(min(k * step, 700.0)) * lie)
        assert exact - 1e-14 <= bound <= exact * (1 + 1e-9) + 1e-14
    assert pair.largest >= epsilon * (1 - 1e-14)
    assert list(pair.deltas) == sorted(pair.deltas, reverse=True)
