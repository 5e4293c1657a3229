"""The numbers quoted on README.md, docs/which.md, docs/results/README.md and others are those of the stored runs."""

import re
from pathlib import Path

import pytest

from wordveil_lab.pages import quotes as quotes

ROOT = Path(__file__).resolve().parents[3]


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
