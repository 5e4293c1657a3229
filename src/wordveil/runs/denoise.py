"""Released files read: a file and its report through a denoiser, streamed, atomic, resumable, reported.

What may be read is what a report of `sanitize` speaks of, byte for byte: a private text has no such report.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from wordveil.arrays import ReleasedText
from wordveil.denoising.denoiser import Denoiser, ReadRelease, Style
from wordveil.documents import DocumentSettings, FormatDetails, Record
from wordveil.errors import ChecksumError, DataFormatError
from wordveil.promises.release import BatchRelease, Provenance, TextOptions
from wordveil.promises.rows import into_rows
from wordveil.runs.digests import FileDigest, file_digests
from wordveil.runs.documents import Answers, DocumentSummary, Known, stamp_of
from wordveil.runs.engine import RunOptions
from wordveil.runs.evidence import differences
from wordveil.runs.frame import RunProgress, run_and_report
from wordveil.runs.rebuilding import rebuilt
from wordveil.runs.report_schema import read_report, sealed
from wordveil.sanitizing.fitting import certificate_in_use
from wordveil.sanitizing.sanitizer import Sanitizer

BLOCK_CHARACTERS = 200_000  # read at once: about ten seconds of work, and so much is lost at most by a kill
MILLION = 1_000_000  # counts are whole numbers


@dataclass(frozen=True, kw_only=True)
class ReleaseReport:
    """What a report of `sanitize` says, as far as a reader of its release needs it."""

    facts: Mapping[str, Any]
    outputs: tuple[FileDigest, ...]
    provenance: Provenance
    options: TextOptions
    settings: DocumentSettings

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ReleaseReport:
        stored = read_report(path)
        facts = stored.facts
        try:
            settings = dict(facts["settings"])
            details = FormatDetails(**settings.pop("details"))
            del settings["encoding"]  # what is released is UTF-8
            _renumber(settings, header=details.header)
            settings |= {"missing": "keep", "details": details, "block_characters": BLOCK_CHARACTERS}
            report = cls(
                facts=facts,
                outputs=stored.outputs,
                provenance=stored.provenance,
                options=stored.options,
                settings=DocumentSettings(**settings),
            )
        except (ValueError, KeyError, TypeError):
            raise DataFormatError(Path(path), "is no report of `wordveil sanitize`.") from None
        if facts.get("denoised"):
            raise DataFormatError(Path(path), "speaks of a text that was denoised already.")
        return report

    def with_others(
        self, keep: Collection[str] | None = None, *, keep_others: bool = False, drop_others: bool = False
    ) -> ReleaseReport:
        """Return the report, read with other columns copied than it says; as it is where nothing is said here.

        A report of a release whose other columns were all copied unasked, as older ones were, says nothing of them.
        """
        if not (keep or keep_others or drop_others):
            return self
        named = tuple(keep) if keep else None
        settings = replace(self.settings, keep=named, keep_others=keep_others, drop_others=drop_others)
        return replace(self, settings=settings)

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
        return rebuilt(self.provenance.mechanism)


def _renumber(settings: dict[str, Any], *, header: bool) -> None:
    """Give the columns the names that they have in what was released: without a header, places among those written."""
    columns, keep = settings["columns"], settings["keep"]
    names = {*columns, *(keep or ())}
    if not header and (keep is not None or settings["drop_others"]) and all(map(str.isdigit, names)):
        written = sorted(names, key=int)
        columns, keep = ([str(written.index(name) + 1) for name in names or ()] for names in (columns, keep))
    settings |= {"columns": tuple(columns), "keep": tuple(keep) if keep else None}


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
        return {"denoised": self.denoiser.fingerprint()}

    def facts(self, counts: Mapping[str, int]) -> dict[str, Any]:
        """Return what a report says of it: nothing private, as all comes from the release and public text."""
        known, words = self.denoiser.calibration, max(1, counts.get("words", 0))
        return {
            **self.denoiser.fingerprint(),
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
    **options: Unpack[RunOptions[dict[str, Any], RunProgress]],
) -> dict[str, Any]:
    """Denoise a released file or directory, in its own format; `options` are those of `RunOptions`.

    The denoiser is made for the mechanism, vocabulary and options that the report of the release names. Returned, and
    delivered where the output was not complete before, is that report, its promise unchanged, now of the denoised
    files, with what was read under "denoised".

    Raises:
        ChecksumError: If the files are not those that the report speaks of.
        ParameterError: If the denoiser is made for something else.
        UnreadableReleaseError: If the noise leaves too little.
    """
    report.check(release)
    denoiser.check_origin(report.provenance)
    texts, counts = DenoisedTexts(denoiser=denoiser), Counter[str]()

    def vouched(files: Sequence[tuple[str, DocumentSettings]]) -> list[Known]:
        stamps = [stamp_of(path) for path, _ in files]
        report.check(release)  # again: what takes its place from now on has another stamp
        return [Known(stamp=stamp) for stamp in stamps]

    def process(records: list[Record]) -> Answers:
        # The report vouches for these bytes.
        given = [ReleasedText(text) for record in records for text in record.texts if text is not None]
        read, found = texts.of(given)
        counts.update(found)
        return into_rows([record.texts for record in records], read)

    def reported(summary: DocumentSummary, _: float) -> dict[str, Any]:
        outputs = [asdict(file) for file in file_digests(Path(destination))]
        named = {"destination": Path(destination).name or str(destination), "outputs": outputs}
        gaps = {"bad_files": len(summary.bad_files), "left_out_members": summary.gaps.get("members", 0)}
        gaps = {name: report.facts.get(name, 0) + count for name, count in gaps.items()}
        return sealed({**report.facts, **named, **gaps, "denoised": texts.facts(counts)})

    told, _ = run_and_report(
        release,
        destination,
        process,
        reported,
        settings=report.settings,
        fingerprint={**texts.fingerprint(), **asdict(report.provenance)},
        counts=counts,
        tokens=["words"],
        beforehand=vouched,
        read=lambda: report.check(release),  # and again: the report made now names what was read
        **options,
    )
    return told
