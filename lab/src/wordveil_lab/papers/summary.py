"""The table of every table and figure of the papers, read off their pages.

python -m wordveil_lab.papers.summary docs/results
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from wordveil_lab.commands.reproduce import PAPERS
from wordveil_lab.tables import markdown_table, refilled

MARK = "<!-- table: papers -->"


def judged_rows(page: str) -> list[list[str]]:
    """Return what, the paper's number, ours and the verdict of each row of a page's first table."""
    table = page.split("## Every table and figure\n")[1].split("\n## ")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


def summary_table(folder: Path) -> list[str]:
    """Return the lines of the table over all papers, from the pages in a folder."""
    rows = []
    for paper in PAPERS:
        page = (folder / f"{paper}.md").read_text(encoding="utf-8")
        command = re.search(r"^    (wordveil reproduce .*?)(?: --cells \S+)?(?: --report \S+)?$", page, re.MULTILINE)
        shown = f"`{command[1]}`" if command else ""
        rows += [[f"[{paper}]({paper}.md)", *row, shown] for row in judged_rows(page)]
    return list(markdown_table(["paper", "what", "the paper", "here", "verdict", "command"], rows))


def main() -> None:
    """Fill the table of papers.md."""
    folder = Path(sys.argv[1])
    page = folder / "papers.md"
    page.write_text(refilled(page.read_text(encoding="utf-8"), {MARK: summary_table(folder)}), encoding="utf-8")


if __name__ == "__main__":
    main()
