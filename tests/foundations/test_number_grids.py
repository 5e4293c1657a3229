"""Numbers on a grid: the integers drawn from keep the claim at every output, and not by being too noisy."""

import math
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import wordveil as wv
from wordveil.errors import GuaranteeError, ParameterError
from wordveil.mechanisms.grids import moved, noise_counts
from wordveil.promises import number_grids
from worlds import told

TOLD = told(__file__)

TOTAL = 2**64
CASES = [(2, 1.0), (2, 60.0), (3, 1e-9), (5, 0.3), (7, 700.0), (40, 0.05), (60, 2.5)]


def channel(counts):
    """The number of words, of 2**64, that take point i to point j, from the definition: move and stay inside."""
    n = len(counts)
    rows = [[0] * n for _ in range(n)]
    for i in range(n):
        for z in range(1 - n, n):
            rows[i][min(max(i + z, 0), n - 1)] += counts[abs(z)]
    return rows


def largest_ratio(rows):
    """The largest quotient of two neighbouring rows at any output, either way round."""
    pairs = [(a, b) for one, other in pairwise(rows) for a, b in zip(one, other, strict=True)]
    return max(max(Fraction(a, b), Fraction(b, a)) for a, b in pairs)


def bound(epsilon):
    """e**epsilon, 60 digits, rounded down."""
    value = Context(prec=60).exp(Decimal(epsilon))
    return Fraction(Context(prec=60).next_minus(value))


@given(st.integers(2, 24), st.floats(1e-9, 50))
@example(2, 60.0)
@example(7, 700.0)
@example(60, 2.5)
def test_a_step_costs_at_most_epsilon_to_the_last_integer(points, epsilon):
    rows = channel(noise_counts(points, epsilon))
    assert all(sum(row) == TOTAL for row in rows)
    assert largest_ratio(rows) <= bound(epsilon)


@pytest.mark.parametrize(("points", "epsilon"), [(5, 0.3), (40, 0.05), (8, 2.5)])
def test_laws_with_a_rounded_or_a_cut_tail_are_noticed(points, epsilon):
    counts = noise_counts(points, epsilon)
    a = math.exp(-epsilon)
    cut = [*counts[:-1], math.ceil(counts[-2] * a)]  # the last count as if the law went on, with nothing behind it
    assert largest_ratio(channel(cut)) > bound(epsilon)
    steeper = [round(count * a**i) for i, count in enumerate(counts)]
    assert largest_ratio(channel([max(1, count) for count in steeper])) > bound(epsilon)
    rounded = [max(1, math.floor(2**20 * a**i)) for i in range(points)]  # few bits, rounded down
    assert largest_ratio(channel(rounded)) > bound(epsilon)


@pytest.mark.parametrize(("points", "epsilon"), [(30, 0.3), (12, 2.5), (100, 0.05)])
def test_the_law_is_the_discrete_laplace_law(points, epsilon):
    a = math.exp(-epsilon)
    shares = [count / TOTAL for count in noise_counts(points, epsilon)[:-1]]
    np.testing.assert_allclose(shares, (1 - a) / (1 + a) * a ** np.arange(points - 1), rtol=1e-6)


@pytest.mark.parametrize(("points", "epsilon"), CASES)
def test_words_are_drawn_by_these_counts(points, epsilon):
    """The first and the last word of every step count, from every point: exact, for all 2**64 words."""
    grid = wv.NumberGrid(kind="number", low=0, high=points - 1, step=1, epsilon=epsilon)
    counts = noise_counts(points, epsilon)
    law = [*counts[:0:-1], *counts]
    starts = list(accumulate(law, initial=0))
    for z, first, stop in zip(range(1 - points, points), starts[:-1], starts[1:], strict=True):
        for word in (first, stop - 1):
            drawn = moved(grid, np.arange(points), np.full(points, word, np.uint64))
            assert drawn.tolist() == [min(max(i + z, 0), points - 1) for i in range(points)]


def test_the_claim_is_per_step_and_stops_at_the_range():
    claim = wv.NumberGrid.parse("number=0:120:5@0.5").guarantee()
    assert claim.standing is wv.Standing.PROVED
    assert (claim.loss(1), claim.loss(24), claim.loss(1000), claim.slack) == (0.5, 12.0, 12.0, 0.0)


@pytest.mark.parametrize(("grid", "texts"), TOLD["points"].items())
def test_points_are_written(grid, texts):
    made = wv.NumberGrid.parse(grid)
    assert [made.text(i) for i in range(made.points)] == texts


@given(st.floats(-1e12, 1e12), st.sampled_from(["number=5:95:7@1", "number=0.5:800:1.1:log@1"]))
def test_the_nearest_point_is_found(value, text):
    grid = wv.NumberGrid.parse(text)
    # On the scale of the grid; equal distances may go either way.
    scale = math.log if grid.scale == "log" else float
    low = float(grid.low)
    places = [low * grid.step**i if grid.scale == "log" else low + i * grid.step for i in range(grid.points)]
    clamped = min(max(value, low), float(grid.high))
    gaps = [abs(scale(place) - scale(clamped)) for place in places]
    assert gaps[grid.nearest(value)] == pytest.approx(min(gaps), abs=1e-6)


@pytest.mark.parametrize(
    ("named", "text"), [(named, text) for named, texts in TOLD["impossible"].items() for text in texts]
)
def test_impossible_grids_are_refused(named, text):
    with pytest.raises(ParameterError, match=f"^{named}="):
        wv.NumberGrid.parse(text)


GRIDS = ["number=0:120:5@0.5", "number=0:120:1@0.5", "number=5:120:5@0.5", "number=0:125:5@0.5", "year=0:120:5@0.5"]


@pytest.mark.parametrize("other", [*GRIDS[1:], "number=1:120:5:log@0.5"])
def test_steps_of_two_grids_are_not_added(other):
    """One step of five is five steps of one: 0.5 + 2.5 nats, where the sum said 1."""
    claims = [wv.NumberGrid.parse(text).guarantee() for text in (GRIDS[0], other)]
    with pytest.raises(GuaranteeError, match="differ in their"):
        wv.compose_releases(claims)
    again = wv.NumberGrid.parse("number=0:120:5@0.25").guarantee()
    assert wv.compose_releases([claims[0], again]).loss(1.0) == 0.75


def flips(grid, low, high):
    """The greatest number that moves to the point of `low`, and the float after it."""
    point = grid.nearest(low)
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if grid.nearest(middle) == point else (low, middle)
    return low, high


@pytest.mark.parametrize("bit", [-math.inf, math.inf])
def test_no_number_moves_otherwise_where_the_c_library_rounds_a_logarithm_otherwise(monkeypatch, bit):
    """At the last float that moves to each point; a logarithm of the C library, a bit off, would move some."""
    grid = wv.NumberGrid.parse("money=1:10000:1.25:log@0.5")
    ends = [end for i in range(grid.points - 1) for end in flips(grid, 1.25**i, 1.25 ** (i + 1))]
    before, log = [grid.nearest(end) for end in ends], math.log
    assert before == sorted(before)
    monkeypatch.setattr(math, "log", lambda x: math.nextafter(log(x), bit))
    assert [grid.nearest(end) for end in ends] == before
    monkeypatch.setattr(number_grids, "natural_logarithm", math.log)
    assert [grid.nearest(end) for end in ends] != before
