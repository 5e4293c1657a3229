"""The frame of a run over documents: how its owner is told of it, and what every report of one holds."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from wordveil.documents import DocumentSettings
from wordveil.errors import ResumeError, printable
from wordveil.files.atomic import is_replaceable, standing
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.release import Provenance, Reported
from wordveil.runs.digests import COPIED, TREE, FileDigest, digests_of, file_digests
from wordveil.runs.documents import Callbacks, DocumentSummary, Process, run_documents
from wordveil.runs.engine import LOG, Notice, silent

R = TypeVar("R")

RunProgress = Callable[[int, int | None, int, int], None]
"""Called after each block with bytes read, bytes in all (None if unknown), documents, tokens."""


@dataclass(frozen=True, kw_only=True)
class DocumentReport(Reported):
    """What every run over documents reports; no private word, and no counts but those that the release shows anyway.

    It names the input and the output, and every file of a tree that was written, as evidence of which release it is: a
    file name that must not be known is to be changed before the run. The counts of what was left out (`skipped_...`,
    `bad_files`) tell the owner that nothing was lost unseen.
    """

    guarantee: Guarantee  # the promise per unit
    disclosed: tuple[str, ...]  # what is disclosed whatever the noise, copied columns included
    provenance: Provenance  # mechanism, vocabulary or lists, and checksums
    source: str  # name of the private input, without its directory; "-" for standard input
    destination: str  # name of the output, without its directory; "-" for standard output
    outputs: tuple[FileDigest, ...]  # every file written, in a tree with its path; empty where the output is no file
    settings: dict[str, Any]  # how the documents were read: columns, what is copied, encoding and so on
    options: dict[str, Any]  # what happens to texts beside the mechanism
    documents: int  # texts are grouped in so many documents
    tokens: int  # tokens read
    copied: tuple[str, ...]  # names of the columns copied unchanged
    tree: bool  # whether a directory was released, whose file names are copied
    files: int  # files written
    missing_texts: int  # text columns that documents lacked
    replaced_values: int  # values in a text column that were no text and became null
    skipped_documents: int  # documents left out for one or the other
    left_out_members: int = 0  # members of JSON records that were left out and that the first record does not have
    # files of a tree that were not read: hidden, of another format, links out of it. (Their number; `notice` names
    # them.)
    skipped_files: int
    bad_files: int  # files of a tree that were left out because they are malformed
    resumed_documents: int  # documents taken over from an interrupted run
    finished: str  # time of the end, UTC, ISO 8601
    seconds: float  # wall-clock time of this process's part


def run_facts(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    settings: DocumentSettings,
    summary: DocumentSummary,
    outputs: Iterable[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return what a report says of a run whose output is in its place, but for the promise, tokens and time.

    What tells each output from any other (`file_identity`) is given where it is known.
    """
    gaps = summary.gaps
    return {
        "source": printable(Path(source).name) or os.fspath(source),
        "destination": printable(Path(destination).name) or os.fspath(destination),
        "outputs": file_digests(Path(destination)) if outputs is None else digests_of(outputs),
        "settings": {name.removeprefix("documents."): value for name, value in settings.fingerprint().items()},
        "documents": summary.documents,
        "copied": tuple(map(printable, summary.copied_columns)),
        "tree": Path(source).is_dir(),
        "files": summary.files,
        "missing_texts": gaps.get("missing", 0),
        "replaced_values": gaps.get("not_text", 0),
        "skipped_documents": gaps.get("skipped", 0),
        "left_out_members": gaps.get("members", 0),
        "skipped_files": len(summary.skipped_files),
        "bad_files": len(summary.bad_files),
        "resumed_documents": summary.resumed_documents,
        "finished": summary.finished,
    }


def run_shows(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a run shows besides the texts, one sentence each, given what its report says of it."""
    said = ["the number of documents and of texts in each, their order, and which of their texts are empty or null"]
    if facts["settings"]["missing"] == "keep":
        said.append("which documents lack a text column, and which held something else than text there (null now)")
    if facts["settings"]["missing"] == "skip":
        said.append("that every document lacking a text column, or holding something else than text there, is left out")
    if facts["copied"]:
        said.append(COPIED + ", ".join(facts["copied"]))
    if facts["tree"]:
        said.append(TREE)
    return tuple(said)


def run_and_report(  # noqa: PLR0913 (half of them tell the owner how it goes)
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    process: Process,
    report: Callable[[DocumentSummary, float], R],
    *,
    counts: Counter[str],
    tokens: Collection[str],
    progress: RunProgress | None = None,
    notice: Notice | None = None,
    deliver: Callable[[R], None] | None = None,
    again: bool = False,
    read: Callable[[], None] = lambda: None,
    **run: Any,
) -> tuple[R, bool]:
    """Run documents through a function, and return the report, and whether the output was complete before.

    `report` makes it of what was done and the seconds spent; it is delivered when the output is in its place. `tokens`
    are the counts whose sum is shown as progress, `read` is called when all is read; all others are arguments of
    `run_documents`.
    """
    started = time.perf_counter()
    reports: list[R] = []

    def published(summary: DocumentSummary) -> None:
        seconds, read_tokens = time.perf_counter() - started, sum(counts[name] for name in tokens)
        reports.append(report(summary, seconds))
        done = summary.documents, read_tokens, len(summary.bad_files), seconds
        LOG.info("%d documents with %d tokens are released; %d files could not be read; %.1f s", *done)
        if deliver is not None:
            deliver(reports[0])

    def told(done: int, total: int | None, documents: int) -> None:
        if progress is not None:  # and no log, which travels: where blocks end depends on the length of private texts
            progress(done, total, documents, sum(counts[name] for name in tokens))

    calls = Callbacks(progress=told, notice=notice or silent, read=read, published=published)
    before = standing(Path(destination)) if is_replaceable(destination) else []
    summary = run_documents(source, destination, process, again=again, counts=counts, callbacks=calls, **run)
    if reports:
        return reports[0], False
    found = report(summary, time.perf_counter() - started)
    if standing(Path(destination)) != before:  # nobody holds a complete output
        raise ResumeError(f"{Path(destination).name} was written over while its report was made. Nothing is reported.")
    return found, True
