"""Options of the commands that read a file and write one, in the order of their help."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from wordveil.names import FORMATS

SourceArgument = Annotated[str, Argument(metavar="[IN]", help="File, directory, or - for standard input.")]
DestinationOption = Annotated[str, Option("--output", "-o", help="File or directory; - for standard output.")]
ColumnOption = Annotated[
    list[str] | None,
    Option("--column", "-c", metavar="NAME", help="Column with text, a.b for nested; repeat for several."),
]
KeepOption = Annotated[
    list[str] | None, Option("--keep", metavar="NAME", help="Copy this other column and leave out the rest; repeat.")
]
KeepOthersOption = Annotated[bool, Option("--keep-others", help="Copy all other columns.")]
DropOthersOption = Annotated[bool, Option("--drop-others", help="Leave out all other columns.")]
FormatOption = Annotated[str | None, Option("--format", help=f"One of {', '.join(FORMATS)}.")]
ThreadsOption = Annotated[int | None, Option("--threads", help="Number of threads. Default: one per processor.")]
ResumeOption = Annotated[
    bool,
    Option(
        "--resume",
        help="Continue an interrupted run, and leave a complete output as it is; needs the same input and choices.",
    ),
]
AgainOption = Annotated[
    bool, Option("--again", help="Write over an output that is there: a second release; its loss adds to the first's.")
]
AllowBadFilesOption = Annotated[
    bool, Option("--allow-bad-files", help="Exit 0 though files of a directory could not be read and are left out.")
]
QuietOption = Annotated[bool, Option("--quiet", "-q", help="No summary on standard error.")]
YesOption = Annotated[bool, Option("--yes", help="Go on after a warning that stops the run, without a question.")]
DryRunOption = Annotated[
    bool,
    Option("--dry-run", help="Look at the files' beginnings, say what the run would do and take, and release nothing."),
]
PreviewOption = Annotated[
    int, Option("--preview", min=0, help="Show so many public sentences, before and after, and release nothing.")
]
