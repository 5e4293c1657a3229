"""`wordveil redact`: every token that is not on a public list becomes what its kind says."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from typer import Option

import wordveil as wv
from wordveil.cli.common import read_word_lists, say
from wordveil.cli.exit_codes import DONE
from wordveil.cli.options import DryRunOption, OutputOption, PreviewOption, SourceArgument
from wordveil.cli.progress import document_bar
from wordveil.cli.running import ReadingOptions, Running
from wordveil.cli.summary import Summary, copied, missed, promised
from wordveil.errors import ParameterError, counted

if TYPE_CHECKING:
    from wordveil.documents import DocumentSettings
    from wordveil.withholding.laws import LawName

DISCLOSED = ("titles", "calendar", "sensitive")
"""Values of --keep-words: words that are hidden unless they are asked for."""


@dataclass(frozen=True, kw_only=True)
class PublicLists:
    """Which words are public."""

    words: Annotated[str, Option(metavar="common:N", help="The N commonest words: 1000, 2000, 4000 or 8000.")] = (
        "common:4000"
    )
    pack: Annotated[
        list[str] | None,
        Option(help="Words of a field as well: spoken (the default), clinic, bank, food; none; repeat."),
    ] = None
    public_words: Annotated[
        list[Path] | None, Option(metavar="FILE", help="Words, one a line, that you declare public; repeat.")
    ] = None
    hide: Annotated[list[Path] | None, Option(metavar="FILE", help="Words, one a line, that never leave; repeat.")] = (
        None
    )
    keep_words: Annotated[
        list[str] | None, Option(metavar="WHICH", help="titles, calendar or sensitive: keep these too; repeat.")
    ] = None

    def own(self) -> list[str]:
        """Return the options that name the owner's own lists, as they are typed."""
        named = {"--public-words": self.public_words, "--hide": self.hide}
        return [word for option, files in named.items() for file in files or () for word in (option, str(file))]

    def lists(self) -> wv.PublicWords:
        name, _, number = self.words.partition(":")
        if name != "common" or not number.isdecimal():
            raise ParameterError("--words", self.words, "must be common:1000, common:2000, common:4000 or common:8000.")
        if unknown := [which for which in self.keep_words or () if which not in DISCLOSED]:
            raise ParameterError("--keep-words", unknown[0], f"must be among {', '.join(DISCLOSED)}.")
        packs = ["spoken"] if self.pack is None else ["spoken", *self.pack]
        return wv.PublicWords(
            common=int(number),
            packs=() if packs[1:] == ["none"] else tuple(dict.fromkeys(packs)),
            added=read_word_lists(self.public_words),
            hidden=read_word_lists(self.hide),
            sensitive="sensitive" in (self.keep_words or ()),
        )


@dataclass(frozen=True, kw_only=True)
class InPlace:
    """What stays hidden, and what stands in its place."""

    strict: Annotated[
        bool, Option("--strict", help="Only function words open sentences; other words that are names are hidden.")
    ] = False
    keep_numbers: Annotated[str | None, Option(metavar="A-B", help="Keep whole numbers from A to B, such as 0-10.")] = (
        None
    )
    law: Annotated[
        str, Option(help="placeholder: [name]; surrogate: a made-up value, which may be taken for a fact.")
    ] = "placeholder"
    link: Annotated[
        str,
        Option(
            metavar="WITHIN",
            help="Number placeholders, so that equal hidden words are seen, within a document, or within what one "
            "person wrote: document, or the column that names persons. Default: none.",
        ),
    ] = "none"
    dates: Annotated[
        str, Option(help="hide; or shift: move those written in full, a document's or person's all alike.")
    ] = "hide"
    days: Annotated[int | None, Option(help="By how many days dates are shifted at most, as likely each.")] = None

    def most_days(self) -> int | None:
        """Return by how many days dates are moved at most, None where they are hidden."""
        if self.dates not in ("hide", "shift"):
            raise ParameterError("--dates", self.dates, "must be hide or shift.")
        if (self.dates == "shift") != (self.days is not None):
            raise ParameterError("--days", self.days, "must come together with --dates shift.")
        return self.days

    def rule(self, public: PublicLists) -> wv.Rule:
        kept, numbers = public.keep_words or (), None
        if self.keep_numbers is not None:
            low, _, high = self.keep_numbers.partition("-")
            if not (low.isdecimal() and high.isdecimal()):
                raise ParameterError("--keep-numbers", self.keep_numbers, "must be two numbers, such as 0-10.")
            numbers = int(low), int(high)
        return wv.Rule(strict=self.strict, titles="titles" in kept, calendar="calendar" in kept, numbers=numbers)


def redact(
    source: SourceArgument = "-",
    output: OutputOption = "-",
    preview: PreviewOption = 0,
    dry_run: DryRunOption = False,
    *,
    public: PublicLists,
    place: InPlace,
    reading: ReadingOptions,
    running: Running,
) -> int:
    """Keep what is on a public list of words, hide everything else, and write IN in its own format.

    No detector decides: a token leaves only if it is on the list and stands where no name is expected. Plain text is
    one document a line; .jsonl, .json, .csv, .tsv and .parquet need --column. Standard error gets four lines: what was
    released, what may be said, what passed unchanged, what must be said with it.
    """
    running.check_report(source, output, *(public.public_words or ()), *(public.hide or ()))
    redactor = wv.Redactor(
        words=public.lists(),
        rule=place.rule(public),
        law=cast("LawName", place.law),
        link=place.link,
        days=place.most_days(),
        source=wv.run_source(output, resume=running.resume),
    )
    settings = reading.settings()
    if dry_run:
        from wordveil.cli.dry_run import dry_redact

        return dry_redact(source, output, settings, redactor, allowed=reading.allow_bad_files)
    if preview:
        _show(redactor, source, settings, preview)
        return DONE
    with document_bar(source, output, quiet=running.quiet) as progress:
        result = wv.redact_documents(
            source,
            output,
            redactor,
            settings=settings,
            progress=progress,
            warn=lambda warning: say(f"warning: {warning}"),
            word_files=(*(public.public_words or ()), *(public.hide or ())),
            **running.options(_write),
        )
    status = running.end(result, _write, _summary, bad_files=result.bad_files, allowed=reading.allow_bad_files)
    if running.report is not None and output != "-" and public.own():
        verify = shlex.join(["wordveil", "report", output, "--verify", str(running.report), *public.own()])
        running.notice(f"with your lists the report is verified by: {verify}")
    return status


def _write(result: wv.RedactionReport, path: Path) -> None:
    from wordveil.runs.report import REDACTION, write_facts
    from wordveil.runs.report_schema import SCHEMA

    write_facts({"schema": SCHEMA, "kind": REDACTION, **result.as_dict()}, path)


def _summary(result: wv.RedactionReport) -> Summary:
    claim, documents, left_out = result.claim, counted(result.documents, "document"), missed(vars(result))
    return Summary(
        released="; ".join([f"{documents}, {claim.kept}", f"hidden: {claim.hidden}", *left_out]),
        guarantee=f"withholding ({result.guarantee.standing}). You may say: {claim.may_say}",
        unchanged=["the words kept", "punctuation and layout", *copied(vars(result))],
        warnings=[claim.must_say],
        lines=[f"{documents}, {counted(result.tokens, 'token')}", *claim.lines(), *left_out, *promised(result)],
        destination=result.destination,
        warned="must also say",
    )


def _show(redactor: wv.Redactor, source: str, settings: DocumentSettings, rows: int) -> None:
    """Show public sentences before and after; on a terminal, the owner's first rows too, which are private."""
    from collections import Counter

    from wordveil.arrays import PrivateText
    from wordveil.denoising.prior import public_sentences

    for sentence in public_sentences(rows):
        print(f"  {sentence}\n> {redactor.release(PrivateText(sentence), Counter())}")
    if source == "-":
        return
    if not sys.stdout.isatty():
        say(f"the first rows of {source} are private: they are shown on a terminal only.")
        return
    print(f"\nThe first rows of {source}, on this screen alone:")
    with settings.open_texts(source) as reader:
        for _, text in zip(range(rows), reader.texts(), strict=False):
            print(f"  {text}\n> {redactor.release(text, Counter())}")
