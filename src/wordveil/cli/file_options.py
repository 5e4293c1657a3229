"""Options of the commands that read a file and write one, in the order of their help."""

from __future__ import annotations

from typing import Annotated

import typer

from wordveil.names import FORMATS

__all__ = [
    "ColumnOption",
    "DestinationOption",
    "DropOthersOption",
    "FormatOption",
    "QuietOption",
    "ResumeOption",
    "SourceArgument",
    "ThreadsOption",
]

SourceArgument = Annotated[str, typer.Argument(metavar="[IN]", help="File, directory, or - for standard input.")]
DestinationOption = Annotated[str, typer.Option("--output", "-o", help="File or directory; - for standard output.")]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option("--column", "-c", metavar="NAME", help="Column with text, a.b for nested; repeat for several."),
]
DropOthersOption = Annotated[bool, typer.Option("--drop-others", help="Copy no other column.")]
FormatOption = Annotated[str | None, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")]
ThreadsOption = Annotated[int | None, typer.Option("--threads", help="Number of threads. Default: one per processor.")]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Continue an interrupted run; needs the same input and choices.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No summary on standard error.")]
