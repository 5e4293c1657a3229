"""What several commands share: options, and turning them into library objects."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordveil.errors import DataFormatError, ParameterError
from wordveil.names import DECODERS, EXPORTS, MECHANISMS

if TYPE_CHECKING:
    from wordveil.certificates import Certificate
    from wordveil.embeddings.table import Embeddings
    from wordveil.mechanisms.base import VectorMechanism, WordMechanism

__all__ = [
    "AllowRefutedOption",
    "CalibrationOption",
    "CertificateOption",
    "DecoderOption",
    "EpsilonOption",
    "MechanismOption",
    "ParameterOption",
    "VocabularyOption",
    "build_mechanism",
    "certificate_for",
    "default_epsilon",
    "mechanism_class",
    "open_vocabulary",
    "parse_settings",
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
CalibrationOption = Annotated[
    str | None, typer.Option("--calibration", help="How the noise is sized, where a mechanism offers a choice.")
]
DecoderOption = Annotated[
    str | None, typer.Option("--decoder", help=f"For vector mechanisms: one of {', '.join(DECODERS)}.")
]
AllowRefutedOption = Annotated[
    bool, typer.Option("--allow-refuted", help="Permit a calibration that is known to break its claim.")
]
CertificateOption = Annotated[
    Path | None,
    typer.Option("--certificate", help="Certificate for a certified calibration; default: shipped, or made now."),
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
    if name not in MECHANISMS:
        raise ParameterError("mechanism", name, f"must be one of {', '.join(MECHANISMS)}.")
    return _load(MECHANISMS[name])


def _load(public: str) -> Any:
    """Return a public object by name, loading its module."""
    return getattr(importlib.import_module(EXPORTS[public]), public)


def build_mechanism(
    name: str,
    epsilon: float,
    settings: Sequence[str] = (),
    *,
    calibration: str | None = None,
    decoder: str | None = None,
    allow_refuted: bool = False,
) -> WordMechanism | VectorMechanism:
    """Return the mechanism with its parameters; `settings` are NAME=VALUE strings.

    Raises:
        ParameterError: If a name is not a parameter of the mechanism or a value is outside its domain.
        RefutedClaimError: If a refuted calibration is asked for without `allow_refuted`.
    """
    chosen = mechanism_class(name)
    allowed = [field.name for field in fields(chosen)]
    values = {"epsilon": epsilon, **parse_settings(settings, allowed)}
    if calibration is not None:
        if "calibration" not in allowed:
            raise ParameterError("--calibration", calibration, f"cannot be chosen for {name}.")
        values["calibration"] = calibration
    if allow_refuted and "allow_refuted" in allowed:
        values["allow_refuted"] = True
    try:
        mechanism: WordMechanism | VectorMechanism = chosen(**values)
    except TypeError as error:
        raise ParameterError("--set", list(settings), f"holds a value of the wrong type ({error}).") from None
    return mechanism if decoder is None else _decoded(mechanism, decoder, epsilon)


def _decoded(mechanism: Any, decoder: str, epsilon: float) -> WordMechanism:
    """Return a vector mechanism with the decoder of this name."""
    from wordveil.decoding.decoded import Decoded
    from wordveil.mechanisms.base import VectorMechanism

    if decoder not in DECODERS:
        raise ParameterError("--decoder", decoder, f"must be one of {', '.join(DECODERS)}.")
    if not isinstance(mechanism, VectorMechanism):
        raise ParameterError("--decoder", decoder, f"is for vector mechanisms; {mechanism.name} selects words itself.")
    chosen = _load(DECODERS[decoder])
    takes_epsilon = "epsilon" in [field.name for field in fields(chosen)]
    return Decoded(mechanism=mechanism, decoder=chosen(epsilon=epsilon) if takes_epsilon else chosen())


def certificate_for(
    mechanism: WordMechanism | VectorMechanism, embeddings: Embeddings, path: Path | None, *, quiet: bool = False
) -> Certificate | None:
    """Return the certificate a certified calibration needs: from the file, shipped, or computed now."""
    from wordveil.certificates import Certificate
    from wordveil.fitting import shipped_certificate
    from wordveil.mechanisms.exponential import SelectionMechanism

    if path is not None:
        return Certificate.load(path)
    if not isinstance(mechanism, SelectionMechanism) or not mechanism.needs_certificate:
        return None
    found = shipped_certificate(mechanism, embeddings)
    if found is None:
        from wordveil.certification import certify  # loads SciPy, which would double the time of a first sentence

        if not quiet:
            say("certifying the rate on this vocabulary (`wordveil certify` keeps the certificate for next time)")
        found = certify(mechanism, embeddings)
    return found


def parse_settings(settings: Sequence[str], allowed: Sequence[str] = ()) -> dict[str, Any]:
    """Read NAME=VALUE strings, a dash in a name as an underscore.

    Raises:
        ParameterError: If one has another form, or a name that is not among the allowed ones, where any are listed.
    """
    values = {}
    for setting in settings:
        name, separator, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not separator or (allowed and name not in allowed):
            names = f" with NAME one of {', '.join(allowed)}" if allowed else ""
            raise ParameterError("--set", setting, f"must be NAME=VALUE{names}.")
        values[name] = _parse_value(name, text)
    return values


def _parse_value(key: str, text: str) -> Any:
    """Read a metric's name, or a number, True, False, None or a plain word."""
    if key == "metric":
        from wordveil.graphs.rank_metric import NeighbourRank
        from wordveil.metrics import Angular, AnyMetric, Euclidean

        metrics: dict[str, AnyMetric] = {"euclidean": Euclidean(), "angular": Angular(), "rank": NeighbourRank()}
        if text not in metrics:
            raise ParameterError("metric", text, f"must be one of {', '.join(metrics)}.")
        return metrics[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError):
        return text


def default_epsilon(
    embeddings: Embeddings,
    mechanism: str,
    epsilon: float | None,
    calibration: str | None = None,
    *,
    quiet: bool = False,
) -> float:
    """Return the epsilon given, or the vocabulary's default for this mechanism, which is then printed unless `quiet`.

    Raises:
        ParameterError: If there is no such mechanism, the vocabulary records no default for it, or the calibration
            gives epsilon another unit.
    """
    mechanism_class(mechanism)  # a wrong name is the first thing to report
    if epsilon is not None:
        return epsilon
    if calibration == "certified-local":
        raise ParameterError("--epsilon", None, f"must be given, in nats between any two words, for {calibration}.")
    recorded = embeddings.header.default_epsilon.get(mechanism)
    if recorded is None:
        raise ParameterError(
            "--epsilon",
            None,
            f"must be given: this vocabulary records no default for {mechanism!r}. "
            f"Find one with: wordveil calibrate --mechanism {mechanism} --keep 0.5",
        )
    if not quiet:
        say(
            f"epsilon {recorded:g}: the vocabulary's default for {mechanism} "
            "(with its other defaults, half of typical words stay unchanged)"
        )
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
