"""`wordveil vocabulary`: import an embedding file, show a vocabulary's facts, list neighbours of a public word."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordveil.cli.common import VocabularyOption, open_vocabulary, say
from wordveil.cli.app import Command

if TYPE_CHECKING:
    from wordveil.vocabulary.table import Embeddings

if TYPE_CHECKING:
    from wordveil.vocabulary.table import Embeddings

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)

IMPORT_SAMPLE = 200  # public words behind the recorded default epsilons; `calibrate` uses 1 000
DEFAULTS = ("laplace", "santext", "tem")
FEW = 100  # entries that may be output, below which a vocabulary was hardly meant so


@app.command("import", cls=Command)
def import_(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="Embedding file or folder.")],
    destination: Annotated[Path, typer.Argument(metavar="DEST", help="Vocabulary directory to create.")],
    format: Annotated[
        str | None, typer.Option("--format", help="Format. Default: detected from name and content.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Short name shown to users.")] = None,
    casing: Annotated[
        str | None, typer.Option("--casing", help="lower or cased. Default: detected from the words.")
    ] = None,
    candidates: Annotated[
        str,
        typer.Option("--candidates", help="Which entries may be output: words, all, or only-words to drop all others."),
    ] = "words",
    limit: Annotated[
        int | None, typer.Option("--limit", help="Number of rows to take, from the start. Default: all.")
    ] = None,
    calibrate: Annotated[bool, typer.Option(help="Record default epsilons (takes a few seconds).")] = True,
) -> None:
    """Convert an embedding file to wordveil's own form: checked, memory-mapped, with a word index."""
    from wordveil.vocabulary.importing import import_embeddings

    embeddings = import_embeddings(
        source,
        destination,
        format=format,
        name=name,
        casing=casing,
        candidate_rule=candidates,
        limit=limit,
        progress=_show_rows if sys.stderr.isatty() else None,
    )
    if calibrate:
        embeddings = embeddings.record(default_epsilon=_default_epsilons(embeddings))
    _print_facts(embeddings)
    if len(embeddings.candidates) < FEW and len(embeddings.candidates) < len(embeddings):
        say(f"few entries may be output; --candidates all lets all {len(embeddings):,}")


def _default_epsilons(embeddings: Embeddings) -> dict[str, float]:
    """Return the epsilons at which half of typical words stay; what cannot be found is said, and left out."""
    from wordveil.cli.common import build_mechanism
    from wordveil.errors import ParameterError
    from wordveil.pipeline.calibration import calibrate as find

    found = {}
    for mechanism in DEFAULTS:
        try:
            epsilon = find(embeddings, build_mechanism(mechanism, 1.0), sample=IMPORT_SAMPLE).epsilon
        except ParameterError as error:
            say(f"no default epsilon for {mechanism}, give --epsilon: {error.name} {error.requirement}")
        else:
            found[mechanism] = float(f"{epsilon:.3g}")
    return found


def _show_rows(rows: int, share: float | None) -> None:
    end = "" if share is None else f" ({share:.0%})"
    typer.echo(f"\r{rows:,} rows{end}", nl=False, err=True)


@app.command(cls=Command)
def info(
    vocabulary: VocabularyOption = None,
    verify: Annotated[bool, typer.Option("--verify", help="Recompute the checksum.")] = False,
) -> None:
    """Show what a vocabulary's header records."""
    embeddings = open_vocabulary(vocabulary)
    _print_facts(embeddings)
    if verify:
        embeddings.verify()
        typer.echo("checksum: verified")


def _print_facts(embeddings: Embeddings) -> None:
    header = embeddings.header
    facts = {
        "name": header.name,
        "source": header.source,
        "licence": header.licence or "not recorded",
        "words": f"{len(embeddings):,}, of which {len(embeddings.candidates):,} may be output",
        "dimensions": header.dimensions,
        "casing": header.casing,
        "normalisation": header.normalisation,
        "checksum": header.checksum,
        "default epsilon": ", ".join(f"{m} {header.default_epsilon[m]:g}" for m in header.default_epsilon) or "none",
    }
    for key, value in facts.items():
        typer.echo(f"{key + ':':17}{value}")


@app.command(cls=Command)
def neighbors(
    word: Annotated[str, typer.Argument(help="A public word of the vocabulary.")],
    vocabulary: VocabularyOption = None,
    count: Annotated[int, typer.Option("--count", "-k", help="How many.")] = 10,
) -> None:
    """List the nearest words that may be output, with Euclidean distances."""
    from wordveil.errors import ParameterError
    from wordveil.kernels.nearest import NearestWords

    if count < 1:
        raise ParameterError("--count", count, "must be at least 1.")
    embeddings = open_vocabulary(vocabulary)
    id_ = embeddings.id(word.lower() if embeddings.header.casing == "lower" else word)
    if id_ is None:
        raise ParameterError("word", word, "is not in this vocabulary.")
    wanted = min(count + 1, len(embeddings.candidates))
    ids, distances = NearestWords(embeddings.vectors, embeddings.candidates).top(embeddings.vectors[[id_]], wanted)
    listed = [(i, t) for i, t in zip(ids[0].tolist(), distances[0].tolist(), strict=True) if i != id_][:count]
    if not listed:
        say("no other word may be output")
    for i, t in listed:
        typer.echo(f"{t:9.4f}  {embeddings.words[i]}")
