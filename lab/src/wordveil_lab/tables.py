"""The one writer of pages: tables in Markdown, pages of results whose words are written by hand, and HTML.

Every table of a run follows the heading, or the comment, that the run names for it; whatever else stands on the page
stays as it is, and is read again by whoever changes a number. An HTML page is one file, and nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby

from wordveil.api import ParameterError, html_page, html_row, html_table

ARROWS = {"higher": " ^", "lower": " v", "neither": ""}
"""What is better -> the mark behind the name of a score."""


def table_line(cells: Iterable[str]) -> str:
    """Return a row of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"


def markdown_table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [table_line(head), "|---" * len(head) + "|", *map(table_line, rows)]


def latex_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table for LaTeX with booktabs; the text of cells is written as it reads."""
    body = [" & ".join(map(_latex, row)) + r" \\" for row in (head, *rows)]
    columns = f"{{l{'r' * (len(head) - 1)}}}"
    start = [rf"\begin{{tabular}}{columns}", r"\toprule", body[0], r"\midrule"]
    return [*start, *body[1:], r"\bottomrule", r"\end{tabular}"]


_IN_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "#$%&_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}", "\n": " "}
)


def _latex(text: str) -> str:
    escaped = text.translate(_IN_LATEX)
    for mark, sign in (("+-", r"\pm"), (" ^", r"\uparrow"), (" v", r"\downarrow")):
        escaped = f"{escaped} ".replace(f"{mark.translate(_IN_LATEX)} ", f" ${sign}$ ").rstrip()
    return escaped


def refilled(page: str, tables: Mapping[str, Sequence[str]]) -> str:
    """Return a page with other tables: for each line of a heading, or of a comment, the first table below it."""
    for heading, lines in tables.items():
        own = re.search(rf"^{re.escape(heading)}$(?:\n(?!#|\|).*)*\n((?:\|.*\n)+)", page, flags=re.MULTILINE)
        if own is None:
            raise ParameterError("page", heading, "must be a heading of the page with a table below it.")
        page = page[: own.start(1)] + "\n".join(lines) + "\n" + page[own.end(1) :]
    return page


def read_table(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the table in the part of a page under a heading, its head first."""
    part = page.split(f"{heading}\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in _cells(line)] for line in part.splitlines() if line.startswith("| ")]


def _cells(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line)[1:-1]


def short_number(value: float, digits: int = 3) -> str:
    """Return a number with so many digits after the point and no zero before it."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{value + 0.0:.{digits}f}")


def as_html(title: str, lines: Sequence[str], pictures: Mapping[str, str] | None = None) -> str:
    """Return a page of these lines: headings, paragraphs, lists, tables, code that four spaces indent, pictures.

    The lines are Markdown as `markdown_table` and the writers of reports make it; no links. Pictures are SVG elements
    by their name in `![...](NAME)`.
    """
    parts = []
    for kind, block in groupby((line for line in lines if line), key=_kind):
        found = list(block)
        if kind == "|":
            head, _, *body = map(_cells, found)
            rows = (html_row(name.strip(), map(_inline, cells)) for name, *cells in body)
            parts.append(html_table(rows, map(_inline, head)))
        elif kind == "-":
            parts.append("<ul>" + "".join(f"<li>{_inline(line[2:])}</li>" for line in found) + "</ul>")
        elif kind == " ":
            parts.append("<pre>" + "\n".join(escape(line[4:]) for line in found) + "</pre>")
        elif kind == "!":
            parts += [f"<figure>{(pictures or {})[line.partition('](')[2][:-1]]}</figure>" for line in found]
        else:
            parts += [_text(line) for line in found]
    return html_page(title, parts)


def _kind(line: str) -> str:
    return " " if line.startswith("    ") else line[0] if line.startswith(("|", "- ", "![")) else ""


def _text(line: str) -> str:
    level = len(line) - len(line.lstrip("#"))
    return f"<h{level}>{_inline(line[level + 1 :])}</h{level}>" if level else f"<p>{_inline(line)}</p>"


def _inline(text: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text.strip().replace("\\|", "|")))
