"""Every bound on rounding, against a second derivation of it; and tables on which a claim without it would be false.

What was seen is always far below such a bound, so that a bound ten times too small would pass every test that only
compares. Here each is computed again, term by term, in exact rationals or fifty digits.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import seeds
from wordveil.certification.normalizer_lipschitz import TOLERANCE, LossComputation
from wordveil.certification.pair_spaces import DistinctVectors, WordPairs
from wordveil.kernels import ceilings, weight_rows
from wordveil.kernels.distance_sources import CoordinateSource, TableSource
from wordveil.kernels.ideal import IdealRows
from wordveil.kernels.ideal_distances import Angles, Entries, Lengths
from wordveil.kernels.pair_maximum import PairMaximum, PairProblem
from wordveil.kernels.pair_tiles import SIDE, NormaliserSums, PairTiles
from wordveil.kernels.pairwise import PairwiseRows
from wordveil.kernels.selection import SelectionRows
from wordveil.mechanisms.gaussian_scale import gaussian_log_delta
from wordveil.mechanisms.mahalanobis import Mahalanobis, scaled_covariance
from wordveil.mechanisms.stretch import ROUND_UP, _Pairs, exact_stretch, spectral_stretch
from wordveil.metrics.distances import Angular, Euclidean, Precomputed
from wordveil.metrics.table import DistanceTable
from wordveil.promises.certificates import CLAIM_MARGIN
from worlds import distances, placed

mpmath = pytest.importorskip("mpmath")
U, U32 = Fraction(1, 2**53), Fraction(1, 2**24)
V, D, RATE, CAP = 11, 3, 4.0, 2.5
ROWS = (seeds.rng(8).integers(-40, 41, (V, D)) / 16).astype(np.float32)
IDS = np.arange(V, dtype=np.int32)


def squares():
    """Squared norms of the rows, exactly."""
    return [sum(Fraction(float(x)) ** 2 for x in row) for row in ROWS]


def power(exponent):
    return Fraction(2) ** exponent


def near(found, exact):
    """Whether a float is an exact number to within its own arithmetic."""
    return math.isclose(found, float(exact), rel_tol=1e-9)


def of_a_pick(unit, mass):
    """Relative error of one pick by integers: half a unit a term above and below, and the grid of 2**-64.

    A total is at most 1.2 * 2**62 units, so the grid is 0.3 of a unit. The two halves are one.
    """
    return (1 + Fraction(3, 10)) / (unit * mass)


@pytest.mark.parametrize("columns", [512, 4])
@pytest.mark.parametrize("based", [False, True])
def test_the_slack_of_a_card(monkeypatch, columns, based):
    """Two inputs; of each four weights, two picks by integers, and the sums of a block and of all blocks."""
    monkeypatch.setattr(weight_rows, "COLUMNS", columns)
    base = np.linspace(0.25, 1.0, V) if based else None
    kernel = SelectionRows(ROWS, Euclidean(), IDS, IDS, rate=RATE, cap=CAP, base=base)
    blocks = -(-V // columns)
    edges = [round(i * V / blocks) for i in range(blocks + 1)]
    width = -(-max(b - a for a, b in itertools.pairwise(edges)) // 16) * 16
    # A dot product of K terms is off by K + 2 roundings of the product of the norms, each at most (2 R)^2 here, twice.
    squared = 2 * (D + 2 + 2) * U * 4 * max(squares())
    weight = Fraction(RATE) * Fraction(math.sqrt(squared)) + (8 + 4 * Fraction(RATE) * Fraction(CAP)) * U32
    masses = np.ones(V) if base is None else base
    parts = [masses[a:b] for a, b in itertools.pairwise(edges)]
    far = Fraction(math.exp(-RATE * CAP))
    whole = power(62 - math.ceil(math.log2(masses.sum() + 1)))
    inner = min(power(62 - math.ceil(math.log2(width * part.max() + 1))) for part in parts)
    relative = of_a_pick(whole, far * Fraction(min(float(part.sum()) for part in parts)))
    relative += of_a_pick(inner, far * Fraction(float(masses.min())))
    sums = 2 * (width + blocks) * U + 2 * U32
    assert near(kernel.masses_slack(), 2 * (4 * weight + relative / (1 - relative) + sums))


def test_the_error_of_ideal_weights():
    """Twice what an exponent, its exponential and a sum of n terms round by; an angle has an error of its own."""
    n, reach = 700, Fraction(RATE) * Fraction(CAP)
    of_angles = (3 * D + 40) * U
    for source, exponent in (
        (Lengths(ROWS.__getitem__), reach * (Fraction(D, 2) + 5) * U),
        (Angles(ROWS.__getitem__, ROWS.__getitem__), reach * 3 * U + Fraction(RATE) * of_angles),
        (Entries(np.zeros((V, V))), reach * 3 * U),
    ):
        rows = IdealRows(distances=source, outputs=IDS, base=None, rate=RATE, cap=CAP)
        assert near(rows.error(n), 2 * (exponent + (8 + n) * U))


def test_the_slack_of_a_matrix_is_its_error():
    table = DistanceTable(np.ceil(distances(Euclidean(), ROWS, ROWS) * 16) / 16)  # upwards, which keeps it a metric
    for error in (0.0, 1e-7):
        metric = Precomputed(label="m", vocabulary="ab", table=table, error=error)
        rows = PairwiseRows(TableSource(metric), metric, IDS, rate=RATE, cap=CAP)
        assert near(rows.arithmetic_slack(), 4 * Fraction(RATE) * Fraction(error))


def coordinates_as_tiles_have_them():
    """Radius after centring, and before, in fifty digits."""
    mean = [sum(Fraction(float(x)) for x in column) / V for column in ROWS.T]
    centred = max(sum((Fraction(float(x)) - m) ** 2 for x, m in zip(row, mean, strict=True)) for row in ROWS)
    return math.sqrt(centred), math.sqrt(max(squares()))


def test_the_errors_of_a_certificate():
    """Twice an error of ln Z, the forgiven 1e-9, and the distance on both sides of the inequality."""
    vocabulary = placed(ROWS)
    radius, original = map(Fraction, coordinates_as_tiles_have_them())
    squared = 2 * (D + 4) * U * (2 * radius) ** 2 + 8 * U * radius * (original + radius)
    tiles = PairTiles(ROWS.astype(np.float64), Euclidean())
    assert near(tiles.squared_error, squared)
    space = DistinctVectors.of(vocabulary, Euclidean())
    sums = space.sums(RATE, CAP)
    list(sums.steps(1))
    logs = float(np.abs(sums.logs()).max())
    exponent = Fraction(RATE) * Fraction(math.sqrt(squared)) + (8 + 8 * Fraction(RATE) * Fraction(CAP)) * U
    log_error = exponent + (SIDE + 1 + 2) * U + 4 * U * Fraction(logs)
    assert near(sums.log_error(), log_error)
    found = LossComputation(space).metric(RATE, CAP)
    assert near(found.error, 2 * log_error + Fraction(1, 10**9))
    assert TOLERANCE == 1e-9
    assert found.epsilon >= found.computed * (1 + CLAIM_MARGIN)
    table = np.round(distances(Euclidean(), ROWS, ROWS), 6)
    matrix = Precomputed(label="m", vocabulary=vocabulary.header.checksum, table=DistanceTable(table), error=1e-6)
    counted = max(1e-6, matrix.table.triangle_excess[0] / 2)
    by_rows = LossComputation(WordPairs(vocabulary, matrix)).local(RATE, CAP)
    log_error = Fraction(RATE) * Fraction(counted) + (4 + 2 * Fraction(RATE) * Fraction(CAP) + V) * U
    assert near(by_rows.error, 2 * log_error + Fraction(1, 10**9) + 2 * Fraction(RATE) * Fraction(counted))


def test_the_error_of_distances_from_coordinates():
    source = CoordinateSource(Euclidean(), ROWS, IDS)
    assert near(source.error, math.sqrt(2 * (D + 4) * U * 4 * max(squares())))


def test_the_error_of_the_screen_for_pairs():
    """A float32 product of d + 4 terms: T^2 |x - y|^2 - (z - z')^2 from rows of at most radius and reach."""
    tiles = PairTiles(ROWS.astype(np.float64), Euclidean())
    sums = NormaliserSums(tiles, np.ones(V), rate=RATE, cap=CAP)
    list(sums.steps(1))
    search = PairMaximum(
        tiles, PairProblem(values=sums.logs(), rate=RATE, cap=CAP, tolerance=TOLERANCE, per_distance=True)
    )
    slope = search._threshold
    radius = 2 * coordinates_as_tiles_have_them()[0]
    reach = 2 * float(np.abs(search._z).max())
    size = (slope * radius) ** 2 + 2 * reach**2
    expected = 1.01 * (D + 10) * float(U32) * size + (D + 8) * 2.0**-126 * (1 + size)
    assert near(search._screen_error(0, slice(0, 1), slope), expected)


def test_what_ceilings_take_away_and_add():
    """6.5 roundings of the root and its scale; 33 of a sum, and 2^-17 of an exponent with a base measure."""
    assert 6.5 * U32 < 1 - Fraction(ceilings.LOWERED) == power(-20)
    with mpmath.workdps(30):
        assert mpmath.exp(mpmath.log(2) * mpmath.mpf(2) ** -17 + 33 * mpmath.mpf(2) ** -24) < ceilings.RAISED
        for moved in (0.0, 1e-3, 0.1, 0.7):
            for metric, steepest in ((Euclidean(), 1), (Angular(), 9 / 4)):
                grid = SelectionRows(ROWS + 9, metric, IDS, IDS, rate=RATE, cap=CAP)._ceilings
                raised = grid.raised(moved / (steepest * grid.grid.apart))
                assert raised >= mpmath.exp(moved) * (1 + mpmath.mpf(2) ** -17)
    assert 4 * ceilings.LONGEST**2 < 2**31
    assert min(ceilings.THRESHOLDS) == 0.5
    assert ceilings.LEAST_SHARE * math.exp(ceilings.LOWEST) > 2.0**-126


def test_the_margin_of_the_stretch():
    """Products of 2 (d + m) + 12 terms of a quarter of the magnitude, and images off by (d + 2) roundings."""
    matrix = np.arange(1.0, 7.0).reshape(2, 3)
    pairs = _Pairs(ROWS.astype(np.float64), matrix)
    reach, frobenius = max(squares()), sum(Fraction(x) ** 2 for x in range(1, 7))
    best, m = Fraction(7, 2), 2
    magnitude = frobenius * reach + best * reach
    units = 4 * (2 * D + 2 * m + 12) + 8 * (D + 2)
    assert near(pairs.margin(float(best)), Fraction(11, 10) * U * units * magnitude)
    assert ROUND_UP == 1e-9
    largest = float(np.linalg.svd(matrix, compute_uv=False)[0])
    raised = Fraction(largest) * (1 + 16 * (m + D) * U)
    assert raised <= Fraction(spectral_stretch(matrix)) < raised * (1 + power(-32))  # machines agree in so many digits


def test_the_smallest_eigenvalue_is_taken_from_below():
    table = placed(ROWS)
    lam = 0.7
    values = np.linalg.eigh((1 - lam) * np.eye(D) + lam * scaled_covariance(table.vectors))[0]
    fitted = Mahalanobis(epsilon=1.0, lam=lam).fit(table)
    lowered = Fraction(fitted.smallest_eigenvalue) - Fraction(float(values[0]))
    assert -9 * D * U * Fraction(float(values[-1])) < lowered < -7 * D * U * Fraction(float(values[-1]))
    assert fitted.euclidean_epsilon >= 1 / math.sqrt(fitted.smallest_eigenvalue)


@pytest.mark.parametrize(("epsilon", "scale"), [(1e-3, 30.0), (1.0, 3.7), (50.0, 0.3), (1e4, 0.012)])
def test_the_allowance_of_the_gaussian_delta(epsilon, scale):
    """64 roundings of three logarithms and 8 of their arguments, added to ln delta and taken from the difference."""
    with mpmath.workdps(50):
        half, shift = 1 / (2 * mpmath.mpf(scale)), mpmath.mpf(epsilon) * mpmath.mpf(scale)
        upper, lower = (mpmath.log(mpmath.ncdf(x)) for x in (half - shift, -half - shift))
        exact = mpmath.log(mpmath.ncdf(half - shift) - mpmath.exp(epsilon) * mpmath.ncdf(-half - shift))
        unit = mpmath.mpf(2) ** -53
        allowed = 64 * unit * (epsilon - upper - lower) + 8 * unit * (half + shift) * (1 + abs(half - shift))
        difference = epsilon + lower - upper
        expected = upper + mpmath.log(-mpmath.expm1(difference - allowed)) + allowed
        found = mpmath.mpf(gaussian_log_delta(epsilon, scale))
        assert exact < found
        # Beyond the truth by the allowance, as far as float64 leaves it visible: a tenth of it would be seen.
        assert abs(found - expected) < (expected - exact) / 2


def largest_loss(law, i, j):
    return max(abs(float(mpmath.log(mpmath.mpf(a) / mpmath.mpf(b)))) for a, b in zip(law[i], law[j], strict=True))


def test_a_claim_without_slack_would_be_false_where_weights_are_a_few_units():
    """Weights of e^-36.5 are some twenty integer units: how they round is percents of a loss between near words."""
    rate, without = 36.5, []
    for step in range(1, 13):
        rows = np.array([[0.0], [1.0], [1.0 + step / 2048]], dtype=np.float32)
        kernel = SelectionRows(rows, Euclidean(), IDS[:3], IDS[:3], rate=rate, cap=1.01)
        kernel.lay_out()
        weights = kernel._close_weights(kernel._left(IDS[:3], 3), np.arange(3), np.zeros(3, dtype=np.int64))[:, :3]
        drawn = np.rint(weights * float(kernel._inner_units[0])).astype(int).tolist()
        law = [[Fraction(w, sum(row)) for w in row] for row in drawn]
        with mpmath.workdps(40):
            points = [mpmath.mpf(float(x)) for x in rows[:, 0]]
            ideal = [[mpmath.exp(-rate * abs(x - y)) for y in points] for x in points]
            ideal = [[w / mpmath.fsum(row) for w in row] for row in ideal]
            law = [[mpmath.mpf(p.numerator) / p.denominator for p in row] for row in law]
            off = [largest_loss(law, i, j) - largest_loss(ideal, i, j) for i, j in ((0, 1), (0, 2), (1, 2))]
        assert max(off) <= kernel.masses_slack() < 1
        without.append(max(off))
    assert max(without) > 0.02, "what the weights promise is exceeded by the words that are drawn"


def test_a_certificate_without_its_error_would_be_false_between_words_a_hair_apart():
    """Up to 1e-9 nats of a normalizer are forgiven, so that the steepest pair, 1e-10 apart, is not counted."""
    rows, measure, rate = np.array([[0.0], [1e-10], [0.01]]), np.array([1.0, 1.0, 40.0]), 3.0
    space = DistinctVectors(coordinates=rows, measure=measure, ids=IDS[:3], metric=Euclidean())
    found = LossComputation(space).metric(rate)
    with mpmath.workdps(40):
        points = [mpmath.mpf(float(x)) for x in rows[:, 0]]
        sums = [
            mpmath.fsum(b * mpmath.exp(-rate * abs(x - y)) for y, b in zip(points, measure, strict=True))
            for x in points
        ]
        s = points[1] - points[0]
        loss = rate * s + abs(mpmath.log(sums[1] / sums[0]))
        assert loss > found.epsilon * s, "the claim alone is exceeded"
        assert loss <= found.epsilon * s + found.error


def test_a_stretch_without_its_margin_would_be_too_small(monkeypatch):
    """Two rows a hair apart, far from the origin, along the steepest axis: their product's sign is rounding's."""
    v, matrix, missed = 1500, np.diag([3.0, 1.0, 1.0]), 0
    for number in range(32):  # a product without margin misses the pair in every second table or so
        rows = seeds.rng(3 + number).standard_normal((v, 3)) * 1e3 + 1e6
        rows[:, 0] = 1e6 + np.arange(v) * 1e-3
        rows[907, 1:] = rows[900, 1:]  # others lie between them in the order, and no pilot looks at this pair
        assert exact_stretch(rows, matrix) == pytest.approx(3.0, rel=1e-9)
        with monkeypatch.context() as patch:
            patch.setattr(_Pairs, "margin", lambda pairs, best: 0.0)
            missed += min(exact_stretch(rows + shift, matrix) for shift in np.linspace(0, 100, 4)) < 2.0
        if missed:
            return
    raise AssertionError("none of the tables is missed by a product without margin")
