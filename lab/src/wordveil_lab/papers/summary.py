"""How a reproduction is written and read, and the table of every table and figure of the papers, read off their pages.

python -m wordveil_lab.papers.summary docs/results
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wordveil import __version__
from wordveil.api import ParameterError
from wordveil_lab.evaluation.base import Summary
from wordveil_lab.papers import PAPERS
from wordveil_lab.papers.base import FAILS, PARTLY, UNTESTED, Check, Comparison, Reproduction
from wordveil_lab.plots import Plotted, draw
from wordveil_lab.tables import markdown_table, read_table, refilled

VERDICT_RULE = (
    f"A run that is smaller than the paper's, or on other data, refutes nothing: where it does not show what the paper "
    f"says, the verdict is *{UNTESTED}*. Only what is computed exactly, or run at the paper's size, may say *{FAILS}*."
)
PART_RULE = f" *{PARTLY.capitalize()}* is level or not run in some cases, and the other way round in none."


def as_markdown(found: Reproduction, command: str = "", picture: str = "") -> str:
    """Return the page of a reproduction, with its picture where the name of one is given."""
    lines = [f"# {found.reference}", ""]
    if command:
        lines += ["    " + command, ""]
    size = f"size {found.size}, " if found.size else ""
    took = f"{found.seconds:.0f} s" if found.seconds else "time not kept"
    lines += [f"wordveil {__version__}, {size}{took}. Public data, seeded test noise.", ""]
    verdicts = [c for c in found.comparisons if c.verdict]
    judged = (
        map(_escaped, (c.what, c.paper, "; ".join(filter(None, (c.ours, c.remark))), c.verdict)) for c in verdicts
    )
    lines += [JUDGED, "", *markdown_table(["what", "paper", "here", "verdict"], judged), ""]
    lines += [VERDICT_RULE + (PART_RULE if any(c.verdict == PARTLY for c in verdicts) else ""), ""]
    lines += ["## Setting", "", *_items(found.setting)]
    if picture:
        lines += [f"![{found.name}: the figures, repeated]({picture})", ""]
    checks = (map(_escaped, (c.what, c.paper, c.ours, c.same)) for c in found.checks)
    lines += ["## Checked against the paper", "", *markdown_table(["what", "the paper", "here", "same"], checks)]
    numbers = (map(_escaped, (c.what, c.paper, c.ours, c.remark)) for c in found.comparisons if not c.verdict)
    lines += ["", "## Numbers", "", *markdown_table(["what", "paper", "here", "remark"], numbers)]
    lines += ["", "A number after +- is the standard error over runs with fresh noise.", ""]
    if found.findings:
        lines += ["## Findings", "", *_items(found.findings)]
    if found.missing:
        lines += ["## Not reproduced", "", *_items(found.missing)]
    return "\n".join(lines).rstrip() + "\n"


def _escaped(cell: str) -> str:
    """Return a cell of a table; a bar inside it is escaped."""
    return cell.replace("|", "\\|")


def _items(sentences: Sequence[str]) -> list[str]:
    return [*(f"- {sentence}" for sentence in sentences), ""]


def as_dict(found: Reproduction, command: str = "") -> dict[str, Any]:
    """Return a JSON-ready dictionary."""
    return {"version": __version__, "command": command, **asdict(found)}


def read_reproduction(path: str | os.PathLike[str]) -> tuple[Reproduction, str]:
    """Return a reproduction that was written as .json, and its command."""
    facts: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    del facts["version"]
    command = facts.pop("command")
    for row in facts["comparisons"]:
        row["points"] = tuple(Plotted(**point) for point in row["points"])
        row["scores"] = {name: Summary(**score) for name, score in row["scores"].items()}
    facts["comparisons"] = tuple(Comparison(**row) for row in facts["comparisons"])
    facts["checks"] = tuple(Check(**check) for check in facts["checks"])
    facts |= {name: tuple(facts[name]) for name in ("setting", "findings", "missing")}
    return Reproduction(**facts), command


def write_reproduction(found: Reproduction, path: str | os.PathLike[str], command: str = "") -> None:
    """Write the page; the ending .md or .json chooses the form. A page has its figures beside it, as an SVG."""
    target = Path(path)
    if target.suffix == ".md":
        points = [point for comparison in found.comparisons for point in comparison.points]
        picture = target.with_suffix(".svg")
        if points:
            picture.write_bytes(draw(points, found.reference))
        target.write_text(as_markdown(found, command, picture.name if points else ""), encoding="utf-8")
    elif target.suffix == ".json":
        target.write_text(json.dumps(as_dict(found, command), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    else:
        raise ParameterError("report", target.name, "must end in .md or .json.")


MARK, JUDGED = "<!-- table: papers -->", "## Every table and figure"


def summary_table(folder: Path) -> list[str]:
    """Return the lines of the table over all papers, from the pages in a folder."""
    rows = []
    for paper in PAPERS:
        page = (folder / f"{paper}.md").read_text(encoding="utf-8")
        for row in read_table(page, JUDGED)[1:]:
            other = re.search(rf"\(({paper}-\w+)\.md\)", row[2])  # the page whose run the numbers are from
            rows.append([f"[{paper}]({paper}.md)", *row, _command(folder / f"{other[1] if other else paper}.md")])
    return list(markdown_table(["paper", "what", "the paper", "here", "verdict", "command"], rows))


def _command(page: Path) -> str:
    """Return the command that made a page, without its files of its own, as code."""
    text = page.read_text(encoding="utf-8")
    found = re.search(r"^    (wordveil reproduce .*?)(?: --cells \S+)?(?: --report \S+)?$", text, re.MULTILINE)
    return f"`{found[1]}`" if found else ""


def main() -> None:
    """Write the page of every stored reproduction, and fill the table of papers.md."""
    folder = Path(sys.argv[1])
    for stored in folder.glob("trlaplace-*.json"):
        found, command = read_reproduction(stored)
        write_reproduction(found, stored.with_suffix(".md"), command)
    page = folder / "papers.md"
    page.write_text(refilled(page.read_text(encoding="utf-8"), {MARK: summary_table(folder)}), encoding="utf-8")


if __name__ == "__main__":
    main()
