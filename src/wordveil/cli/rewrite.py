"""`wordveil rewrite`: private text through a trained rewriter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordveil.cli.common import say
from wordveil.cli.file_options import (
    ColumnOption,
    DestinationOption,
    DropOthersOption,
    FormatOption,
    QuietOption,
    SourceArgument,
)

__all__ = ["rewrite"]


def rewrite(
    source: SourceArgument = "-",
    model: Annotated[Path, typer.Option("--model", metavar="DIR", help="What `wordveil train rewrite` wrote.")] = ...,  # type: ignore[assignment]
    output: DestinationOption = "-",
    column: ColumnOption = None,
    drop_others: DropOthersOption = False,
    format: FormatOption = None,
    quiet: QuietOption = False,
) -> None:
    """Rewrite IN with a trained model and write it in its own format.

    Every run draws afresh: rewriting the same text twice releases it twice, and the promises add up.
    """
    from wordveil.documents import DocumentSettings
    from wordveil.neural.rewriting import TextRewriter

    settings = DocumentSettings(format=format, columns=tuple(column or ()), drop_others=drop_others)
    rewriter = TextRewriter.load(model)
    summary = rewriter.rewrite_documents(source, output, settings=settings)
    if quiet:
        return
    say(f"{summary.documents:,} documents")
    say(f"guarantee: {rewriter.guarantee.sentence()}")
    for line in rewriter.disclosed:
        say(f"disclosed: {line}")
    if summary.copied_columns:
        say("disclosed: these columns, copied unchanged: " + ", ".join(summary.copied_columns))
