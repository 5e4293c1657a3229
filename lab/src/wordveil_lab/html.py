"""A page of the laboratory as one HTML file: its Markdown and its pictures; nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from wordveil.api import html_page, html_row, html_table


def as_html(title: str, lines: Sequence[str], pictures: Mapping[str, str] | None = None) -> str:
    """Return a page of these lines: headings, paragraphs, lists, tables, code that four spaces indent, pictures.

    Args:
        title: What the window shows.
        lines: Markdown as `markdown_table` and the writers of reports make it; no links.
        pictures: Name in `![...](NAME)` -> an SVG element.
    """
    parts = []
    for kind, block in groupby((line for line in lines if line), key=_kind):
        found = list(block)
        if kind == "|":
            head, _, *body = (re.split(r"(?<!\\)\|", line)[1:-1] for line in found)
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
