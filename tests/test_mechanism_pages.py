"""The reference pages: one for every mechanism and decoder, made from its docstring, with examples that run."""

import importlib
import json
import re
from pathlib import Path

import pytest

from wordveil.names import DECODERS, MECHANISMS
from wordveil.promises.rounding import round_up
from wordveil_lab.pages import explanations as explanations

ROOT = Path(__file__).parents[1]
pages = importlib.import_module("wordveil_lab.pages.mechanisms")
figures = importlib.import_module("wordveil_lab.pages.mechanism_figures")
values = importlib.import_module("wordveil_lab.pages.figure_values")

NAMES = sorted({**MECHANISMS, **DECODERS})
STORED = figures.stored_figures()
QUICK = ["clipped-laplace", "clipped-gaussian", "truncated-laplace", "jaccard", "nadp", "santext", "tem", "tight"]
REFUTED = {"jaccard": "audited", "truncated-laplace": "audited, published"}


def blocks(path):
    return re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def claim_at(figure, place):
    claimed = next(series for series in figure.series if series.kind == "claimed")
    return pages.value_at(claimed, place)


def test_every_name_has_a_page_a_figure_and_a_plot():
    assert sorted(STORED) == NAMES
    for name in NAMES:
        svg = (pages.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
        assert f"]({name}.svg)" in (pages.FOLDER / f"{name}.md").read_text(encoding="utf-8")
        assert all(f">{series.label.replace('>', '&gt;')}" in svg for series in STORED[name].series)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_up_to_date_with_its_docstring(name):
    stored = (pages.FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert pages.page(name, STORED[name]) == stored, "run python -m wordveil_lab.pages.mechanisms"


@pytest.mark.slow
def test_the_index_says_what_the_command_says():
    assert pages.index(pages.listing()) == (pages.FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_the_page_runs(name):
    (script,) = blocks(pages.FOLDER / f"{name}.md")
    exec(compile(script, f"{name}.md", "exec"), {"__name__": "example"})


@pytest.mark.parametrize("number", range(4))
def test_the_page_on_guarantees_runs(number):
    found = blocks(ROOT / "docs" / "guarantees.md")
    assert len(found) == 4
    if "compose_many" in found[number]:
        pytest.importorskip("dp_accounting", reason="needs the extra wordveil[accounting]")
    exec(compile(found[number], f"guarantees.md block {number}", "exec"), {"__name__": "example"})


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_a_claim_and_audited_points_that_contradict_refuted_claims_alone(name):
    refuting = []
    for series in STORED[name].series:
        if series.kind == "audited":
            above = [y > claim_at(STORED[name], x) for x, y in zip(series.x, series.y, strict=True)]
            refuting += [series.label] if any(above) else []
    assert refuting == ([REFUTED[name]] if name in REFUTED else [])


@pytest.mark.parametrize("name", NAMES)
def test_certified_losses_are_within_the_claim(name):
    for series in STORED[name].series:
        if series.kind in ("certified", "textbook"):
            assert all(y <= claim_at(STORED[name], x) * (1 + 1e-6) for x, y in zip(series.x, series.y, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_computed_curves_of_the_figure_are_what_the_code_computes_today(name):
    fresh = figures.FIGURES[name](values.Sampling(samples=None))
    stored = [series for series in STORED[name].series if series.kind not in ("audited", "unpromised")]
    assert [series.label for series in fresh.series] == [series.label for series in stored]
    for now, then in zip(fresh.series, stored, strict=True):
        assert now.x == pytest.approx(then.x, rel=1e-5)
        assert now.y == pytest.approx(then.y, rel=1e-5)
        assert now.notes == then.notes


def test_plots_have_the_same_bytes_every_time():
    pytest.importorskip("matplotlib")
    plots = importlib.import_module("wordveil_lab.pages.mechanisms")
    assert plots.draw(STORED["nadp"], "NADP") == plots.draw(STORED["nadp"], "NADP")
    assert plots.draw(STORED["nadp"], "NADP") != plots.draw(STORED["tem"], "NADP")


def test_bounds_from_above_are_rounded_up_and_those_from_below_down():
    both = [
        values.Series(label="", kind=kind, x=(1.0, 3.0), y=(2.00001, 4.00009), line=kind == "claimed")
        for kind in ("claimed", "audited")
    ]
    assert [pages.cell(series, 1.0) for series in both] == ["2.001", "2"]
    assert [pages.cell(series, 2.0) for series in both] == [round_up(3.00005), ""]


pytest.importorskip("matplotlib", reason="the pictures are drawn with Matplotlib")


FACTS = json.loads((explanations.FOLDER / "facts.json").read_text(encoding="utf-8"))


def test_the_page_on_epsilon_has_the_table_that_was_computed():
    assert explanations.epsilon_page(FACTS) == explanations.EPSILON.read_text(encoding="utf-8"), (
        "run python -m wordveil_lab.pages.explanations"
    )


@pytest.mark.slow
def test_what_the_explanations_quote_is_computed_again():
    stored, again = FACTS, explanations.facts()
    assert again.keys() == stored.keys()
    for name in ("words", "nearest", "median", "laplace_nats", "half_near_nats", "half_listed_nats"):
        assert again[name] == pytest.approx(stored[name], rel=1e-4)
    for kind in ("points", "attacker_points"):
        for one, other in zip(again[kind], stored[kind], strict=True):
            assert one == pytest.approx(other, rel=1e-4)
    for name in explanations.pictures(stored):
        assert (explanations.FOLDER / name).stat().st_size > 5000


LITERATURE = (ROOT / "docs" / "explanation" / "literature.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "row", re.findall(r"^\| [A-Z].*\d{4} \|.*", LITERATURE, flags=re.MULTILINE), ids=lambda row: row[:30]
)
def test_numbers_in_the_table_of_papers_stand_in_the_evidence(row):
    _, claim, found, evidence = (cell.strip() for cell in row.split("|")[1:-1])
    pages = re.findall(r"\]\(([^)]+)\)", evidence)
    text = "".join((ROOT / "docs" / "explanation" / page).read_text(encoding="utf-8") for page in pages)
    numbers = re.findall(r"\d+\.\d+(?:e-\d+)?|\d+(?= %)", claim + found)
    assert pages
    assert [number for number in numbers if number not in text] == []
