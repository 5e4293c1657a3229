"""`wordveil release`: what it says and writes."""

import json

import numpy as np
import pytest
from tests.vectors.conftest import read, write_parquet

import seeds
import wordveil as wv


@pytest.fixture
def rows():
    return seeds.rng(5).standard_normal((53, 7))


def test_the_command_of_the_issue(wordveil, tmp_path, rows):
    np.save(tmp_path / "vectors.npy", rows)
    arguments = "release vectors.npy --mechanism projection --epsilon 10 -o private.npy --measure-retrieval --explain"
    run = wordveil.done(arguments, "--report", "report.json")
    assert np.load(tmp_path / "private.npy").shape == (53, 4)
    assert run.out == ""
    for said in (
        "projection of any vectors: directions=orthonormal, sensitivity=spectral, dimensions=4",
        "guarantee: metric DP (proved)",
        "released values are multiples of 2^-",
        "disclosed: the number of rows",
        "recall@10 of private against original neighbours: 0.",
        "publishing it is a disclosure",
    ):
        assert said in run.err
    facts = json.loads((tmp_path / "report.json").read_text())
    assert facts["guarantee"]["standing"] == "proved"
    assert "recall" not in json.dumps(facts)
    values = np.load(tmp_path / "private.npy").astype(np.float64)
    assert np.array_equal(np.rint(values / facts["grid"]) * facts["grid"], values)


def test_options_reach_the_library(wordveil, tmp_path, rows):
    write_parquet(tmp_path / "in.parquet", rows, name="v")
    gaussian = ["-m", "clipped-gaussian", "-e", "4", "--set", "delta=1e-6", "--set", "clip_norm=3"]
    layout = ["--column", "v", "--keep", "id", "--grid", "2^-6", "--dtype", "float64"]
    shape = ["--threads", "1", "--block-rows", "8", "--explain"]
    run = wordveil.done("release", "in.parquet", "-o", "out.parquet", *gaussian, *layout, *shape)
    found = read(tmp_path / "out.parquet", "v")
    assert found.dtype == np.float64
    assert np.array_equal(np.rint(found * 64) / 64, found)
    assert "local DP (proved)" in run.err
    assert "disclosed: these columns, copied unchanged beside each row: id" in run.err
    quiet = wordveil.done("release in.parquet -o out.npy -e 4 --drop-others --quiet")
    assert quiet.err == ""


def test_a_word_mechanism_takes_the_embedded_vocabulary(wordveil, tmp_path):
    vocabulary = wv.load_embeddings()
    np.save(tmp_path / "in.npy", vocabulary.vectors[500:510])
    chosen = ["-e", "2", "-m", "mahalanobis", "--vocabulary", "embedded", "--explain"]
    run = wordveil.done("release", "in.npy", "-o", "out.npy", *chosen)
    assert "assumes: in Euclidean terms" in run.err
    assert np.load(tmp_path / "out.npy").shape == (10, 128)
