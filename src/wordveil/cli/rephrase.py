"""`wordveil rephrase`: each sentence of a file becomes a public sentence near it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from wordveil.cli.common import counted, say
from wordveil.cli.file_options import (
    ColumnOption,
    DestinationOption,
    DropOthersOption,
    FormatOption,
    QuietOption,
    ResumeOption,
    SourceArgument,
    ThreadsOption,
)
from wordveil.cli.options import option
from wordveil.cli.progress import document_bar

if TYPE_CHECKING:
    from wordveil.pipeline.runs import RunReport
    from wordveil.sentences.rephrasing import Rephraser

__all__ = ["EncoderOption", "StockOption", "rephrase"]

LOSES = (
    "loses: all but the gist, and often that: names, numbers, negation. For search, triage, labelling and statistics; "
    "never for care"
)

StockOption = Annotated[
    Path | None, option("--stock", metavar="DIR", help="What `wordveil sentences build` wrote; default: a general one.")
]
EncoderOption = Annotated[
    str, option("--encoder", help="static, minilm, or a model of sentence-transformers by name or folder.")
]


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """How a public sentence is drawn."""

    epsilon: Annotated[float, option("--epsilon", "-e", help="Privacy loss: nats a sentence.")] = 6.0
    stock: StockOption = None
    prototypes: Annotated[
        int | None, option("--prototypes", help="Size of the stock. Default: the best for epsilon on public text.")
    ] = None
    crowd: Annotated[
        int,
        option("--crowd", help="Prototypes in a list: which of them it was, only numbers that are kept can tell."),
    ] = 1
    encoder: EncoderOption = "static"
    numbers: Annotated[str, option("--numbers", help="made-up, or metric to keep magnitude by --grid.")] = "made-up"
    grid: Annotated[
        list[str] | None,
        option(
            "--grid",
            metavar="KIND=LOW:HIGH:STEP@EPSILON",
            help="With --numbers metric: release a number of each sentence on this public grid, at a further loss.",
        ),
    ] = None

    def rephraser(self, output: str, *, resume: bool, threads: int | None) -> Rephraser:
        """Return what draws the sentences.

        Raises:
            ParameterError: If --numbers is neither choice, or does not fit --grid.
        """
        from wordveil.errors import ParameterError
        from wordveil.files.run_key import run_source
        from wordveil.promises.number_grids import NumberGrid
        from wordveil.sentences.rephrasing import Rephraser
        from wordveil.sentences.stock import load_stock

        if self.numbers not in ("made-up", "metric"):
            raise ParameterError("--numbers", self.numbers, "must be made-up or metric.")
        if (self.numbers == "metric") != bool(self.grid):
            raise ParameterError("--numbers", self.numbers, "does not fit --grid: metric needs one, and only it.")
        return Rephraser(
            load_stock(self.stock),
            epsilon=self.epsilon,
            prototypes=self.prototypes,
            crowd=self.crowd,
            encoder=self.encoder,
            grids=tuple(map(NumberGrid.parse, self.grid or ())),
            source=run_source(output, resume=resume),
            threads=threads,
        )


def rephrase(
    source: SourceArgument = "-",
    output: DestinationOption = "-",
    *,
    drawing: Drawing,
    column: ColumnOption = None,
    drop_others: DropOthersOption = False,
    format: FormatOption = None,
    whole_file: Annotated[bool, option("--whole-file", help="A text file is one document, not one a line.")] = False,
    threads: ThreadsOption = None,
    resume: ResumeOption = False,
    report: Annotated[Path | None, option("--report", help="Write a report, .json or .html.")] = None,
    quiet: QuietOption = False,
) -> None:
    """Replace every sentence of IN by a public sentence near it, and write it in its own format.

    The promise is per sentence; what is lost is most of what a sentence says (see docs/rephrase.md). Not for care.
    """
    from wordveil.documents import DocumentSettings, FormatDetails
    from wordveil.pipeline.evidence import Evidence
    from wordveil.pipeline.run import check_report_path
    from wordveil.pipeline.run_report import write_report
    from wordveil.sentences.rephrasing import rephrase_documents

    if report is not None:
        check_report_path(report, others=(source, output))
    settings = DocumentSettings(
        format=format,
        columns=tuple(column or ()),
        drop_others=drop_others,
        details=FormatDetails(whole_file=whole_file),
    )
    rephraser = drawing.rephraser(output, resume=resume, threads=threads)

    def deliver(result: RunReport) -> None:
        if report is not None:
            write_report(result, report, Evidence.of_run(rephraser, result, (LOSES,)))

    with document_bar(quiet=quiet) as progress:
        result = rephrase_documents(
            source,
            output,
            rephraser,
            settings=settings,
            resume=resume,
            progress=progress,
            notice=None if quiet else say,
            deliver=deliver,
        )
    if not quiet:
        _print_summary(result, rephraser)


def _print_summary(report: RunReport, rephraser: Rephraser) -> None:
    from wordveil.promises.guarantees import round_up

    promise: Any = report.guarantee
    chosen = rephraser.options.choices()
    say(f"{counted(report.documents, 'document')}, {counted(report.tokens, 'sentence')}")
    say(f"stock: {rephraser.embeddings.header.name}, crowds of {chosen['crowd']}, encoder {chosen['encoder']}")
    say(f"guarantee: {promise.sentence()}")
    say(f"in words: {rephraser.in_words.sentence}")
    if report.documents:
        mean = report.tokens / report.documents
        total = round_up(mean * promise.epsilon)
        say(f"a whole text: the losses of its sentences add up, {total} nats for one of {mean:.3g}, the mean here")
    say(LOSES)
    for line in promise.assumptions:
        say(f"assumes: {line}")
    for line in report.disclosed:
        say(f"disclosed: {line}")
