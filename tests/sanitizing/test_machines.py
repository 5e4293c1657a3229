"""The same key on another machine: noise lies elsewhere wherever its bytes, or what it is added to, may be others.

Other processors are emulated: OPENBLAS_CORETYPE and NPY_DISABLE_CPU_FEATURES choose the code that they run.
"""

import json
import os
import pickle
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from tests.dying import interrupt_after

import seeds
import wordveil as wv
from wordveil.errors import ParameterError, ResumeError
from wordveil.kernels.arithmetic import arithmetic_name
from wordveil.kernels.compiled.library import available_engines, engine_name, pinned_engine
from wordveil.mechanisms import projection
from wordveil.mechanisms.projection_matrices import principal_directions
from wordveil.mechanisms.word_rows import WordRows
from wordveil.plugins import mechanism_class, mechanism_names
from wordveil.runs.sanitize import fingerprint
from worlds import SIXTEEN, sixteen, told

TOLD = told(__file__)

TABLE = sixteen()
TEXT = " ".join(SIXTEEN * 20)
OLDER = {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"}
HERE = Path(__file__).parents[2]


def elsewhere(code, **environment):
    """Return what Python code prints as JSON in a process of another environment."""
    path = os.pathsep.join([str(HERE / "src"), str(HERE), str(HERE / "tests")])
    alike = {name: value for name, value in os.environ.items() if name not in OLDER}
    run = subprocess.run(
        [sys.executable, "-c", code], env={**alike, "PYTHONPATH": path, **environment}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("computed", [TOLD["matrices"], TOLD["sentences"]], ids=["public directions", "sentences"])
def test_a_sentence_is_read_as_the_same_prototype_on_an_older_processor(computed):
    """Those between two prototypes, to the last bit: one noise for two readings would tell them from all others."""
    (name, *ours), (older, *theirs) = elsewhere(computed), elsewhere(computed, **OLDER)
    if name == older:
        pytest.skip("this processor runs what the older one does")
    assert ours == theirs


def test_words_that_depend_on_arithmetic_draw_elsewhere_on_an_older_processor():
    ours, theirs = (elsewhere(TOLD["drawn"], WORDVEIL_ENGINE="numpy", **more) for more in ({}, OLDER))
    if ours[0][1] == theirs[0][1]:
        pytest.skip("this processor runs what the older one does")
    assert ours[0][0] != theirs[0][0], "coordinates of a user's own may differ in the last bit"
    assert "Nehalem" in theirs[0][1]
    assert ours[1:] == theirs[1:], "the others draw the same words everywhere"


def test_the_arithmetic_is_named_with_all_that_rounds():
    blas, numpy, *rest = arithmetic_name().split("; ")
    assert blas.startswith(("OpenBLAS ", "BLAS "))
    assert numpy.startswith(f"NumPy {np.__version__} ")
    assert rest
    program = "import json; from wordveil.kernels.arithmetic import arithmetic_name as a; print(json.dumps(a()))"
    assert arithmetic_name() == elsewhere(program, **{name: os.environ[name] for name in OLDER if name in os.environ})


def fitted_mechanisms():
    for name in mechanism_names():
        kind = mechanism_class(name)
        if kind.releases == "vectors" and kind.__module__.startswith("wordveil."):
            for example in kind.examples():
                yield pytest.param(example, id=repr(example)[:60])


@pytest.mark.parametrize("mechanism", [*fitted_mechanisms()])
def test_every_array_and_number_that_fitting_computes_is_in_the_name(mechanism):
    """What is left out is said by parameters and table: a new field that is neither must be nameable."""
    randomizer = mechanism.fit(TABLE)
    ours = randomizer.public_data
    assert ours == mechanism.fit(TABLE).public_data
    said = ("mechanism", "dimensions", "claim")
    for field in fields(randomizer):
        value = getattr(randomizer, field.name)
        if field.name in said or isinstance(value, wv.Embeddings | WordRows):
            continue
        other = changed(value)
        assert replace(randomizer, **{field.name: other}).public_data != ours, field.name


def changed(value):
    """Return a value that differs in one last bit of one number."""
    if isinstance(value, float):
        return np.nextafter(value, np.inf).item()
    if isinstance(value, np.ndarray):
        other = value.copy()
        other.flat[-1] = np.nextafter(other.flat[-1], np.inf) if other.dtype.kind == "f" else other.flat[-1] + 1
        return other
    name, inner = next(
        (field.name, getattr(value, field.name))
        for field in fields(value)
        if isinstance(getattr(value, field.name), np.ndarray | float)
    )
    return replace(value, **{name: changed(inner)})


PRINCIPAL = wv.Projection(epsilon=10.0, dimensions=2, directions="principal", sensitivity="spectral")


@pytest.fixture
def eigensolver(monkeypatch):
    """Stand on a machine whose eigensolver gives directions that lie by so much elsewhere."""

    def move(by):
        monkeypatch.setattr(projection, "principal_directions", lambda rows, m: principal_directions(rows, m) + by)

    return move


def test_noise_around_two_public_matrices_is_never_the_same(eigensolver):
    rows = seeds.rng(5).standard_normal((400, 4))
    source = wv.RandomSource(seeds.key(0))

    def released(by):
        eigensolver(by)
        return wv.release_vectors(rows, PRINCIPAL, vocabulary=TABLE, source=source, name="rows").vectors

    one, again, other = released(0.0), released(0.0), released(2.0**-12)
    assert np.array_equal(one, again)
    assert np.median(np.abs(one - other)) > 0.05, "noise of its own, not the difference of the matrices"


def test_a_release_is_not_resumed_around_another_matrix(tmp_path, eigensolver):
    rows = seeds.rng(5).standard_normal((300, 4))
    np.save(tmp_path / "in.npy", rows)
    settings = wv.VectorSettings(block_rows=100)

    def run(**how):
        wv.release_vector_file(tmp_path / "in.npy", tmp_path / "out.npy", PRINCIPAL, vocabulary=TABLE, **how)

    with pytest.raises(KeyboardInterrupt):
        run(settings=settings, progress=interrupt_after(0))
    eigensolver(2.0**-12)
    with pytest.raises(ResumeError, match="differs in: noise, public_data"):
        run(settings=settings, resume=True)
    eigensolver(0.0)
    run(settings=settings, resume=True)


def test_decoded_words_around_two_public_matrices_draw_independently(eigensolver):
    domains = []
    for by in (0.0, 2.0**-12, 0.0):
        eigensolver(by)
        domains.append(wv.Sanitizer(TABLE, PRINCIPAL).parts.domain)
    assert domains[0] == domains[2] != domains[1]


def test_a_vector_mechanism_draws_elsewhere_over_a_table_whose_header_lies(tmp_path):
    saved = TABLE.save(tmp_path / "v")
    array = np.load(saved.directory / "vectors.npy", mmap_mode="r+")
    array[3] += 1.0
    array.flush()
    other = wv.load_embeddings(saved.directory)
    assert other.header.checksum == TABLE.header.checksum
    made = [wv.Sanitizer(table, wv.SanText(epsilon=1.0)) for table in (TABLE, other)]
    assert made[0].parts.domain != made[1].parts.domain
    assert made[1].provenance.checksum == other.checksum_in_use != made[0].provenance.checksum


def released(engine=None, mechanism=None):
    made = wv.Sanitizer(
        TABLE, mechanism or wv.TEM(epsilon=0.5), source=wv.RandomSource(seeds.key(0)), engine=engine
    )  # fmt: skip
    return made, made(TEXT, document_id="a").text


@pytest.mark.parametrize("mechanism", [wv.TEM(epsilon=0.5), wv.MultivariateLaplace(epsilon=0.5)], ids=["drawn", "near"])
@pytest.mark.parametrize("engine", available_engines())
def test_a_pinned_engine_draws_what_a_machine_draws_that_has_no_other(engine, mechanism, monkeypatch):
    made, text = released(engine, mechanism)
    inside = made.parts.randomizer.randomizer
    computed = inside.rows.engine if inside.vectors is None else inside.decoder.words.engine
    assert made.provenance.engine == computed
    assert available_engines().index(computed) <= available_engines().index(engine)
    monkeypatch.setenv("WORDVEIL_ENGINE", engine)
    assert released(None, mechanism)[1] == text
    monkeypatch.setenv("WORDVEIL_ENGINE", available_engines()[0])
    assert released(engine, mechanism)[0].provenance.engine == computed, "what is pinned wins"
    numpy, same = released(None, mechanism)
    assert (same, fingerprint(numpy), numpy.provenance.engine) == (text, fingerprint(made), "numpy")
    sent = pickle.loads(pickle.dumps(made))
    assert (sent.engine, sent.provenance.engine, fingerprint(sent)) == (engine, computed, fingerprint(made))


@pytest.mark.parametrize("engine", ["amx9", ""])
def test_an_engine_that_cannot_run_here_is_refused(engine):
    with pytest.raises(
        ParameterError, match=f"^engine='{engine}' must be one of numpy.* here; others need another processor"
    ):
        released(engine)
    with pytest.raises(ParameterError, match="is for the processor, and the device is cuda"):
        wv.Sanitizer(TABLE, wv.TEM(epsilon=4.0), engine="numpy", device="cuda")
    with pytest.raises(KeyError), pinned_engine("numpy"):
        raise KeyError
    assert engine_name() == (os.environ.get("WORDVEIL_ENGINE") or available_engines()[-1])


def test_an_engine_that_this_machine_lacks_is_refused_when_a_sanitizer_arrives(monkeypatch):
    made, _ = released(available_engines()[-1])
    if made.engine == "numpy":
        pytest.skip("only NumPy runs here")
    packed = pickle.dumps(made)
    monkeypatch.setattr("wordveil.kernels.compiled.library.available_engines", lambda: ("numpy",))
    with pytest.raises(ParameterError, match=f"engine='{made.engine}' must be one of numpy here"):
        pickle.loads(packed)
