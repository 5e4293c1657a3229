"""What several commands share: options, and turning them into library objects."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordveil.errors import DataFormatError, ParameterError
from wordveil.names import EXPORTS, MECHANISMS

if TYPE_CHECKING:
    from wordveil.embeddings.table import Embeddings
    from wordveil.mechanisms.base import VectorMechanism, WordMechanism

__all__ = [
    "EpsilonOption",
    "MechanismOption",
    "ParameterOption",
    "VocabularyOption",
    "build_mechanism",
    "default_epsilon",
    "mechanism_class",
    "open_vocabulary",
    "read_lines",
    "read_word_list",
    "say",
]

DEFAULT_MECHANISM = "tem"

MechanismOption = Annotated[
    str, typer.Option("--mechanism", "-m", help=f"One of {', '.join(MECHANISMS)}.", show_default=True)
]
EpsilonOption = Annotated[
    float | None,
    typer.Option("--epsilon", "-e", help="Privacy loss per unit of distance; default: the vocabulary's own."),
]
VocabularyOption = Annotated[
    Path | None,
    typer.Option("--vocabulary", help="A vocabulary directory or embedding file; default: the embedded one."),
]
ParameterOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Another parameter of the mechanism; repeat as needed."),
]


def say(line: str) -> None:
    """Print one line for the person at the terminal, on standard error."""
    typer.echo(line, err=True)


def open_vocabulary(path: Path | None) -> Embeddings:
    """Load the vocabulary named on the command line, or the embedded one."""
    from wordveil.embeddings.table import load_embeddings

    return load_embeddings(path)


def mechanism_class(name: str) -> Any:
    """Return the mechanism's class by its name on the command line.

    Raises:
        ParameterError: If there is no such mechanism; the message lists those that exist.
    """
    import importlib

    if name not in MECHANISMS:
        raise ParameterError("mechanism", name, f"must be one of {', '.join(MECHANISMS)}.")
    public = MECHANISMS[name]
    return getattr(importlib.import_module(EXPORTS[public]), public)


def build_mechanism(name: str, epsilon: float, settings: Sequence[str] = ()) -> WordMechanism | VectorMechanism:
    """Return the mechanism with its parameters; `settings` are NAME=VALUE strings.

    Raises:
        ParameterError: If a name is not a parameter of the mechanism or a value is outside its domain.
    """
    chosen = mechanism_class(name)
    allowed = [field.name for field in fields(chosen)]
    values: dict[str, Any] = {"epsilon": epsilon}
    for setting in settings:
        key, separator, text = setting.partition("=")
        key = key.strip().replace("-", "_")
        if not separator or key not in allowed:
            raise ParameterError("--set", setting, f"must be NAME=VALUE with NAME one of {', '.join(allowed)}.")
        values[key] = _parse_value(key, text)
    try:
        mechanism: WordMechanism | VectorMechanism = chosen(**values)
    except TypeError as error:
        raise ParameterError("--set", list(settings), f"holds a value of the wrong type ({error}).") from None
    return mechanism


def _parse_value(key: str, text: str) -> Any:
    """Read a metric's name, or a number, True, False, None or a plain word."""
    if key == "metric":
        from wordveil.metrics import Angular, Euclidean

        metrics = {metric.name: metric for metric in (Euclidean(), Angular())}
        if text not in metrics:
            raise ParameterError("metric", text, f"must be one of {', '.join(metrics)}.")
        return metrics[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def default_epsilon(embeddings: Embeddings, mechanism: str, epsilon: float | None) -> float:
    """Return the epsilon given, or the vocabulary's default for this mechanism, which is then printed.

    Raises:
        ParameterError: If there is no such mechanism, or the vocabulary records no default for it.
    """
    mechanism_class(mechanism)  # a wrong name is the first thing to report
    if epsilon is not None:
        return epsilon
    recorded = embeddings.header.default_epsilon.get(mechanism)
    if recorded is None:
        raise ParameterError(
            "--epsilon",
            None,
            f"must be given: this vocabulary records no default for {mechanism!r}. "
            f"Find one with: wordveil calibrate --mechanism {mechanism} --keep 0.5",
        )
    say(f"epsilon {recorded:g}: the vocabulary's default for {mechanism} (half of typical words stay unchanged)")
    return recorded


def read_word_list(path: Path | None) -> frozenset[str]:
    """Return the words of a file, one per line; empty lines and lines starting with # are skipped."""
    if path is None:
        return frozenset()
    lines = read_lines(path)
    return frozenset(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 file, without their ends.

    Raises:
        DataFormatError: If the file is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise DataFormatError(path, "is not UTF-8.", offset=error.start) from None
