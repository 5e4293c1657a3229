"""Tables in Markdown, and one way to write pages of results: words by hand, tables from the stored run.

Every table of a run follows the heading, or the comment, that the run names for it; whatever else stands on the page
stays as it is, and is read again by whoever changes a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from wordveil.api import ParameterError


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
    return [
        rf"\begin{{tabular}}{columns}",
        r"\toprule",
        body[0],
        r"\midrule",
        *body[1:],
        r"\bottomrule",
        r"\end{tabular}",
    ]


_IN_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "#$%&_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}", "\n": " "}
)


def _latex(text: str) -> str:
    escaped = text.translate(_IN_LATEX)
    for mark, sign in (("+-", r"\pm"), (" ^", r"\uparrow"), (" v", r"\downarrow")):
        escaped = f"{escaped} ".replace(f"{mark.translate(_IN_LATEX)} ", f" ${sign}$ ").rstrip()
    return escaped


def refilled(page: str, tables: Mapping[str, Sequence[str]]) -> str:
    """Return a page with other tables: for each heading, the first table below it.

    Args:
        page: The page as it is.
        tables: Line of a heading, or of a comment -> lines of its table.

    Raises:
        ParameterError: If the page lacks a heading, or a table below it.
    """
    for heading, lines in tables.items():
        own = re.search(rf"^{re.escape(heading)}$(?:\n(?!#|\|).*)*\n((?:\|.*\n)+)", page, flags=re.MULTILINE)
        if own is None:
            raise ParameterError("page", heading, "must be a heading of the page with a table below it.")
        page = page[: own.start(1)] + "\n".join(lines) + "\n" + page[own.end(1) :]
    return page


def short_number(value: float) -> str:
    """Return a number with three digits after the point and no zero before it."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:.3f}")
