"""`wordveil mechanisms`: every mechanism and calibration with its promise, standing and paper, read off the code."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from wordveil.cli.common import mechanism_class, open_vocabulary
from wordveil.names import MECHANISMS

if TYPE_CHECKING:
    from wordveil.promises.guarantees import Guarantee
    from wordveil.vocabulary.table import Embeddings

__all__ = ["mechanisms"]

EPSILON = 4.0
FEW_WORDS = 500  # promise and standing do not depend on how many words a mechanism is fitted to; time does
REQUIRED: dict[str, dict[str, Any]] = {"projection": {"dimensions": 32}}
"""What a mechanism needs besides epsilon to be listed."""


def mechanisms(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List mechanisms with promise, standing and paper, fitted to words of the embedded vocabulary at epsilon 4."""
    from wordveil.vocabulary.table import Embeddings

    embeddings = open_vocabulary(None)
    few = Embeddings.from_arrays(embeddings.words[:FEW_WORDS], embeddings.vectors[:FEW_WORDS])
    rows: list[dict[str, str]] = []
    for name in MECHANISMS:
        for calibration, mechanism in _variants(mechanism_class(name), REQUIRED.get(name, {})):
            guarantee = _guarantee(mechanism, few)
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


def _guarantee(mechanism: Any, embeddings: Embeddings) -> Guarantee:
    """Return what the mechanism promises, with the certificate it may need."""
    from wordveil.certification import certify
    from wordveil.pipeline.fitting import fit_words

    certificate = certify(mechanism, embeddings) if getattr(mechanism, "needs_certificate", False) else None
    return fit_words(mechanism, embeddings, certificate).guarantee()


def _variants(mechanism: Any, required: dict[str, Any]) -> list[tuple[str | None, Any]]:
    """Return the mechanism at every calibration it offers; a refuted one is made for the list alone."""
    names = [field.name for field in fields(mechanism)]
    common: dict[str, Any] = {"epsilon": EPSILON, **required}
    if "allow_refuted" in names:
        common["allow_refuted"] = True
    if "calibration" not in names:
        return [(None, mechanism(**common))]
    choices = get_args(get_type_hints(mechanism)["calibration"])
    return [(choice, mechanism(**common, calibration=choice)) for choice in choices]
