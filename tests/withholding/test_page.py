"""What the pages on redaction say: the table of cases is run, and words that promise too much are refused."""

import re
from pathlib import Path

import pytest

import wordveil as wv
from wordveil.withholding.claim import MAY_SAY, MUST_SAY
from wordveil.withholding.tokens import MARKS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "redact.md").read_text(encoding="utf-8")
CASES = re.findall(r"^\| (\d) \| `(.*?)` \| `(.*?)` \|$", PAGE, flags=re.MULTILINE)
REFUSED = re.compile(r"(?i)anonym(?:ous|i[sz])\w*|de-?identif\w+|complian[ct]\w*|removes all names")
TITLE = re.compile(r"(?i)compliance[-\s]\s*officers?")  # whom a page is for
PROSE = sorted({
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "examples").rglob("*.*"),
    *(path for top in ("src", "lab/src") for end in ("py", "html", "js") for path in (ROOT / top).rglob(f"*.{end}")),
})  # fmt: skip


def unescaped(text: str) -> str:
    return text.encode("ascii").decode("unicode_escape")


@pytest.mark.parametrize(("number", "text", "release"), CASES)
def test_the_table_of_cases_is_what_the_rule_does(number, text, release):
    redactor = wv.Redactor(rule=wv.Rule(strict=number == "9"))
    assert redactor.redact(unescaped(text)) == unescaped(release)


def test_every_point_of_the_rule_has_a_case():
    assert {number for number, _, _ in CASES} == set("123456789")


def test_the_page_lists_the_characters_that_leave():
    block = PAGE.partition("leave between tokens:")[2].split("```")[1]
    assert set(block.removeprefix("text").split()) == MARKS - set("[]")


def bare_zero(text: str) -> list[str]:
    """Sentences that say loss 0 and not between which texts."""
    sentences = re.split(r"(?<=[.:;])\s+", text.replace("\n", " "))
    return [
        each
        for each in sentences
        if re.search(r"(?i)\bloss(?: is)? 0\b(?!\.\d)", each) and not re.search("between|Between", each)
    ]


def too_much(text: str) -> list[str]:
    """What of a page promises too much: a line that breaks in the title of whom it is for is not."""
    return REFUSED.findall(TITLE.sub("", text)) + bare_zero(text)


def test_no_page_and_no_line_of_the_source_promises_too_much():
    found = {str(path.relative_to(ROOT)): too_much(path.read_text("utf-8", "replace")) for path in PROSE}
    assert len(found) > 400
    assert {name: words for name, words in found.items() if words} == {}


def test_words_that_promise_too_much_are_noticed():
    for line in ("The text is anonymous.", "It is de-identified.", "GDPR compliant", "anonymized"):
        assert REFUSED.search(line), line
    assert bare_zero("It has loss 0.")
    assert not bare_zero("Between such texts the loss is 0.")


def test_the_page_says_what_every_run_says():
    page = re.sub(r"\s+", " ", PAGE.replace("\n> ", " ").replace("**", ""))
    assert MAY_SAY in page
    assert MUST_SAY in page
