"""A run: a document set through a redactor, by the one run engine, with a report that counts by kind."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordveil.arrays import ReleasedText
from wordveil.documents import DocumentSettings, Record
from wordveil.errors import printable
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.release import Provenance, Reported
from wordveil.promises.rows import into_rows
from wordveil.runs.digests import COPIED, TREE, FileDigest, file_digests
from wordveil.runs.documents import Answers, Callbacks, DocumentSummary, run_documents
from wordveil.runs.engine import Notice, silent
from wordveil.sanitizing.input_watch import Warn, nothing_read, warn_caller
from wordveil.withholding.claim import Claim
from wordveil.withholding.linking import DOCUMENT, NONE, persons_of
from wordveil.withholding.redactor import Redactor, check_share

JUDGED = 10_000  # tokens after which a run is not judged any more
DOCUMENTS = "the number of documents and of texts in each, their order, and which of their texts are empty or null"


@dataclass(frozen=True, kw_only=True)
class RedactionReport(Reported):
    """What a run released; no private word, and no counts but those that the release shows anyway.

    Attributes:
        guarantee: The promise of every text.
        disclosed: What the release shows, copied columns included.
        claim: What may and must be said of it.
        provenance: Version and lists.
        source: Name of the private input, without its directory; "-" for standard input.
        destination: Name of the output, without its directory; "-" for standard output.
        outputs: Every file written; empty where the output is no file.
        settings: How the documents were read: columns, what is copied, encoding and so on.
        options: The redactor's choices.
        documents: Texts are grouped in so many documents.
        tokens: Tokens read.
        kept: Tokens that left.
        hidden: Tokens hidden, by what is printed for them.
        copied: Names of the columns copied unchanged.
        tree: Whether a directory was released, whose file names are copied.
        files: Files written.
        missing_texts: Text columns that documents lacked.
        replaced_values: Values in a text column that were no text and became null.
        skipped_documents: Documents left out for one or the other.
        left_out_members: Members of JSON records that were left out and that the first record does not have.
        skipped_files: Files of a tree that were not read.
        bad_files: Files of a tree that were left out because they are malformed.
        resumed_documents: Documents taken over from an interrupted run.
        finished: Time of the end, UTC, ISO 8601.
        seconds: Wall-clock time of this process's part.
    """

    guarantee: Guarantee
    disclosed: tuple[str, ...]
    claim: Claim
    provenance: Provenance
    source: str
    destination: str
    outputs: tuple[FileDigest, ...]
    settings: dict[str, Any]
    options: dict[str, Any]
    documents: int
    tokens: int
    kept: int
    hidden: dict[str, int]
    copied: tuple[str, ...]
    tree: bool
    files: int
    missing_texts: int
    replaced_values: int
    skipped_documents: int
    left_out_members: int
    skipped_files: int
    bad_files: int
    resumed_documents: int
    finished: str
    seconds: float


def redact_documents(  # noqa: PLR0913 (those of `sanitize_documents`)
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    redactor: Redactor,
    *,
    settings: DocumentSettings | None = None,
    resume: bool = False,
    again: bool = False,
    progress: Callable[[int, int | None, int, int], None] | None = None,
    notice: Notice | None = None,
    deliver: Callable[[RedactionReport], None] | None = None,
    warn: Warn = warn_caller,
) -> RedactionReport:
    """Redact a file, a directory tree or standard input, in its own format.

    Args:
        source: A file, a directory, or "-"; where persons are linked, a file with columns.
        destination: A file, a directory for a directory, or "-".
        redactor: Give it `run_source(destination, resume=resume)` as its source to be able to resume.
        settings: How documents are read.
        resume: Continue an interrupted run with the same input and choices.
        again: Write over an output that is there.
        progress: Called after each block with bytes read, bytes in all (None if unknown), documents, tokens.
        notice: Told, line by line, what the owner should know and a report that travels should not hold.
        deliver: Called with the report when the output is in its place.
        warn: Called with an `InputWarning` at the end where the input held nothing.

    Returns:
        The report of the run.

    Raises:
        TooLittleKeptError: If less than .4 of the tokens are kept; the first blocks decide, up to 10 000 tokens.
        DocumentFormatError: If the input is malformed.
        ParameterError: If settings or destination do not fit, or the output is there and `again` was not asked for.
        ResumeError: If the interrupted run had another input, or other choices.
    """
    settings = settings or DocumentSettings()
    counts, started = Counter[str](), time.perf_counter()
    prefix = "".join(f"\0{column}" for column in settings.columns)
    reports: list[RedactionReport] = []
    persons = None if redactor.link in (NONE, DOCUMENT) else persons_of(source, redactor.link, settings)

    def released(records: list[Record]) -> list[ReleasedText]:
        together = redactor.release_all([t for record in records for t in record.texts if t is not None], counts)
        return [text for record in records for text in of_record(record)] if together is None else together

    def of_record(record: Record) -> Iterator[ReleasedText]:
        owner = None if persons is None else persons[record.ordinal], f"{prefix}{record.key}"
        links, shift = redactor.links(*owner), redactor.shift(*owner)
        for i, text in enumerate(record.texts):
            if text is not None:
                yield redactor.release(text, counts, f"{prefix}{record.text_key(i)}", links, shift)

    def process(records: list[Record]) -> Answers:
        judged = counts["kept"] + counts["hidden"] < JUDGED
        answers = into_rows([record.texts for record in records], released(records))
        if judged:
            check_share(counts)
        return answers

    def reported(summary: DocumentSummary) -> RedactionReport:
        seconds = time.perf_counter() - started
        return _report(source, destination, redactor, settings, summary, counts=counts, seconds=seconds)

    def published(summary: DocumentSummary) -> None:
        reports.append(reported(summary))
        (deliver or _nobody)(reports[0])

    def told(done: int, total: int | None, documents: int) -> None:
        (progress or _nobody)(done, total, documents, counts["kept"] + counts["hidden"])

    summary = run_documents(
        source,
        destination,
        process,
        settings=settings,
        fingerprint={"redact": redactor.choices()},
        randomness=redactor.source,
        resume=resume,
        again=again,
        counts=counts,
        callbacks=Callbacks(progress=told, notice=notice or silent, published=published),
    )
    report = reports[0] if reports else reported(summary)
    if empty := nothing_read(report.documents, report.tokens):
        warn(empty)
    return report


def _nobody(*_: object) -> None:
    """Tell nobody."""


def _report(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    redactor: Redactor,
    settings: DocumentSettings,
    summary: DocumentSummary,
    *,
    counts: Counter[str],
    seconds: float,
) -> RedactionReport:
    copied, tree = tuple(map(printable, summary.copied_columns)), Path(source).is_dir()
    kinds = ("name", "number", "link", "word")
    finished = summary.finished or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return RedactionReport(
        guarantee=redactor.guarantee,
        disclosed=(*redactor.disclosed, *run_shows(settings.missing, copied=copied, tree=tree)),
        claim=Claim.of(counts, redactor.words, law=redactor.law, days=redactor.days),
        provenance=redactor.provenance,
        source=_named(source),
        destination=_named(destination),
        outputs=file_digests(Path(destination)),
        settings={name.removeprefix("documents."): value for name, value in settings.fingerprint().items()},
        options=redactor.choices(),
        documents=summary.documents,
        tokens=counts["kept"] + counts["hidden"],
        kept=counts["kept"],
        hidden={kind: counts[kind] for kind in kinds},
        copied=copied,
        tree=tree,
        files=summary.files,
        skipped_files=len(summary.skipped_files),
        bad_files=len(summary.bad_files),
        resumed_documents=summary.resumed_documents,
        finished=finished,
        seconds=seconds,
        **_gaps(summary.gaps),
    )


def _gaps(gaps: Mapping[str, int]) -> dict[str, Any]:
    names = {
        "missing_texts": "missing",
        "replaced_values": "not_text",
        "skipped_documents": "skipped",
        "left_out_members": "members",
    }
    return {name: gaps.get(gap, 0) for name, gap in names.items()}


def _named(path: str | os.PathLike[str]) -> str:
    return printable(Path(path).name) or os.fspath(path)


def run_shows(missing: str, *, copied: tuple[str, ...], tree: bool) -> tuple[str, ...]:
    """Return what a run shows besides the texts, one sentence each.

    Args:
        missing: What becomes of documents without a text column; see `DocumentSettings`.
        copied: Names of the columns copied unchanged.
        tree: Whether a directory is released.
    """
    said = [DOCUMENTS]
    if missing == "keep":
        said.append("which documents lack a text column, and which held something else than text there (null now)")
    if missing == "skip":
        said.append("that every document lacking a text column, or holding something else than text there, is left out")
    if copied:
        said.append(COPIED + ", ".join(copied))
    if tree:
        said.append(TREE)
    return tuple(said)
