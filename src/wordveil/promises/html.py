"""Builds the one kind of page all reports are: one style, light and dark, readable on a phone, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any


def page(title: str, parts: Iterable[str], *, style: str = "", script: str = "") -> str:
    """Return a page: a plain title for the window, and a body of HTML parts, of which empty ones are left out.

    `style` holds rules of its own, after the common ones, and `script` elements that follow the body.
    """
    common = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
    head += '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    head += f"<title>{escape(title)}</title>\n<style>\n{common}{style}</style></head><body><main>\n"
    return head + "\n".join(part for part in parts if part) + f"\n</main>{script}</body></html>\n"


def table(rows: Iterable[str], header: Iterable[str] = (), *, kind: str = "") -> str:
    """Return a table that scrolls sideways by itself; "" without rows."""
    body, named = "".join(rows), f' class="{kind}"' if kind else ""
    head = "".join(cell if cell.startswith("<th") else f'<th scope="col">{cell}</th>' for cell in header)
    shown = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f'<div class="scroll" tabindex="0"><table{named}>{shown}<tbody>{body}</tbody></table></div>' if body else ""


def facts(values: Mapping[str, Any]) -> str:
    """Return a table of named values, each as code."""
    return table(row(name, [f"<code>{escape(_in_words(value))}</code>"]) for name, value in values.items())


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "default" if value is None else str(value)


def row(name: object, cells: Iterable[str], *, kind: str = "") -> str:
    """Return a row: its name as plain text, its cells as HTML, those that are no `<td>` put into one."""
    shown = "".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in cells)
    named = f' class="{kind}"' if kind else ""
    return f'<tr{named}><th scope="row">{escape(str(name))}</th>{shown}</tr>'


def items(lines: Iterable[str] | Mapping[str, str]) -> str:
    """Return plain lines as a list, terms and their meanings as a glossary; "" if there are none."""
    if isinstance(lines, Mapping):
        return f"<dl>{''.join(f'<dt>{escape(k)}</dt><dd>{escape(v)}</dd>' for k, v in lines.items())}</dl>"
    listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{listed}</ul>" if listed else ""
