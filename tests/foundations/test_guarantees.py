"""Guarantees as values: arithmetic that never understates, refusals, and sentences with numbers rounded up."""

import itertools
import json
import math
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordveil import LocalDP, MetricDP, NeighbourDP, NoGuarantee, Standing
from wordveil.errors import GuaranteeError, ParameterError
from wordveil.promises.composing import compose_releases, compose_tokens, require_same_promise, to_local
from wordveil.promises.guarantees import PrivacyUnit, weakest, within_scope
from wordveil.promises.rounding import round_down, round_up

SCOPE = ("vocabulary 5f2c", "reading 07aa")
METRIC = MetricDP(epsilon=2.0, metric="euclidean", standing=Standing.PROVED, scope=SCOPE)
LOCAL = LocalDP(epsilon=2.0, standing=Standing.PROVED, scope=SCOPE)
NEIGHBOUR = NeighbourDP(epsilon=2.0, graph="the graph", standing=Standing.PROVED, scope=SCOPE)
NOTHING = NoGuarantee(reason="it leaks")
KINDS = [METRIC, LOCAL, NEIGHBOUR]

positive = st.floats(1e-6, 1e6)
slacks = st.none() | st.floats(0, 10)
metric_dp = st.builds(
    MetricDP, epsilon=positive, metric=st.just("euclidean"), delta=st.floats(0, 0.3), slack=slacks,
    largest_distance=st.none() | positive, standing=st.sampled_from(Standing), scope=st.just(SCOPE),
    assumptions=st.lists(st.sampled_from(["a", "b", "c"]), max_size=2).map(tuple),
)  # fmt: skip


@given(st.floats(0, exclude_min=True, allow_infinity=False), st.integers(1, 6))
def test_numbers_are_rounded_up_to_the_digits_asked_for(value, digits):
    shown = round_up(value, digits)
    assert float(shown) >= value * (1 - 1e-12)
    below = round_down(value, digits)
    assert float(below) <= value * (1 + 1e-12)
    if 1e-280 < value < 1e300:
        assert float(shown) <= value * (1 + 10.0 ** (1 - digits)) * (1 + 1e-9)
        assert float(below) >= value * (1 - 10.0 ** (1 - digits)) * (1 - 1e-9)
        assert len(re.sub(r"e.*|\.|^0\.0*", "", shown).lstrip("0").rstrip("0")) <= digits


@pytest.mark.parametrize(
    ("rounded", "value", "digits", "shown"),
    [
        (round_up, 0.1 + 0.2, 4, "0.3"),  # a rounding of 2e-17 is no reason to claim 0.3001
        (round_up, 123456.0, 4, "1.235e+05"),
        (round_up, 6.0143e-05, 2, "6.1e-05"),
        (round_down, 0.3 - 1e-17, 4, "0.3"),
        *(
            (each, *same)
            for each in (round_up, round_down)
            for same in ((0.0, 4, "0"), (4.0, 4, "4"), (math.inf, 4, "inf"))
        ),
    ],
)
def test_rounding_known_values(rounded, value, digits, shown):
    assert rounded(value, digits) == shown


def test_what_is_assumed_is_rounded_down_and_what_is_promised_up():
    local = to_local(METRIC, diameter=1.00009)
    assert "public euclidean diameter of 1" in local.assumptions[-1]
    assert "1.0" not in local.assumptions[-1], "a reader whose diameter is 1.0005 is promised nothing"
    assert "exp(2.001)" in local.sentence()


@pytest.mark.parametrize("distance", [-1.0, -1e-300, math.nan, math.inf, -math.inf])
def test_distances_that_are_none_are_refused(distance):
    for call in (METRIC.loss, lambda t: compose_tokens(METRIC, [3.0, t]), lambda t: compose_tokens(LOCAL, [t])):
        with pytest.raises(ParameterError, match=r"distance=.* must be in \[0, inf\)"):
            call(distance)


@given(st.lists(metric_dp, min_size=1, max_size=4), st.floats(0, 1e6))
def test_composition_is_never_below_the_sum_of_the_parts(parts, distance):
    whole = compose_releases(parts)
    if isinstance(whole, NoGuarantee):
        assert math.fsum(part.delta for part in parts) >= 1
        return
    assert (whole.slack is None) == any(part.slack is None for part in parts)
    if whole.slack is None:
        whole, parts = replace(whole, slack=0.0), [replace(part, slack=0.0) for part in parts]
    # Numbers that are barely above 0 have no twelve digits.
    assert whole.loss(distance) >= math.fsum(part.loss(distance) for part in parts) * (1 - 1e-12) - 1e-300
    delta = sum(Fraction(part.delta) for part in parts)
    assert delta <= Fraction(whole.delta) <= delta * (1 + Fraction(1, 2**52))
    assert whole.standing == weakest([part.standing for part in parts])
    assert set(whole.assumptions) == {assumption for part in parts for assumption in part.assumptions}
    assert len(set(whole.assumptions)) == len(whole.assumptions)


@pytest.mark.parametrize("kind", KINDS, ids=lambda g: g.promise)
def test_composing_adds_epsilon_delta_and_slack_in_one_scope(kind):
    whole = compose_releases([replace(kind, delta=1e-6, slack=0.5), replace(kind, epsilon=3.0, delta=2e-6, slack=1.0)])
    assert (whole.epsilon, whole.delta, whole.slack, whole.scope) == (5.0, 3e-6, 1.5, SCOPE)
    assert type(whole) is type(kind)


def test_sums_that_promise_nothing_say_so():
    assert compose_releases([METRIC, NOTHING, LOCAL]) is NOTHING
    whole = compose_releases([replace(LOCAL, delta=0.5)] * 2)
    assert isinstance(whole, NoGuarantee)
    assert "add up to 1" in whole.reason
    with pytest.raises(GuaranteeError, match="nothing to compose"):
        compose_releases([])


DIFFERENT = [
    *itertools.permutations(KINDS, 2),
    (METRIC, replace(METRIC, metric="angular")),
    *((kind, replace(kind, scope=scope)) for kind in KINDS for scope in ((), SCOPE[:1], (*SCOPE[:1], "reading 07ab"))),
    (NEIGHBOUR, replace(NEIGHBOUR, graph="another graph")),
    *((kind, replace(kind, unit=PrivacyUnit.DOCUMENT_WORD)) for kind in KINDS),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_promises_that_mean_different_things_are_not_compared(one, other):
    for call in (lambda: require_same_promise(one, other), lambda: compose_releases([one, other])):
        with pytest.raises(GuaranteeError, match=r"differ in their (promise|metric|graph|scope|unit)"):
            call()


@pytest.mark.parametrize("kind", [*KINDS, replace(NEIGHBOUR, unit=PrivacyUnit.VECTOR)])
def test_promises_whose_unit_nothing_defines_are_not_added(kind):
    """Two plugins may both promise something for "one token", and cut texts by two vocabularies."""
    nameless = replace(kind, scope=())
    with pytest.raises(GuaranteeError, match="Nothing says what"):
        compose_releases([nameless, nameless])
    assert compose_releases([nameless]) == nameless
    rows = replace(METRIC, unit=PrivacyUnit.VECTOR, scope=())
    assert compose_releases([rows, rows]).epsilon == 4.0, "rows as they come need no vocabulary"


def test_a_scope_is_added_once():
    once = within_scope(METRIC, "vocabulary 5f2c", "more", assuming=["a"])
    assert once.scope == (*SCOPE, "more")
    assert within_scope(once, "more", assuming=["a"]) == once
    assert within_scope(NOTHING, "more", assuming=["a"]) is NOTHING


def test_standings_are_ordered_and_the_weakest_wins():
    order = [Standing.PROVED, Standing.CERTIFIED, Standing.PUBLISHED, Standing.REFUTED]
    for i, j in itertools.product(range(4), repeat=2):
        assert weakest([order[i], order[j]]) is order[max(i, j)]


@given(metric_dp, st.lists(st.floats(0, 1e3), min_size=1, max_size=6))
def test_tokens_sum_to_at_least_their_losses(guarantee, distances):
    if math.fsum(distances) == 0:
        with pytest.raises(GuaranteeError, match="at distance 0"):
            compose_tokens(guarantee, distances)
        return
    whole = compose_tokens(guarantee, distances)
    if isinstance(whole, NoGuarantee):
        assert guarantee.delta * len(distances) >= 1
        return
    assert isinstance(whole, LocalDP)
    assert (whole.unit, whole.scope) == (PrivacyUnit.TEXT, SCOPE)
    assert compose_tokens(LOCAL, distances).epsilon == 2.0 * len(distances), "local DP counts and does not measure"
    total = math.fsum(guarantee.loss(t) for t in distances)
    assert whole.epsilon + (whole.slack or 0.0) == pytest.approx(total, rel=1e-12)
    assert (whole.slack is None) == (guarantee.slack is None)
    delta = Fraction(guarantee.delta) * len(distances)
    assert delta <= Fraction(whole.delta) <= delta * (1 + Fraction(1, 2**52))


def test_token_sums_that_mean_nothing_are_refused():
    assert compose_tokens(NOTHING, [1.0]) is NOTHING
    words, texts = replace(METRIC, unit=PrivacyUnit.DOCUMENT_WORD), replace(LOCAL, unit=PrivacyUnit.TEXT)
    for guarantee in (NEIGHBOUR, words, texts):
        with pytest.raises(GuaranteeError, match="does not sum over tokens"):
            compose_tokens(guarantee, [1.0])
    with pytest.raises(GuaranteeError, match="do not differ"):
        compose_tokens(METRIC, [])


@given(metric_dp, positive, positive)
def test_local_dp_covers_every_distance_up_to_the_diameter(guarantee, diameter, distance):
    local = to_local(guarantee, diameter=diameter)
    if distance <= diameter:
        assert local.epsilon + (local.slack or 0.0) >= guarantee.loss(distance) * (1 - 1e-12)
    assert local.slack == guarantee.slack
    assert local.standing is guarantee.standing
    assert (local.unit, local.scope) == (guarantee.unit, guarantee.scope)


def test_conversions_without_a_theorem_are_refused():
    assert to_local(LOCAL) is LOCAL
    for guarantee in (NEIGHBOUR, NOTHING):
        with pytest.raises(GuaranteeError, match="No theorem turns"):
            to_local(guarantee, diameter=1.0)
    for diameter in (math.inf, 0.0, -1.0, math.nan):
        with pytest.raises(ParameterError, match=r"diameter=.* must be in \(0, inf\)"):
            to_local(METRIC, diameter=diameter)
    assert to_local(replace(METRIC, largest_distance=3.0)).epsilon == 6.0
    assert to_local(replace(METRIC, largest_distance=3.0), diameter=5.0).epsilon == 6.0
    assert to_local(replace(METRIC, largest_distance=3.0), diameter=2.0).epsilon == 4.0


OUTSIDE = {
    "epsilon": (0.0, -1.0, math.inf, math.nan),
    "delta": (1.0, -1e-9, math.nan),
    "slack": (-1e-9, math.inf, math.nan),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda g: g.promise)
@pytest.mark.parametrize("name", OUTSIDE)
def test_numbers_outside_their_domain_are_refused(kind, name):
    for value in OUTSIDE[name]:
        with pytest.raises(ParameterError, match=f"{name}=.* must be in"):
            replace(kind, **{name: value})


NUMBER = re.compile(r"\d[\d.]*(?:e[+-]?\d+)?")


@given(metric_dp)
def test_sentences_show_rounded_numbers_and_none_too_small(guarantee):
    for shown in (guarantee, to_local(guarantee, diameter=7.0), replace(NEIGHBOUR, epsilon=guarantee.epsilon)):
        sentence = shown.sentence()
        assert str(shown.standing) in sentence
        assert str(shown.unit) in sentence
        numbers = NUMBER.findall(sentence)
        assert all(len(n.split("e")[0].replace(".", "").strip("0")) <= 4 for n in numbers)
        assert any(float(n) >= shown.epsilon * (1 - 1e-12) for n in numbers)
        if shown.slack is None:
            assert "rounding is outside the proof" in sentence


def test_what_is_absent_is_not_mentioned():
    assert "delta" not in METRIC.sentence()
    assert "slack" not in METRIC.sentence()
    assert "at most" not in METRIC.sentence()
    assert "at most exp(6)" in replace(METRIC, largest_distance=3.0).sentence()
    assert "delta 1e-06" in replace(METRIC, delta=1e-6).sentence()
    assert NOTHING.sentence() == "no guarantee (published, unverified): it leaks"


@pytest.mark.parametrize("guarantee", [*KINDS, NOTHING], ids=lambda g: g.promise)
def test_guarantees_become_json_and_their_repr_rebuilds_them(guarantee):
    facts = json.loads(json.dumps(guarantee.as_dict()))
    assert facts["promise"] == guarantee.promise
    assert facts["sentence"] == guarantee.sentence()
    assert facts["unit"] == str(guarantee.unit)
    assert hash(guarantee) == hash(replace(guarantee))
    source = re.sub(r"<(\w+)\.(\w+): [^>]*>", r"\1.\2", repr(guarantee))
    assert eval(source) == guarantee
