"""`wordveil sanitize`: a file, a directory or standard input through the sanitizer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from wordveil.names import FORMATS

if TYPE_CHECKING:
    from wordveil.runs import RunReport

__all__ = ["sanitize"]


def sanitize(
    source: Annotated[str, typer.Argument(metavar="[IN]", help="File, directory, or - for standard input.")] = "-",
    output: Annotated[str, typer.Option("--output", "-o", help="File or directory; - for standard output.")] = "-",
    mechanism: MechanismOption = DEFAULT_MECHANISM,
    epsilon: EpsilonOption = None,
    calibration: CalibrationOption = None,
    certificate: CertificateOption = None,
    decoder: DecoderOption = None,
    allow_refuted: AllowRefutedOption = False,
    settings: ParameterOption = None,
    vocabulary: VocabularyOption = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", "-c", help="Column with text; a.b for nested.")
    ] = None,
    keep: Annotated[list[str] | None, typer.Option("--keep", help="Copy only these other columns.")] = None,
    drop_others: Annotated[bool, typer.Option("--drop-others", help="Copy no other column.")] = False,
    format: Annotated[str | None, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")] = None,
    whole_file: Annotated[
        bool, typer.Option("--whole-file", help="A text file is one document, not one a line.")
    ] = False,
    unknown: Annotated[str, typer.Option("--unknown", help="Unknown words: random, drop or mask.")] = "random",
    per: Annotated[str, typer.Option("--per", help="Draw per token, or once per word of a document.")] = "token",
    casing: Annotated[str, typer.Option("--casing", help="sentence, vocabulary or shape.")] = "sentence",
    numbers: Annotated[str, typer.Option("--numbers", help="Tokens with digits: unknown or vocabulary.")] = "unknown",
    markup: Annotated[str, typer.Option("--markup", help="none, or html to keep plain tags.")] = "none",
    public_words: Annotated[
        Path | None, typer.Option("--public-words", help="File of words that pass verbatim.")
    ] = None,
    exclude_outputs: Annotated[
        Path | None, typer.Option("--exclude-outputs", help="File of words never output.")
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", help="Default: one per processor.")] = None,
    block_tokens: Annotated[int, typer.Option("--block-tokens", help="Tokens held at once, about.")] = 4_000_000,
    line_buffered: Annotated[bool, typer.Option("--line-buffered", help="Write every line at once.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    report: Annotated[Path | None, typer.Option("--report", help="Write a report, .json or .html.")] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check the vocabulary's checksum first.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary on standard error.")] = False,
) -> None:
    """Sanitize IN and write it in its own format.

    Plain text is one document a line; .jsonl, .json, .csv, .tsv and .parquet need --column. Files may end in .gz or
    .zst. The guarantee and what is disclosed whatever the noise are printed on standard error.
    """
    from wordveil.documents import DocumentSettings, FormatDetails
    from wordveil.release import TextOptions
    from wordveil.reporting.run_report import check_report_path, write_report
    from wordveil.runs import run_source, sanitize_documents
    from wordveil.sanitizer import Sanitizer

    options = TextOptions(
        unknown=unknown,  # type: ignore[arg-type]
        per=per,  # type: ignore[arg-type]
        casing=casing,  # type: ignore[arg-type]
        numbers=numbers,  # type: ignore[arg-type]
        markup=markup,  # type: ignore[arg-type]
        public_words=read_word_list(public_words),
    )
    documents = DocumentSettings(
        format=format,
        columns=tuple(column or ()),
        keep=tuple(keep) if keep else None,
        drop_others=drop_others,
        details=FormatDetails(whole_file=whole_file),
        block_characters=6 * block_tokens,
        line_buffered=line_buffered,
    )
    if report is not None:
        check_report_path(report)
    embeddings = open_vocabulary(vocabulary)
    if report is not None or verify:
        embeddings.verify()
    if exclude_outputs is not None:
        embeddings = embeddings.without_outputs(read_word_list(exclude_outputs))
    chosen = build_mechanism(
        mechanism,
        default_epsilon(embeddings, mechanism, epsilon),
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
        certificate=certificate_for(chosen, embeddings, certificate),
    )
    with _progress(quiet) as progress:
        result = sanitize_documents(source, output, sanitizer, settings=documents, resume=resume, progress=progress)
    if report is not None:
        write_report(result, report)
    if not quiet:
        _print_summary(result)


class _progress:  # noqa: N801 - used as a context function
    """A progress bar with tokens per second and time left, on a terminal only."""

    def __init__(self, quiet: bool) -> None:
        self._shown = sys.stderr.isatty() and not quiet

    def __enter__(self) -> Callable[[int, int | None, int, int], None] | None:
        if not self._shown:
            return None
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[documents]:,} documents, {task.fields[rate]:,.0f} tokens/s"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=None, documents=0, rate=0.0)
        self._bar.start()
        return self._update

    def _update(self, done: int, total: int | None, documents: int, tokens: int) -> None:
        elapsed = self._bar.tasks[0].elapsed or 1.0
        self._bar.update(self._task, completed=done, total=total, documents=documents, rate=tokens / elapsed)

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._bar.stop()


def _print_summary(report: RunReport) -> None:
    say(f"{report.documents:,} documents, {report.tokens:,} tokens, {report.tokens_per_second:,.0f} tokens/s")
    say(f"guarantee: {report.guarantee.sentence()}")
    for line in report.disclosed:
        say(f"disclosed: {line}")
