"""The screen of the matrix registers within its bounds, the choice of an engine, and the building of libraries."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.engines_here import DECODING, every_screen
from tests.kernels.oracles import oracle, rows_of

from seeds import rng
from wordveil.errors import ParameterError
from wordveil.kernels.compiled import building, library
from wordveil.kernels.compiled.library import engine_name
from wordveil.kernels.compiled.nearest_words import CompiledScreen
from wordveil.kernels.nearest import NearestWords
from wordveil.kernels.screening import NumberType
from worlds import clustered


@pytest.mark.parametrize("engine", DECODING[1:])
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), v=st.integers(1, 700), d=st.integers(1, 40), exponent=st.integers(-30, 12))
def test_every_exact_score_lies_within_the_stated_bound(engine, seed, v, d, exponent):
    vectors = (rng(seed).standard_normal((v, d)) * 10.0**exponent).astype(np.float32)
    queries = rng(seed + 1).standard_normal((5, d)) * 10.0**exponent
    screen = CompiledScreen(vectors, np.arange(v, dtype=np.int32))
    centred, words = queries - screen.centre, vectors.astype(np.float64) - screen.centre
    screened = screen.type.queries(centred)
    scales = screened.scales
    maxima, floors = screen._screen(screened)
    exact = centred @ words.T - 0.5 * np.einsum("ij,ij->i", words, words)
    place = np.arange(v)
    group = place // 512 * 16 + place % 16
    best = np.full((5, screen.bounds.shape[1]), -np.inf)
    for column in range(v):
        best[:, group[column]] = np.maximum(best[:, group[column]], exact[:, column])
    bound = scales[:, :1] * screen.bounds[0] + scales[:, 1:] * screen.bounds[1] + screen.bounds[2]
    found = maxima.transpose(1, 0, 2).reshape(len(maxima[0]), -1)[:5].astype(np.float64)
    real = np.isfinite(best[0])
    # The product above is itself rounded; float64 rounding is nothing beside these bounds.
    assert np.all(np.abs(found - best)[:, real] <= bound[:, real] * (1 + 1e-6))
    assert np.all(floors <= exact.max(axis=1) + 1e-9 * np.abs(exact).max(axis=1))


@every_screen
def test_a_screen_that_forgets_residues_is_caught(monkeypatch, engine):
    """The broken twin: with all bounds at nothing, words close together must be confused."""
    vectors = clustered(0, 3000, 60)
    outputs = np.arange(3000, dtype=np.int32)
    queries = vectors[::10] + 5e-4 * rng(1).standard_normal((300, 60))
    words = NearestWords(vectors, outputs)
    nearest = set(enumerate(oracle(vectors, outputs, queries, 1)[:, 0].tolist()))

    def kept():
        # `NearestWords` answers a row that kept nothing by direct differences, so the screen is asked itself.
        return {(int(row), int(column)) for row, column in zip(*words._screen.candidates(queries, 1), strict=True)}

    assert nearest <= kept()
    words._screen.bounds[:] = 0.0
    monkeypatch.setattr(NumberType, "scales", lambda self, c, _: np.zeros((len(c), 2)))
    assert not nearest <= kept()


def test_the_engine_can_be_chosen_and_must_exist(monkeypatch):
    monkeypatch.setenv("WORDVEIL_ENGINE", "numpy")
    assert engine_name() == "numpy"
    assert rows_of(clustered(0, 50, 4)).engine == "numpy"
    monkeypatch.setenv("WORDVEIL_ENGINE", "abacus")
    with pytest.raises(ParameterError, match=r"WORDVEIL_ENGINE='abacus' must be one of numpy"):
        engine_name()


def test_a_missing_library_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(library, "built_directories", lambda: (tmp_path,))
    found = (library.load, library._open)
    for remembered in found:
        remembered.cache_clear()
    try:
        with pytest.raises(ParameterError, match=r"engine='avx2' cannot run here; build it with"):
            library.require("avx2")
    finally:
        for remembered in found:
            remembered.cache_clear()


def test_without_a_compiler_nothing_is_built_and_numpy_works(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", "no-such-compiler")
    assert building.build(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(building.find_compiler() is None, reason="no C compiler here")
def test_building_makes_what_the_loader_looks_for_and_sweeps_out_the_old(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "LEVELS", {})  # wheels are built with all of them
    (tmp_path / "wordveil-avx2-000000000000-linux-x86_64.so").write_bytes(b"")
    made = building.build(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(made)
    assert {tmp_path / building.library_name(name) for name in building.PORTABLE} <= set(made)


@pytest.mark.skipif(building.find_compiler() is None, reason="no C compiler here")
def test_a_library_in_use_is_never_written_to(tmp_path):
    """A process that has loaded a library keeps its file; a build moves a new one into its place, or leaves it."""
    target = tmp_path / "library.so"
    here = building.Target(platform.system(), platform.machine(), (building.find_compiler(),))
    sources = building.PORTABLE["withholding"]
    assert building._compile(here, target, sources, ()) == target
    with target.open("rb") as loaded:
        before = loaded.read()
        assert building._compile(here, target, sources, ("-no-such-flag",)) is None
        assert os.fstat(loaded.fileno()).st_ino == target.stat().st_ino
        assert building._compile(here, target, sources, ()) == target
        assert os.fstat(loaded.fileno()).st_ino != target.stat().st_ino
        loaded.seek(0)
        assert loaded.read() == before
    assert list(tmp_path.iterdir()) == [target]


def test_the_builder_needs_only_the_standard_library():
    code = f"import runpy; runpy.run_path({building.__file__!r})"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, timeout=60)
