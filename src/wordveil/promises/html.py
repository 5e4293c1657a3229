"""Builds the one kind of page all reports are: one style, light and dark, readable on a phone, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --text: #1c2430; --soft: #5a6575; --line: #d5dae1; --page: #fff; --band: #f3f5f8;
  --rule: #1f4e8c; --area: #cfe0f5; --kept: #1d6b3a; --refuted: #a3202a; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ee; --soft: #a3adba; --line: #3a4350; --page: #14181e;
  --band: #1e242c; --rule: #7fb0f0; --area: #22395a; --kept: #72c894; --refuted: #f2858d; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; color: var(--text); background: var(--page); }
main { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } h3 { font-size: .95rem; color: var(--soft); }
h1.kept { color: var(--kept); } h1.refuted { color: var(--refuted); } tr.refuted td { background: var(--band); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: left; vertical-align: top; }
thead th { vertical-align: bottom; } tbody th { font-weight: normal; color: var(--soft); }
.promise { border-left: 4px solid var(--rule); padding-left: 1rem; } pre { white-space: pre-wrap; }
code { font-size: .9em; overflow-wrap: anywhere; } dt { font-weight: 600; } dd { margin: 0 0 .5rem; }
figure { margin: 1rem 0; } figure svg { width: 100%; height: auto; } small { color: var(--soft); }
svg text { font: 12px system-ui, sans-serif; fill: var(--text); }
"""


def page(title: str, parts: Iterable[str], *, style: str = "", script: str = "") -> str:
    """Return a page: a plain title for the window, and a body of HTML parts, of which empty ones are left out.

    `style` holds rules of its own, after the common ones, and `script` elements that follow the body.
    """
    head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
    head += '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    head += f"<title>{escape(title)}</title>\n<style>{_STYLE}{style}</style></head><body><main>\n"
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
