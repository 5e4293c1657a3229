"""`wordveil denoise`: what a release may have said, and beside it what an attacker reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Argument, Option

from wordveil.cli.common import CertificateOption, VocabularyOption, counted, end_of_run, read_lines, say
from wordveil.cli.file_options import (
    AgainOption,
    AllowBadFilesOption,
    DestinationOption,
    DropOthersOption,
    KeepOption,
    KeepOthersOption,
    QuietOption,
    ResumeOption,
)
from wordveil.cli.progress import document_bar
from wordveil.cli.sanitize import ExcludeOutputsOption, sanitizing_vocabulary
from wordveil.cli.summary import ExplainOption, Summary, copied_columns
from wordveil.denoising.denoiser import LEAST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wordveil.denoising.denoiser import Denoiser, Style
    from wordveil.runs.denoise import ReleaseReport


@dataclass(frozen=True, kw_only=True)
class Guess:
    """How a release is read."""

    style: Annotated[str, Option("--style", help="fluent (reads best), faithful (nearest in meaning) or balanced.")] = (
        "fluent"
    )
    prior: Annotated[
        Path | None, Option("--prior", metavar="FILE", help="What `wordveil prior build` wrote; else the packaged one.")
    ] = None
    public: Annotated[
        Path | None,
        Option("--public", metavar="FILE", help="Public text of this kind, one a line, for the calibration."),
    ] = None
    least: Annotated[float, Option("--least", help="Share of words that must be expected to be right.")] = LEAST
    confidences: Annotated[bool, Option("--confidences", help="Write word|confidence for every word.")] = False
    vocabulary: VocabularyOption = None
    exclude_outputs: ExcludeOutputsOption = None
    certificate: CertificateOption = None

    def denoiser(self, facts: ReleaseReport) -> Denoiser:
        """Return what reads the release that a report speaks of."""
        from wordveil.denoising.denoiser import Denoiser
        from wordveil.denoising.prior import Prior
        from wordveil.promises.certificates import Certificate

        embeddings, _ = sanitizing_vocabulary(self.vocabulary, self.exclude_outputs, verify=False)
        return Denoiser(
            embeddings,
            facts.mechanism(),
            options=facts.options,
            prior=None if self.prior is None else Prior.load(self.prior),
            style=cast("Style", self.style),
            least=self.least,
            marked=self.confidences,
            public=None if self.public is None else [line for line in read_lines(self.public) if line.strip()],
            certificate=None if self.certificate is None else Certificate.load(self.certificate),
        )


def denoise(
    release: Annotated[Path, Argument(metavar="RELEASE", help="The released file, or directory.")],
    report: Annotated[Path, Argument(metavar="REPORT", help="The .json report of its release.")],
    output: DestinationOption = "-",
    report_to: Annotated[
        Path | None, Option("--report", metavar="FILE", help="Write a report, .json or .html.")
    ] = None,
    resume: ResumeOption = False,
    again: AgainOption = False,
    allow_bad_files: AllowBadFilesOption = False,
    quiet: QuietOption = False,
    explain: ExplainOption = False,
    keep: KeepOption = None,
    keep_others: KeepOthersOption = False,
    drop_others: DropOthersOption = False,
    *,
    guess: Guess,
) -> int:
    """Write what RELEASE may have said, by its mechanism's exact law and public text.

    Only what was released is read, so its promise holds unchanged. REPORT vouches for it: a file that is not, byte for
    byte, what REPORT speaks of is refused. The columns that REPORT says were copied are copied again, unless --keep,
    --keep-others or --drop-others says otherwise. Whoever attacks the release can read as much; how much that is, is
    printed.
    """
    from wordveil.runs.denoise import ReleaseReport, denoise_documents
    from wordveil.runs.engine import check_report_path
    from wordveil.runs.report import write_facts

    if report_to is not None:
        check_report_path(report_to, others=(release, report, output, guess.prior, guess.public))
    facts = ReleaseReport.load(report).with_others(keep, keep_others=keep_others, drop_others=drop_others)
    facts.check(release)
    denoiser = guess.denoiser(facts)
    with document_bar(str(release), output, quiet=quiet) as progress:
        told = denoise_documents(
            release,
            facts,
            output,
            denoiser,
            resume=resume,
            again=again,
            progress=progress,
            notice=None if quiet else say,
            deliver=None if report_to is None else lambda said: write_facts(said, report_to),
        )
    if not quiet:
        _summary(told).say(explained=explain)
    if report_to is not None and not report_to.exists():  # of an output that was complete before
        write_facts(told, report_to)
    return end_of_run(told["bad_files"] - facts.facts.get("bad_files", 0), allowed=allow_bad_files)


def _summary(told: Mapping[str, Any]) -> Summary:
    from wordveil.runs.report import left_out, read_and_attacked
    from wordveil.runs.warnings import shown

    read = read_and_attacked(told)
    missed = [f"left out or replaced: {missed}" for missed in [left_out(told)] if missed]
    warnings = told.get("warnings", ())
    return Summary(
        released="; ".join([counted(told["documents"], "document"), *read[:2], *missed]),
        guarantee=told["guarantee"]["sentence"],
        unchanged=["the layout of the release", *copied_columns(told["copied"], tree=told["tree"])],
        warnings=warnings,
        lines=[*missed, f"guarantee: {told['guarantee']['sentence']}", *shown(warnings), *read],
        destination=told["destination"],
    )
