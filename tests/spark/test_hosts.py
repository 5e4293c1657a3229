"""What runs on executors refuses a host that would draw, or count, otherwise than the driver; here without Spark."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from tests.installed_packages import install

import seeds
import wordveil as wv
from wordveil import spark as veil
from wordveil.documents import DocumentSettings
from wordveil.errors import ChecksumError, ParameterError, ResumeError
from wordveil.kernels.compiled.library import available_engines
from wordveil.mechanisms import projection
from wordveil.mechanisms.projection_matrices import principal_directions
from wordveil.runs.sanitize import fingerprint
from wordveil.spark import budgets, workers
from wordveil.spark.workers import ID, Texts, Vectors, packed_for_tasks, shared

pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")

WORDS = ["good", "bad", "film", "music", "water", "bread", "house", "garden", "river", "window", "doctor", "letter"]
TABLE = wv.Embeddings.from_arrays(WORDS, seeds.rng(0).standard_normal((12, 6)))
PRINCIPAL = wv.Projection(epsilon=10.0, dimensions=4, directions="principal", sensitivity="spectral")
ROWS = seeds.rng(1).standard_normal((5, 6))
TEXTS = pa.record_batch({ID: ["1", "2"], budgets.USER: ["a", "b"], "note": ["good film", "bread"]})


@pytest.fixture
def sanitizer():
    return wv.Sanitizer(TABLE, wv.NeighbourResponse(epsilon=4.0, k=2, outputs=None))


@pytest.fixture
def another_host(monkeypatch):
    """Stand on a host of another engine and arithmetic; workers begin anew there."""

    def moved():
        for cached in (workers.unpacked, workers._ready):
            cached.cache_clear()
        monkeypatch.setenv("WORDVEIL_ENGINE", "numpy")
        monkeypatch.setattr("wordveil.sanitizing.assembly.arithmetic_name", lambda: "another")

    yield moved
    for cached in (workers.unpacked, workers._ready):
        cached.cache_clear()


def arrived(task):
    return pickle.loads(pickle.dumps(task))


def vectors(key, mechanism=PRINCIPAL, **settings):
    where = {"column": "e", "name": "n", "key_file": key, "dimensions": 6}
    return Vectors.for_frame((mechanism, TABLE, wv.VectorSettings(**settings)), **where)


def batch():
    return pa.record_batch({ID: [f"{i}" for i in range(5)], "e": pa.array(list(ROWS), pa.list_(pa.float64()))})


def test_vectors_are_those_of_one_machine(key):
    task = arrived(vectors(key))
    (released,) = task(iter([batch()]))
    source = wv.RandomSource(Path(key).read_bytes())
    alone = wv.release_vectors(ROWS, PRINCIPAL, vocabulary=TABLE, source=source, name=json.dumps(["n", "e"]))
    # Numbers of rows are their ids here; the column is in the name.
    assert np.array_equal(np.array(released.column("e").to_pylist(), dtype=np.float32), alone.vectors)


def test_vectors_are_refused_on_a_host_whose_public_matrix_is_another(key, monkeypatch):
    task = arrived(vectors(key))
    monkeypatch.setattr(projection, "principal_directions", lambda rows, m: principal_directions(rows, m) + 2.0**-12)
    with pytest.raises(ParameterError, match=r"executor=.*public_data is .* here and .* on the driver"):
        next(task(iter([batch()])))


def test_vectors_are_refused_on_a_host_of_another_version_or_vocabulary(key, monkeypatch, tmp_path):
    task = arrived(vectors(key))
    monkeypatch.setattr("wordveil.runs.vectors.binding.__version__", "9.9.9")
    with pytest.raises(ParameterError, match=r"version is '9\.9\.9' here"):
        next(task(iter([batch()])))
    monkeypatch.undo()
    next(task(iter([batch()])))
    saved = TABLE.save(tmp_path / "v")
    where = {"column": "e", "name": "n", "key_file": key, "dimensions": 6}
    task = arrived(Vectors.for_frame((PRINCIPAL, saved, wv.VectorSettings()), **where))
    matrix = np.load(tmp_path / "v" / "vectors.npy", mmap_mode="r+")
    matrix[3] += 1.0
    matrix.flush()
    workers.unpacked.cache_clear()
    with pytest.raises(ParameterError, match="checksum is "):
        next(task(iter([batch()])))
    saved = wv.load_embeddings(tmp_path / "v")
    for file in (tmp_path / "v").iterdir():
        file.unlink()
    (tmp_path / "v").rmdir()
    replaced = wv.Embeddings.from_arrays(WORDS, np.eye(12)[:, :6]).save(tmp_path / "v")
    assert replaced.header.checksum != saved.header.checksum
    workers.unpacked.cache_clear()
    with pytest.raises(ChecksumError, match="holds another vocabulary here"):
        next(task(iter([batch()])))


class Nameless(wv.MultivariateLaplace):
    """A mechanism whose name would not show all that it is made of."""

    def __init__(self, epsilon, hidden):
        super().__init__(epsilon=epsilon)
        object.__setattr__(self, "hidden", hidden)


def test_vectors_of_a_mechanism_that_cannot_be_named_are_refused_on_the_driver(key):
    with pytest.raises(ParameterError, match="must be a mechanism that can be named"):
        vectors(key, Nameless(8.0, object))


OWN = """
import wordveil as wv
class Tripled(wv.Euclidean):
    name = "tripled"
    def coordinates(self, vectors):
        return 3 * super().coordinates(vectors)
"""


@pytest.fixture
def tripled(monkeypatch, tmp_path):
    """A metric of a package's own, whose coordinates another machine may round otherwise."""
    return install(monkeypatch, tmp_path / "site", OWN).Tripled()


@pytest.mark.parametrize("known", [wv.Euclidean(), wv.Angular(), None], ids=["euclidean", "angular", "own"])
def test_texts_and_both_counts_refuse_another_host_where_its_words_would_differ(
    key, another_host, tmp_path, known, tripled
):
    """Words are the same on both hosts unless coordinates are a package's own."""
    metric = known or tripled
    sanitizer = wv.Sanitizer(TABLE, wv.TEM(epsilon=4.0, metric=metric))
    (tmp_path / "in.jsonl").write_text(json.dumps({"note": "good film", "user": "a"}) + "\n")
    settings = DocumentSettings(columns=("note",))
    packed = {"sanitizer": packed_for_tasks(sanitizer), "noise": fingerprint(sanitizer)}
    texts = Texts(**packed, key_file=key, columns=("note",))
    rows = budgets._Counts(**packed, columns=("note",))
    tree = budgets._FileCounts(**packed, root=str(tmp_path), settings=settings, user="user", bad=print)
    files = pa.record_batch({"place": [0], "name": ["in.jsonl"]})
    tasks = [(texts, TEXTS), (rows, TEXTS), (tree, files)]
    there = [next(task(iter([given]))) for task, given in tasks]
    another_host()
    for (task, given), driver in zip(tasks, there, strict=True):
        if metric is known:
            assert next(arrived(task)(iter([given]))).equals(driver)
            continue
        with pytest.raises(ParameterError, match=r"executor=.*arithmetic is 'another' here and .* on the driver"):
            next(arrived(task)(iter([given])))


def test_a_job_that_is_started_again_otherwise_is_refused(tmp_path, sanitizer, monkeypatch):
    def fail(*releases):
        with veil.run_key(tmp_path / "k") as key:
            for columns in releases:
                shared(sanitizer, key, ("", *columns))
            raise KeyError

    with pytest.raises(KeyError):
        fail(["note"], ["note", "other"])
    with veil.run_key(tmp_path / "k") as key:
        shared(sanitizer, key, ("", "note"))
    assert [*tmp_path.iterdir()] == []

    with pytest.raises(KeyError):
        fail(["note"])
    monkeypatch.setattr("wordveil.sanitizing.assembly.__version__", "9.9.9")
    newer = wv.Sanitizer(TABLE, sanitizer.mechanism)
    with (
        pytest.raises(
            ResumeError, match=r"version is '9\.9\.9' here and '0.*' when the job began.*take.*another name="
        ),
        veil.run_key(tmp_path / "k") as key,
    ):
        shared(newer, key, ("", "note"))
    assert (tmp_path / "k").exists(), "the first job can still go on where it began"


def test_another_arithmetic_or_setting_under_a_job_s_key_is_refused(tmp_path, sanitizer, another_host, tripled):
    def made(**metric):
        return [wv.Sanitizer(TABLE, wv.TEM(epsilon=4.0, **metric), engine=name) for name in available_engines()]

    with veil.run_key(tmp_path / "k") as key:
        for each in made(metric=tripled):  # any engine draws the same words
            shared(each, key, ("", "note"))
        with pytest.raises(ResumeError, match="mechanism is "):
            shared(sanitizer, key, ("", "note"))
        shared(sanitizer, key, ("second", "note"))
        shared(made()[0], key, ("third", "note"))
        another_host()
        with pytest.raises(ResumeError, match="arithmetic is 'another' here"):
            shared(made(metric=tripled)[0], key, ("", "note"))
        shared(made()[0], key, ("third", "note"))


def test_a_key_that_an_earlier_version_left_is_refused_and_one_of_the_caller_s_own_is_not(tmp_path, sanitizer):
    (tmp_path / "k").write_bytes(bytes(16))
    (tmp_path / "k").chmod(0o600)
    with pytest.raises(ResumeError, match=r"of a job of an earlier version.* Or delete"), veil.run_key(tmp_path / "k"):
        pass
    made = shared(sanitizer, str(tmp_path / "k"), ("", "note"))
    assert Texts(**made, columns=("note",)).ready().source.export_key() == bytes(16)
    with pytest.raises(ResumeError, match="is not on this host"):
        Texts(**{**made, "key_file": str(tmp_path / "absent")}, columns=("note",)).ready()
    assert [each.name for each in tmp_path.iterdir()] == ["k"]
