"""`wordveil rephrase`: each sentence of a file becomes a public sentence near it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

import wordveil as wv
from wordveil.cli.common import PreparedMechanism
from wordveil.cli.options import OutputOption, SourceArgument, ThreadsOption
from wordveil.cli.progress import document_bar
from wordveil.cli.running import ReadingOptions, Running
from wordveil.cli.sanitize import Care, Job
from wordveil.cli.summary import Summary, copied, missed, promised
from wordveil.errors import ParameterError, counted
from wordveil.promises.rounding import round_up

if TYPE_CHECKING:
    from wordveil.runs.sanitize import RunReport

LOSES = (
    "lost: names, numbers, negation, all but the gist, and often that too. "
    "For search, triage, labelling and statistics; never for care"
)

StockOption = Annotated[
    Path | None, Option("--stock", metavar="DIR", help="What `wordveil sentences build` wrote; default: a general one.")
]
EncoderOption = Annotated[
    str, Option("--encoder", help="static, minilm, or a model of sentence-transformers by name or folder.")
]


@dataclass(frozen=True, kw_only=True)
class Response:
    """What a sentence becomes."""

    epsilon: Annotated[float, Option("--epsilon", "-e", help="Privacy loss: nats a sentence.")] = 6.0
    stock: StockOption = None
    prototypes: Annotated[
        int | None, Option(help="Size of the stock. Default: the best for epsilon on public text.")
    ] = None
    encoder: EncoderOption = "static"
    numbers: Annotated[str, Option(help="made-up, or metric to keep magnitude by --grid.")] = "made-up"
    grid: Annotated[
        list[str] | None,
        Option(
            metavar="KIND=LOW:HIGH:STEP@EPSILON",
            help="With --numbers metric: release a number of each sentence on this public grid, at a further loss.",
        ),
    ] = None

    def grids(self) -> tuple[wv.NumberGrid, ...]:
        if self.numbers not in ("made-up", "metric"):
            raise ParameterError("--numbers", self.numbers, "must be made-up or metric.")
        if (self.numbers == "metric") != bool(self.grid):
            sentence = "--numbers metric requires at least one --grid, and --grid requires --numbers metric."
            raise ParameterError("numbers", self.numbers, sentence=sentence)
        return tuple(map(wv.NumberGrid.parse, self.grid or ()))


def rephrase(
    source: SourceArgument = "-",
    output: OutputOption = "-",
    threads: ThreadsOption = None,
    *,
    response: Response,
    reading: ReadingOptions,
    running: Running,
    care: Care,
) -> int:
    """Replace every sentence of IN by a public sentence near it, and write it in its own format.

    The promise is per sentence; what is lost is most of what a sentence says (see docs/rephrase.md). Not for care.
    """
    running.check_report(source, output, response.stock)
    settings, stock = reading.settings(), wv.load_stock(response.stock)
    if care.verify or running.report is not None:
        stock.embeddings.verify()
    rephraser = wv.Rephraser(
        stock,
        epsilon=response.epsilon,
        prototypes=response.prototypes,
        encoder=response.encoder,
        grids=response.grids(),
        source=wv.run_source(output, resume=running.resume),
        threads=threads,
    )
    prepared = PreparedMechanism(mechanism=rephraser.mechanism, certificate=None, notes=(LOSES,))
    job = Job(source=source, running=running, care=care, sanitizer=rephraser.sanitizer, prepared=prepared)
    job.check_strength(output)
    with document_bar(source, output, quiet=running.quiet) as progress:
        options = job.options(settings)
        result = wv.rephrase_documents(source, output, rephraser, settings=settings, progress=progress, **options)
    return job.end(result, settings, allowed=reading.allow_bad_files, summary=partial(_summary, rephraser))


def _summary(rephraser: wv.Rephraser, report: RunReport) -> Summary:
    from wordveil.runs.warnings import release_warnings

    promise: Any = report.guarantee
    chosen = rephraser.options.choices()
    released = [f"{counted(report.documents, 'document')}, {counted(report.tokens, 'sentence')}", LOSES]
    released += missed(vars(report))
    said = [f"in words: {rephraser.in_words.sentence}"]
    if report.documents:
        mean = report.tokens / report.documents
        total = round_up(mean * promise.epsilon)
        said.append(
            f"a whole text: the losses of its sentences add up, {total} nats for a text of {mean:.3g}, the mean here"
        )
    warnings = release_warnings(promise, rephraser.in_words)
    stock = f"stock: {rephraser.embeddings.header.name}, {chosen['prototypes']} sentences, encoder {chosen['encoder']}"
    return Summary(
        released="; ".join(released),
        guarantee="; ".join([promise.sentence(), *said]),
        unchanged=["the number of sentences of each text", *copied(vars(report))],
        warnings=warnings,
        lines=[*released, stock, *promised(report, warnings, said)],
        destination=report.destination,
    )
