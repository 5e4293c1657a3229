"""`wordveil mechanisms`: every mechanism with its promise, standing and paper, read off the mechanisms themselves."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from wordveil.cli.common import build_mechanism, open_vocabulary
from wordveil.names import MECHANISMS

__all__ = ["mechanisms"]


def mechanisms(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List mechanisms with promise, standing and paper, each fitted to the embedded vocabulary at epsilon 4."""
    embeddings = open_vocabulary(None)
    rows: list[dict[str, Any]] = []
    for name in MECHANISMS:
        mechanism = build_mechanism(name, 4.0)
        guarantee = mechanism.fit(embeddings).guarantee()
        rows.append(
            {"name": name, "promise": guarantee.promise, "standing": str(guarantee.standing), "paper": mechanism.paper}
        )
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]}
    for row in [{key: key for key in rows[0]}, *rows]:
        typer.echo("  ".join(row[key].ljust(widths[key]) for key in row).rstrip())
