"""`wordveil rewrite`: private text through a trained rewriter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from wordveil.api import (
    AgainOption,
    AllowBadFilesOption,
    ColumnOption,
    DestinationOption,
    DropOthersOption,
    FormatOption,
    KeepOption,
    KeepOthersOption,
    QuietOption,
    ResumeOption,
    SourceArgument,
    counted,
    document_bar,
    end_of_run,
    printable,
    say,
    say_promise,
)

if TYPE_CHECKING:
    from wordveil_lab.neural.rewriting_runs import RewriteReport

__all__ = ["rewrite"]

ModelOption = Annotated[Path, Option("--model", metavar="DIR", help="What `wordveil train rewrite` wrote.")]
PassesOption = Annotated[
    Path | None, Option("--passes", metavar="FILE", help="Count the passes of each text over all runs here.")
]
DeviceOption = Annotated[str, Option("--device", help="cpu, cuda or cuda:N.")]


def rewrite(
    source: SourceArgument = "-",
    model: ModelOption = ...,  # type: ignore[assignment]
    output: DestinationOption = "-",
    column: ColumnOption = None,
    keep: KeepOption = None,
    keep_others: KeepOthersOption = False,
    drop_others: DropOthersOption = False,
    format: FormatOption = None,
    passes: PassesOption = None,
    device: DeviceOption = "cpu",
    resume: ResumeOption = False,
    again: AgainOption = False,
    allow_bad_files: AllowBadFilesOption = False,
    quiet: QuietOption = False,
) -> int:
    """Rewrite IN with a trained model and write it in its own format.

    Every run draws afresh: rewriting the same text twice releases it twice, and the promises add up.
    """
    from wordveil.api import DocumentSettings, run_source, silent
    from wordveil_lab.neural.pass_records import PassRecord
    from wordveil_lab.neural.rewriting import TextRewriter
    from wordveil_lab.neural.rewriting_runs import BLOCK_CHARACTERS, rewrite_documents

    settings = DocumentSettings(
        format=format,
        columns=tuple(column or ()),
        keep=tuple(keep) if keep else None,
        keep_others=keep_others,
        drop_others=drop_others,
        block_characters=BLOCK_CHARACTERS,
    )
    rewriter = TextRewriter.load(model, source=run_source(output, resume=resume), device=device)
    record = None if passes is None else PassRecord(passes)
    with document_bar(source, output, quiet=quiet) as progress:
        report = rewrite_documents(
            source,
            output,
            rewriter,
            settings=settings,
            passes=record,
            resume=resume,
            again=again,
            progress=progress,
            notice=silent if quiet else say,
        )
    if not quiet:
        _print_summary(report)
    return end_of_run(len(report.summary.bad_files), allowed=allow_bad_files)


def _print_summary(report: RewriteReport) -> None:
    say(f"{counted(report.summary.documents, 'document')}, {counted(report.tokens, 'token')}")
    if members := report.summary.gaps.get("members"):
        say(f"left out: {counted(members, 'member')} that the first record does not have")
    passes = []
    if report.passes > 1 and report.composed is not None:
        together = report.composed.sentence()
        passes.append(f"passes: some text went through the noise {report.passes} times; together: {together}")
    say_promise(report.guarantee, report.disclosed, *passes)
    if report.summary.copied_columns:
        say("disclosed: these columns, copied unchanged: " + ", ".join(map(printable, report.summary.copied_columns)))
