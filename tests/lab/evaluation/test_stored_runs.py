"""A stored run says of which schema it is, and one of another is not read."""

from __future__ import annotations

import json
import sys

import pytest

from wordveil.errors import DataFormatError
from wordveil_lab.evaluation.report import SCHEMA
from wordveil_lab.leagues.stored import StoredRun, read_run


@pytest.mark.parametrize("schema", [None, "league 0", "together 1", 1])
def test_a_run_of_another_schema_is_refused(tmp_path, schema):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"rows": []} | ({} if schema is None else {"schema": schema})))
    with pytest.raises(DataFormatError, match="of another schema than 'league 1'"):
        read_run(path)
    path.write_text(json.dumps({"schema": SCHEMA, "rows": [1]}))
    assert read_run(path)["rows"] == [1]


@pytest.fixture
def league(tmp_path, monkeypatch):
    monkeypatch.setattr("wordveil_lab.leagues.stored.ROOT", tmp_path)
    (tmp_path / "docs/results").mkdir(parents=True)
    (tmp_path / "docs/results/made.md").write_text(BY_HAND)
    return StoredRun(
        name="made",
        rows=("a", "b"),
        measure=lambda names: asked.append(list(names)) or {"schema": SCHEMA, "rows": list(names)},
        tables=lambda report: {"# Made": [f"| {len(report['rows'])} rows |"]},
        pictures={"made.svg": lambda report: b"<svg/>"},
    )


asked: list[list[str]] = []
BY_HAND = "# Made\n\nby hand:\n\n| - |\n\nend\n"


@pytest.mark.parametrize(
    ("words", "measured", "page", "stored"),
    [
        ([], [[]], BY_HAND.replace("-", "0 rows"), True),
        (["--page"], [], BY_HAND.replace("-", "2 rows"), True),
        (["--only", "b"], [["b"]], BY_HAND, False),
    ],
)
def test_the_command_line_of_a_league(league, monkeypatch, words, measured, page, stored):
    asked.clear()
    if words == ["--page"]:
        league.path.write_text(json.dumps({"schema": SCHEMA, "rows": [1, 2]}))
    monkeypatch.setattr(sys, "argv", ["league", *words])
    league.main("About it.")
    assert asked == measured
    assert league.path.with_suffix(".md").read_text() == page
    assert league.path.exists() == league.path.with_suffix(".svg").exists() == stored
