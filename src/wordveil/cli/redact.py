"""`wordveil redact`: every token that is not on a public list becomes what its kind says."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from typer import Option

from wordveil.cli.common import counted, end_of_run, read_word_list, say
from wordveil.cli.file_options import (
    AgainOption,
    AllowBadFilesOption,
    DestinationOption,
    QuietOption,
    ResumeOption,
    SourceArgument,
)
from wordveil.cli.progress import document_bar
from wordveil.cli.sanitize import ReadingOptions, Speed
from wordveil.cli.summary import ExplainOption, Summary, copied_columns

if TYPE_CHECKING:
    from wordveil.documents import DocumentSettings
    from wordveil.withholding.laws import LawName
    from wordveil.withholding.redactor import Redactor
    from wordveil.withholding.rule import Rule
    from wordveil.withholding.runs import RedactionReport
    from wordveil.withholding.words import PublicWords

DISCLOSED = ("titles", "calendar", "sensitive")
"""Values of --keep-words: words that are hidden unless they are asked for."""


@dataclass(frozen=True, kw_only=True)
class PublicLists:
    """Which words are public."""

    words: Annotated[
        str, Option("--words", metavar="common:N", help="The N commonest words: 1000, 2000, 4000 or 8000.")
    ] = "common:4000"
    pack: Annotated[
        list[str] | None,
        Option("--pack", help="Words of a field as well: spoken (the default), clinic, bank, food; none; repeat."),
    ] = None
    public_words: Annotated[
        list[Path] | None,
        Option("--public-words", metavar="FILE", help="Words, one a line, that you declare public; repeat."),
    ] = None
    hide: Annotated[
        list[Path] | None, Option("--hide", metavar="FILE", help="Words, one a line, that never leave; repeat.")
    ] = None
    keep_words: Annotated[
        list[str] | None,
        Option("--keep-words", metavar="WHICH", help="titles, calendar or sensitive: keep these too; repeat."),
    ] = None

    def lists(self) -> PublicWords:
        """Return the public words."""
        from wordveil.errors import ParameterError
        from wordveil.withholding.words import PublicWords

        name, _, number = self.words.partition(":")
        if name != "common" or not number.isdecimal():
            raise ParameterError("--words", self.words, "must be common:1000, common:2000, common:4000 or common:8000.")
        if unknown := [which for which in self.keep_words or () if which not in DISCLOSED]:
            raise ParameterError("--keep-words", unknown[0], f"must be among {', '.join(DISCLOSED)}.")
        packs = ["spoken"] if self.pack is None else ["spoken", *self.pack]
        return PublicWords(
            common=int(number),
            packs=() if packs[1:] == ["none"] else tuple(dict.fromkeys(packs)),
            added=frozenset().union(*map(read_word_list, self.public_words or ())),
            hidden=frozenset().union(*map(read_word_list, self.hide or ())),
            sensitive="sensitive" in (self.keep_words or ()),
        )


@dataclass(frozen=True, kw_only=True)
class InPlace:
    """What stays hidden, and what stands in its place."""

    strict: Annotated[
        bool, Option("--strict", help="Sentences open with function words only; words that are names too are hidden.")
    ] = False
    keep_numbers: Annotated[
        str | None, Option("--keep-numbers", metavar="A-B", help="Keep whole numbers from A to B, such as 0-10.")
    ] = None
    law: Annotated[
        str, Option("--law", help="placeholder: [name]; surrogate: a made-up value, which may be taken for a fact.")
    ] = "placeholder"
    link: Annotated[
        str,
        Option(
            "--link",
            metavar="WITHIN",
            help="Number placeholders, so that equal hidden words are seen, within a document, or within what one "
            "person wrote: document, or the column that names persons. Default: none.",
        ),
    ] = "none"

    dates: Annotated[
        str, Option("--dates", help="hide; or shift: move those written in full, a document's or person's all alike.")
    ] = "hide"
    days: Annotated[
        int | None, Option("--days", help="By how many days dates are shifted at most, as likely each.")
    ] = None

    def most_days(self) -> int | None:
        """Return by how many days dates are moved at most, None where they are hidden."""
        from wordveil.errors import ParameterError

        if self.dates not in ("hide", "shift"):
            raise ParameterError("--dates", self.dates, "must be hide or shift.")
        if (self.dates == "shift") != (self.days is not None):
            raise ParameterError("--days", self.days, "must come together with --dates shift.")
        return self.days

    def rule(self, public: PublicLists) -> Rule:
        """Return the rule with its choices."""
        from wordveil.withholding.rule import Rule

        kept = public.keep_words or ()
        return Rule(strict=self.strict, titles="titles" in kept, calendar="calendar" in kept, numbers=self._range())

    def _range(self) -> tuple[int, int] | None:
        from wordveil.errors import ParameterError

        if self.keep_numbers is None:
            return None
        low, _, high = self.keep_numbers.partition("-")
        if not (low.isdecimal() and high.isdecimal()):
            raise ParameterError("--keep-numbers", self.keep_numbers, "must be two numbers, such as 0-10.")
        return int(low), int(high)


@dataclass(frozen=True, kw_only=True)
class Going:
    """How the run goes."""

    resume: ResumeOption = False
    again: AgainOption = False
    allow_bad_files: AllowBadFilesOption = False
    report: Annotated[Path | None, Option("--report", help="Write a report, .json or .html.")] = None
    quiet: QuietOption = False
    explain: ExplainOption = False


def redact(
    source: SourceArgument = "-",
    output: DestinationOption = "-",
    preview: Annotated[
        int, Option("--preview", help="Show so many public sentences, before and after, and release nothing.")
    ] = 0,
    *,
    public: PublicLists,
    place: InPlace,
    reading: ReadingOptions,
    going: Going,
) -> int | None:
    """Keep what is on a public list of words, hide everything else, and write IN in its own format.

    No detector decides: a token leaves only if it is on the list and stands where no name is expected. Plain text is
    one document a line; .jsonl, .json, .csv, .tsv and .parquet need --column. Standard error gets four lines: what was
    released, what may be said, what passed unchanged, what must be said with it.
    """
    from wordveil.files.run_key import run_source
    from wordveil.runs.engine import check_report_path
    from wordveil.withholding.redactor import Redactor
    from wordveil.withholding.runs import redact_documents

    if going.report is not None:
        check_report_path(going.report, others=(source, output, *(public.public_words or ()), *(public.hide or ())))
    redactor = Redactor(
        words=public.lists(),
        rule=place.rule(public),
        law=cast("LawName", place.law),
        link=place.link,
        days=place.most_days(),
        source=run_source(output, resume=going.resume),
    )
    settings = reading.settings(Speed().block_tokens, line_buffered=False)
    if preview:
        _show(redactor, source, settings, preview)
        return None
    with document_bar(source, output, quiet=going.quiet) as progress:
        result = redact_documents(
            source,
            output,
            redactor,
            settings=settings,
            resume=going.resume,
            again=going.again,
            progress=progress,
            notice=None if going.quiet else say,
            deliver=lambda result: _deliver(result, going.report),
            warn=lambda warning: say(f"warning: {warning}"),
        )
    if going.report is not None and not going.report.exists():  # of an output that was complete before
        _deliver(result, going.report)
    if not going.quiet:
        _summary(result).say(explained=going.explain)
    return end_of_run(result.bad_files, allowed=going.allow_bad_files)


def _deliver(result: RedactionReport, path: Path | None) -> None:
    if path is not None:
        from wordveil.runs.report import REDACTION, write_facts
        from wordveil.runs.report_schema import SCHEMA

        write_facts({"schema": SCHEMA, "kind": REDACTION, **result.as_dict()}, path)


def _summary(result: RedactionReport) -> Summary:
    from wordveil.runs.report import left_out

    claim, documents = result.claim, counted(result.documents, "document")
    missed = [f"left out or replaced: {missed}" for missed in [left_out(vars(result))] if missed]
    return Summary(
        released="; ".join([f"{documents}, {claim.kept}", f"hidden: {claim.hidden}", *missed]),
        guarantee=f"withholding ({result.guarantee.standing}). You may say: {claim.may_say}",
        unchanged=["the words kept", "punctuation and layout", *copied_columns(result.copied, tree=result.tree)],
        warnings=[claim.must_say],
        lines=[
            f"{documents}, {counted(result.tokens, 'token')}",
            *claim.lines(),
            *missed,
            f"guarantee: {result.guarantee.sentence()}",
            *(f"assumes: {line}" for line in result.guarantee.assumptions),
            *(f"disclosed: {line}" for line in result.disclosed),
        ],
        destination=result.destination,
        warned="must also say",
    )


def _show(redactor: Redactor, source: str, settings: DocumentSettings, rows: int) -> None:
    """Show public sentences before and after; on a terminal, the owner's first rows too, which are private."""
    from collections import Counter

    from wordveil.arrays import PrivateText
    from wordveil.withholding.examples import public_sentences

    for sentence in public_sentences(rows):
        print(f"  {sentence}\n> {redactor.release(PrivateText(sentence), Counter())}")
    if source == "-" or not sys.stdout.isatty():
        return
    print(f"\nThe first rows of {source}, on this screen alone:")
    with settings.open_texts(source) as reader:
        texts = (text for record in reader if not record.structural for text in record.texts if text is not None)
        for _, text in zip(range(rows), texts, strict=False):
            print(f"  {text}\n> {redactor.release(text, Counter())}")
