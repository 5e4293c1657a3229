"""`--engine` pins what computes, and the report names it."""

import json

import pytest

from wordveil.kernels.compiled import available_engines, kernel_engine, pinned_engine


@pytest.mark.parametrize("engine", available_engines())
def test_a_run_takes_the_engine_that_is_named_and_reports_what_computed(wordveil, tmp_path, engine, monkeypatch):
    monkeypatch.setenv("WORDVEIL_ENGINE", available_engines()[-1])
    (tmp_path / "in.txt").write_text("good film\n")
    out = ["--output", tmp_path / "out.txt", "--report", tmp_path / "report.json"]
    chosen = ["--mechanism", "tem", "--epsilon", 9.36, "--engine", engine]
    assert wordveil("sanitize", tmp_path / "in.txt", *out, *chosen).status == 0
    origin = json.loads((tmp_path / "report.json").read_text())["provenance"]
    with pinned_engine(engine):
        assert (origin["engine"], origin["arithmetic"]) == (kernel_engine("ceilings.c"), "")


def test_an_engine_that_cannot_run_here_is_refused_with_those_that_can(wordveil, tmp_path):
    (tmp_path / "in.txt").write_text("good film\n")
    answer = wordveil.refused("sanitize", tmp_path / "in.txt", "--output", tmp_path / "out.txt", "--engine", "mmx")
    assert "mmx" in answer
    assert f"must be one of {', '.join(available_engines())} here" in answer
    assert not (tmp_path / "out.txt").exists()
