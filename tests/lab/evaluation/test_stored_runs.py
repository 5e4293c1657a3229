"""A stored run says of which schema it is, a killed run goes on from its cells, and pages quote the stored numbers."""

import copy
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wordveil import NeighbourResponse
from wordveil.errors import DataFormatError
from wordveil_lab.evaluation.report import SCHEMA
from wordveil_lab.leagues import default as measured
from wordveil_lab.leagues import default_page as page
from wordveil_lab.leagues.stored import StoredRun, read_run
from wordveil_lab.leagues.trial_texts import CHOICE, REPORTED, REVIEWS, SETS
from wordveil_lab.package import ROOT, told
from wordveil_lab.pages import quotes


@pytest.mark.parametrize("schema", [None, "league 0", "together 1", 1])
def test_a_run_of_another_schema_is_refused(tmp_path, schema):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"rows": []} | ({} if schema is None else {"schema": schema})))
    with pytest.raises(DataFormatError, match="of another schema than 'league 1'"):
        read_run(path)
    path.write_text(json.dumps(MADE))
    assert read_run(path) == MADE


SCORE = {"mean": 0.5, "standard_error": None}
CELL = {"scores": {"accuracy": SCORE}, "random": {"accuracy": SCORE}}
ROW = {"label": "a", "name": "a", "group": None, "epsilon": None, "cells": {"set": CELL}}
MADE = {"schema": SCHEMA, "version": "1", "command": "", "noise": "", "rows": [ROW]}


@pytest.mark.parametrize("league", ["together", "default", "court"])
def test_the_page_is_made_from_the_stored_run(league):
    pytest.importorskip("sklearn", reason="needs the extra wordveil-lab[evaluation]")
    run = importlib.import_module(f"wordveil_lab.leagues.{league}").RUN
    assert run.path.with_suffix(".md").read_text(encoding="utf-8") == run.page(), (
        f"run python -m wordveil_lab.leagues.{league} --page"
    )


def test_every_stored_run_has_the_one_form():
    papers = {f"{name}.json" for name in told("papers/about.toml")}
    paths = [path for path in (ROOT / "docs/results").rglob("*.json") if path.name not in papers]
    assert len(paths) >= 4
    for path in paths:
        assert read_run(path)["rows"], path


@pytest.mark.parametrize(("what", "place"), [
    ("The run needs rows", ()),
    ("A row needs cells", ("rows", 0)),
    ("A cell needs scores", ("rows", 0, "cells", "set")),
    ("A score needs mean", ("rows", 0, "cells", "set", "scores", "accuracy")),
    ("A score needs standard_error", ("rows", 0, "cells", "set", "random", "accuracy")),
])  # fmt: skip
def test_a_run_of_another_form_is_refused_and_what_it_lacks_is_named(tmp_path, what, place):
    report = copy.deepcopy(MADE)
    inside = report
    for step in place:
        inside = inside[step]
    del inside[what.split()[-1]]
    (tmp_path / "run.json").write_text(json.dumps(report))
    with pytest.raises(DataFormatError, match=what):
        read_run(tmp_path / "run.json")


@pytest.fixture
def league(tmp_path, monkeypatch):
    monkeypatch.setattr("wordveil_lab.leagues.stored.ROOT", tmp_path)
    (tmp_path / "docs/results").mkdir(parents=True)
    (tmp_path / "docs/results/made.md").write_text(BY_HAND)
    return StoredRun(
        name="made",
        rows=("a", "b"),
        measure=lambda names: asked.append(list(names)) or MADE | {"rows": []},
        tables=lambda report: {"# Made": [f"| {len(report['rows'])} rows |"]},
        pictures={"made.svg": lambda report: b"<svg/>"},
    )


asked: list[list[str]] = []
BY_HAND = "# Made\n\nby hand:\n\n| - |\n\nend\n"


@pytest.mark.parametrize(("words", "measured", "page", "stored"), [
    ([], [[]], BY_HAND.replace("-", "0 rows"), True),
    (["--page"], [], BY_HAND.replace("-", "2 rows"), True),
    (["--only", "b"], [["b"]], BY_HAND, False),
])  # fmt: skip
def test_the_command_line_of_a_league(league, monkeypatch, words, measured, page, stored):
    asked.clear()
    if words == ["--page"]:
        league.path.write_text(json.dumps(MADE | {"rows": [ROW, ROW]}))
    monkeypatch.setattr(sys, "argv", ["league", *words])
    league.main("About it.")
    assert asked == measured
    assert league.path.with_suffix(".md").read_text() == page
    assert league.path.exists() == league.path.with_suffix(".svg").exists() == stored


REPORT = measured.RUN.report()


def test_the_rule_gives_the_default():
    name, nats = page.chosen(REPORT)
    assert NeighbourResponse() == NeighbourResponse(epsilon=nats, outputs=f"classes:{name.split()[0]}")


def test_the_rule_reads_no_set_that_is_reported():
    assert not {one.name for one in CHOICE} & {one.name for one in REPORTED}
    assert not {one.path for one in CHOICE} & {path for one in REPORTED for path in (one.path, one.test)}


def test_a_row_that_is_behind_or_gives_away_more_is_not_chosen():
    for score, worse in (("released", 0.0), ("named", 1.0), ("rarer", 1.0)):
        report = copy.deepcopy(REPORT)
        row = next(row for row in report["rows"] if page.label(row) == page.chosen(REPORT))
        for one in CHOICE:
            row["cells"][one.name]["scores"][score]["mean"] = worse
        assert page.chosen(report) != page.chosen(REPORT)


def test_readers_who_leave_film_reviews_out_stand_beside_those_of_all_public_text():
    assert all(one.readings[0] == one.public for one in SETS.values())
    near = {name: one.readings[1] for name, one in SETS.items() if len(one.readings) > 1}
    assert near.keys() == {"TREC", "complaints", "MR", "Yelp", "bank"}
    for name, files in near.items():
        assert {path for path, *_ in SETS[name].public} - {path for path, *_ in files} == {REVIEWS}


ARGUMENTS = ["evaluate", "-m", "tem", "-e", "3", "--local-epsilon", "6", "--size", "miniature", "--repeats", "2"]
TASKS = ["word-similarity", "odd-man-out", "deniability", "bayes"]


def command(vocabulary: Path, workers: int) -> list[str]:
    chosen = [part for task in TASKS for part in ("-t", task)]
    start = [sys.executable, "-c", "from wordveil.cli.main import main; main()", *ARGUMENTS, *chosen]
    return [*start, "--vocabulary", str(vocabulary), "--workers", str(workers), "--report", "league.json"]


def finished_cells(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("league.json.cells/*.json")}


def kill_after(cells: int, arguments: list[str], folder: Path) -> int:
    """Start a run, kill it and its workers once so many files lie in the cache; return how many there were."""
    run = subprocess.Popen(arguments, cwd=folder, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while len(finished_cells(folder)) < cells:
            assert run.poll() is None, "the run ended before it could be killed"
            time.sleep(0.002)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    return len(finished_cells(folder))


@pytest.mark.slow
def test_a_killed_run_goes_on_and_writes_the_same_bytes(world, use_world, tmp_path):
    world.save(tmp_path / "world")
    arguments = command(tmp_path / "world", workers=2)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    subprocess.run(arguments, cwd=whole, check=True, capture_output=True)
    assert 8 <= kill_after(8, arguments, broken) < len(finished_cells(whole))
    kept = {path: path.stat().st_mtime_ns for path in broken.glob("league.json.cells/*.json")}
    subprocess.run(arguments, cwd=broken, check=True, capture_output=True)
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())
    assert finished_cells(broken) == finished_cells(whole)
    assert (broken / "league.json").read_bytes() == (whole / "league.json").read_bytes()


@pytest.mark.parametrize(("path", "phrase", "numbers"), quotes.quotations(), ids=lambda part: str(part)[:40])
def test_the_pages_quote_the_stored_runs(path, phrase, numbers):
    page = path.read_text(encoding="utf-8")
    assert quotes.quoted(page, phrase, numbers) == page, (
        "read the sentence, then run python -m wordveil_lab.pages.quotes"
    )


def test_the_league_names_its_command():
    league = quotes.stored("league")
    page = " ".join((quotes.RESULTS / "README.md").read_text(encoding="utf-8").replace("\\\n", " ").split())
    command = re.sub(r" --workers \d+", "", league["command"].split(" --report")[0])
    assert command in re.sub(r" --workers \d+", "", page)
    assert all(f"`{task}` is left out" in page for task in league["left_out"])


def test_a_wrong_number_would_be_noticed_and_mended():
    page = "the best attacker finds .60\nof them, here\n"
    assert quotes.quoted(page, "attacker finds {} of them", [".60"]) == page
    assert quotes.quoted(page, "attacker finds {} of them", [".61"]) == page.replace(".60", ".61")
    with pytest.raises(ValueError, match="0 places for: nobody finds"):
        quotes.quoted(page, "nobody finds {}", [".61"])
