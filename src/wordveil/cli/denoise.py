"""`wordveil denoise`: what a release may have said, and beside it what an attacker reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Argument, Option

import wordveil as wv
from wordveil.cli.common import read_lines, sanitizing_vocabulary
from wordveil.cli.options import CertificateOption, ExcludeOutputsOption, OutputOption, VocabularyOption
from wordveil.cli.progress import document_bar
from wordveil.cli.running import AllowBadFilesOption, OtherColumnOptions, Running
from wordveil.cli.summary import Summary, copied, missed
from wordveil.denoising.denoiser import LEAST
from wordveil.errors import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wordveil.denoising.denoiser import Style
    from wordveil.runs.denoise import ReleaseReport


@dataclass(frozen=True, kw_only=True)
class Guess:
    """How a release is read."""

    style: Annotated[str, Option(help="fluent (reads best), faithful (nearest in meaning) or balanced.")] = "fluent"
    prior: Annotated[
        Path | None, Option(metavar="FILE", help="What `wordveil prior build` wrote; else the packaged one.")
    ] = None
    public: Annotated[
        Path | None, Option(metavar="FILE", help="Public text of this kind, one a line, for the calibration.")
    ] = None
    least: Annotated[float, Option(help="Share of words that must be expected to be right.")] = LEAST
    confidences: Annotated[bool, Option("--confidences", help="Write word|confidence for every word.")] = False
    vocabulary: VocabularyOption = None
    exclude_outputs: ExcludeOutputsOption = None
    certificate: CertificateOption = None

    def denoiser(self, facts: ReleaseReport) -> wv.Denoiser:
        embeddings, _ = sanitizing_vocabulary(self.vocabulary, self.exclude_outputs, verify=False)
        return wv.Denoiser(
            embeddings,
            facts.mechanism(),
            options=facts.options,
            prior=None if self.prior is None else wv.Prior.load(self.prior),
            style=cast("Style", self.style),
            least=self.least,
            marked=self.confidences,
            public=None if self.public is None else [line for line in read_lines(self.public) if line.strip()],
            certificate=None if self.certificate is None else wv.Certificate.load(self.certificate),
        )


def denoise(
    release: Annotated[Path, Argument(metavar="RELEASE", help="The released file, or directory.")],
    original: Annotated[Path, Argument(metavar="REPORT", help="The .json report of its release.")],
    output: OutputOption = "-",
    *,
    running: Running,
    allow_bad_files: AllowBadFilesOption = False,
    others: OtherColumnOptions,
    guess: Guess,
) -> int:
    """Write what RELEASE may have said, by its mechanism's exact law and public text.

    Only what was released is read, so its promise holds unchanged. REPORT vouches for it: a file that is not, byte for
    byte, what REPORT speaks of is refused. The columns that REPORT says were copied are copied again, unless --keep,
    --keep-others or --drop-others says otherwise. Whoever attacks the release can read as much; how much that is, is
    printed.
    """
    from wordveil.runs.denoise import ReleaseReport, denoise_documents
    from wordveil.runs.report import write_facts

    running.check_report(release, output, original, guess.prior, guess.public, guess.certificate, guess.vocabulary)
    facts = ReleaseReport.load(original).with_others(**others.choice())
    facts.check(release)
    denoiser = guess.denoiser(facts)
    with document_bar(str(release), output, quiet=running.quiet) as progress:
        options = running.options(write_facts)
        told = denoise_documents(release, facts, output, denoiser, progress=progress, **options)
    bad_files = told["bad_files"] - facts.facts.get("bad_files", 0)
    return running.end(told, write_facts, _summary, bad_files=bad_files, allowed=allow_bad_files)


def _summary(told: Mapping[str, Any]) -> Summary:
    from wordveil.runs.report import read_and_attacked
    from wordveil.runs.warnings import shown

    read, left_out, warnings = read_and_attacked(told), missed(told), told.get("warnings", ())
    return Summary(
        released="; ".join([counted(told["documents"], "document"), *read[:2], *left_out]),
        guarantee=told["guarantee"]["sentence"],
        unchanged=["the layout of the release", *copied(told)],
        warnings=warnings,
        lines=[*left_out, f"guarantee: {told['guarantee']['sentence']}", *shown(warnings), *read],
        destination=told["destination"],
    )
