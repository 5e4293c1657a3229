"""The one page all reports are made of: escapes what is said, fits phones and dark rooms, fetches nothing."""

import ast
import re
from html.parser import HTMLParser
from pathlib import Path

import wordveil
from wordveil.promises import html

HOSTILE = '</title><script>alert("1")</script>&'


class Balanced(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def sample() -> str:
    rows = [html.row(HOSTILE, ["<td>1</td>", "2"], kind="refuted")]
    parts = [html.table(rows, ["what", '<th scope="col" title="t">first</th>', "second"]), html.items([HOSTILE])]
    return html.page(HOSTILE, [*parts, html.items({HOSTILE: HOSTILE}), "", html.table([], ["empty"]), html.items([])])


def test_a_page_is_well_formed_and_says_text_as_text():
    page = Balanced()
    page.feed(sample())
    assert page.open == []
    assert page.text.count(HOSTILE) == 5
    assert "empty" not in page.text


def test_a_page_fits_phones_and_dark_rooms_and_fetches_nothing():
    page = sample()
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r"(src|href)=|url\(|@import", page)
    # Colours are named where both schemes are: a colour anywhere else is unreadable in one of them.
    assert not re.search(r"#[0-9a-f]{3}", page.split("body {")[1])


def test_no_other_module_builds_pages():
    texts = {path: path.read_text(encoding="utf-8") for path in Path(wordveil.__file__).parent.rglob("*.py")}
    strings = {
        path: [n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        for path, text in texts.items()
    }
    makers = [path.name for path, found in strings.items() if any("<!doctype" in s or "<tbody" in s for s in found)]
    assert makers == ["html.py"]
