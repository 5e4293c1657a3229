"""Rows through a mechanism: independence of blocks and threads, one stream per row, what each mechanism accepts."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seeds
import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import VectorMechanism
from wordveil.promises.guarantees import LocalDP, MetricDP, NoGuarantee, PrivacyUnit, Standing
from wordveil.randomness import RandomSource
from wordveil.runs.vectors import VectorSettings, release_vector_file, release_vectors
from wordveil.runs.vectors.binding import bind, default_projection
from wordveil.runs.vectors.values import VectorRelease
from worlds import drawn

ANY_VECTORS = [
    wv.MultivariateLaplace(epsilon=3.0),
    wv.ClippedLaplace(epsilon=30.0),
    wv.ClippedGaussian(epsilon=3.0),
    wv.ClippedL2(epsilon=30.0),
    wv.TruncatedLaplace(epsilon=30.0),
    wv.Projection(epsilon=3.0, **default_projection(7)),
    wv.Projection(epsilon=3.0, dimensions=3, sensitivity="spectral"),
    wv.Projection(epsilon=3.0, sensitivity="published", beta=2.0),
]
ANY_WITH_VOCABULARY = [
    wv.Mahalanobis(epsilon=3.0),
    wv.Projection(epsilon=3.0, dimensions=3, directions="principal", sensitivity="spectral"),
]
WORDS_ONLY = [
    wv.NADP(epsilon=3.0),
    wv.Jaccard(epsilon=3.0, allow_refuted=True),
    wv.Projection(epsilon=3.0, dimensions=3),
    wv.Projection(epsilon=3.0, sensitivity="union-bound", beta=2.0),
]
PLAIN = ANY_VECTORS[0]


@pytest.fixture(scope="module")
def table():
    return drawn(60, 7)


def go(rows, mechanism, *, seed=1, vocabulary=None, name="x", **options):
    source = seeds.source(seed)
    return release_vectors(
        rows, mechanism, vocabulary=vocabulary, settings=VectorSettings(**options), source=source, name=name
    )


@pytest.mark.parametrize("mechanism", ANY_VECTORS, ids=lambda m: repr(m)[:60])
def test_minus_zero_is_zero_before_the_noise_is_placed(mechanism, tmp_path):
    """Two spellings of one row, drawn at two places under one key, would be two releases of it."""
    rows = np.arange(21.0).reshape(3, 7) / 21
    rows[:, 2] = 0.0
    signed = rows.copy()
    signed[:, 2] = -0.0
    assert go(rows, mechanism).vectors.tobytes() == go(signed, mechanism).vectors.tobytes()
    for kind in (np.float32, np.float16):
        assert np.array_equal(*(go(some.astype(kind), mechanism).vectors for some in (rows, signed)))
    released = []
    for some in (rows, signed):
        np.save(tmp_path / "in.npy", some)
        release_vector_file(tmp_path / "in.npy", tmp_path / "out.npy", mechanism, source=RandomSource(seeds.key(0)))
        released.append((tmp_path / "out.npy").read_bytes())
        (tmp_path / "out.npy").unlink()
    assert released[0] == released[1]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [*ANY_VECTORS, *ANY_WITH_VOCABULARY, *WORDS_ONLY], ids=lambda m: repr(m)[:60])
def test_blocks_and_threads_change_nothing(table, mechanism):
    rows = np.tile(table.vectors, (9, 1))  # more than one chunk of rows
    whole = go(rows, mechanism, vocabulary=table, threads=1).vectors
    assert whole.shape == (540, mechanism.fit(table).dimensions)
    assert len(np.unique(whole, axis=0)) == 540  # equal rows at different places draw independently
    alone = go(rows[:60], mechanism, vocabulary=table, block_rows=1, threads=1).vectors
    assert np.array_equal(alone, whole[:60])
    for block_rows, threads in ((7, 2), (256, 2), (300, 3), (None, 4)):
        assert np.array_equal(
            go(rows, mechanism, vocabulary=table, block_rows=block_rows, threads=threads).vectors, whole
        )


def test_a_retried_row_draws_the_same_noise_and_a_changed_one_does_not(rows):
    first = go(rows, PLAIN)
    changed = rows.copy()
    changed[5, 2] += 1e-9
    second = go(changed, PLAIN)
    same = (first.vectors == second.vectors).all(axis=1)
    assert same.sum() == len(rows) - 1
    # The noise itself is other noise, not the same noise on another row.
    assert np.abs(first.vectors[5] - second.vectors[5]).max() > 0.01
    assert not (go(rows, PLAIN, name="y").vectors == first.vectors).all(axis=1).any()
    assert not (go(rows, PLAIN, seed=2).vectors == first.vectors).all(axis=1).any()
    drawn_afresh = [release_vectors(rows, PLAIN).vectors for _ in range(2)]
    assert not (drawn_afresh[0] == drawn_afresh[1]).all(axis=1).any()


def test_another_epsilon_under_the_same_key_shares_no_noise(rows):
    # Two multiples of one noise vector would give the row away exactly.
    a, b = 2.0, 3.0
    first, second = (go(rows, wv.MultivariateLaplace(epsilon=e), dtype="float64").vectors for e in (a, b))
    solved = (b * second - a * first) / (b - a)  # the row, if both noises were z/epsilon with one z
    assert np.abs(solved - rows).max(axis=1).min() > 0.05


def test_two_tables_under_one_header_share_no_noise(tmp_path, table):
    """Of equal noise under two roots the difference of the releases tells the noise, and with it the row."""
    mechanism, row, settings = wv.Mahalanobis(epsilon=0.5, lam=0.9), np.arange(7.0)[None], {"dtype": "float64"}
    tables = [table.save(tmp_path / "honest"), table.save(tmp_path / "forged")]
    matrix = np.lib.format.open_memmap(tmp_path / "forged" / "vectors.npy", mode="r+")
    matrix *= np.float32([9, 1, 1, 1, 1, 1, 0.2])
    matrix.flush()
    tables[1] = wv.load_embeddings(tmp_path / "forged")
    assert tables[0].header == tables[1].header
    released = [go(row, mechanism, vocabulary=each, **settings).vectors for each in tables]
    drawn = [np.linalg.solve(mechanism.fit(t).root.T, (r - row)[0]) for t, r in zip(tables, released, strict=True)]
    assert np.abs(drawn[0] - drawn[1]).max() > 0.1
    assert np.array_equal(released[0], go(row, mechanism, vocabulary=table, **settings).vectors)


def test_how_the_input_stores_a_number_does_not_matter(rows):
    coarse = rows.astype(np.float16)
    whole = go(coarse, PLAIN).vectors
    assert np.array_equal(go(coarse.astype(np.float64), PLAIN).vectors, whole)
    assert np.array_equal(go(np.asfortranarray(coarse), PLAIN).vectors, whole)
    counts = np.arange(21).reshape(3, 7)
    assert np.array_equal(go(counts, PLAIN).vectors, go(counts.astype(float), PLAIN).vectors)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_released_is_the_rounded_sum(rows, dtype):
    release = go(rows, PLAIN, dtype=dtype, grid=2.0**-9)
    assert release.vectors.dtype == dtype
    finer = go(rows, PLAIN, dtype="float64", grid=2.0**-20).vectors
    assert np.abs(release.vectors - finer).max() <= 2.0**-10 + 2.0**-21
    assert np.array_equal(np.rint(release.vectors * 512.0) / 512.0, release.vectors)


@pytest.mark.parametrize("mechanism", ANY_VECTORS, ids=lambda m: repr(m)[:60])
def test_a_release_says_what_it_is(rows, mechanism):
    release = release_vectors(rows, mechanism)
    assert type(release.guarantee) in (MetricDP, LocalDP)
    assert release.guarantee.unit is PrivacyUnit.VECTOR
    assert release.guarantee == mechanism.for_dimensions(7).guarantee()
    assert any("number of rows" in line for line in release.disclosed)
    assert (release.provenance.vocabulary, release.provenance.checksum) == ("none", "")
    assert release.provenance.mechanism == repr(mechanism)
    facts = release.as_dict()
    assert facts["rows"] == 53
    assert facts["guarantee"]["promise"] == release.guarantee.promise
    assert facts["grid"] == release.grid
    assert "vectors" not in facts
    assert "array" not in repr(release)


@pytest.mark.parametrize("mechanism", [*ANY_VECTORS, *ANY_WITH_VOCABULARY, *WORDS_ONLY], ids=lambda m: repr(m)[:60])
def test_what_is_promised_is_promised_of_the_points_that_are_released(table, mechanism):
    release = release_vectors(table.vectors, mechanism, vocabulary=table)
    said = " ".join((release.guarantee.sentence(), *getattr(release.guarantee, "assumptions", ())))
    assert not re.search("mitigat|measured|ideal real", said)
    assert release.guarantee.slack == 0.0
    if (fitted := mechanism.fit(table)).grid is not None:
        assert release.grid == fitted.grid


def test_a_second_release_under_one_source_is_said_to_tell_which_rows_changed(tmp_path, rows):
    line = "which rows equal those of another release under the same key"
    np.save(tmp_path / "x.npy", rows)
    for vectors in (rows, tmp_path / "x.npy"):
        assert any(line in said for said in release_vectors(vectors, PLAIN, source=RandomSource()).disclosed)
        assert not any(line in said for said in release_vectors(vectors, PLAIN).disclosed)
    for source in (RandomSource(), None):
        report = release_vector_file(tmp_path / "x.npy", tmp_path / "out.npy", PLAIN, source=source, again=True)
        assert any(line in said for said in report.disclosed) == (source is not None)


def test_a_test_source_and_a_refuted_mechanism_promise_nothing(table):
    tested = go(table.vectors, PLAIN)
    refuted = release_vectors(table.vectors, wv.Jaccard(epsilon=3.0, allow_refuted=True), vocabulary=table)
    for release in (tested, refuted):
        assert isinstance(release.guarantee, NoGuarantee)
        assert release.guarantee.standing is Standing.REFUTED
    assert (tested.provenance.test_source, refuted.provenance.checksum) == (True, table.header.checksum)


def test_what_a_mechanism_shows_by_itself_is_disclosed(table):
    told = release_vectors(table.vectors, wv.NADP(epsilon=3.0), vocabulary=table).disclosed
    assert "the component of every released word is disclosed by the size of its noise" in told


@pytest.mark.parametrize("mechanism", [*ANY_VECTORS, *ANY_WITH_VOCABULARY, *WORDS_ONLY], ids=lambda m: repr(m)[:60])
def test_no_rows_and_zero_rows_are_fine(table, mechanism):
    assert len(go(table.vectors[:0], mechanism, vocabulary=table).vectors) == 0
    if mechanism not in WORDS_ONLY:
        zeros = go(np.zeros((4, 7)), mechanism, vocabulary=table).vectors
        assert len(np.unique(zeros, axis=0)) == 4


@pytest.mark.parametrize("mechanism", [*ANY_VECTORS, *ANY_WITH_VOCABULARY], ids=lambda m: repr(m)[:60])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200])
def test_rows_that_are_not_finite_are_named_and_not_shown(table, rows, mechanism, value):
    rows = rows.copy()
    rows[41, 3] = value
    with pytest.raises(ParameterError, match=r"vectors='row 41' must be finite and within 1e\+100") as error:
        go(rows, mechanism, vocabulary=table, block_rows=10)
    assert not any(f"{x:.3f}" in str(error.value) for x in rows[41])


@pytest.mark.parametrize("mechanism", WORDS_ONLY, ids=lambda m: repr(m)[:60])
def test_promises_for_words_take_words_only(table, mechanism):
    rows = np.tile(table.vectors, (3, 1)).astype(np.float64)
    for bad in (0, 77, 179):
        spoilt = rows.copy()
        spoilt[bad, 1] += 1e-7
        spoilt[179, 1] += 1e-7
        for block_rows in (None, 13):
            with pytest.raises(ParameterError, match=f"vectors='row {bad}' must be a row of the vocabulary"):
                go(spoilt, mechanism, vocabulary=table, block_rows=block_rows)


SHAPES = (np.zeros(3), np.zeros((2, 3, 4)), np.zeros((4, 0)), [["a"]], np.zeros((2, 2), complex), [[True]])


@pytest.mark.parametrize(("vectors", "mechanism", "remedy"), [
    *((vectors, PLAIN, r"must have shape \(n, d\)") for vectors in SHAPES),
    *((np.zeros((2, 7)), *case) for case in (
        (wv.NADP(epsilon=3.0), "vocabulary=None must be given: nadp.*laplace"),
        (wv.Mahalanobis(epsilon=3.0), "vocabulary=None must be given: mahalanobis"),
        (wv.Jaccard(epsilon=3.0, allow_refuted=True), "vocabulary=None must be given: jaccard"),
        (wv.Projection(epsilon=3.0, dimensions=3), "'exact' covers the words.*use 'spectral'"),
        (wv.Projection(epsilon=3.0, sensitivity="union-bound"), "'union-bound' covers the words.*use 'spectral'"),
        (ANY_WITH_VOCABULARY[1], "'principal' needs a public vocabulary.*orthonormal"),
        (wv.SanText(epsilon=3.0), "'santext' must be a vector mechanism"),
    )),
])  # fmt: skip
def test_what_is_no_table_of_numbers_or_needs_a_vocabulary_is_refused(vectors, mechanism, remedy):
    with pytest.raises(ParameterError, match=remedy):
        release_vectors(vectors, mechanism)


def test_every_vector_mechanism_is_covered_here():
    classes = [getattr(wv, name) for name in wv.names.MECHANISMS.values()]
    wanted = {c for c in classes if issubclass(c, VectorMechanism)}
    assert {type(m) for m in (*ANY_VECTORS, *ANY_WITH_VOCABULARY, *WORDS_ONLY)} == wanted


@given(st.integers(1, 3000))
@settings(max_examples=30)
def test_the_default_projection_holds_for_any_vectors(d):
    chosen = wv.Projection(epsilon=2.0, **default_projection(d))
    assert 1 <= chosen.dimensions <= min(50, d)
    if d < 200:
        guarantee = bind(chosen, d, None).randomizer.guarantee()
        assert guarantee.standing is Standing.PROVED
        assert guarantee.delta == 0


def test_settings_dimensions_and_guarantees_are_checked(table):
    for change in ({"dtype": "float16"}, {"block_rows": 0}, {"threads": 0}):
        with pytest.raises(ParameterError, match="must be"):
            VectorSettings(**change)
    with pytest.raises(ParameterError, match="must have 5, like the vectors"):
        release_vectors(np.zeros((2, 5)), PLAIN, vocabulary=table)
    with pytest.raises(ParameterError, match="must be a Guarantee"):
        VectorRelease(vectors=np.zeros((1, 1)), guarantee="yes", grid=1.0, disclosed=(), provenance=None)


def test_values_too_large_for_the_grid_are_refused_by_row(rows):
    rows = rows.copy()
    rows[30] *= 1e9
    with pytest.raises(ParameterError, match="row 30 lies beyond 16777216 steps"):
        release_vectors(rows, PLAIN)
    assert release_vectors(rows, PLAIN, settings=VectorSettings(grid=2.0**10)).vectors.shape == rows.shape
