"""The numbers quoted in README.md and docs/results/README.md are those of the stored runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

import build_explanations as explanations  # noqa: E402
import quote_results as quotes  # noqa: E402

RUNS = quotes.Runs.stored()


@pytest.mark.parametrize(("phrase", "numbers"), quotes.quotations(RUNS), ids=lambda part: str(part)[:40])
def test_the_page_of_results_quotes_the_stored_runs(phrase, numbers):
    page = quotes.PAGE.read_text(encoding="utf-8")
    assert quotes.quoted(page, phrase, numbers) == page, "read the sentence, then run python tools/quote_results.py"


PHRASES = [(path, *one) for path, phrases in quotes.explanations(RUNS.facts).items() for one in phrases]


@pytest.mark.parametrize(("path", "phrase", "numbers"), PHRASES, ids=lambda part: str(part)[:40])
def test_the_pages_that_explain_quote_what_was_computed(path, phrase, numbers):
    page = path.read_text(encoding="utf-8")
    assert quotes.quoted(page, phrase, numbers) == page, "read the sentence, then run python tools/quote_results.py"
    for line in quotes.point_lines(RUNS.facts):
        assert line in quotes.EPSILON.read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
def test_what_the_explanations_quote_is_computed_again():
    stored, again = RUNS.facts, explanations.facts()
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


def test_the_table_of_the_readme_quotes_the_stored_run():
    readme = quotes.README.read_text(encoding="utf-8")
    for line in quotes.table_lines(RUNS):
        assert line in readme.splitlines(), "run python tools/quote_results.py"


def test_both_runs_are_of_one_vocabulary_and_name_their_commands():
    assert RUNS.league["vocabulary"] == RUNS.curves["vocabulary"]
    page = " ".join(quotes.PAGE.read_text(encoding="utf-8").replace("\\\n", " ").split())
    for run in (RUNS.league, RUNS.curves):
        command = re.sub(r" --workers \d+", "", run["command"].split(" --report")[0])
        assert command in re.sub(r" --workers \d+", "", page)
        assert not run["left_out"]


def test_a_wrong_number_would_be_noticed_and_mended():
    page = "the best attacker finds .60\nof them, here\n"
    assert quotes.quoted(page, "attacker finds {} of them", [".60"]) == page
    assert quotes.quoted(page, "attacker finds {} of them", [".61"]) == page.replace(".60", ".61")
    with pytest.raises(ValueError, match="0 places for: nobody finds"):
        quotes.quoted(page, "nobody finds {}", [".61"])
