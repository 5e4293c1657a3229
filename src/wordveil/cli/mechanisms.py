"""`wordveil mechanisms`: every mechanism and calibration with its promise, standing and paper, read off the code."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Annotated, Any, get_args, get_type_hints

import typer

from wordveil.cli.common import mechanism_class, open_vocabulary
from wordveil.names import MECHANISMS

__all__ = ["mechanisms"]

CERTIFIABLE_EPSILON = 4.0  # the embedded vocabulary ships a certificate there
FEW_WORDS = 500  # promise and standing of a vector mechanism do not depend on how many words it is fitted to
REQUIRED: dict[str, dict[str, Any]] = {"projection": {"dimensions": 32}}
"""What a mechanism needs besides epsilon to be listed."""


def mechanisms(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List mechanisms with promise, standing and paper, each fitted to the embedded vocabulary at epsilon 4."""
    from wordveil.embeddings.table import Embeddings
    from wordveil.fitting import fit_words
    from wordveil.mechanisms.base import VectorMechanism

    embeddings = open_vocabulary(None)
    few = Embeddings.from_arrays(embeddings.words[:FEW_WORDS], embeddings.vectors[:FEW_WORDS])
    rows: list[dict[str, str]] = []
    for name in MECHANISMS:
        for calibration, mechanism in _variants(mechanism_class(name), REQUIRED.get(name, {})):
            fitted_to = few if isinstance(mechanism, VectorMechanism) else embeddings
            guarantee = fit_words(mechanism, fitted_to).guarantee()
            rows.append(
                {
                    "name": name,
                    "calibration": calibration or "-",
                    "promise": guarantee.promise,
                    "standing": str(guarantee.standing),
                    "paper": mechanism.paper,
                }
            )
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]}
    for row in [{key: key for key in rows[0]}, *rows]:
        typer.echo("  ".join(row[key].ljust(widths[key]) for key in row).rstrip())


def _variants(mechanism: Any, required: dict[str, Any]) -> list[tuple[str | None, Any]]:
    """Return the mechanism at every calibration it offers; a refuted one is made for the list alone."""
    names = [field.name for field in fields(mechanism)]
    common: dict[str, Any] = {"epsilon": CERTIFIABLE_EPSILON, **required}
    if "allow_refuted" in names:
        common["allow_refuted"] = True
    if "calibration" not in names:
        return [(None, mechanism(**common))]
    choices = get_args(get_type_hints(mechanism)["calibration"])
    return [(choice, mechanism(**common, calibration=choice)) for choice in choices]
