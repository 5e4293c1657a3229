"""The numbers in the pages that explain are those that were computed, and those on papers stand in their evidence."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytest.importorskip("matplotlib", reason="the pictures are drawn with Matplotlib")

from wordveil_lab.pages import explanations as explanations  # noqa: E402

FACTS = json.loads((explanations.FOLDER / "facts.json").read_text(encoding="utf-8"))
PHRASES = [(path, *one) for path, phrases in explanations.quotations(FACTS).items() for one in phrases]


@pytest.mark.parametrize(("path", "phrase", "numbers"), PHRASES, ids=lambda part: str(part)[:40])
def test_the_pages_that_explain_quote_what_was_computed(path, phrase, numbers):
    page = path.read_text(encoding="utf-8")
    assert explanations.quoted(page, phrase, numbers) == page, (
        "read the sentence, then run python -m wordveil_lab.pages.explanations"
    )
    for line in explanations.point_lines(FACTS):
        assert line in explanations.EPSILON.read_text(encoding="utf-8").splitlines()


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
