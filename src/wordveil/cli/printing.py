"""How commands print a result: as one JSON value where --json is given, else as lines for people."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Annotated, Any

import typer
from typer import Option

JsonOption = Annotated[bool, Option("--json", help="Print JSON.")]


def show(result: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a result on standard output.

    Args:
        result: Of mappings, sequences, dataclasses and single values; numbers that are not finite become strings.
        lines: The same for people.
        as_json: Which of the two.
    """
    if as_json:
        typer.echo(json.dumps(_plain(result), indent=2, allow_nan=False))
        return
    for line in lines:
        typer.echo(line)


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


def aligned(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a table, one line a row under the names of its columns; there is at least one row."""
    table = [dict(zip(rows[0], rows[0], strict=True)), *rows]
    widths = {key: max(len(str(row[key])) for row in table) for key in rows[0]}
    return ["  ".join(str(row[key]).ljust(width) for key, width in widths.items()).rstrip() for row in table]


def listed(facts: Mapping[str, Any], width: int) -> list[str]:
    """Return named facts, one a line, their values below each other from column `width` on."""
    return [f"{name + ':':{width}}{value}" for name, value in facts.items()]
