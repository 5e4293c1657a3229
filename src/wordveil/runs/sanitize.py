"""A run: a document set through a sanitizer, streamed, atomic, resumable, with a report.

The noise of a record is placed by its document id (input name, record ordinal) and all its texts, under one key a
run. The key lies in a 0600 file beside the output until the run has succeeded, so that a
resumed run draws the noise it would have drawn.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

from wordveil.arrays import ReleasedText
from wordveil.documents import DocumentSettings, Record
from wordveil.errors import printable
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.release import KEYED, BatchRelease, Provenance, Reported
from wordveil.promises.rows import into_rows
from wordveil.runs.digests import COPIED, TREE, FileDigest, digests_of, file_digests
from wordveil.runs.documents import Answers, Callbacks, DocumentSummary, run_documents
from wordveil.runs.engine import Notice, silent
from wordveil.sanitizing.input_watch import InputWatch
from wordveil.sanitizing.rows import release_rows
from wordveil.sanitizing.sanitizer import Sanitizer

__all__ = [
    "COPIED",
    "TREE",
    "Afterwards",
    "FileDigest",
    "RunReport",
    "file_digests",
    "fingerprint",
    "add_counts",
    "release_records",
    "run_disclosures",
    "run_report",
    "sanitize_documents",
]


@dataclass(frozen=True, kw_only=True)
class RunReport(Reported):
    """What a run released; no private word, and no counts but those that the release shows anyway.

    It names the input and the output, and every file of a tree that was written, as evidence of which release it is: a
    file name that must not be known is to be changed before the run. The counts of what was left out (`skipped_...`,
    `bad_files`) tell the owner that nothing was lost unseen.

    Attributes:
        guarantee: The promise per unit.
        disclosed: What is disclosed whatever the noise, copied columns included.
        provenance: Mechanism, vocabulary and checksums.
        source: Name of the private input, without its directory; "-" for standard input.
        destination: Name of the output, without its directory; "-" for standard output.
        outputs: Every file written, in a tree with its path; empty where the output is no file.
        settings: How the documents were read: columns, what is copied, encoding and so on.
        options: What happens around the mechanism: unknown words, unit, casing and so on.
        documents: Texts are grouped in so many documents.
        tokens: Tokens randomized.
        exempt: Public words that passed verbatim.
        longest: Tokens randomized of the longest document.
        copied: Names of the columns copied unchanged.
        tree: Whether a directory was released, whose file names are copied.
        files: Files written.
        missing_texts: Text columns that documents lacked.
        replaced_values: Values in a text column that were no text and became null.
        skipped_documents: Documents left out for one or the other.
        skipped_files: Files of a tree that were not read: hidden, of another format, links out of it. (Their number;
            `notice` names them.)
        bad_files: Files of a tree that were left out because they are malformed.
        resumed_documents: Documents taken over from an interrupted run.
        finished: Time of the end, UTC, ISO 8601.
        seconds: Wall-clock time of this process's part.
        tokens_per_second: Tokens of this process's part over its time.
        inputs: Every file read, only where it was asked for: whoever has the digest of a private file can tell whether
            a guess of the whole file is right, and its size is the total length of its words.
        budget: What bounds the loss of all documents of one person, and what it left out, where that was asked for.
        denoised: What was read of the release, and what an attacker reads, where that was asked for.
        left_out_members: Members of JSON records that were left out and that the first record does not have.
    """

    guarantee: Guarantee
    disclosed: tuple[str, ...]
    provenance: Provenance
    source: str
    destination: str
    outputs: tuple[FileDigest, ...]
    settings: dict[str, Any]
    options: dict[str, Any]
    documents: int
    tokens: int
    exempt: int
    longest: int
    copied: tuple[str, ...]
    tree: bool
    files: int
    missing_texts: int
    replaced_values: int
    skipped_documents: int
    skipped_files: int
    bad_files: int
    resumed_documents: int
    finished: str
    seconds: float
    tokens_per_second: float
    inputs: tuple[FileDigest, ...] = ()
    budget: dict[str, Any] | None = None
    denoised: dict[str, Any] | None = None
    left_out_members: int = 0

    def with_inputs(self, source: str | os.PathLike[str], settings: DocumentSettings | None = None) -> Self:
        """Return the report with size and SHA-256 of the input as it is now; see `inputs`."""
        return replace(self, inputs=file_digests(Path(source), settings or DocumentSettings()))


class Afterwards(Protocol):
    """Post-processing in a run; it sees what was released and no more."""

    def __call__(self, batch: BatchRelease) -> tuple[list[ReleasedText], Mapping[str, int]]:
        """Return the texts to write in the place of the released ones, and counts to add up."""

    def fingerprint(self) -> Mapping[str, Any]:
        """Return what the texts depend on besides the release, as JSON values."""

    def facts(self, counts: Mapping[str, int]) -> dict[str, Any]:
        """Return what a report says of it."""


def sanitize_documents(  # noqa: PLR0913 (half of them tell the owner how it goes)
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    sanitizer: Sanitizer,
    *,
    settings: DocumentSettings | None = None,
    resume: bool = False,
    again: bool = False,
    progress: Callable[[int, int | None, int, int], None] | None = None,
    notice: Notice | None = None,
    deliver: Callable[[RunReport], None] | None = None,
    afterwards: Afterwards | None = None,
    watch: InputWatch | None = None,
) -> RunReport:
    """Sanitize a file, a directory tree or standard input, in its own format.

    Args:
        source: A file, a directory, or "-".
        destination: A file, a directory for a directory, or "-".
        sanitizer: The pipeline; give it `run_source(destination, resume=resume)` as its source to be able to resume.
        settings: How documents are read.
        resume: Continue an interrupted run with the same input and settings. Where the output is complete, and of the
            same input and settings, nothing is released or written; where there is neither, the run starts anew.
        again: Write over an output that is there: a second release, whose loss adds to the first's.
        progress: Called after each block with bytes read, bytes in all (None if unknown), documents, tokens.
        notice: Told, line by line, what the owner should know and a report that travels should not hold: a run that is
            continued or discarded, names of files that were not read or are malformed.
        deliver: Called with the report when the output is in its place, to write it down: where that fails, the run can
            be resumed, which releases nothing anew and delivers the report again. Not called where the output was
            complete before.
        afterwards: What is done to the released texts before they are written.
        watch: `sanitizer.watch(warn)`: counts unknown words for the owner, and calls `warn` before a text is released
            that does not look like what the vocabulary is for, or at the end if there were no words. The first blocks
            decide, up to 10 000 words; a resumed run is not judged again. None warns as Python does.

    Returns:
        The report of the run.

    Raises:
        DocumentFormatError: If the input is malformed, in a tree every file; no output remains.
        OSError: If the disk is full; names the output, and says whether the run can be resumed.
        ResumeError: If the interrupted run, or the complete output, had another input, other settings, vocabulary or
            version.
        ParameterError: If settings or destination do not fit, the output is there and `again` was not asked for, or
            another run is writing there.
    """
    settings = settings or DocumentSettings()
    counts, here = Counter[str](), Counter[str]()  # of the whole run, and of this process's part
    watch = watch or sanitizer.watch()
    job, started = sanitizer.for_batch_job(watch.look), time.perf_counter()
    job.source = sanitizer.source.kept()  # beside the output, until it is written
    reports: list[RunReport] = []

    def process(records: list[Record]) -> Answers:
        if counts["documents"] and not here:
            watch.settled = True  # the interrupted run was judged
        answers, found = release_records(job, records, afterwards, columns=settings.columns)
        for counter in (counts, here):
            add_counts(counter, found)
        return answers

    def reported(summary: DocumentSummary) -> RunReport:
        spent = time.perf_counter() - started, here["tokens"]
        report = run_report(source, destination, sanitizer, settings, summary, counts=counts, spent=spent)
        return report if afterwards is None else replace(report, denoised=afterwards.facts(counts))

    def published(summary: DocumentSummary) -> None:
        reports.append(reported(summary))
        if deliver is not None:
            deliver(reports[0])

    summary = run_documents(
        source,
        destination,
        process,
        settings=settings,
        fingerprint={**fingerprint(sanitizer), **({} if afterwards is None else afterwards.fingerprint())},
        randomness=sanitizer.source,
        resume=resume,
        again=again,
        counts=counts,
        callbacks=Callbacks(
            progress=None if progress is None else lambda done, total, n: progress(done, total, n, counts["tokens"]),
            notice=notice or silent,
            published=published,
        ),
    )
    if not reports:  # the output was complete before
        return reported(summary)
    watch.finish(counts["documents"], counts["tokens"] + counts["exempt"])
    return reports[0]


def fingerprint(sanitizer: Sanitizer) -> dict[str, Any]:
    """What a run's output depends on besides its input, the settings and the key, as JSON values.

    The noise domain holds what the other two do not name: the reading of texts, a stock's map and encoder. The engine
    does not count: every one gives the same words.
    """
    origin = asdict(sanitizer.provenance)
    del origin["engine"]
    return {"options": sanitizer.options.choices(), **origin, "noise": sanitizer.parts.domain}


def run_report(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    sanitizer: Sanitizer,
    settings: DocumentSettings,
    summary: DocumentSummary,
    *,
    counts: Counter[str],
    spent: tuple[float, int],
    outputs: Iterable[Mapping[str, Any]] | None = None,
) -> RunReport:
    """Return the report of a run whose output is in its place.

    Args:
        source: As in `sanitize_documents`.
        destination: As there.
        sanitizer: As there.
        settings: As there.
        summary: What the run did.
        counts: "tokens" and "exempt" of the whole run.
        spent: Seconds and tokens of this process's part.
        outputs: What tells each file written from any other (`file_identity`), where that is known.
    """
    written = file_digests(Path(destination)) if outputs is None else digests_of(outputs)
    facts = {**_files(source, destination), "outputs": written, **_settings(sanitizer, settings), **_counted(summary)}
    facts |= {name: counts[name] for name in ("tokens", "exempt", "longest")} | {"seconds": spent[0]}
    facts |= {"finished": summary.finished} if summary.finished else {}
    passed: dict[str, Any] = {"copied": tuple(map(printable, summary.copied_columns)), "tree": Path(source).is_dir()}
    disclosed, facts = run_disclosures(sanitizer.disclosed, settings.missing, **passed), facts | passed
    return RunReport(disclosed=disclosed, tokens_per_second=spent[1] / spent[0], **facts)


def _files(source: str | os.PathLike[str], destination: str | os.PathLike[str]) -> dict[str, Any]:
    return {
        "source": printable(Path(source).name) or os.fspath(source),
        "destination": printable(Path(destination).name) or os.fspath(destination),
    }


def _counted(summary: DocumentSummary) -> dict[str, Any]:
    return {
        "documents": summary.documents,
        "files": summary.files,
        "missing_texts": summary.gaps.get("missing", 0),
        "replaced_values": summary.gaps.get("not_text", 0),
        "skipped_documents": summary.gaps.get("skipped", 0),
        "left_out_members": summary.gaps.get("members", 0),
        "skipped_files": len(summary.skipped_files),
        "bad_files": len(summary.bad_files),
        "resumed_documents": summary.resumed_documents,
    }


def _settings(sanitizer: Sanitizer, settings: DocumentSettings) -> dict[str, Any]:
    """The report's promise, how documents are read (without what only changes speed), and the time of the end."""
    return {
        "guarantee": sanitizer.guarantee,
        "provenance": sanitizer.provenance,
        "settings": {name.removeprefix("documents."): value for name, value in settings.fingerprint().items()},
        "options": sanitizer.options.choices(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def release_records(
    sanitizer: Sanitizer, records: list[Record], afterwards: Afterwards | None = None, *, columns: Sequence[str] = ()
) -> tuple[Answers, Mapping[str, int]]:
    """Return the released texts of each record of a block, and what to count; a record is one document.

    The columns that texts are taken from are part of its id: others of the same row are another document.
    """
    rows = [record.texts for record in records]
    part = f"\0{json.dumps([*columns])}" if columns else ""  # no file's name begins so
    released, batch = release_rows(sanitizer, rows, [record.key for record in records], part)
    seen = {name: getattr(batch, name) for name in ("tokens", "exempt", "longest")}
    if afterwards is None:
        return released, seen
    texts, found = afterwards(batch)
    return into_rows(rows, texts), {**found, **seen}


def add_counts(counts: Counter[str], others: Mapping[str, int]) -> None:
    """Add what was counted elsewhere; of "longest" the larger one stays."""
    longest = max(counts["longest"], others.get("longest", 0))
    counts.update(others)
    counts["longest"] = longest


def run_disclosures(disclosed: Sequence[str], missing: str, *, copied: Sequence[str], tree: bool) -> tuple[str, ...]:
    """Return what a run discloses whatever the noise, one sentence each.

    Args:
        disclosed: What every release of the sanitizer discloses.
        missing: What becomes of documents without a text column; see `DocumentSettings`.
        copied: Names of the columns copied unchanged.
        tree: Whether a directory is released.
    """
    said = [*disclosed, KEYED]
    said.append("the number of documents and of texts in each, their order, and which of their texts are empty or null")
    if missing == "keep":
        said.append("which documents lack a text column, and which held something else than text there (null now)")
    if missing == "skip":
        said.append("that every document lacking a text column, or holding something else than text there, is left out")
    if copied:
        said.append(COPIED + ", ".join(copied))
    if tree:
        said.append(TREE)
    return tuple(said)
