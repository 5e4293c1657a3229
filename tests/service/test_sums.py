"""Both sums against coins tossed one by one: never less than these lose, and no more than the steps add."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import wordveil as wv
from wordveil.promises.guarantees import Standing
from wordveil.service.costs import LARGEST, NAT_UNITS, cost_of
from wordveil.service.sums import advanced, composed

LOCAL, METRIC = '{"promise": "local DP"}', '{"promise": "metric DP"}'


def coins(loss, count):
    """Losses of `count` randomized responses and their chances, from the likeliest outwards."""
    odds, likely = math.exp(loss), 1 / (1 + math.exp(-loss))
    spread = 14 * math.sqrt(count * likely * (1 - likely)) + 60
    middle = min(count, int(count * likely))
    up = np.arange(middle, min(count, int(middle + spread)), dtype=np.float64)
    down = np.arange(middle, max(0, int(middle - spread)), -1, dtype=np.float64)
    above = np.cumprod((count - up) / (up + 1) * odds)
    below = np.cumprod(down / (count - down + 1) / odds)
    chances = np.concatenate([below[::-1], [1.0], above])
    right = np.arange(middle - len(below), middle + len(above) + 1)
    return loss * (2 * right - count), chances / math.fsum(chances)


def delta_of(loss, count, epsilon):
    """Sum of max(0, P - e^epsilon Q) over all outcomes."""
    losses, chances = coins(loss, count)
    return math.fsum(chances * -np.expm1(np.minimum(epsilon - losses, 0.0)))


def smallest(loss, count, delta):
    low, high = 0.0, loss * count
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(loss, count, middle) <= delta else (middle, high)
    return high


def steps():
    """The numbers of tokens that the sum may take: sixteen for each doubling, to 2^30."""
    return sorted({math.ceil(2 ** (k / 16)) for k in range(481)})


def test_coins_by_ratios_are_coins_thrown_one_after_another():
    thrown = np.array([1.0])
    for _ in range(300):
        thrown = np.convolve(thrown, [1 / (1 + math.e**0.4), 1 / (1 + math.e**-0.4)])
    losses, chances = coins(0.4, 300)
    reached = thrown[(losses / 0.4 + 300).round().astype(int) // 2]
    assert np.allclose(chances, reached, rtol=1e-9)


# Loss of a token, tokens, and what the coins below lose outside a share of a millionth, found by halving.
TABLE = [
    (0.01, 100_000, 23.1156),
    (0.1, 1, 0.1),
    (0.1, 1000, 23.1737),
    (0.1, 1024, 23.1737),
    (0.1, 100_000, 690.012),
    (0.5, 500, 124.527),
    (1.0, 1000, 633.108),
    (8.0, 10, 80),
    (8.0, 1000, 8000),
    (8.0, 100_000, 800000),
    (0.001, 2**30, 727.958),
]


@pytest.mark.parametrize(("loss", "tokens", "expected"), TABLE)
def test_the_sum_by_privacy_loss_is_what_coins_lose_and_no_more(loss, tokens, expected):
    units = round(loss * NAT_UNITS)
    shown = composed(LOCAL, units, tokens, 0, units * tokens)
    epsilon, share = float(shown["epsilon"]), 1e-6 / len(steps())
    count = next(step for step in steps() if step >= tokens)
    assert shown["delta"] == "0.000001"
    assert epsilon == pytest.approx(expected, rel=2e-4)
    assert tokens <= count <= max(tokens + 1, 1.045 * tokens)
    if epsilon < loss * tokens:
        assert delta_of(loss, count, epsilon) <= share < delta_of(loss, count, epsilon * (1 - 1e-3))
    else:
        assert shown["epsilon"] == f"{units * tokens / NAT_UNITS:g}"
        assert smallest(loss, count, share) >= loss * tokens * (1 - 1e-7)


def test_it_is_below_the_advanced_sum_which_is_below_the_plain_one():
    for loss, tokens in ((0.01, 10**5), (0.1, 10**4), (0.3, 10**4)):
        cost = cost_of(wv.LocalDP(epsilon=loss, standing=Standing.PROVED, scope=("v",)), tokens)
        ours = float(composed(cost.promise, cost.loss, cost.tokens, 0, cost.units)["epsilon"])
        assert ours < float(advanced(cost.promise, cost.squares, 0)["epsilon"]) < 0.9 * cost.units / NAT_UNITS
        assert composed(cost.promise, cost.loss, cost.tokens, 10**12, cost.units)["delta"] == "0.000002"


def test_another_library_finds_the_same():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution", reason="needs dp-accounting")
    share = 1e-6 / len(steps())
    for loss, count in ((0.1, 1024), (0.5, 512)):
        made = pld.from_privacy_parameters(
            pld.common.DifferentialPrivacyParameters(loss, 0.0), value_discretization_interval=loss / 64
        )
        theirs = made.self_compose(count).get_epsilon_for_delta(share)
        units = round(loss * NAT_UNITS)
        ours = float(composed(LOCAL, units, count, 0, units * count)["epsilon"])
        assert ours == pytest.approx(theirs, rel=1e-3)


def best_of_an_adversary(loss, shown):
    """The most that P(E) - E_Q[e^shown; E] comes to over all events and all rules of when to stop and look."""
    likely, last = 1 / (1 + math.exp(-loss)), len(shown)

    def looked(tokens):
        lost = loss * (2 * np.arange(tokens + 1) - tokens)
        return np.maximum(0.0, -np.expm1(np.minimum(shown[tokens - 1] - lost, 0.0)))

    value = looked(last)
    for tokens in range(last - 1, 0, -1):
        value = np.maximum(looked(tokens), likely * value[1:] + (1 - likely) * value[:-1])
    return likely * value[1] + (1 - likely) * value[0]


@pytest.mark.parametrize("loss", [0.1, 0.5])
def test_who_stops_when_it_suits_them_finds_no_more_than_delta(loss):
    units = round(loss * NAT_UNITS)
    ours = [float(composed(LOCAL, units, tokens, 0, tokens * units)["epsilon"]) for tokens in range(1, 400)]
    assert best_of_an_adversary(loss, ours) <= 1e-6
    # A sum that spends the whole delta on whatever number of tokens there happens to be does not hold.
    hasty = [smallest(loss, tokens, 1e-6) for tokens in range(1, 400, 8) for _ in range(8)][:399]
    assert best_of_an_adversary(loss, hasty) > 1e-6


@pytest.mark.parametrize(
    ("promise", "loss", "tokens"), [(METRIC, 1, 1), (LOCAL, LARGEST, 1), (LOCAL, 1, 2**30 + 1), (LOCAL, 1, LARGEST)]
)
def test_there_is_none_where_it_does_not_apply(promise, loss, tokens):
    assert composed(promise, loss, tokens, 0, 0) is None
    assert composed(LOCAL, 0, 0, 0, 0) == {"epsilon": "0", "delta": "0.000001"}
    assert composed(LOCAL, 8 * NAT_UNITS, 10, 0, 8 * NAT_UNITS * 1000) is None  # most of it was spent uncounted


def test_the_table_of_the_page_is_what_is_shown():
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| ([\d,]+) \w+ at (?:epsilon )?([\d.]+)(?: nats)? \| (.*?) \| (.*?) \| (.*?) \|$", page, re.MULTILINE
    )
    assert len(rows) == 3
    for tokens, loss, *sums in rows:
        cost = cost_of(
            wv.LocalDP(epsilon=float(loss), standing=Standing.PROVED, scope=("v",)), int(tokens.replace(",", ""))
        )
        shown = [
            cost.units / NAT_UNITS,
            float(advanced(cost.promise, cost.squares, 0)["epsilon"]),
            float(composed(cost.promise, cost.loss, cost.tokens, 0, cost.units)["epsilon"]),
        ]
        assert [float(each.replace(",", "")) for each in sums] == [math.ceil(100 * each - 1e-4) / 100 for each in shown]


# --- zero-concentrated DP


@pytest.mark.parametrize(("epsilon", "count"), [(0.01, 10**5), (0.1, 1000), (0.1, 10**5), (0.5, 500), (8.0, 10)])
def test_the_advanced_sum_holds_for_randomized_response_and_half_of_it_does_not(epsilon, count):
    cost = cost_of(wv.LocalDP(epsilon=epsilon, standing=Standing.PROVED, scope=("v",)), count)
    shown = advanced(cost.promise, cost.squares, 0)
    assert shown["delta"] == "0.000001"
    assert delta_of(epsilon, count, float(shown["epsilon"])) <= 1e-6
    if epsilon < 1:
        assert delta_of(epsilon, count, 0.5 * float(shown["epsilon"])) > 1e-6
        assert float(shown["epsilon"]) < 0.7 * epsilon * count
    # Nothing is gained by cutting a history in parts: squares of parts add up to that of the whole, or more.
    part = cost_of(wv.LocalDP(epsilon=epsilon, standing=Standing.PROVED, scope=("v",)), count // 2)
    assert cost.squares <= (part + part).squares <= cost.squares + 1
