"""`wordveil prior`: a model of public text for `wordveil denoise`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

import wordveil as wv
from wordveil.cli.app import Command
from wordveil.cli.common import say
from wordveil.cli.options import ColumnOption, QuietOption, VocabularyOption
from wordveil.cli.progress import count_bar
from wordveil.errors import counted

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def group() -> None:
    """Models of public text."""


@app.command("build", cls=Command)
def build(
    sources: Annotated[list[Path], Argument(metavar="PUBLIC...", help="Public texts, in any document format.")],
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Where to write.")],
    column: ColumnOption = None,
    vocabulary: VocabularyOption = None,
    pairs: Annotated[int, Option(help="Pairs of words kept at most.")] = 400_000,
    triples: Annotated[int, Option(help="Triples of words kept at most.")] = 600_000,
    quiet: QuietOption = False,
) -> None:
    """Count PUBLIC text and write the model. Never count private text. The same texts give the same bytes."""
    with count_bar("texts") as progress:
        prior = wv.build_prior(
            _texts(sources, column or ()),
            wv.load_embeddings(vocabulary),
            pairs=pairs,
            triples=triples,
            source=", ".join(each.name for each in sources),
            progress=None if quiet else progress,
        )
    prior.save(output)
    if not quiet:
        sizes = f"{counted(len(prior.right), 'pair')}, {counted(len(prior.third), 'triple')}"
        say(f"{output}: {sizes}, {counted(output.stat().st_size, 'byte')}, checksum {prior.checksum}")


def _texts(sources: Sequence[Path], columns: Sequence[str]) -> Iterator[str]:
    from wordveil.documents import DocumentSettings

    for source in sources:
        with DocumentSettings(columns=tuple(columns)).open_texts(str(source)) as reader:
            yield from reader.texts()
