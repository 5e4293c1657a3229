"""Ceilings are never below the ideal masses, the same bytes on every engine, and draws follow the ideal law."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.engines_here import SELECTING, every_selecting
from tests.kernels.oracles import ideal_draw, p_value, random_words, rows_of

from seeds import rng
from wordveil.errors import ParameterError
from wordveil.kernels import ceilings, selection
from wordveil.kernels.ideal import OPEN, Draw, IdealRows
from wordveil.kernels.ideal_distances import Entries
from wordveil.kernels.selection import SelectionRows
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis
from worlds import SHAPES, distances, scattered

TURNED = np.diag(np.linspace(0.7, 1.1, 5))
every_vocabulary = pytest.mark.parametrize("make", SHAPES, ids=lambda f: f.__name__)


def on(engine, vectors, **settings_of):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORDVEIL_ENGINE", engine)
        return rows_of(vectors, **settings_of)


def exact_masses(kernel, ids):
    """Block masses from float64 differences, whose relative error is below 1e-12."""
    return np.add.reduceat(kernel.weights(ids), kernel._edges[:-1], axis=1)


def above(kernel, ids):
    return kernel._ceiling_rows(ids).astype(np.float64) * kernel._raised


@every_selecting
@every_vocabulary
@pytest.mark.parametrize("metric", [Euclidean(), Angular()], ids=lambda m: m.name)
@pytest.mark.parametrize("reach", [0.3, 8.0, 58.0])
def test_no_ceiling_is_below_its_mass(engine, make, metric, reach):
    vectors = make(3, 1100, 21) + np.float32(0.25)  # none is 0, which has no angle
    cap = float(np.quantile(distances(metric, vectors[:100], vectors), 0.8)) or 1.0
    outputs = np.arange(2, 1100, 2, dtype=np.int32)  # more than a block holds
    kernel = rows_of(vectors, metric=metric, rate=reach / cap, cap=cap, outputs=outputs)
    ids = kernel.canonical[:100]
    assert np.all(above(kernel, ids) >= exact_masses(kernel, ids) * (1 - 1e-12))


@pytest.mark.parametrize("engine", SELECTING[1:])
@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    v=st.integers(1, 700),
    d=st.integers(1, 60),
    exponent=st.integers(-12, 12),
    reach=st.floats(0.01, 80),
    based=st.booleans(),
    turned=st.booleans(),
)
def test_engines_agree_and_hold_at_any_scale(engine, seed, v, d, exponent, reach, based, turned):
    """The same bytes as NumPy's of ceilings and words, and no ceiling below its mass."""
    vectors = (rng(seed).standard_normal((v, d)) * 10.0**exponent).astype(np.float32)
    metric = Angular() if turned else Mahalanobis(whitening=np.diag(np.linspace(0.5, 2, d)))
    cap = float(distances(metric, vectors[:40], vectors).max()) or 1.0
    base = (np.arange(v) % 4 > 0) * 10.0 ** rng(seed + 1).uniform(-9, 0, v) if based and v > 1 else None
    one, other = (on(name, vectors, metric=metric, base=base, rate=reach / cap, cap=cap) for name in (engine, "numpy"))
    ids = np.unique(one.canonical)[:40]
    assert one._ceiling_rows(ids).tobytes() == other._ceiling_rows(ids).tobytes()
    assert np.all(above(one, ids) >= exact_masses(one, ids) * (1 - 1e-12))
    words = random_words(seed, len(ids), one)
    assert one.draw(ids, words).tobytes() == other.draw(ids, words).tobytes()


def least_margin(exponents):
    """Least ceiling over mass of one word at distances that the grid holds, for which rounding has no say."""
    found = []
    for h in exponents:
        vectors = np.array([[0.0], [float(h)]], dtype=np.float32)
        kernel = rows_of(vectors, outputs=np.array([1], dtype=np.int32), rate=math.log(2) * 24 / h, cap=2.0 * h)
        found.append(float(kernel._ceiling_rows(kernel.canonical[:1])[0, 0]) / math.exp(-kernel.rate * h))
    return min(found)


@every_selecting
def test_a_root_or_a_power_that_is_a_hair_too_far_is_caught(monkeypatch, engine):
    """The broken twin has exponents too large by 2^-9; where both bounds are tight nothing makes up for that."""
    places = [int(2**i * x) for i in (10, 11) for x in np.linspace(1, 1.999, 150)]
    assert least_margin(places) >= 1
    monkeypatch.setattr(ceilings, "LOWERED", 1 + 2.0**-9)
    assert least_margin(places) < 1


@every_selecting
def test_ceilings_that_forget_what_the_grid_moves_are_caught(engine):
    """The broken twin is not raised: words near the edges between points of the grid lie further off than they do."""
    vectors = np.append(np.arange(400) + 0.49 + 0.02 * (np.arange(400) % 2), 40_000).astype(np.float32)[:, None]
    kernel = rows_of(vectors, rate=0.1, cap=60.0)
    ids = kernel.canonical[:400]
    pairs = [rows_of(vectors, rate=0.1, cap=60.0, outputs=np.array([y], dtype=np.int32)) for y in range(100, 110)]
    exact = np.array([exact_masses(pair, ids)[:, 0] for pair in pairs])
    low = np.array([pair._ceiling_rows(ids)[:, 0] for pair in pairs], dtype=np.float64)
    assert np.all(low * kernel._raised >= exact)
    assert not np.all(low * ceilings.RAISED >= exact)


def test_the_bend_is_never_above_the_angle_and_a_steeper_one_is_caught(monkeypatch):
    """For every squared distance that the grid tells apart, by 40 digits; the twin is steeper by an eighth."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(40):
        for q in range(1, 4 * 4096 + 1, 7):
            chord = mpmath.sqrt(mpmath.mpf(q) / 4096)
            bend = ((ceilings.BEND_A + ceilings.BEND_B * q) >> 8) * q / mpmath.mpf(2) ** 30
            lacking = 2 * mpmath.asin(chord / 2) - chord * (1 + bend)
            assert 0 <= lacking < (0.004 if q < 2.5 * 4096 else 0.6)
            a, b = (mpmath.mpf(x) / 2**e for x, e in ((ceilings.BEND_A, 26), (ceilings.BEND_B, 14)))
            assert 1 + 3 * a * chord**2 + 5 * b * chord**4 < ceilings.STEEPEST
    rate, outputs = math.log(2) * 24 / (math.pi / 2), np.array([1], dtype=np.int32)  # where the power is exact as well
    kernel = on("numpy", np.eye(2, dtype=np.float32), metric=Angular(), rate=rate, cap=2.0, outputs=outputs)
    ids = np.zeros(1, dtype=np.int32)
    assert above(kernel, ids)[0, 0] >= 2.0**-24
    monkeypatch.setattr(ceilings, "BEND_A", ceilings.BEND_A * 9 // 8)
    assert above(kernel, ids)[0, 0] < 2.0**-24


def enumerated_law(kernel, word, numbers):
    """The law of one attempt: blocks by their integers, words by where the edges fall among 64 bits, as fractions."""
    ids = kernel.canonical[np.array([word])]
    units = kernel._integers(kernel._ceiling_rows(ids))
    counts = np.diff(units.bounds[0].astype(object), prepend=0)
    law = []
    for block, count in enumerate(counts):
        low, high = kernel._edges[block : block + 2].tolist()
        top = int(count) * Fraction(kernel._raised) / Fraction(float(units.scale[0]))
        edges = [0]
        for column in range(high - low):  # the number of first words whose draw lies below the column's end
            least, most = edges[-1], 2**64
            while least < most:
                middle = (least + most) // 2
                draw = Draw(words=numbers, first=middle, number=0, ceiling=top)
                found = kernel.ideal.columns(int(ids[0]), low, high, [draw])[0]
                least, most = (middle + 1, most) if 0 <= found <= column else (least, middle)
            edges.append(least)
        law += [Fraction(int(count)) * (b - a) / 2**64 for a, b in itertools.pairwise(edges)]
    return [p / sum(law) for p in law]


def exact_distance(metric, x, y):
    """The distance of two vectors by mpmath."""
    mpmath = pytest.importorskip("mpmath")
    a, b = ([mpmath.mpf(float(z)) for z in row] for row in (x, y))
    if metric == Euclidean():
        return mpmath.sqrt(mpmath.fsum((p - q) ** 2 for p, q in zip(a, b, strict=True)))
    cosine = mpmath.fdot(a, b) / mpmath.sqrt(mpmath.fdot(a, a) * mpmath.fdot(b, b))
    return mpmath.acos(max(min(cosine, 1), -1))


@pytest.mark.parametrize("metric", [Euclidean(), Angular()], ids=lambda m: m.name)
@pytest.mark.parametrize("based", [False, True])
def test_one_attempt_has_exactly_the_ideal_law(monkeypatch, based, metric):
    """By enumeration, against 60 digits: what is left is one first word at each edge, 2^-64 of a ceiling."""
    mpmath = pytest.importorskip("mpmath")
    monkeypatch.setattr("wordveil.kernels.weight_rows.COLUMNS", 4)
    vectors = (rng(8).normal(size=(11, 3)) * 2 + (5 if metric == Euclidean() else 0)).astype(np.float32)
    base, cap = np.linspace(0.25, 3.0, 11) if based else None, 4.0 if metric == Euclidean() else 1.5
    kernel = rows_of(vectors, metric=metric, rate=3.0, cap=cap, base=base)
    assert kernel.attempts == 8
    assert kernel.arithmetic_slack() == 0
    numbers = random_words(1, 1, kernel)[0]
    with mpmath.workdps(60):
        for word in (0, 10):
            weights = [
                (1 if base is None else mpmath.mpf(float(base[y])))
                * mpmath.exp(-3 * min(exact_distance(metric, vectors[word], row), cap))
                for y, row in enumerate(vectors)
            ]
            for p, weight in zip(enumerated_law(kernel, word, numbers), weights, strict=True):
                assert abs(float(mpmath.mpf(p.numerator) / p.denominator * mpmath.fsum(weights) / weight - 1)) < 1e-12


@every_selecting
@pytest.mark.parametrize("metric", [Euclidean(), Angular()], ids=lambda m: m.name)
def test_draws_are_those_of_the_slow_draw(engine, metric):
    kernel = rows_of(scattered(2, 600, 7), metric=metric, rate=2.0, cap=4.0)  # more than a block holds
    ids = np.arange(0, 600, 61, dtype=np.int32)
    words = random_words(1, len(ids), kernel)
    expected = [ideal_draw(kernel, i, w) for i, w in zip(ids.tolist(), words, strict=True)]
    assert kernel.draw(ids, words, threads=1).tolist() == expected


def aimed(kernel, word, count):
    """Random words whose first attempt falls on edges of the running sums, to the last of 64 bits."""
    words = random_words(7, count, kernel)
    ids = kernel.canonical[np.full(count, word)]
    units = kernel._integers(kernel._ceiling_rows(ids[:1]))
    counts = np.diff(units.bounds[0], prepend=np.uint64(0))
    for i in range(count):
        target = (int(words[i, 0]) >> 1) // int(units.share[0])
        block = min(int(np.searchsorted(units.bounds[0], target, side="right")), kernel.blocks - 1)
        low, high = kernel._edges[block : block + 2].tolist()
        sums = np.cumsum(kernel.ideal.weights(np.array([word]), slice(low, high))[0])
        top = int(counts[block]) * kernel._raised / float(units.scale[0])
        words[i, 1] = min(int(sums[i % (high - low)] / top * 2.0**64) + i % 5 - 2, 2**64 - 1)
    return ids.astype(np.int32), words


@every_selecting
@pytest.mark.parametrize("metric", [Mahalanobis(whitening=TURNED), Angular()], ids=lambda m: m.name.split()[0])
def test_what_floats_leave_open_is_decided_by_ideal_weights(engine, metric):
    """Aimed at edges; with all draws open the words are the same; the broken twin that lets floats decide draws others.

    So far from the origin products of float64 lose digits that differences keep, unless they are of whole float32. The
    twin leaves no room for rounding at all: how far floats are off otherwise is a matter of the processor.
    """
    vectors = scattered(5, 150, 5) + np.float32(0 if metric == Angular() else 100)
    drawn = {}
    for decided in ("as usual", "always", "exactly", "never"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("wordveil.kernels.weight_rows.COLUMNS", 64)  # three blocks
            kernel = rows_of(vectors, metric=metric, rate=2.0, cap=3.0)
            if decided == "as usual":
                ids, words = aimed(kernel, 4, 120)
                expected = [ideal_draw(kernel, 4, w) for w in words[:30]]
            else:
                kernel.__dict__["_open_error"] = 0.0 if decided == "never" else math.inf
            if decided == "exactly":
                patch.setattr(IdealRows, "_sums", lambda rows, *a, whole=IdealRows._sums: (whole(rows, *a)[0], 0.5))
            if decided == "never":  # in a service some are decided again
                kernel.__dict__["_cache"] = kernel.with_cache(1 << 20)._cache
                patch.setattr(selection, "ends", lambda bits, tops, error: [bits * (tops / 2.0**64)] * 2)
            some = slice(4 if decided == "exactly" else None)  # in whole numbers alone, which takes long
            drawn[decided] = kernel.draw(ids[some], words[some]).tolist()
    assert drawn["as usual"][:30] == expected
    assert drawn["as usual"][:4] == drawn["exactly"]
    assert drawn["as usual"] == drawn["always"] != drawn["never"]


def test_further_bits_decide_where_64_do_not():
    """An edge at one half of the ceiling, and a number that begins right below it: its next bits cannot reach it."""
    rows = IdealRows(
        distances=Entries(np.zeros((2, 2))), outputs=np.arange(2, dtype=np.int32), base=None, rate=1.0, cap=1.0
    )
    draw = Draw(words=np.arange(4, dtype=np.uint64), first=2**63 - 1, number=0, ceiling=Fraction(2))
    assert rows.columns(0, 0, 2, [draw]) == [0]
    assert rows.columns(0, 0, 2, [replace(draw, first=2**63)]) == [1]
    wide = replace(draw, ceiling=Fraction(3))
    assert rows.columns(0, 0, 2, [replace(wide, first=2**64 - 1)]) == [-1]
    assert wide.bits(128) >> 64 == wide.first
    assert wide.bits(128) != replace(wide, number=1).bits(128)


@every_selecting
@pytest.mark.parametrize(("factor", "word"), [(1.0, 5), (3.0, 5), (40.0, 900)])
def test_draws_follow_the_weights_however_high_the_ceilings_are(engine, factor, word):
    """False alarm 1e-9 each; the same check sees a law whose rate is a tenth off.

    At 40 times the masses many words are drawn from the whole row in the end.
    """
    vectors = scattered(0, 1200, 4)
    kernel, n = rows_of(vectors, rate=1.5, cap=3.0).with_cache(1 << 20), 30_000 if factor < 9 else 3000
    kernel.attempts, kernel._raised = 8, factor * kernel._raised
    words = random_words(word, n, kernel)
    drawn = kernel.draw(np.full(n, word, dtype=np.int32), words)
    table = np.minimum(distances(Euclidean(), vectors[word : word + 1], vectors)[0], 3.0)
    assert p_value(drawn, kernel, np.exp(-1.5 * table)) > 1e-9
    if n > 9000:
        for rate in (1.2, 1.8):
            assert p_value(drawn, kernel, np.exp(-rate * table)) < 1e-9


@every_selecting
def test_a_ceiling_below_its_mass_would_bias_the_words(engine):
    """The broken twin: at half the masses the last words of every block are never drawn."""
    kernel, n = rows_of(scattered(0, 1200, 4), rate=1.5, cap=3.0).with_cache(1 << 20), 20_000
    kernel._raised = 0.5 * kernel._raised
    drawn = kernel.draw(np.full(n, 5, dtype=np.int32), random_words(2, n, kernel))
    assert p_value(drawn, kernel, kernel.weights(np.array([5]))[0]) < 1e-9


def test_a_word_is_never_used_twice():
    kernel = rows_of(scattered(0, 30, 3))
    with pytest.raises(ParameterError, match=r"bits=\(3, 2\) must have shape \(3, 16\)"):
        kernel.draw(np.arange(3, dtype=np.int32), np.zeros((3, 2), dtype=np.uint64))


@pytest.mark.parametrize("job", [False, True])
def test_a_service_makes_every_attempt_for_every_word(monkeypatch, job):
    """What a service computes is the same whether many draws are rejected or few; a batch job saves what it can."""
    ids, sizes = np.arange(600, dtype=np.int32), []

    def counted(rows, inputs, row_of, *arrays, whole=SelectionRows._draw_within):
        sizes.append((len(inputs), len(row_of)))
        return whole(rows, inputs, row_of, *arrays)

    monkeypatch.setattr(SelectionRows, "_draw_within", counted)
    work = []
    for raised in (1.0, 2.0):
        kernel = rows_of(scattered(0, 600, 4), rate=1.5, cap=3.0)
        kernel._raised = raised * kernel._raised
        words = random_words(4, 600, kernel)
        sizes.clear()
        (kernel.with_cache(1 << 20) if job else kernel).draw(ids, words, threads=1)
        work.append(sizes.copy())
    assert (work[0] == work[1]) is not job


def test_a_service_decides_a_fixed_share_again(monkeypatch):
    """How many draws are open is hidden below a share of all, which is decided whether open or not."""
    found = []
    for error in (0.0, 1e-5):
        kernel = rows_of(scattered(0, 600, 4), rate=1.5, cap=3.0)
        kernel.__dict__["_open_error"] = error
        seen = []
        whole = IdealRows.columns
        monkeypatch.setattr(IdealRows, "columns", lambda *a, seen=seen, whole=whole: seen.append(1) or whole(*a))
        kernel.draw(np.arange(600, dtype=np.int32), random_words(4, 600, kernel), threads=1)
        monkeypatch.undo()
        found.append(len(seen))
    assert found[0] == found[1] > 0
    assert selection.CHECKED == 32
    assert OPEN == -2


def test_a_far_block_of_few_units_has_room_for_its_whole_mass():
    """Without the unit that counts round up by, the last words of most such blocks could never be drawn."""
    lost = []
    for seed in range(31, 43):
        near, far = rng(seed).normal(size=(2, 512, 3))
        vectors = np.concatenate([near * 0.04, 8 + far * 0.01]).astype(np.float32)
        kernel = rows_of(vectors, rate=4.0, cap=40 * math.log(2) / 4 * (1 - 1e-9))
        units = kernel._integers(kernel._ceiling_rows(kernel.canonical[:1]))
        first, both = (int(bound) for bound in units.bounds[0])
        unit = Fraction(kernel._raised) / Fraction(float(units.scale[0]))
        last = Draw(words=np.zeros(16, np.uint64), first=2**64 - 1, number=0, ceiling=(both - first) * unit)
        assert kernel.ideal.columns(0, 512, 1024, [last]) == [-1]
        lost.append(kernel.ideal.columns(0, 512, 1024, [replace(last, ceiling=last.ceiling - unit)]) != [-1])
    assert any(lost)
