"""Exact noise: integers against mpmath, floats against a second derivation, planted ties, twins, laws on the grid."""

import hashlib
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest

import seeds
from wordveil.errors import ParameterError
from wordveil.mechanisms import exact_noise, fixed_point
from wordveil.mechanisms.exact_noise import LaplaceLaw, NormalLaw, RadialLaw, RealSums, nearest_points
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace
from wordveil.mechanisms.rows import clip_to_ball
from wordveil.mechanisms.truncated_law import noise_deviation
from wordveil.promises.rounding import scale_at_least

PRECISION = 400
GRID = 2.0**-9
LAWS = [*map(NormalLaw, (1, 6)), *map(RadialLaw, (1, 2, 5, 38)), LaplaceLaw(4), LaplaceLaw(3, 2.5), LaplaceLaw(3, 80.0)]


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workprec(PRECISION):
        yield


def drawn(law, n, seed=1):
    rng = seeds.rng(seed)
    words = rng.integers(0, 2**64, (n, law.words), dtype=np.uint64)
    return words, rng.integers(0, 2**64, (n, 2), dtype=np.uint64)


def uniform(words, tail, index, level=8):
    """U of a row, further words and all, as a real number."""
    value, key = int(words[index]), b"".join(int(word).to_bytes(8, "little") for word in tail)
    for part in range(1, level):
        place = index.to_bytes(8, "little") + part.to_bytes(8, "little")
        value = (value << 64) + int.from_bytes(hashlib.blake2b(place, key=key, digest_size=8).digest(), "little")
    return mpmath.mpf(value) / mpmath.mpf(2) ** (64 * level)


def noise_by_definition(law, words, tail):
    """Noise of one row by the textbook, from uniforms alone."""
    u = [uniform(words, tail, index) for index in range(law.words)]
    if isinstance(law, LaplaceLaw):
        noise = []
        for index, word in enumerate(words):
            # The lowest bit of the first word is the sign, all others are a uniform.
            bits = (mpmath.mpf(int(word) >> 1) + (u[index] * 2**64 - int(word))) / 2**63
            cut = mpmath.exp(-mpmath.mpf(law.reach)) if np.isfinite(law.reach) else 0
            size = -mpmath.log(cut + bits * (1 - cut))
            noise.append(size if int(word) & 1 else -size)
        return noise
    pairs = -(-law.dimensions // 2)
    sizes = [mpmath.sqrt(-2 * mpmath.log(x)) for x in u[:pairs]]
    angles = [2 * mpmath.pi * x for x in u[pairs : 2 * pairs]]
    normals = [r * mpmath.cos(a) for r, a in zip(sizes, angles, strict=True)]
    normals += [r * mpmath.sin(a) for r, a in zip(sizes, angles, strict=True)]
    normals = normals[: law.dimensions]
    if isinstance(law, NormalLaw):
        return normals
    rest = u[2 * pairs :]
    gamma = -sum(mpmath.log(x) for x in rest[: (law.dimensions + 1) // 2])
    if law.dimensions % 2 == 0:
        gamma -= mpmath.log(rest[-2]) * mpmath.cos(2 * mpmath.pi * rest[-1]) ** 2
    return [normal * mpmath.sqrt(2 * gamma) for normal in normals]


def by_definition(rows, law, words, tails, scale, grid, *, matrix=None, mixing=None):
    """The nearest points of the real sums, one by one."""
    out = np.empty((len(rows), law.dimensions))
    for i in range(len(rows)):
        centre = [mpmath.mpf(float(x)) for x in rows[i]]
        if matrix is not None:
            centre = [
                mpmath.fsum(c * mpmath.mpf(float(m)) for c, m in zip(centre, col, strict=True)) for col in matrix.T
            ]
        noise = noise_by_definition(law, words[i], tails[i])
        if mixing is not None:
            noise = [mpmath.fsum(z * mpmath.mpf(float(m)) for z, m in zip(noise, col, strict=True)) for col in mixing.T]
        for j in range(law.dimensions):
            out[i, j] = float(mpmath.floor((centre[j] + scale * noise[j]) / grid + mpmath.mpf(1) / 2) * grid)
    return out


def planted(law, words, tails, scale, grid):
    """Rows whose sums lie as near to the middle between two points as float64 rows can."""
    rows = np.empty((len(words), law.dimensions))
    for i in range(len(words)):
        for j, z in enumerate(noise_by_definition(law, words[i], tails[i])):
            middle = (mpmath.nint(scale * z / grid) + mpmath.mpf(1) / 2) * grid
            rows[i, j] = float(middle - scale * z)
    return rows


def test_integers_agree_with_mpmath_within_two_units():
    rng = seeds.rng(3)
    for _ in range(100):
        p, shift = int(rng.choice([64, 192, 700])), int(rng.choice([3, 64, 128, 2000]))
        with mpmath.workprec(4000):
            one = mpmath.mpf(2) ** p
            number = int.from_bytes(rng.bytes(250), "little") % (1 << shift)
            for value in (number or 1, 1, (1 << shift) - 1, 1 << (shift - 1)):
                u = mpmath.mpf(value) / mpmath.mpf(2) ** shift
                cosine, sine = fixed_point.circle(value, shift, p)
                assert abs(fixed_point.log(value, shift, p) - mpmath.log(u) * one) < 2
                assert abs(cosine - mpmath.cos(2 * mpmath.pi * u) * one) < 2
                assert abs(sine - mpmath.sin(2 * mpmath.pi * u) * one) < 2
                assert abs(fixed_point.exp_of_minus(37 * value, shift, p) - mpmath.exp(-37 * u) * one) < 2


def test_numpy_s_log_and_our_circle_are_far_inside_the_error_that_is_granted():
    words, _ = drawn(NormalLaw(2), 4000, 5)
    words[:40, 0] = np.uint64(2**64 - 1) - np.arange(40, dtype=np.uint64) * np.uint64(2**40)
    u = exact_noise._uniforms(words[:, 0])
    cosines, sines = np.empty((2, len(words), 1))
    exact_noise._circle(words[:, 1:], cosines, sines)
    for i, logarithm in enumerate(np.log(u)):
        exact = mpmath.log(mpmath.mpf(float(u[i])))
        assert abs(logarithm - exact) <= mpmath.mpf(2) ** -50 * abs(exact)
        angle = 2 * mpmath.pi * mpmath.mpf(int(words[i, 1])) / 2**64
        assert abs(cosines[i, 0] - mpmath.cos(angle)) < 2.0**-51
        assert abs(sines[i, 0] - mpmath.sin(angle)) < 2.0**-51


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_points_are_those_of_the_definition_near_ties_and_away_from_them(law):
    words, tails = drawn(law, 24)
    # Words that make logarithms steep, roots too, and a normal or a radius of all but nothing.
    words[0, 0], words[1, 0], words[2, -1], words[3, -1] = 3, 2**64 - 1, 0, 2**64 - 1
    scale = 0.37
    for rows in (seeds.rng(2).standard_normal((24, law.dimensions)) * 9, planted(law, words, tails, scale, GRID)):
        found = nearest_points(RealSums(rows=rows, scale=scale), law, words, tails, GRID)
        assert np.array_equal(found, by_definition(rows, law, words, tails, scale, GRID))
        assert not np.signbit(found[found == 0]).any()


def test_products_before_and_after_the_noise_are_real_products():
    law, rng = RadialLaw(4), seeds.rng(8)
    words, tails = drawn(law, 12)
    rows, matrix, mixing = rng.standard_normal((12, 7)), rng.standard_normal((7, 4)), rng.standard_normal((4, 4))
    for grid in (GRID, 2.0**-30):  # on the finer one much is decided by integers
        found = nearest_points(RealSums(rows=rows, matrix=matrix, scale=0.4), law, words, tails, grid)
        assert np.array_equal(found, by_definition(rows, law, words, tails, 0.4, grid, matrix=matrix))
        found = nearest_points(RealSums(rows=rows[:, :4], mixing=mixing, scale=0.4), law, words, tails, grid)
        assert np.array_equal(found, by_definition(rows[:, :4], law, words, tails, 0.4, grid, mixing=mixing))


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_float_noise_is_within_its_bound(law):
    words, tails = drawn(law, 24, 4)
    noise, error, steep = law.floats(words)
    error = np.where(np.zeros_like(noise, dtype=bool) if steep is None else steep, np.inf, error)
    for i in range(24):
        exact = noise_by_definition(law, words[i], tails[i])
        assert all(abs(float(exact[j] - mpmath.mpf(float(noise[i, j])))) <= error[i, j] / 8 for j in range(len(exact)))


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_a_bound_of_a_tenth_of_a_step_gives_the_same_bytes(law, monkeypatch):
    words, tails = drawn(law, 12, 6)
    sums = RealSums(rows=seeds.rng(2).standard_normal((12, law.dimensions)), scale=1.3)
    usual = nearest_points(sums, law, words, tails, GRID)
    decided, decide = [], exact_noise._decide
    monkeypatch.setattr(exact_noise, "FLOOR", 0.05)
    monkeypatch.setattr(exact_noise, "_decide", lambda *where: decided.extend(where[4]) or decide(*where))
    assert nearest_points(sums, law, words, tails, GRID).tobytes() == usual.tobytes()
    assert len(decided) >= usual.size / 20


def test_noise_in_float32_is_caught(monkeypatch):
    law = NormalLaw(2)
    words, tails = drawn(law, 200)
    rows, floats = seeds.rng(1).standard_normal((200, 2)), NormalLaw.floats
    right = by_definition(rows, law, words, tails, 1.0, 2.0**-20)
    monkeypatch.setattr(
        NormalLaw,
        "floats",
        lambda self, words: (floats(self, words)[0].astype(np.float32).astype(float), 2.0**-38, None),
    )
    assert not np.array_equal(nearest_points(RealSums(rows=rows, scale=1.0), law, words, tails, 2.0**-20), right)


def test_uniforms_without_their_tail_are_caught(monkeypatch):
    law = LaplaceLaw(1)
    words, tails = drawn(law, 50)
    words[:] = 5  # t = (2 + theta)/2^63
    sums = RealSums(rows=np.zeros((50, 1)), scale=1.0)
    right = by_definition(sums.rows, law, words, tails, 1.0, GRID)
    assert len(np.unique(right)) > 40
    assert np.array_equal(nearest_points(sums, law, words, tails, GRID), right)
    monkeypatch.setattr(
        fixed_point.Bits, "uniform", lambda self, index, level: int(self._words[index]) << 64 * (level - 1)
    )
    assert not np.array_equal(nearest_points(sums, law, words, tails, GRID), right)


def test_rounding_before_the_sum_is_caught():
    law = LaplaceLaw(3)
    words, tails = drawn(law, 50)
    rows = seeds.rng(1).standard_normal((50, 3))
    sums = RealSums(rows=rows, scale=1.0)
    apart = nearest_points(RealSums(rows=0 * rows, scale=1.0), law, words, tails, GRID) + np.rint(rows / GRID) * GRID
    right = by_definition(rows, law, words, tails, 1.0, GRID)
    assert np.array_equal(nearest_points(sums, law, words, tails, GRID), right)
    assert not np.array_equal(apart, right)


def edge(reaches, n):
    """The least word, for each of n rows, at which a monotone question is answered yes; 2^64 where there is none."""
    low, high = np.zeros(n, dtype=object), np.full(n, 1 << 64, dtype=object)
    for _ in range(64):
        middle = (low + high) // 2
        yes = reaches(middle.astype(np.uint64))
        low, high = np.where(yes, low, middle + 1), np.where(yes, middle, high)
    return high


@pytest.mark.parametrize("reach", [np.inf, 1.7])
def test_the_law_on_the_grid_in_one_dimension(reach):
    """Of the words of either sign those of one cell are a run: its length is the cell's probability."""
    law, grid, x, scale = LaplaceLaw(1, reach), 0.25, 0.1, 0.6
    cells = np.arange(-9, 10)
    cut = np.exp(-reach)

    def point(t, sign):
        words = ((t << np.uint64(1)) | np.uint64(sign))[:, None]
        sums = RealSums(rows=np.full((len(words), 1), x), scale=scale)
        return np.rint(nearest_points(sums, law, words, np.zeros((len(words), 2), dtype=np.uint64), grid)[:, 0] / grid)

    most, total = np.uint64((1 << 63) - 1), np.zeros(len(cells))

    def met(t, sign, past):
        """Whether t has come to each cell, or past it: of positive noise sums fall with t, of negative they rise."""
        gone = (1 - 2 * sign) * (point(np.minimum(t, most), sign) - cells)
        return gone > 0 if past else gone >= 0

    for sign in (1, 0):
        starts, ends = (edge(partial(met, sign=sign, past=past), len(cells)) for past in (False, True))
        total += [(min(b, 1 << 63) - min(a, 1 << 63)) / 2**64 for a, b in zip(starts, ends, strict=True)]

    def below(y):
        z = np.clip((y - x) / scale, -reach, reach)
        tail = (np.exp(-np.abs(z)) - cut) / (1 - cut) / 2
        return np.where(z < 0, tail, 1 - tail)

    expected = below((cells + 0.5) * grid) - below((cells - 0.5) * grid)
    assert np.abs(total - expected).max() < 1e-12


def test_clipped_rows_lie_in_the_ball_exactly():
    rng = seeds.rng(4)
    for d in (1, 3, 300, 5000):
        rows = rng.standard_normal((10, d)) * np.logspace(-3, 6, 10)[:, None]
        for radius in (1.0, 0.3, 1e-180):
            clipped = clip_to_ball(rows, radius)
            assert all(sum(Fraction(x) ** 2 for x in row) <= Fraction(radius) ** 2 for row in clipped.tolist())
            within = np.linalg.norm(rows, axis=1) < radius * (1 - 1e-9)
            assert np.array_equal(clipped[within], rows[within])


@pytest.mark.parametrize("epsilon", [0.1, 3.0, 7.7, 1e-9])
def test_scales_are_rounded_up_and_no_further(epsilon):
    found = scale_at_least(1 / epsilon, 1 / Fraction(epsilon) ** 2)
    assert Fraction(found) * Fraction(epsilon) >= 1
    assert Fraction(np.nextafter(found, 0)) * Fraction(epsilon) < 1 or found == 1 / epsilon


def test_a_grid_is_refused_by_public_numbers_alone():
    randomizer = MultivariateLaplace(epsilon=1e-9).for_dimensions(2)
    draws = randomizer.sample(seeds.source(1).stream("a"), 3)
    with pytest.raises(ParameterError, match="coarser"):
        randomizer.points(np.zeros((3, 2)), draws, 2.0**-20)


@pytest.mark.parametrize("law", [NormalLaw(2), LaplaceLaw(2), RadialLaw(3)], ids=repr)
def test_noise_of_many_steps_is_decided_and_never_refused(law):
    """A refusal that depends on the noise cuts the law off, where the row is."""
    words, tails = drawn(law, 5)
    rows, scale, grid = seeds.rng(2).normal(size=(5, law.dimensions)), 1e9, 2.0**-10
    points = nearest_points(RealSums(rows=rows, scale=scale), law, words, tails, grid)
    assert np.abs(points).max() > 2**33 * grid
    assert np.array_equal(points, by_definition(rows, law, words, tails, scale, grid))


@pytest.mark.parametrize("scale", [1e-165, 1e-200])
def test_products_of_tiny_rows_have_a_bound(scale):
    rows, matrix = seeds.rng(3).normal(size=(4, 5)) * scale, seeds.rng(4).normal(size=(5, 3)) * 1e100
    _, missing = RealSums(rows=rows, matrix=matrix, scale=1.0).centres()
    assert (missing > 0).all()


@pytest.mark.parametrize("law", [NormalLaw(1), LaplaceLaw(1), RadialLaw(1), RadialLaw(2)], ids=repr)
def test_a_uniform_that_begins_with_zeros_is_not_taken_for_a_small_one(law):
    bits = fixed_point.Bits(np.zeros(law.words, np.uint64), np.zeros(2, np.uint64))
    bits.uniform = lambda index, level: 0
    low, high = law.exact(bits, [0], 2, 192)[0]
    assert max(abs(low), abs(high)) / 2**192 > 2**10


@pytest.mark.parametrize("a", [1e-12, 1e-5, 0.99e-4, 1.01e-4, 0.1, 5.0])
def test_the_deviation_of_truncated_noise(a):
    with mpmath.workdps(60):
        x = mpmath.mpf(a)
        expected = mpmath.sqrt(2 - mpmath.exp(-x) * x * (x + 2) / -mpmath.expm1(-x))
    assert noise_deviation(1.0, a) == pytest.approx(float(expected), rel=1e-7)


def test_no_drawn_word_is_used_twice():
    """The key of a row's further words is none of them: what floats leave open is decided by bits of its own."""
    drawn_words = MultivariateLaplace(epsilon=1.0).for_dimensions(3).sample(seeds.source(1).stream("a"), 50)
    everything = np.concatenate([part.ravel() for part in drawn_words])
    assert len(np.unique(everything)) == everything.size == 50 * (RadialLaw(3).words + 2)


@pytest.mark.parametrize("law", [NormalLaw(2), LaplaceLaw(2), RadialLaw(3), RadialLaw(4)], ids=repr)
def test_ties_between_the_real_sum_and_the_float_one_are_decided_by_integers(monkeypatch, law):
    """A float alone falls on the wrong side of each; so it does where the bound is a thousandth."""
    words, tails = drawn(law, 60, 21)
    if isinstance(law, LaplaceLaw):
        words[:] = np.uint64(1 << 40) + (words >> np.uint64(44))
    else:
        words[:, 0] = np.uint64((1 << 64) - (1 << 38) - 1) - (words[:, 0] >> np.uint64(30))
    noise, *_ = law.floats(words)
    grid, rows, wanted = 2.0**-9, np.empty(noise.shape), np.empty(noise.shape)
    for i, j in np.ndindex(*noise.shape):
        real = noise_by_definition(law, words[i], tails[i])[j]
        middle = (mpmath.floor(real / grid) + mpmath.mpf(0.5)) * grid
        rows[i, j] = float(middle - (real + mpmath.mpf(float(noise[i, j]))) / 2)
        wanted[i, j] = float(mpmath.floor((mpmath.mpf(float(rows[i, j])) + real) / grid + mpmath.mpf(0.5)) * grid)

    def points():
        return nearest_points(RealSums(rows=rows, scale=1.0), law, words, tails, grid)

    assert np.array_equal(points(), wanted)
    whole = type(law).floats

    def narrowed(self, given):
        values, error, steep = whole(self, given)
        return values, np.asarray(error) / 1000, steep

    monkeypatch.setattr(type(law), "floats", narrowed)
    assert not np.array_equal(points(), wanted)
