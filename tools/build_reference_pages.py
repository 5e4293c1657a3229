"""Writes docs/reference, the commands and names as the program has them, and what leaves through the proxy.

python tools/build_reference_pages.py
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from typer.main import get_command

from wordveil.cli.app import build_app, command_examples, command_lines
from wordveil.integrations.chat import BESIDE, FIELDS, REFUSED, ROUTES
from wordveil.names import EXPORTS

DOCS = Path(__file__).resolve().parents[1] / "docs"
FOLDER = DOCS / "reference"
COMMANDS_HEAD = """# Commands

Every command with its options, written by `tools/build_reference_pages.py` from the program itself. What all commands
share (output, exit codes, environment variables, completion) is on [the page of the command line](../command-line.md).
"""
PYTHON_HEAD = """# Python

Every public name, by what it is for; `import wordveil as wv` offers all of them as `wv.NAME`. [From
Python](../python.md) shows how they are used together. The text below each name is its docstring.
"""
LEAVES_HEAD = """# What leaves, field by field

Written by `tools/build_reference_pages.py` from the declaration by which [`wordveil proxy`](proxy.md) decides
(`FIELDS`, `ROUTES` and `BESIDE` in `wordveil.integrations.chat`). `tests/integrations/test_proxy.py` sends a canary
through every row. A field or route that is not here is refused, and the vendor gets nothing.

- *Released*: the sanitizer's release takes its place.
- *Public by its kind*: it leaves as it is, if it is of this kind; else the request is refused.
- *Public by declaration*: it leaves if you declared it public; else the request is refused.
- *Replaced by ours*, *left out*: nothing of it leaves.
- *Passed on as it came*, *not seen by us*: neither released nor looked through.
"""
TITLES = {
    "sanitizing": "Releasing texts",
    "runs": "Files, tables and vectors",
    "meaning": "What a promise means",
    "withholding": "Redaction",
    "promises": "Promises",
    "mechanisms": "Mechanisms",
    "decoding": "Decoders",
    "vocabulary": "Vocabularies",
    "metrics": "Metrics",
    "sentences": "Whole sentences",
    "denoising": "Reading releases",
    "certification": "Certificates and accounting",
    "auditing": "Auditing",
    "randomness": "Randomness",
    "files": "Files",
    "errors": "Errors",
}
"""Room of the package -> heading of what it offers."""


def pages() -> dict[Path, str]:
    """Return every page by its file."""
    root: Any = get_command(build_app())
    commands = [COMMANDS_HEAD, *(_section(name, root.commands[name]) for name in command_lines())]
    rooms = {name: module.split(".")[1] for name, module in EXPORTS.items()}
    names = [PYTHON_HEAD]
    for room, title in TITLES.items():
        offered = sorted(name for name in EXPORTS if rooms[name] == room)
        names += [f"## {title}", "", *(f"::: {EXPORTS[name]}.{name}\n" for name in offered)]
    assert set(rooms.values()) == set(TITLES)
    leaves = [LEAVES_HEAD, "## Routes", "", "| Route | What leaves |", "|---|---|"]
    leaves += [f"| `{method} {path}` | {sent} |" for method, path, _, sent in ROUTES]
    leaves += ["", "## Fields", "", "| Where | Field | What becomes of it | Rule |", "|---|---|---|---|"]
    leaves += [*_fields(), ""]
    return {
        FOLDER / "commands.md": "\n".join(commands),
        FOLDER / "python.md": "\n".join(names),
        DOCS / "integrations" / "what-leaves.md": "\n".join(leaves),
    }


def _fields() -> Iterator[str]:
    for place, fields in FIELDS.items():
        for field, names in groupby(fields, key=fields.__getitem__):
            yield f"| {place} | {', '.join(f'`{name}`' for name in names)} | {field.fate} | {field.rule} |"
        yield f"| {place} | any other field | {REFUSED} | the whole request is |"
    yield from (f"| {' | '.join(row)} |" for row in BESIDE)


def _section(name: str, command: Any) -> str:
    if hasattr(command, "commands"):
        return "\n".join(_section(f"{name} {own}", found) for own, found in command.commands.items())
    given = [_shown(param) for param in command.params if param.param_type_name == "argument"]
    usage = " ".join(["wordveil", name, "[OPTIONS]", *given])
    lines = [f"## {name}", "", f"    {usage}", "", inspect.cleandoc(command.help or ""), ""]
    lines += ["| Option | Meaning | Default |", "|---|---|---|", *_rows(command), "", "Examples:", ""]
    return "\n".join([*lines, *(f"    {example}" for example in command_examples()[name]), ""])


def _rows(command: Any) -> Iterator[str]:
    for param in command.params:
        if param.name == "help":
            continue
        names = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
        if param.param_type_name == "argument":
            names = f"`{_shown(param)}`"
        meaning = (getattr(param, "help", "") or "").replace("|", "\\|")
        yield f"| {names} | {meaning} | {_default(param)} |"


def _shown(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _default(param: Any) -> str:
    if param.required:
        return "must be given"
    value = param.default
    if value is None or value is False or value == "" or callable(value):
        return ""
    return "yes" if value is True else f"`{value}`"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
