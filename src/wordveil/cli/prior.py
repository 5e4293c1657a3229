"""`wordveil prior`: a model of public text for `wordveil denoise`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from wordveil.cli.app import Command
from wordveil.cli.common import VocabularyOption, counted, open_vocabulary, say
from wordveil.cli.file_options import ColumnOption, QuietOption, ResumeOption
from wordveil.errors import ParameterError

__all__ = ["app"]

MODELS = ("trigram", "minilm")

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def group() -> None:
    """Models of public text."""


@app.command("build", cls=Command)
def build(
    sources: Annotated[list[Path], typer.Argument(metavar="PUBLIC...", help="Public texts, in any document format.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write.")],
    column: ColumnOption = None,
    vocabulary: VocabularyOption = None,
    pairs: Annotated[int, typer.Option("--pairs", help="Pairs of words kept at most.")] = 400_000,
    triples: Annotated[int, typer.Option("--triples", help="Triples of words kept at most.")] = 600_000,
    model: Annotated[
        str, typer.Option("--model", help="trigram, or minilm: a head for masked words, to stand beside a trigram.")
    ] = "trigram",
    texts: Annotated[int, typer.Option("--texts", min=1, help="Texts that MiniLM reads at most.")] = 20_000,
    beside: Annotated[
        Path | None, typer.Option("--beside", metavar="FILE", help="The trigram beside a head; else the packaged one.")
    ] = None,
    resume: ResumeOption = False,
    quiet: QuietOption = False,
) -> None:
    """Count PUBLIC text, or train on it, and write the model. Never count private text.

    The same texts give the same bytes of a trigram: three for a triple. A head takes minutes; --resume continues.
    """
    if model not in MODELS:
        raise ParameterError("model", model, f"must be one of {', '.join(MODELS)}.")
    from wordveil.cli.progress import count_bar
    from wordveil.denoising.counting import build_prior
    from wordveil.denoising.minilm_head import build_head
    from wordveil.denoising.models import open_priors

    embeddings, given = open_vocabulary(vocabulary), _texts(sources, column or ())
    with count_bar("texts") as progress:
        facts: dict[str, Any] = {
            "source": ", ".join(each.name for each in sources),
            "progress": None if quiet else progress,
        }
        if model == "trigram":
            made = build_prior(given, embeddings, pairs=pairs, triples=triples, **facts)
            made.save(output)
            sizes, checksum = f"{counted(len(made.right), 'pair')}, {counted(len(made.third), 'triple')}", made.checksum
        else:
            prior, _ = open_priors([str(beside)] if beside else [], embeddings)
            head = build_head(list(given), embeddings, prior, output=output, most=texts, resume=resume, **facts)
            sizes, checksum = counted(head.facts["examples"], "masked word"), head.checksum
    if not quiet:
        say(f"{output}: {sizes}, {counted(output.stat().st_size, 'byte')}, checksum {checksum}")


def _texts(sources: Sequence[Path], columns: Sequence[str]) -> Iterator[str]:
    from wordveil.documents import open_documents

    for source in sources:
        with open_documents(source, columns=columns, drop_others=True) as reader:
            for record in reader:
                yield from (text for text in record.texts if text is not None)
