"""`wordveil release` in a process of its own."""

import json
import subprocess
import sys

import numpy as np
import pytest
from tests.beside import names

import wordveil as wv
from wordveil.cli.main import main

TOOL = [sys.executable, "-W", "error", "-c", "from wordveil.cli.main import main; main()"]


def tool(folder, *arguments, code=0):
    run = subprocess.run([*TOOL, *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == code, run.stderr
    return run


def test_the_command_of_the_issue(tmp_path, rows):
    np.save(tmp_path / "vectors.npy", rows)
    arguments = "release vectors.npy --mechanism projection --epsilon 10 -o private.npy --measure-retrieval --explain"
    run = tool(tmp_path, *arguments.split(), "--report", "report.json")
    assert np.load(tmp_path / "private.npy").shape == (53, 4)
    assert run.stdout == ""
    for said in (
        "projection of any vectors: directions=orthonormal, sensitivity=spectral, dimensions=4",
        "guarantee: metric DP (proved)",
        "released values are multiples of 2^-",
        "disclosed: the number of rows",
        "recall@10 of private against original neighbours: 0.",
        "publishing it is a disclosure",
    ):
        assert said in run.stderr
    facts = json.loads((tmp_path / "report.json").read_text())
    assert facts["guarantee"]["standing"] == "proved"
    assert "recall" not in json.dumps(facts)
    values = np.load(tmp_path / "private.npy").astype(np.float64)
    assert np.array_equal(np.rint(values / facts["grid"]) * facts["grid"], values)


def test_options_reach_the_library(tmp_path, files, rows):
    files.write_parquet(tmp_path / "in.parquet", rows, name="v")
    gaussian = ["-m", "clipped-gaussian", "-e", "4", "--set", "delta=1e-6", "--set", "clip_norm=3"]
    layout = ["--column", "v", "--keep", "id", "--grid", "2^-6", "--dtype", "float64"]
    shape = ["--threads", "1", "--block-rows", "8", "--explain"]
    run = tool(tmp_path, "release", "in.parquet", "-o", "out.parquet", *gaussian, *layout, *shape)
    found = files.read(tmp_path / "out.parquet", "v")
    assert found.dtype == np.float64
    assert np.array_equal(np.rint(found * 64) / 64, found)
    assert "local DP (proved)" in run.stderr
    assert "disclosed: these columns, copied unchanged beside each row: id" in run.stderr
    quiet = tool(tmp_path, *["release", "in.parquet", "-o", "out.npy", "-e", "4", "--drop-others", "--quiet"])
    assert quiet.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-e 4 -m tem", "mechanism='tem' must be a vector mechanism"),
        ("-e 4 -m nadp", "--vocabulary must be given"),
        ("-e 4 -m jaccard", "add --allow-refuted"),
        ("-e 4 -m projection --set sensitivity=exact", "'exact' covers the words of a vocabulary only"),
        ("-e 4 -m nosuch", "must be one of"),
        ("-e 4 --grid 0.3", "power of two"),
        ("-e 4 --grid x", "power of two"),
        ("-e 4 --dtype float16", "float32, float64"),
        ("-e 4 --report r.txt", "must end in .json"),
        ("-e -4", "--epsilon=-4.0 must be greater than 0"),
        ("", "epsilon"),
        ("-e 4 --vocabulary embedded", "must have 7, like the vectors"),
    ],
)
def test_errors_tell_a_remedy_and_leave_nothing(tmp_path, rows, monkeypatch, capsys, arguments, message):
    np.save(tmp_path / "in.npy", rows)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["release", "in.npy", "-o", "out.npy", *arguments.split()])
    assert left.value.code == 2
    said = capsys.readouterr().err.splitlines()
    assert said[-1].startswith("wordveil: ")
    assert message in said[-1]
    assert names(tmp_path) == ["in.npy"]


def test_a_word_mechanism_takes_the_embedded_vocabulary(tmp_path):
    vocabulary = wv.load_embeddings()
    np.save(tmp_path / "in.npy", vocabulary.vectors[500:510])
    chosen = ["-e", "2", "-m", "mahalanobis", "--vocabulary", "embedded", "--explain"]
    run = tool(tmp_path, "release", "in.npy", "-o", "out.npy", *chosen)
    assert "assumes: in Euclidean terms" in run.stderr
    assert np.load(tmp_path / "out.npy").shape == (10, 128)
