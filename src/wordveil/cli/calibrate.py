"""`wordveil calibrate`: epsilon from the probability that a typical public word stays itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from wordveil.cli.common import (
    DEFAULT_MECHANISM,
    MechanismOption,
    ParameterOption,
    VocabularyOption,
    build_mechanism,
    open_vocabulary,
    read_lines,
)

__all__ = ["calibrate"]

BAR = 40


def calibrate(
    keep: Annotated[float, typer.Option("--keep", help="Probability that a typical word stays, in (0, 1).")] = 0.5,
    mechanism: MechanismOption = DEFAULT_MECHANISM,
    settings: ParameterOption = None,
    vocabulary: VocabularyOption = None,
    frequencies: Annotated[
        Path | None,
        typer.Option("--frequencies", help="Public file of WORD<tab>COUNT lines that says what is typical."),
    ] = None,
    sample: Annotated[int, typer.Option("--sample", help="Number of public words that the mean is taken over.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the epsilon at which a typical word stays with probability KEEP, from public words alone."""
    from wordveil.pipeline.calibration import calibrate as find

    embeddings = open_vocabulary(vocabulary)
    found = find(
        embeddings,
        build_mechanism(mechanism, 1.0, settings or ()),
        keep=keep,
        frequencies=None if frequencies is None else _read_frequencies(frequencies),
        sample=sample,
    )
    if as_json:
        typer.echo(json.dumps({"epsilon": found.epsilon, "keep": keep, "words": found.words, "curve": found.curve}))
        return
    typer.echo(f"{'epsilon':>10}  {'kept':>5}")
    for epsilon, kept in found.curve:
        typer.echo(f"{epsilon:10.4g}  {kept:5.3f}  {'#' * round(BAR * kept)}")
    typer.echo(
        f"epsilon {found.epsilon:.4g}: {mechanism} keeps a word with probability {keep:g}, the mean over "
        f"{found.words:,} public words"
    )


def _read_frequencies(path: Path) -> dict[str, float]:
    from wordveil.errors import DataFormatError

    frequencies: dict[str, float] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line:
            continue
        word, _, count = line.rpartition("\t")
        try:
            frequencies[word] = float(count)
        except ValueError:
            raise DataFormatError(path, "must be a word, a tab and a number.", line=number) from None
    return frequencies
