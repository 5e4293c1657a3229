"""`wordveil sanitize`: a file, a directory or standard input through the sanitizer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordveil.cli.common import (
    DEFAULT_MECHANISM,
    AllowRefutedOption,
    CalibrationOption,
    CertificateOption,
    DecoderOption,
    EpsilonOption,
    MechanismOption,
    ParameterOption,
    VocabularyOption,
    build_mechanism,
    certificate_for,
    default_epsilon,
    open_vocabulary,
    read_word_list,
    say,
)
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
from wordveil.cli.progress import document_bar

if TYPE_CHECKING:
    from wordveil.embeddings.table import Embeddings
    from wordveil.release import TextOptions
    from wordveil.runs import RunReport

__all__ = ["sanitize"]

CHARACTERS_PER_TOKEN = 6  # of English text with its spaces: turns --block-tokens into characters read at once

# How documents are read.
KeepOption = Annotated[list[str] | None, typer.Option("--keep", help="Copy only these other columns.")]
DelimiterOption = Annotated[str | None, typer.Option("--delimiter", help="CSV, TSV: one character; found out.")]
QuotingOption = Annotated[str, typer.Option("--quoting", help="CSV, TSV: auto, none, minimal or all.")]
NoHeaderOption = Annotated[bool, typer.Option("--no-header", help="CSV, TSV: no names; columns are called 1, 2, ...")]
WholeFileOption = Annotated[bool, typer.Option("--whole-file", help="A text file is one document, not one a line.")]

# What happens around the mechanism.
UnknownOption = Annotated[str, typer.Option("--unknown", help="Unknown words: random, drop or mask.")]
PerOption = Annotated[str, typer.Option("--per", help="Draw per token, or once per word of a document.")]
CasingOption = Annotated[str, typer.Option("--casing", help="sentence, vocabulary or shape.")]
NumbersOption = Annotated[str, typer.Option("--numbers", help="Tokens with digits: unknown or vocabulary.")]
MarkupOption = Annotated[str, typer.Option("--markup", help="none, or html to keep plain tags.")]
PublicWordsOption = Annotated[
    Path | None, typer.Option("--public-words", help="File of words that stay, written as listed.")
]
ExcludeOutputsOption = Annotated[Path | None, typer.Option("--exclude-outputs", help="File of words never output.")]

# How the run goes.
WorkersOption = Annotated[int, typer.Option("--workers", help="Processes that read and write the text.")]
BlockTokensOption = Annotated[int, typer.Option("--block-tokens", help="Tokens held at once, about.")]
DeviceOption = Annotated[str, typer.Option("--device", help="cpu, or cuda for a graphics card (extra: gpu).")]
LineBufferedOption = Annotated[bool, typer.Option("--line-buffered", help="Write every line at once.")]
ReportOption = Annotated[Path | None, typer.Option("--report", help="Write a report, .json or .html.")]
VerifyOption = Annotated[bool, typer.Option("--verify", help="Check the vocabulary's checksum first.")]


def sanitize(
    source: SourceArgument = "-",
    output: DestinationOption = "-",
    mechanism: MechanismOption = DEFAULT_MECHANISM,
    epsilon: EpsilonOption = None,
    calibration: CalibrationOption = None,
    certificate: CertificateOption = None,
    decoder: DecoderOption = None,
    allow_refuted: AllowRefutedOption = False,
    settings: ParameterOption = None,
    vocabulary: VocabularyOption = None,
    column: ColumnOption = None,
    keep: KeepOption = None,
    drop_others: DropOthersOption = False,
    format: FormatOption = None,
    delimiter: DelimiterOption = None,
    quoting: QuotingOption = "auto",
    no_header: NoHeaderOption = False,
    whole_file: WholeFileOption = False,
    unknown: UnknownOption = "random",
    per: PerOption = "token",
    casing: CasingOption = "sentence",
    numbers: NumbersOption = "unknown",
    markup: MarkupOption = "none",
    public_words: PublicWordsOption = None,
    exclude_outputs: ExcludeOutputsOption = None,
    threads: ThreadsOption = None,
    workers: WorkersOption = 1,
    block_tokens: BlockTokensOption = 4_000_000,
    device: DeviceOption = "cpu",
    line_buffered: LineBufferedOption = False,
    resume: ResumeOption = False,
    report: ReportOption = None,
    verify: VerifyOption = False,
    quiet: QuietOption = False,
) -> None:
    """Sanitize IN and write it in its own format.

    Plain text is one document a line; .jsonl, .json, .csv, .tsv and .parquet need --column. Files may end in .gz or
    .zst. The guarantee and what is disclosed whatever the noise are printed on standard error.
    """
    from wordveil.documents import DocumentSettings, FormatDetails
    from wordveil.errors import ParameterError
    from wordveil.reporting.run_report import check_report_path, write_report
    from wordveil.runs import run_source, sanitize_documents
    from wordveil.sanitizer import Sanitizer

    if block_tokens < 1:
        raise ParameterError("--block-tokens", block_tokens, "must be at least 1.")
    if workers < 1:
        raise ParameterError("--workers", workers, "must be at least 1.")
    options = _text_options(public_words, unknown=unknown, per=per, casing=casing, numbers=numbers, markup=markup)
    documents = DocumentSettings(
        format=format,
        columns=tuple(column or ()),
        keep=tuple(keep) if keep else None,
        drop_others=drop_others,
        details=FormatDetails(whole_file=whole_file, delimiter=delimiter, quoting=quoting, header=not no_header),
        block_characters=CHARACTERS_PER_TOKEN * block_tokens,
        line_buffered=line_buffered,
    )
    if report is not None:
        check_report_path(report)
    embeddings = _vocabulary(vocabulary, exclude_outputs, verify=verify or report is not None)
    chosen = build_mechanism(
        mechanism,
        default_epsilon(embeddings, mechanism, epsilon, calibration, quiet=quiet),
        settings or (),
        calibration=calibration,
        decoder=decoder,
        allow_refuted=allow_refuted,
    )
    sanitizer = Sanitizer(
        embeddings,
        chosen,
        options=options,
        source=run_source(output, resume=resume),
        threads=threads,
        device=device,
        certificate=certificate_for(chosen, embeddings, certificate, quiet=quiet),
    )
    with document_bar(quiet=quiet) as progress:
        result = sanitize_documents(
            source, output, sanitizer, settings=documents, resume=resume, workers=workers, progress=progress
        )
    if report is not None:
        write_report(result, report)
    if not quiet:
        _print_summary(result)


def _text_options(public_words: Path | None, **choices: Any) -> TextOptions:
    """Return the choices around the mechanism; `TextOptions` refuses a word that is none of them."""
    from wordveil.release import TextOptions

    return TextOptions(public_words=read_word_list(public_words), **choices)


def _vocabulary(path: Path | None, exclude_outputs: Path | None, *, verify: bool) -> Embeddings:
    """Return the vocabulary, its checksum checked where asked for, without the words that must not be output."""
    embeddings = open_vocabulary(path)
    if verify:
        embeddings.verify()
    return embeddings if exclude_outputs is None else embeddings.without_outputs(read_word_list(exclude_outputs))


def _print_summary(report: RunReport) -> None:
    say(f"{report.documents:,} documents, {report.tokens:,} tokens, {report.tokens_per_second:,.0f} tokens/s")
    say(f"guarantee: {report.guarantee.sentence()}")
    for line in report.disclosed:
        say(f"disclosed: {line}")
