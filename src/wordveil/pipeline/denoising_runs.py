"""Released files read: a file and its report through a denoiser, streamed, atomic, resumable, reported.

What may be read is what a report of `sanitize` speaks of, byte for byte: a private text has no such report.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wordveil.arrays import ReleasedText
from wordveil.denoising.denoiser import Denoiser, ReadRelease, Style
from wordveil.documents import DocumentSettings, FormatDetails, Record
from wordveil.errors import ChecksumError, DataFormatError
from wordveil.pipeline.document_runs import Answers, Callbacks, DocumentSummary, by_record, run_documents
from wordveil.pipeline.evidence import differences
from wordveil.pipeline.fitting import certificate_in_use
from wordveil.pipeline.rebuilding import rebuilt
from wordveil.pipeline.report_schema import known, read_report, sealed
from wordveil.pipeline.run import Notice, silent
from wordveil.pipeline.runs import FileDigest, file_digests
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.promises.release import BatchRelease, Provenance, TextOptions

__all__ = ["BLOCK_CHARACTERS", "DenoisedTexts", "ReleaseReport", "denoise_documents", "denoised_texts"]

BLOCK_CHARACTERS = 200_000  # read at once: about ten seconds of work, and so much is lost at most by a kill
MILLION = 1_000_000  # counts are whole numbers


@dataclass(frozen=True, kw_only=True)
class ReleaseReport:
    """What a report of `sanitize` says, as far as a reader of its release needs it.

    Attributes:
        facts: All of it, as JSON values.
        outputs: The released files.
        provenance: Where they came from.
        options: Choices around the mechanism.
        settings: How the released files are to be read.
    """

    facts: Mapping[str, Any]
    outputs: tuple[FileDigest, ...]
    provenance: Provenance
    options: TextOptions
    settings: DocumentSettings

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ReleaseReport:
        """Read a report, JSON or HTML.

        Raises:
            DataFormatError: If it is none of `sanitize`, or its release was denoised already.
        """
        stored = read_report(path)
        facts, newer = stored.facts, stored.is_newer
        try:
            settings = dict(facts["settings"])
            details = known(FormatDetails, settings.pop("details"), newer=newer)
            for name in ("encoding", "keep", "drop_others"):  # what is released is UTF-8, and all of it may be copied
                del settings[name]
            read = {"columns": tuple(settings["columns"]), "missing": "keep", "details": details}
            report = cls(
                facts=facts,
                outputs=stored.outputs,
                provenance=stored.provenance,
                options=stored.options,
                settings=known(DocumentSettings, settings | read | {"block_characters": BLOCK_CHARACTERS}, newer=newer),
            )
        except (ValueError, KeyError, TypeError):
            raise DataFormatError(Path(path), "is no report of `wordveil sanitize`.") from None
        if facts.get("denoised"):
            raise DataFormatError(Path(path), "speaks of a text that was denoised already.")
        return report

    def check(self, release: str | os.PathLike[str]) -> None:
        """Raise `ChecksumError` where the files at a path are not, byte for byte, what the report speaks of."""
        found = file_digests(Path(release))
        told = differences(self.outputs, found) if found and self.outputs else ["no file that a report names"]
        if told:
            raise ChecksumError(
                f"{Path(release).name} is not the release that the report speaks of: {'; '.join(told)}. Only what was "
                "released is denoised."
            )

    def mechanism(self) -> Any:
        """Return the mechanism that released; see `rebuilt`."""
        return rebuilt(self.provenance.mechanism)


@dataclass(frozen=True, kw_only=True)
class DenoisedTexts:
    """A denoiser in a run, and what is to be said of what it read."""

    denoiser: Denoiser

    def __call__(self, batch: BatchRelease) -> tuple[list[ReleasedText], Mapping[str, int]]:
        """Return the texts to write in the place of released ones, and counts to add up."""
        self.denoiser.check_origin(batch.provenance)
        return self.of(batch.texts)

    def of(self, texts: Sequence[ReleasedText]) -> tuple[list[ReleasedText], Mapping[str, int]]:
        """Return the same for texts that a report vouches for."""
        read = self.denoiser.read(texts)
        return [each.text for each in read], sum(map(_counted, read), Counter())

    def fingerprint(self) -> Mapping[str, Any]:
        """What the texts depend on besides what was released."""
        return {"denoised": self.denoiser.fingerprint()}

    def facts(self, counts: Mapping[str, int]) -> dict[str, Any]:
        """Return what a report says of it: nothing private, as all comes from the release and public text."""
        known, words = self.denoiser.calibration, max(1, counts.get("words", 0))
        context = self.denoiser.context
        return {
            **self.denoiser.fingerprint(),
            **({} if context is None else {"context_weight": context.weight}),
            "words": counts.get("words", 0),
            "refused_texts": counts.get("refused", 0),
            "confidence": round(counts.get("confidence", 0) / MILLION / words, 4),
            "attack": round(counts.get("attack", 0) / MILLION / words, 4),
            "on_public_text": {
                name: round(getattr(known, name), 4) for name in ("words", "named", "content", "random")
            },
        }


def denoised_texts(sanitizer: Sanitizer, style: Style) -> DenoisedTexts:
    """Return what reads the releases of a sanitizer, to give to `sanitize_documents`."""
    denoiser = Denoiser(
        sanitizer.embeddings,
        sanitizer.mechanism,
        options=sanitizer.options,
        style=style,
        certificate=certificate_in_use(sanitizer.mechanism, sanitizer.embeddings, sanitizer.certificate),
    )
    return DenoisedTexts(denoiser=denoiser)


def _counted(read: ReadRelease) -> Counter[str]:
    sums = {"confidence": read.drawn.sum(), "attack": read.named.sum()}
    whole = {name: round(MILLION * float(value)) for name, value in sums.items()}
    return Counter({"words": len(read.named), "refused": int(read.refused), **whole})


def denoise_documents(
    release: str | os.PathLike[str],
    report: ReleaseReport,
    destination: str | os.PathLike[str],
    denoiser: Denoiser,
    *,
    resume: bool = False,
    progress: Callable[[int, int | None, int, int], None] | None = None,
    notice: Notice | None = None,
    deliver: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Denoise a released file or directory, in its own format.

    Args:
        release: What `report` speaks of.
        report: The report of its release.
        destination: A file, a directory for a directory, or "-".
        denoiser: Made for the mechanism, vocabulary and options that the report names.
        resume: Continue an interrupted run; starts anew where there is none.
        progress: As for `sanitize_documents`.
        notice: As there.
        deliver: Called with the report of what was written.

    Returns:
        The release's report, its promise unchanged, now of the denoised files, with what was read under "denoised".

    Raises:
        ChecksumError: If the files are not those that the report speaks of.
        ParameterError: If the denoiser is made for something else.
        UnreadableReleaseError: If the noise leaves too little.
    """
    report.check(release)
    denoiser.check_origin(report.provenance)
    texts, counts = DenoisedTexts(denoiser=denoiser), Counter[str]()
    told: list[dict[str, Any]] = []

    def process(records: list[Record]) -> Answers:
        # The report vouches for these bytes.
        given = [ReleasedText(text) for record in records for text in record.texts if text is not None]
        read, found = texts.of(given)
        counts.update(found)
        return by_record(records, read)

    def published(_: DocumentSummary) -> None:
        outputs = [asdict(file) for file in file_digests(Path(destination))]
        named = {"destination": Path(destination).name or str(destination), "outputs": outputs}
        told.append(sealed({**report.facts, **named, "denoised": texts.facts(counts)}))
        if deliver is not None:
            deliver(told[0])

    run_documents(
        release,
        destination,
        process,
        settings=report.settings,
        fingerprint={**texts.fingerprint(), **asdict(report.provenance)},
        resume=resume,
        counts=counts,
        callbacks=Callbacks(
            progress=None if progress is None else lambda done, total, n: progress(done, total, n, counts["words"]),
            notice=notice or silent,
            published=published,
        ),
    )
    return told[0]
