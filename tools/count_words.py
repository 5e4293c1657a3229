"""Counts the pages and words of the documentation, and lists the sentences that are too long.

    python tools/count_words.py [--long 35]

A word is a run of characters without blanks that holds a letter or a digit. What programs write is not counted: the
reference of commands, names and mechanisms, and tables of stored runs on the pages of results. A page of nothing but
such tables is no page.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
REFERENCE = ("reference/", "mechanisms/")
RESULTS = "results"
CAPTION = 60
"""Words that a page of tables may have besides them: where they come from, and by which command."""


@dataclass(frozen=True)
class Page:
    """A page of the documentation."""

    name: str
    text: str

    @property
    def tables(self) -> bool:
        """Whether there is nothing on it but tables that a program wrote."""
        return self.name.startswith(RESULTS) and "|---" in self.text and words(self._prose) <= CAPTION

    @property
    def words(self) -> int:
        """Words that were written by hand."""
        return words(self._prose if self.name.startswith(RESULTS) else self.text)

    @property
    def _prose(self) -> str:
        lines = (line for line in self.text.splitlines() if not re.match(r"\||#|!\[|    |<!--", line))
        return "\n".join(lines)

    def long_sentences(self, most: int) -> list[str]:
        """Return the sentences of its paragraphs and lists with more words than `most`."""
        text = re.sub(r"^```.*?^```", "", self.text, flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"^(\||#|!\[|    |<!--).*$", "", text, flags=re.MULTILINE)
        text = re.sub(r"\]\([^)]*\)", "]", text)
        parts = re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", text, flags=re.MULTILINE)
        sentences = [one for part in parts for one in re.split(r"(?<=[.!?])\s+(?=[A-Z`*\[])", " ".join(part.split()))]
        return [one for one in sentences if words(one) > most]


def words(text: str) -> int:
    """Return how many words a text has."""
    return len(re.findall(r"\S*[A-Za-z0-9]\S*", text))


def pages() -> list[Page]:
    """Return the pages under docs/ that count, those of tables too."""
    paths = sorted(DOCS.rglob("*.md"))
    named = (Page(path.relative_to(DOCS).as_posix(), path.read_text(encoding="utf-8")) for path in paths)
    return [page for page in named if not page.name.startswith(REFERENCE)]


def counts() -> tuple[int, int]:
    """Return the number of pages and of their words."""
    counted = [page for page in pages() if not page.tables]
    return len(counted), sum(page.words for page in counted)


def main() -> None:
    """Print the counts and the long sentences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", type=int, default=35, help="list sentences of more words than this")
    most = parser.parse_args().long
    for page in pages():
        for sentence in page.long_sentences(most):
            print(f"{page.name}: {words(sentence)}: {sentence}")
    for page in sorted(pages(), key=lambda page: page.words):
        print(f"{page.words:6} {page.name}{' (tables)' if page.tables else ''}")
    print("{} pages, {} words".format(*counts()))
    print("{} words of the README".format(words((ROOT / "README.md").read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
