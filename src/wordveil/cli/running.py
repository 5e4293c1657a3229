"""What the commands that release have in common: options of a run, its report, and the summary at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

from typer import Option

import wordveil as wv
from wordveil.cli.common import end_of_run, say
from wordveil.cli.options import ColumnOption, EngineOption, FormatOption, QuietOption, ResumeOption, ThreadsOption
from wordveil.cli.summary import Summary
from wordveil.errors import DataFormatError, ParameterError

if TYPE_CHECKING:
    from wordveil.documents import DocumentSettings
    from wordveil.documents.base import Missing
    from wordveil.runs.beforehand import Over, UserBudget
    from wordveil.runs.digests import FileDigest

R = TypeVar("R")

AllowBadFilesOption = Annotated[
    bool, Option("--allow-bad-files", help="Exit 0 though files of a directory could not be read and are left out.")
]

BLOCK_TOKENS = 4_000_000
CHARACTERS_PER_TOKEN = 6  # of English text with its spaces: turns --block-tokens into characters read at once


@dataclass(frozen=True, kw_only=True)
class OtherColumnOptions:
    """What becomes of the columns that are not released."""

    keep: Annotated[
        list[str] | None, Option(metavar="NAME", help="Copy this other column and leave out the rest; repeat.")
    ] = None
    keep_others: Annotated[bool, Option("--keep-others", help="Copy all other columns.")] = False
    drop_others: Annotated[bool, Option("--drop-others", help="Leave out all other columns.")] = False

    def choice(self) -> dict[str, Any]:
        return {**vars(self), "keep": tuple(self.keep) if self.keep else None}


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How documents are read."""

    column: ColumnOption = None
    others: OtherColumnOptions
    format: FormatOption = None
    delimiter: Annotated[
        str | None, Option(help="CSV, TSV: one character. Default: found in the header, or a comma.")
    ] = None
    quoting: Annotated[str, Option(help="CSV, TSV: auto, none, minimal or all.")] = "auto"
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
            help="JSON records without the column, or with no text in it: refuse, keep (as null) or skip (leave out)."
        ),
    ] = "refuse"
    encoding: Annotated[str | None, Option(help="Encoding of the input, such as windows-1252. Default: UTF-8.")] = None
    allow_bad_files: AllowBadFilesOption = False

    def settings(self, block_tokens: int = BLOCK_TOKENS, *, line_buffered: bool = False) -> DocumentSettings:
        from wordveil.documents import DocumentSettings, FormatDetails

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
class Speed:
    """How this machine works."""

    threads: ThreadsOption = None
    block_tokens: Annotated[int, Option(help="Tokens held in memory at once, roughly.")] = BLOCK_TOKENS
    device: Annotated[str, Option(help="cpu, or cuda for a graphics card (extra: gpu).")] = "cpu"
    engine: EngineOption = None
    line_buffered: Annotated[bool, Option("--line-buffered", help="Write every line when it is released.")] = False


@dataclass(frozen=True, kw_only=True)
class PerUser:
    """A bound for each person."""

    user_column: Annotated[
        str | None, Option(metavar="NAME", help="The column that names the person behind a document.")
    ] = None
    max_nats_per_user: Annotated[
        float | None, Option(help="The most that all documents of one person may lose in this release.")
    ] = None
    over_budget: Annotated[
        str | None,
        Option(
            help="For persons above it: stop the run (the default), drop all they wrote, or truncate (keep the first)."
        ),
    ] = None

    def budget(self) -> UserBudget | None:
        from wordveil.runs.beforehand import UserBudget

        if self.user_column is None and self.max_nats_per_user is None and self.over_budget is None:
            return None
        if self.user_column is None or self.max_nats_per_user is None:
            raise ParameterError("--user-column", self.user_column, "must come together with --max-nats-per-user.")
        over = cast("Over", self.over_budget or "stop")
        return UserBudget(user=self.user_column, max_nats=self.max_nats_per_user, over=over)


@dataclass(frozen=True, kw_only=True)
class Lasting:
    """A key that outlives the run, so that a document which did not change is released as it was."""

    key_file: Annotated[
        Path | None, Option(metavar="FILE", help="Your own key, 16 bytes of mode 0600, instead of a fresh one a run.")
    ] = None
    ids: Annotated[
        str | None, Option(metavar="NAME", help="With --key-file: the column whose value names each document for good.")
    ] = None

    def source(self, output: str, *, resume: bool) -> wv.RandomSource:
        if self.ids is not None and self.key_file is None:
            raise ParameterError("--ids", self.ids, "must come together with --key-file: a fresh key repeats nothing.")
        if self.key_file is not None and Path(output).exists() and Path(output).resolve() == self.key_file.resolve():
            raise ParameterError("destination", output, "is the key: name another file.")
        return wv.run_source(output, resume=resume, key_file=self.key_file)


@dataclass(frozen=True, kw_only=True)
class Running:
    """How the run goes, and what is said of it."""

    resume: ResumeOption = False
    again: Annotated[
        bool,
        Option("--again", help="Write over an output that is there. What is drawn anew adds its loss to the first's."),
    ] = False
    report: Annotated[
        Path | None, Option(metavar="FILE", help="Write a report, .json or .html; of vectors, .json.")
    ] = None
    quiet: QuietOption = False
    explain: Annotated[
        bool,
        Option("--explain", help="Say all that is assumed and disclosed, and every warning, instead of four lines."),
    ] = False

    def check_report(
        self, source: Any, output: str | Path, *read: Any, endings: tuple[str, ...] = (".json", ".html")
    ) -> None:
        """Refuse an output over what else is read, and a report over any of them, over no report, or that cannot be."""
        from wordveil.runs.engine import check_report_path

        if any(Path(output).exists() and other and Path(other).resolve() == Path(output).resolve() for other in read):
            raise ParameterError("destination", output, "is a file that the run reads. Name another.")
        if self.report is not None:
            check_report_path(self.report, endings, others=(source, output, *read))
            _replaced(self.report)

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
        """Say what was done, return the exit code, and see that the report is of the output, if it was there before."""
        if not self.quiet:
            summary(result).say(explained=self.explain)
        if self.report is not None and _replaced(self.report) != _outputs(result):  # of another release that lay there
            write(result, self.report)
        return end_of_run(bad_files, allowed=allowed)


def _outputs(result: Any) -> tuple[FileDigest, ...]:
    from wordveil.runs.digests import FileDigest

    outputs = (FileDigest(**file) for file in result["outputs"]) if isinstance(result, dict) else result.outputs
    return tuple(outputs)


def _replaced(path: Path) -> tuple[FileDigest, ...] | None:
    """Return the outputs of the report that a new one replaces; None where nothing is there, or an empty file.

    Raises:
        ParameterError: If something else is there, which is nobody's to replace.
    """
    from wordveil.runs.report_schema import read_report

    if path.is_dir():
        raise ParameterError("report", path.name, "is a folder. Name a file.")
    if not path.exists() or not path.stat().st_size:
        return None
    try:
        return read_report(path).outputs
    except (DataFormatError, TypeError):
        problem = "is there and is no report that this version reads: it was left alone. Name another file."
        raise ParameterError("report", path.name, problem) from None
