"""Reports as people see them: wide and narrow, light and dark, and as a screen reader reads them."""

import subprocess
from pathlib import Path

import pytest
from tests.browsing import LOOKS, faults
from tests.cli.conftest import PROGRAM

pytestmark = pytest.mark.slow
REVIEWS = Path(__file__).parents[2] / "examples" / "reviews.jsonl"


@pytest.fixture(scope="module")
def reports(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    commands = {
        "sanitize": ["sanitize", REVIEWS, "-o", folder / "s.jsonl", "--column", "text", "--keep", "stars"],
        "redact": ["redact", REVIEWS, "-o", folder / "r.jsonl", "--column", "text", "--keep", "stars"],
        "rephrase": ["rephrase", REVIEWS, "-o", folder / "p.jsonl", "--column", "text", "--drop-others"],
        "audit": ["audit", "--mechanism", "laplace", "--epsilon", "1", "--dimensions", "2", "--samples", "400"],
    }
    for name, command in commands.items():
        report = folder / f"{name}.html"
        subprocess.run([*PROGRAM, *map(str, command), "--report", str(report)], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", ["sanitize", "redact", "rephrase", "audit"])
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_a_report_is_legible_on_every_screen_and_to_a_screen_reader(browser, reports, name, width, scheme):
    assert faults(browser, (reports / f"{name}.html").as_uri(), width, scheme) == []


def test_a_page_that_is_none_of_these_is_found_out(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text("<html><body style='width:2000px;color:#eee;background:#fff'><p>pale<img src='x.png'></p>")
    found = faults(browser, page.as_uri(), 390, "light")
    assert {"color-contrast", "image-alt", "html-has-lang"} <= {each[0] for each in found if isinstance(each, tuple)}
    assert any("pixels wide" in str(each) for each in found)
