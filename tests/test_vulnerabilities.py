"""The page of vulnerabilities: each names its versions, its place in the changelog, and a test that exists."""

import re
from datetime import date
from pathlib import Path

import wordveil

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "vulnerabilities.md").read_text(encoding="utf-8")
CHANGELOG = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
HELD = r"(\S+) \| \"(.+)\" \| \[`(\w+)`\]\(\.\./(tests/[\w/]+\.py)\)"


def faults(page):
    """What is wrong with a page, a sentence each."""
    listed, _, held = page.partition("## Versions, changelog and tests")
    numbers = [int(number) for number in re.findall(r"^\| (\d+) \| ", listed, flags=re.MULTILINE)]
    if f"in version {wordveil.__version__}" not in held:
        yield "the last table is of another version"
    if numbers != list(range(1, len(numbers) + 1)) or not numbers:
        yield "the vulnerabilities are not numbered from 1 on"
    rows = dict(re.findall(r"^\| (\d+) \| (.*) \|$", held, flags=re.MULTILINE))
    if list(rows) != [str(number) for number in numbers]:
        yield "the last table does not have one row for each"
    for number, row in rows.items():
        told = re.fullmatch(HELD, row)
        if told is None:
            yield f"{number}: no versions, words of the changelog or test"
            continue
        until, words, test, file = told.groups()
        if date.fromisoformat(until) < date(2026, 11, 21):
            yield f"{number}: no such day"
        if CHANGELOG.count(words) != 1:
            yield f"{number}: not in the changelog, or not once"
        if not (ROOT / file).is_file() or f"\ndef {test}(" not in (ROOT / file).read_text(encoding="utf-8"):
            yield f"{number}: no such test"


def test_each_names_its_versions_its_place_in_the_changelog_and_a_test_that_exists():
    assert list(faults(PAGE)) == []


def test_what_is_missing_is_noticed():
    last = max(int(number) for number in re.findall(r"^\| (\d+) \| ", PAGE, flags=re.MULTILINE))
    broken = {
        f"| {last} | ": "| 99 | ",
        "| 2026-11-22 | ": "| 2026-10-22 | ",
        "A rate of 20 for an epsilon of 3.9": "A rate of 21 for an epsilon of 3.9",
        "`test_in_a_small": "`test_in_a_large",
        "(../tests/certification/test_forged": "(../tests/certification/test_absent",
    }
    for found, instead in broken.items():
        assert found in PAGE
        assert list(faults(PAGE.replace(found, instead))) != [], found
    unnumbered = PAGE.replace("## A loss above the claim", "## A loss above the claim\n\n| 1 | another | you |")
    assert list(faults(unnumbered)) != []
