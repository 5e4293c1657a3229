"""`wordveil certify`: make a certificate anyone can repeat, or repeat and check one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordveil.cli.common import (
    DEFAULT_MECHANISM,
    EpsilonOption,
    MechanismOption,
    ParameterOption,
    VocabularyOption,
    build_mechanism,
    default_epsilon,
    open_vocabulary,
    say,
)
from wordveil.cli.progress import count_bar

__all__ = ["certify"]


def certify(
    mechanism: MechanismOption = DEFAULT_MECHANISM,
    epsilon: EpsilonOption = None,
    settings: ParameterOption = None,
    vocabulary: VocabularyOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Certificate file; default: print it.")] = None,
    verify: Annotated[Path | None, typer.Option("--verify", metavar="FILE", help="Repeat this certificate.")] = None,
    checkpoint: Annotated[Path | None, typer.Option("--checkpoint", help="File to resume long work from.")] = None,
    threads: Annotated[int | None, typer.Option("--threads", help="Default: one per processor.")] = None,
) -> None:
    """Certify the largest rate at which a mechanism keeps its epsilon on this vocabulary, over all pairs of words."""
    from wordveil.certificates import Certificate
    from wordveil.certification import certify as make
    from wordveil.certification import verify as repeat

    embeddings = open_vocabulary(vocabulary)
    if verify is not None:
        with count_bar("pair visits") as progress:
            repeat(Certificate.load(verify), embeddings, threads=threads, progress=progress)
        typer.echo(f"{verify}: verified; the repetition agrees and no claim is below what it found")
        return
    chosen = build_mechanism(mechanism, default_epsilon(embeddings, mechanism, epsilon), settings or ())
    with count_bar("pair visits") as progress:
        saved = None if checkpoint is None else str(checkpoint)
        certificate = make(chosen, embeddings, threads=threads, progress=progress, checkpoint=saved)
    if output is None:
        typer.echo(certificate.to_json(), nl=False)
        return
    certificate.save(output)
    say(f"wrote {output}: " + ", ".join(f"{name} {value:.6g}" for name, value in certificate.numbers.items()))
