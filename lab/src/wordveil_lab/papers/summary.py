"""The table of every table and figure of the papers, read off their pages, and the page of the files they need.

python -m wordveil_lab.papers.summary docs/results
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from wordveil_lab.commands.reproduce import PAPERS
from wordveil_lab.papers.base import told
from wordveil_lab.tables import markdown_table, refilled

__all__ = ["data_page", "judged_rows", "summary_table"]

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


def data_page() -> str:
    """Return the page that says of every role which file fills it, where that comes from, and how it is made."""
    facts = told("files.toml")
    lines = [facts["page"]["head"]]
    for paper in PAPERS:
        roles = facts["roles"][paper]
        options = {role: "--table" if role in facts["tables"][paper] else "--data" for role in roles}
        rows = ([f"`{options[role]} {role}=FILE`", f"`{file}`" if file else "none"] for role, file in roles.items())
        lines += [f"## {paper}", "", *markdown_table(["option", "file of the data folder"], rows), ""]
    lines += ["## The files", ""]
    head = ["file", "what it is", "original", "licence", "made from it", "SHA-256 of ours"]
    keys = ("what", "original", "licence", "made", "sha256")
    rows = ([f"`{name}`", *(f[key] for key in keys)] for name, f in facts["files"].items())
    lines += markdown_table(head, rows)
    return "\n".join([*lines, "", facts["page"]["foot"]]).rstrip() + "\n"


def main() -> None:
    """Fill the table of README.md and write data.md."""
    folder = Path(sys.argv[1])
    page = folder / "README.md"
    page.write_text(refilled(page.read_text(encoding="utf-8"), {MARK: summary_table(folder)}), encoding="utf-8")
    (folder / "data.md").write_text(data_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
