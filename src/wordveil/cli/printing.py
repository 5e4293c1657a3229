"""How commands print a result: as one JSON value where --json is given, else as lines for people."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Annotated, Any, TextIO

import typer
from typer import Option

ALARMING = ("warning", "must also say")
"""Labels of lines that a terminal shows in colour."""
JsonOption = Annotated[bool, Option("--json", help="Print JSON.")]


def show(result: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a result on standard output."""
    if as_json:
        typer.echo(json.dumps(_plain(result), indent=2, allow_nan=False))
        return
    for line in lines:
        typer.echo("\n".join(for_screen(part, sys.stdout) for part in line.split("\n")))


def for_screen(line: str, stream: TextIO) -> str:
    """Return a line as a stream shows it: wrapped at words with a warning in colour on a terminal, else unchanged.

    Tables keep their lines: columns stand two blanks apart, and sentences have one between words.
    """
    if not stream.isatty():
        return line
    width = max(40, shutil.get_terminal_size().columns)
    if len(line) > width and "  " not in line.strip():
        parts = textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        line = "\n".join(parts)
    label, colon, rest = line.partition(": ")
    coloured = label in ALARMING and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return f"\033[1;33m{label}{colon}\033[0m{rest}" if coloured else line


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def aligned(rows: Sequence[Mapping[str, Any]], width: int = 80) -> list[str]:
    """Return a table under the names of its columns; the last column is wrapped where a line would be wider."""
    table = [dict(zip(rows[0], rows[0], strict=True)), *rows]
    *first, last = rows[0]
    widths = {key: max(len(str(row[key])) for row in table) for key in first}
    left = sum(widths.values()) + 2 * len(widths)
    lines = []
    for row in table:
        head = "".join(f"{str(row[key]).ljust(wide)}  " for key, wide in widths.items())
        parts = textwrap.wrap(str(row[last]), max(12, width - left), break_long_words=False, break_on_hyphens=False)
        lines += [(head + part).rstrip() for part in parts[:1] or [""]]
        lines += [" " * left + part for part in parts[1:]]
    return lines


def listed(facts: Mapping[str, Any], width: int) -> list[str]:
    """Return named facts, one a line, their values below each other from column `width` on."""
    return [f"{name + ':':{width}}{value}" for name, value in facts.items()]
