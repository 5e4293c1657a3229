"""`wordveil sanitize`: a file, a directory or standard input through the sanitizer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Option

from wordveil.cli.common import (
    PreparedMechanism,
    Wanted,
    counted,
    end_of_run,
    named_word_list,
    open_vocabulary,
    prepare,
    say,
)
from wordveil.cli.confirming import Owner
from wordveil.cli.file_options import (
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
    ThreadsOption,
    YesOption,
)
from wordveil.cli.progress import document_bar
from wordveil.cli.summary import ExplainOption, Summary, copied_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wordveil.denoising.denoiser import Style
    from wordveil.documents import DocumentSettings
    from wordveil.documents.base import Missing
    from wordveil.promises.certificates import Certificate
    from wordveil.promises.guarantees import Guarantee
    from wordveil.promises.release import TextOptions
    from wordveil.runs.sanitize import RunReport
    from wordveil.sanitizing.input_watch import InputWatch
    from wordveil.sanitizing.sanitizer import Sanitizer
    from wordveil.vocabulary.table import Embeddings

WORTH_A_RATE = 2.0  # seconds; the rate of a shorter run is that of its start
ExcludeOutputsOption = Annotated[
    str | None,
    Option(
        "--exclude-outputs",
        metavar="FILE",
        help="File of words never output, besides the slurs the embedded vocabulary leaves out; offensive: bar these "
        "from any vocabulary; none: bar nothing.",
    ),
]
EngineOption = Annotated[
    str | None,
    Option(
        "--engine",
        help="What may compute on the processor: numpy, avx2, avx512 or amx. Default: WORDVEIL_ENGINE, or the fastest.",
    ),
]
DenoiseOption = Annotated[
    str | None,
    Option(
        "--denoise",
        metavar="STYLE",
        help="Write what the released text may have said: fluent, faithful or balanced. Same promise.",
    ),
]
CHARACTERS_PER_TOKEN = 6  # of English text with its spaces: turns --block-tokens into characters read at once


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How documents are read."""

    column: ColumnOption = None
    keep: KeepOption = None
    keep_others: KeepOthersOption = False
    drop_others: DropOthersOption = False
    format: FormatOption = None
    delimiter: Annotated[
        str | None, Option("--delimiter", help="CSV, TSV: one character. Default: found in the header, or a comma.")
    ] = None
    quoting: Annotated[str, Option("--quoting", help="CSV, TSV: auto, none, minimal or all.")] = "auto"
    no_header: Annotated[
        bool, Option("--no-header", help="CSV, TSV: the first line is data; columns are called 1, 2, ...")
    ] = False
    csv_safe: Annotated[
        bool,
        Option("--csv-safe", help="CSV, TSV: put ' before a released text that a spreadsheet may take for a formula."),
    ] = False
    whole_file: Annotated[bool, Option("--whole-file", help="Read a text file as one document, not line by line.")] = (
        False
    )
    missing: Annotated[
        str,
        Option(
            "--missing",
            help="JSON records without the column, or with no text in it: refuse, keep (as null) or skip (leave out).",
        ),
    ] = "refuse"
    encoding: Annotated[
        str | None, Option("--encoding", help="Encoding of the input, such as windows-1252. Default: UTF-8.")
    ] = None

    def settings(self, block_tokens: int, *, line_buffered: bool) -> DocumentSettings:
        """Return what documents are opened with."""
        from wordveil.documents import DocumentSettings, FormatDetails
        from wordveil.errors import ParameterError

        if block_tokens < 1:
            raise ParameterError("--block-tokens", block_tokens, "must be at least 1.")
        return DocumentSettings(
            format=self.format,
            columns=tuple(self.column or ()),
            keep=tuple(self.keep) if self.keep else None,
            keep_others=self.keep_others,
            drop_others=self.drop_others,
            missing=cast("Missing", self.missing),
            encoding=self.encoding,
            details=FormatDetails(
                whole_file=self.whole_file,
                delimiter=self.delimiter,
                quoting=self.quoting,
                header=not self.no_header,
                csv_safe=self.csv_safe,
            ),
            block_characters=CHARACTERS_PER_TOKEN * block_tokens,
            line_buffered=line_buffered,
        )


@dataclass(frozen=True, kw_only=True)
class Around:
    """What happens around the mechanism."""

    unknown: Annotated[str, Option("--unknown", help="Unknown words: random, typed, drop or mask.")] = "typed"
    per: Annotated[str, Option("--per", help="token: draw for each; document: once for each distinct word.")] = "token"
    casing: Annotated[str, Option("--casing", help="sentence, vocabulary or shape.")] = "sentence"
    numbers: Annotated[str, Option("--numbers", help="Treat tokens with digits as: unknown, vocabulary or metric.")] = (
        "unknown"
    )
    grid: Annotated[
        list[str] | None,
        Option(
            "--grid",
            metavar="KIND=LOW:HIGH:STEP@EPSILON",
            help="With --numbers metric: keep the magnitude of number, year, money or date on this public grid; "
            "FACTOR:log for STEP makes it logarithmic; repeat.",
        ),
    ] = None
    markup: Annotated[str, Option("--markup", help="none, or html to keep plain tags.")] = "none"
    public_words: Annotated[
        list[str] | None,
        Option(
            "--public-words",
            metavar="FILE",
            help="File of words that stay, written as listed; function: the English function words; repeat.",
        ),
    ] = None
    exclude_outputs: ExcludeOutputsOption = None

    def text_options(self) -> TextOptions:
        """Return the choices; `TextOptions` refuses a word that is none of them."""
        from wordveil.promises.number_grids import NumberGrid
        from wordveil.promises.release import TextOptions
        from wordveil.text.function_words import FUNCTION_WORDS

        named = self.public_words or ()
        lists = (
            FUNCTION_WORDS if name == "function" else named_word_list("--public-words", name, ["function"])
            for name in named
        )
        choices: dict[str, Any] = {
            name: getattr(self, name) for name in ("unknown", "per", "casing", "numbers", "markup")
        }
        grids = tuple(map(NumberGrid.parse, self.grid or ()))
        return TextOptions(public_words=frozenset().union(*lists), grids=grids, **choices)


@dataclass(frozen=True, kw_only=True)
class Speed:
    """How this machine works."""

    threads: ThreadsOption = None
    block_tokens: Annotated[int, Option("--block-tokens", help="Tokens held in memory at once, roughly.")] = 4_000_000
    device: Annotated[str, Option("--device", help="cpu, or cuda for a graphics card (extra: gpu).")] = "cpu"
    engine: EngineOption = None
    line_buffered: Annotated[bool, Option("--line-buffered", help="Write every line when it is released.")] = False


@dataclass(frozen=True, kw_only=True)
class Running:
    """How the run goes."""

    resume: ResumeOption = False
    again: AgainOption = False
    allow_bad_files: AllowBadFilesOption = False
    report: Annotated[Path | None, Option("--report", help="Write a report, .json or .html.")] = None
    input_digest: Annotated[
        bool,
        Option(
            "--input-digest",
            help="Record the input's size and SHA-256 in the report. Anyone holding the report can then confirm "
            "a guess of the whole file.",
        ),
    ] = False
    verify: Annotated[bool, Option("--verify", help="Check the vocabulary, and lists beside it, first.")] = False
    quiet: QuietOption = False
    explain: ExplainOption = False
    yes: YesOption = False


def sanitize(
    source: SourceArgument = "-",
    output: DestinationOption = "-",
    denoise: DenoiseOption = None,
    *,
    wanted: Wanted,
    reading: ReadingOptions,
    around: Around,
    speed: Speed,
    running: Running,
) -> int:
    """Sanitize IN and write it in its own format.

    Plain text is one document a line; .jsonl, .json, .csv, .tsv and .parquet need --column, and one of --keep,
    --keep-others and --drop-others where there are other columns. Files may end in .gz or .zst. Standard error gets
    four lines: what was released, the promise, what passed unchanged, the strongest warning.
    """
    from wordveil.runs.sanitize import sanitize_documents

    settings = reading.settings(speed.block_tokens, line_buffered=speed.line_buffered)
    job = Job.prepared_for(source, output, wanted, around, running, speed)
    afterwards = None
    if denoise is not None:
        from wordveil.runs.denoise import BLOCK_CHARACTERS, denoised_texts

        settings = replace(settings, block_characters=min(settings.block_characters, BLOCK_CHARACTERS))
        afterwards = denoised_texts(job.sanitizer, cast("Style", denoise))
    with document_bar(source, output, quiet=running.quiet) as progress:
        result = sanitize_documents(
            source,
            output,
            job.sanitizer,
            settings=settings,
            resume=running.resume,
            again=running.again,
            progress=progress,
            notice=job.notice,
            deliver=lambda result: job.deliver(result, settings),
            afterwards=afterwards,
            watch=job.watch,
        )
    job.print_summary(result)
    return job.end(result, settings)


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run of `sanitize` that is about to start, or of another command that takes its options."""

    source: str
    running: Running
    sanitizer: Sanitizer
    prepared: PreparedMechanism

    @classmethod
    def prepared_for(
        cls, source: str, output: str, wanted: Wanted, around: Around, running: Running, speed: Speed
    ) -> Job:
        """Return the run that is asked for; choices that do not fit are refused before anything is read."""
        from wordveil.files.run_key import run_source
        from wordveil.sanitizing.sanitizer import Sanitizer

        options = around.text_options()
        if running.report is not None:
            from wordveil.runs.engine import check_report_path

            others = (source, output, *(around.public_words or ()), wanted.certificate, around.exclude_outputs)
            check_report_path(running.report, others=others)
        verify = running.verify or running.report is not None
        embeddings, barred = sanitizing_vocabulary(wanted.vocabulary, around.exclude_outputs, verify=verify)
        prepared = prepare(wanted, embeddings, quiet=running.quiet)
        sanitizer = Sanitizer(
            embeddings,
            prepared.mechanism,
            options=options,
            source=run_source(output, resume=running.resume),
            threads=speed.threads,
            device=speed.device,
            engine=speed.engine,
            certificate=prepared.certificate,
        )
        told = replace(prepared, notes=(*prepared.notes, *barred))
        job = cls(source=source, running=running, sanitizer=sanitizer, prepared=told)
        job.owner.check_strength(sanitizer, output, resume=running.resume)
        return job

    @property
    def owner(self) -> Owner:
        """Whoever decides where something is doubtful."""
        return Owner(source=self.source, yes=self.running.yes, quiet=self.running.quiet)

    @cached_property
    def watch(self) -> InputWatch:
        """What looks at texts before they are released."""
        return self.owner.watch(self.sanitizer)

    def notice(self, line: str) -> None:
        """Tell the owner of the input."""
        if not self.running.quiet:
            say(line)

    def deliver(self, result: RunReport, settings: DocumentSettings) -> None:
        """Write the report that was asked for."""
        if self.running.report is None:
            return
        from wordveil.runs.evidence import Evidence
        from wordveil.runs.report import write_report

        whole = result.with_inputs(self.source, settings) if self.running.input_digest else result
        write_report(whole, self.running.report, Evidence.of_run(self.sanitizer, whole, self.prepared.notes))

    def end(self, result: RunReport, settings: DocumentSettings) -> int:
        """Return the exit code; of an output that was complete before, write a report that is not there yet."""
        if self.running.report is not None and not self.running.report.exists():
            self.deliver(result, settings)
        return end_of_run(result.bad_files, allowed=self.running.allow_bad_files)

    def print_summary(self, result: RunReport) -> None:
        """Say what was done and what was promised."""
        if not self.running.quiet:
            _summary(result, self).say(explained=self.running.explain)


def sanitizing_vocabulary(
    path: Path | None, exclude: str | None, *, verify: bool
) -> tuple[Embeddings, tuple[str, ...]]:
    """Return the vocabulary, checked where asked for, without the words that must not be output, and what was barred.

    The embedded vocabulary leaves out the slurs and obscene words of its list unless `exclude` is "none".
    """
    from wordveil.vocabulary.packaged import never_output
    from wordveil.vocabulary.table import load_embeddings

    embedded = path is None and exclude != "none"
    embeddings = load_embeddings(None, every_output=not embedded) if path is None else open_vocabulary(path)
    if verify:
        embeddings.verify()
    notes = []
    listed = never_output()
    if exclude == "offensive" and not embedded:
        embeddings = embeddings.without_outputs(listed)
    if embedded or exclude == "offensive":
        notes.append(
            f"never output: the slurs and obscene words of wordveil's public list of {len(listed)} "
            "(--exclude-outputs none lets them through)"
        )
    if exclude not in (None, "none", "offensive"):
        own = named_word_list("--exclude-outputs", str(exclude), ["none", "offensive"])
        narrowed = embeddings.without_outputs(own)
        barred = len(embeddings.candidates) - len(narrowed.candidates)
        notes.append(
            f"never output: {barred:,} words of {exclude}; the other {len(own) - barred:,} never were"
            " (surrogates of typed tokens and public words may hold them)"
        )
        embeddings = narrowed
    return embeddings, tuple(notes)


def _largest_loss(guarantee: Guarantee, certificate: Certificate | None) -> str:
    """Return the largest loss between any two words, or "" where the guarantee already says it or there is none."""
    from wordveil.mechanisms.certificate_check import NOT_REPEATED
    from wordveil.mechanisms.selection import LARGEST_LOSS
    from wordveil.promises.rounding import round_up

    largest, cap = guarantee.largest_loss(), guarantee.largest_distance
    if largest is None:
        return ""
    if cap is not None:
        return f"{round_up(largest)} nats, a bound: no pair need reach it (distances count up to {round_up(cap)})"
    if certificate is not None and certificate.method == LARGEST_LOSS:
        repeated = not any(NOT_REPEATED in assumption for assumption in guarantee.assumptions)
        ground = "computed over all pairs" if repeated else f"by a certificate {NOT_REPEATED}"
        return f"{round_up(largest)} nats, {ground}"
    return ""


def _summary(report: RunReport, job: Job) -> Summary:
    from wordveil.runs.report import left_out, read_and_attacked
    from wordveil.runs.warnings import release_warnings

    words = job.sanitizer.in_words
    released = [f"{counted(report.documents, 'document')}, {counted(report.tokens, 'token')}"]
    if report.seconds >= WORTH_A_RATE:
        released[0] += f", {report.tokens_per_second:,.0f} tokens/s"
    if unknown := job.watch.in_words():
        released.append(unknown)
    if report.resumed_documents:
        released.append(f"{counted(report.resumed_documents, 'document')} taken over from the interrupted run")
    if missed := left_out(vars(report)):
        released.append(f"left out or replaced: {missed}")
    guarantee, bounds = f"{report.guarantee.sentence()}; in words: {words.sentence}", []
    if report.budget:
        bounds.append(f"of one person: {report.budget['sentence']}")
    warnings = release_warnings(report.guarantee, words)
    return Summary(
        released="; ".join([*released, *read_and_attacked(vars(report))[:2]]),
        guarantee="; ".join([guarantee, *bounds]),
        unchanged=_unchanged(report, job.sanitizer.options),
        warnings=warnings,
        lines=[*released, *job.prepared.notes, *_promised(report, job, bounds, warnings)],
        destination=report.destination,
    )


def _unchanged(report: RunReport, options: TextOptions) -> list[str]:
    """Return what passed as it was, in a few words each; the disclosures say the same in full."""
    public = f"{counted(report.exempt, 'token')} of {counted(len(options.public_words), 'public word')}"
    return [
        "punctuation, layout and the number of tokens",
        *["the kinds of numbers, dates and links"] * (options.unknown == "typed"),
        *["the casing of every token"] * (options.casing == "shape"),
        *["plain tags"] * (options.markup == "html"),
        *[public] * bool(options.public_words),
        *copied_columns(report.copied, tree=report.tree),
    ]


def _promised(report: RunReport, job: Job, bounds: Sequence[str], warnings: Sequence[str]) -> list[str]:
    """Return every line on what is promised, assumed and disclosed."""
    from wordveil.runs.report import read_and_attacked
    from wordveil.runs.warnings import shown

    largest = _largest_loss(report.guarantee, job.prepared.certificate)
    return [
        f"guarantee: {report.guarantee.sentence()}",
        *bounds,
        f"in words: {job.sanitizer.in_words.sentence}; `wordveil explain` says more",
        *[f"largest loss between any two words: {largest}"] * bool(largest),
        *shown(warnings),
        *(f"assumes: {line}" for line in report.guarantee.assumptions),
        *(f"disclosed: {line}" for line in report.disclosed),
        *read_and_attacked(vars(report)),
    ]
