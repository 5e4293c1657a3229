"""The numbers in the pages that explain are those that were computed, and those on papers stand in their evidence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytest.importorskip("matplotlib", reason="the pictures are drawn with Matplotlib")

from wordveil_lab.pages import explanations as explanations  # noqa: E402

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
