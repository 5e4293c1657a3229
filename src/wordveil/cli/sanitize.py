"""`wordveil sanitize`: a file, a directory or standard input through the sanitizer."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Option

import wordveil as wv
from wordveil.cli.common import PreparedMechanism, named_word_list, prepare, sanitizing_vocabulary, say
from wordveil.cli.exit_codes import DONE
from wordveil.cli.options import DryRunOption, ExcludeOutputsOption, OutputOption, PreviewOption, SourceArgument, Wanted
from wordveil.cli.progress import document_bar, paused
from wordveil.cli.running import Lasting, PerUser, ReadingOptions, Running, Speed
from wordveil.cli.summary import Summary, copied, missed, promised
from wordveil.errors import ForeignTextWarning, NotConfirmedError, ParameterError, counted
from wordveil.promises.rounding import round_up
from wordveil.text.function_words import FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from wordveil.denoising.denoiser import Style
    from wordveil.documents import DocumentSettings
    from wordveil.runs.sanitize import RunReport
    from wordveil.sanitizing.input_watch import InputWatch

WORTH_A_RATE = 2.0  # seconds; the rate of a shorter run is that of its start


@dataclass(frozen=True, kw_only=True)
class Around:
    """What happens around the mechanism."""

    unknown: Annotated[str, Option(help="Unknown words: random, typed, drop or mask.")] = "typed"
    per: Annotated[str, Option(help="token: draw for each; document: once for each distinct word.")] = "token"
    casing: Annotated[str, Option(help="sentence, vocabulary or shape.")] = "sentence"
    numbers: Annotated[str, Option(help="Treat tokens with digits as: unknown, vocabulary or metric.")] = "unknown"
    grid: Annotated[
        list[str] | None,
        Option(
            metavar="KIND=LOW:HIGH:STEP@EPSILON",
            help="With --numbers metric: keep the magnitude of number, year, money or date on this public grid; "
            "FACTOR:log for STEP makes it logarithmic; repeat.",
        ),
    ] = None
    markup: Annotated[str, Option(help="none, or html to keep plain tags.")] = "none"
    public_words: Annotated[
        list[str] | None,
        Option(
            metavar="FILE",
            help="File of words that stay, written as listed; function: the English function words; repeat.",
        ),
    ] = None
    exclude_outputs: ExcludeOutputsOption = None

    def text_options(self) -> wv.TextOptions:
        """Return the choices; `TextOptions` refuses a word that is none of them."""
        named = self.public_words or ()
        lists = (
            FUNCTION_WORDS if name == "function" else named_word_list("--public-words", name, ["function"])
            for name in named
        )
        choices: dict[str, Any] = {
            name: getattr(self, name) for name in ("unknown", "per", "casing", "numbers", "markup")
        }
        grids = tuple(map(wv.NumberGrid.parse, self.grid or ()))
        return wv.TextOptions(public_words=frozenset().union(*lists), grids=grids, **choices)


@dataclass(frozen=True, kw_only=True)
class Care:
    """What is checked and recorded besides, and what is decided beforehand."""

    input_digest: Annotated[
        bool,
        Option(
            "--input-digest",
            help="Record the input's size and SHA-256 in the report. Anyone holding the report can then confirm "
            "a guess of the whole file.",
        ),
    ] = False
    verify: Annotated[bool, Option("--verify", help="Check the vocabulary, and lists beside it, first.")] = False
    yes: Annotated[bool, Option("--yes", help="Go on after a warning that stops the run, without a question.")] = False


def sanitize(
    source: SourceArgument = "-",
    output: OutputOption = "-",
    denoise: Annotated[
        str | None,
        Option(
            metavar="STYLE",
            help="Write what the released text may have said: fluent, faithful or balanced. Same promise.",
        ),
    ] = None,
    preview: PreviewOption = 0,
    dry_run: DryRunOption = False,
    *,
    wanted: Wanted,
    reading: ReadingOptions,
    per_user: PerUser,
    lasting: Lasting,
    around: Around,
    speed: Speed,
    running: Running,
    care: Care,
) -> int:
    """Sanitize IN and write it in its own format.

    Plain text is one document a line; .jsonl, .json, .csv, .tsv and .parquet need --column, and one of --keep,
    --keep-others and --drop-others where there are other columns. Files may end in .gz or .zst. Standard error gets
    four lines: what was released, the promise, what passed unchanged, the strongest warning.
    """
    settings = reading.settings(speed.block_tokens, line_buffered=speed.line_buffered)
    budget, allowed = per_user.budget(), reading.allow_bad_files
    job = Job.prepared_for(source, output, wanted, around, running, care, speed, lasting)
    if dry_run:
        from wordveil.cli.dry_run import dry_sanitize

        return dry_sanitize(source, output, settings, job.sanitizer, budget, lasting.ids, allowed=allowed)
    if preview:
        if denoise is not None:
            raise ParameterError("--preview", preview, "shows what is released: leave out --denoise.")
        return _show(job.sanitizer, preview)
    afterwards = None
    if denoise is not None:
        from wordveil.runs.denoise import BLOCK_CHARACTERS, denoised_texts

        settings = replace(settings, block_characters=min(settings.block_characters, BLOCK_CHARACTERS))
        afterwards = denoised_texts(job.sanitizer, cast("Style", denoise))
    with document_bar(source, output, quiet=running.quiet) as progress:
        options: dict[str, Any] = {"progress": progress, "afterwards": afterwards, **job.options(settings)}
        options |= {"settings": settings, "budget": budget, "ids": lasting.ids}
        result = wv.sanitize_documents(source, output, job.sanitizer, **options)
    return job.end(result, settings, allowed=allowed)


def _show(sanitizer: wv.Sanitizer, rows: int) -> int:
    """Show public sentences before and after. The owner's are not shown: that would be one more release of them."""
    from wordveil.arrays import PrivateText
    from wordveil.denoising.prior import public_sentences

    sentences = list(map(PrivateText, public_sentences(rows)))
    for sentence, released in zip(sentences, sanitizer.release_batch(sentences).texts, strict=True):
        print(f"  {sentence}\n> {released}")
    print(f"\nIn words: {sanitizer.in_words.sentence}")
    return DONE


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run of `sanitize` that is about to start, or of another command that takes its options."""

    source: str
    running: Running
    care: Care
    sanitizer: wv.Sanitizer
    prepared: PreparedMechanism

    @classmethod
    def prepared_for(
        cls,
        source: str,
        output: str,
        wanted: Wanted,
        around: Around,
        running: Running,
        care: Care,
        speed: Speed,
        lasting: Lasting | None = None,
    ) -> Job:
        """Return the run that is asked for; choices that do not fit are refused before anything is read."""
        lasting = lasting or Lasting()
        options = around.text_options()
        lists = *(around.public_words or ()), around.exclude_outputs, lasting.key_file
        running.check_report(source, output, *lists, wanted.certificate, wanted.vocabulary)
        verify = care.verify or running.report is not None
        embeddings, barred = sanitizing_vocabulary(wanted.vocabulary, around.exclude_outputs, verify=verify)
        prepared = prepare(wanted, embeddings, quiet=running.quiet)
        sanitizer = wv.Sanitizer(
            embeddings,
            prepared.mechanism,
            options=options,
            source=lasting.source(output, resume=running.resume),
            threads=speed.threads,
            device=speed.device,
            engine=speed.engine,
            certificate=prepared.certificate,
        )
        told = replace(prepared, notes=(*prepared.notes, *barred))
        job = cls(source=source, running=running, care=care, sanitizer=sanitizer, prepared=told)
        job.check_strength(output)
        return job

    def _confirm(self, doubt: str) -> None:
        """Say what is doubtful, in a whole sentence without text of the input, and go on only where that is wanted."""
        if self.care.yes and self.running.quiet:
            return
        with paused():
            say(f"warning: {doubt}")
            if self.care.yes:
                return
            if self.source == "-" or not all(stream and stream.isatty() for stream in (sys.stdin, sys.stderr)):
                raise NotConfirmedError("stopped before it was released; to go on, give the same command with --yes.")
            print("Release it? [y/N] ", end="", file=sys.stderr, flush=True)
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                raise NotConfirmedError("stopped before it was released.")

    def check_strength(self, output: str) -> None:
        """Ask about a promise that hides nothing, but not where a run is resumed: that was decided on.

        With `--yes` nothing is said here, because the summary says it.
        """
        from wordveil.files.journal import is_resumable
        from wordveil.runs.warnings import HIDES_NOTHING

        words = self.sanitizer.in_words
        if words.hides_nothing and not self.care.yes and not (self.running.resume and is_resumable(output)):
            self._confirm(f"{HIDES_NOTHING} ({words.sentence}).")

    @cached_property
    def watch(self) -> InputWatch:
        """What looks at texts before they are released, and asks about those that look like another language."""

        def warn(warning: wv.InputWarning) -> None:
            if isinstance(warning, ForeignTextWarning):
                self._confirm(str(warning))
            else:
                say(f"warning: {warning}")

        return self.sanitizer.watch(warn)

    def options(self, settings: DocumentSettings) -> dict[str, Any]:
        return {**self.running.options(partial(self._write, settings)), "watch": self.watch}

    def _write(self, settings: DocumentSettings, result: RunReport, path: Path) -> None:
        from wordveil.runs.evidence import Evidence
        from wordveil.runs.report import write_report

        whole = result.with_inputs(self.source, settings) if self.care.input_digest else result
        write_report(whole, path, Evidence.of_facts(self.sanitizer, whole.as_dict(), self.prepared.notes))

    def end(
        self,
        result: RunReport,
        settings: DocumentSettings,
        *,
        allowed: bool,
        summary: Callable[[RunReport], Summary] | None = None,
    ) -> int:
        write, told = partial(self._write, settings), summary or partial(_summary, self)
        return self.running.end(result, write, told, bad_files=result.bad_files, allowed=allowed)


def _largest_loss(guarantee: wv.Guarantee, certificate: wv.Certificate | None) -> str:
    """Return the largest loss between any two words, or "" where the guarantee already says it or there is none."""
    from wordveil.mechanisms.certificate_check import NOT_REPEATED
    from wordveil.mechanisms.exponential import LARGEST_LOSS

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


def _summary(job: Job, report: RunReport) -> Summary:
    from wordveil.runs.report import read_and_attacked
    from wordveil.runs.warnings import release_warnings

    words = job.sanitizer.in_words
    released = [f"{counted(report.documents, 'document')}, {counted(report.tokens, 'token')}"]
    if report.seconds >= WORTH_A_RATE:
        released[0] += f", {report.tokens_per_second:,.0f} tokens/s"
    if unknown := job.watch.in_words():
        released.append(unknown)
    if report.resumed_documents:
        released.append(f"{counted(report.resumed_documents, 'document')} taken over from the interrupted run")
    released += missed(vars(report))
    bounds = [f"of one person: {report.budget['sentence']}"] if report.budget else []
    warnings = release_warnings(report.guarantee, words)
    read, largest = read_and_attacked(vars(report)), _largest_loss(report.guarantee, job.prepared.certificate)
    between = [
        *bounds,
        f"in words: {words.sentence}; `wordveil explain` says more",
        *[f"largest loss between any two words: {largest}"] * bool(largest),
    ]
    return Summary(
        released="; ".join([*released, *read[:2]]),
        guarantee="; ".join([report.guarantee.sentence(), f"in words: {words.sentence}", *bounds]),
        unchanged=_unchanged(report, job.sanitizer.options),
        warnings=warnings,
        lines=[*released, *job.prepared.notes, *promised(report, warnings, between), *read],
        destination=report.destination,
    )


def _unchanged(report: RunReport, options: wv.TextOptions) -> list[str]:
    """Return what passed as it was, in a few words each; the disclosures say the same in full."""
    public = f"{counted(report.exempt, 'token')} of {counted(len(options.public_words), 'public word')}"
    return [
        "punctuation, layout and the number of tokens",
        *["the kinds of numbers, dates and links"] * (options.unknown == "typed"),
        *["the casing of every token"] * (options.casing == "shape"),
        *["plain tags"] * (options.markup == "html"),
        *[public] * bool(options.public_words),
        *copied(vars(report)),
    ]
