"""`wordveil denoise`: what a release may have said, and beside it what an attacker reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from wordveil.cli.common import CertificateOption, VocabularyOption, say
from wordveil.cli.file_options import DestinationOption, QuietOption, ResumeOption
from wordveil.cli.progress import document_bar
from wordveil.cli.sanitize import ExcludeOutputsOption, sanitizing_vocabulary
from wordveil.denoising.denoiser import LEAST

if TYPE_CHECKING:
    from wordveil.denoising.denoiser import Style

__all__ = ["denoise"]


def denoise(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The released file, or directory.")],
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="The .json report of its release.")],
    output: DestinationOption = "-",
    style: Annotated[
        str, typer.Option("--style", help="fluent (reads best), faithful (nearest in meaning) or balanced.")
    ] = "fluent",
    prior: Annotated[
        Path | None, typer.Option("--prior", metavar="FILE", help="What `wordveil prior build` wrote.")
    ] = None,
    public: Annotated[
        Path | None,
        typer.Option("--public", metavar="FILE", help="Public text of this kind, one a line, for the calibration."),
    ] = None,
    least: Annotated[float, typer.Option("--least", help="Share of words that must be expected to be right.")] = LEAST,
    confidences: Annotated[bool, typer.Option("--confidences", help="Write word|confidence for every word.")] = False,
    vocabulary: VocabularyOption = None,
    exclude_outputs: ExcludeOutputsOption = None,
    certificate: CertificateOption = None,
    report_to: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a report, .json or .html.")
    ] = None,
    resume: ResumeOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write what RELEASE may have said, by its mechanism's exact law and public text.

    Only what was released is read, so its promise holds unchanged. REPORT vouches for it: a file that is not, byte for
    byte, what REPORT speaks of is refused. Whoever attacks the release can read as much; how much that is, is printed.
    """
    from wordveil.denoising.denoiser import Denoiser
    from wordveil.denoising.prior import Prior
    from wordveil.pipeline.denoising_runs import ReleaseReport, denoise_documents
    from wordveil.pipeline.run import check_report_path
    from wordveil.pipeline.run_report import read_and_attacked, write_facts

    if report_to is not None:
        check_report_path(report_to, others=(release, report, output, prior, public))
    facts = ReleaseReport.load(report)
    facts.check(release)
    embeddings, _ = sanitizing_vocabulary(vocabulary, exclude_outputs, verify=False)
    denoiser = Denoiser(
        embeddings,
        facts.mechanism(),
        options=facts.options,
        prior=None if prior is None else Prior.load(prior),
        style=cast("Style", style),
        least=least,
        marked=confidences,
        public=None if public is None else _lines(public),
        certificate=_certificate(certificate),
    )
    with document_bar(quiet=quiet) as progress:
        told = denoise_documents(
            release,
            facts,
            output,
            denoiser,
            resume=resume,
            progress=progress,
            notice=None if quiet else say,
            deliver=None if report_to is None else lambda said: write_facts(said, report_to),
        )
    if not quiet:
        say(f"guarantee: {told['guarantee']['sentence']}")
        for line in read_and_attacked(told):
            say(line)


def _certificate(path: Path | None) -> Any:
    from wordveil.promises.certificates import Certificate

    return None if path is None else Certificate.load(path)


def _lines(path: Path) -> Sequence[str]:
    from wordveil.cli.common import read_lines

    return [line for line in read_lines(path) if line.strip()]
