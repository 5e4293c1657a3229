"""What the commands that release have in common: options of a run, its report, and the summary at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

from typer import Option

from wordveil.cli.common import end_of_run, say
from wordveil.cli.file_options import (
    AgainOption,
    ColumnOption,
    DropOthersOption,
    FormatOption,
    KeepOption,
    KeepOthersOption,
    QuietOption,
    ResumeOption,
)
from wordveil.cli.summary import ExplainOption, Summary

if TYPE_CHECKING:
    from wordveil.documents import DocumentSettings
    from wordveil.documents.base import Missing

R = TypeVar("R")

BLOCK_TOKENS = 4_000_000
CHARACTERS_PER_TOKEN = 6  # of English text with its spaces: turns --block-tokens into characters read at once


@dataclass(frozen=True, kw_only=True)
class OtherColumns:
    """What becomes of the columns that are not released."""

    keep: KeepOption = None
    keep_others: KeepOthersOption = False
    drop_others: DropOthersOption = False

    def choice(self) -> dict[str, Any]:
        return {**vars(self), "keep": tuple(self.keep) if self.keep else None}


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How documents are read."""

    column: ColumnOption = None
    others: OtherColumns
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

    def settings(self, block_tokens: int = BLOCK_TOKENS, *, line_buffered: bool = False) -> DocumentSettings:
        from wordveil.documents import DocumentSettings, FormatDetails
        from wordveil.errors import ParameterError

        if block_tokens < 1:
            raise ParameterError("--block-tokens", block_tokens, "must be at least 1.")
        return DocumentSettings(
            format=self.format,
            columns=tuple(self.column or ()),
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
            **self.others.choice(),
        )


@dataclass(frozen=True, kw_only=True)
class Running:
    """How the run goes, and what is said of it."""

    resume: ResumeOption = False
    again: AgainOption = False
    report: Annotated[
        Path | None, Option("--report", metavar="FILE", help="Write a report, .json or .html; of vectors, .json.")
    ] = None
    quiet: QuietOption = False
    explain: ExplainOption = False

    def check_report(self, *others: Any, endings: tuple[str, ...] = (".json", ".html")) -> None:
        """Refuse a report that could not be written, or that would replace one of the others."""
        from wordveil.runs.engine import check_report_path

        if self.report is not None:
            check_report_path(self.report, endings, others=others)

    def notice(self, line: str) -> None:
        if not self.quiet:
            say(line)

    def options(self, write: Callable[[Any, Path], None]) -> dict[str, Any]:
        """Return what the library's runs take of these options; `write` writes the report that is asked for."""
        report = self.report
        deliver = None if report is None else lambda result: write(result, report)
        return {"resume": self.resume, "again": self.again, "notice": self.notice, "deliver": deliver}

    def end(
        self,
        result: R,
        write: Callable[[R, Path], None],
        summary: Callable[[R], Summary],
        *,
        bad_files: int = 0,
        allowed: bool = False,
    ) -> int:
        """Say what was done, and return the exit code; of an output that was there, write a report that is not."""
        if not self.quiet:
            summary(result).say(explained=self.explain)
        if self.report is not None and not self.report.exists():
            write(result, self.report)
        return end_of_run(bad_files, allowed=allowed)
