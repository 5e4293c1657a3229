"""A run: a document set through a sanitizer, streamed, atomic, resumable, with a report.

The noise of a record is placed by its document id (input name, record ordinal) and all its texts, under one key a
run. The key lies in a 0600 file beside the output until the run has succeeded, so that a
resumed run draws the noise it would have drawn.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from wordveil.documents import (
    DocumentSettings,
    Pipeline,
    Process,
    is_resumable,
    load_run_key,
    remove_run_key,
    run_documents,
    run_key_path,
    save_run_key,
)
from wordveil.documents.checkpoints import is_regular_or_tree
from wordveil.documents.output import check_not_busy, partial_path
from wordveil.errors import ParameterError
from wordveil.guarantees import Guarantee
from wordveil.overlapping import BLOCKS_IN_WORK, BlockCounts, BlockSanitizer, OverlappedSanitizer
from wordveil.randomness import RandomSource
from wordveil.release import KEYED, Provenance
from wordveil.sanitizer import Sanitizer
from wordveil.workers import TextWorkers

__all__ = ["RunReport", "keep_run_key", "run_source", "sanitize_documents"]


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """What a run released; no private word, no count that the release does not show anyway.

    Attributes:
        guarantee: The promise per unit.
        disclosed: What is disclosed whatever the noise, copied columns included.
        provenance: Mechanism, vocabulary and checksums.
        documents: Texts are grouped in so many documents.
        tokens: Tokens randomized.
        exempt: Public words that passed verbatim.
        files: Files written.
        skipped_files: Files of a tree that were not read.
        resumed_documents: Documents taken over from an interrupted run.
        finished: Time of the end, UTC, ISO 8601.
        seconds: Wall-clock time of this process's part.
        tokens_per_second: Tokens of this process's part over its time.
    """

    guarantee: Guarantee
    disclosed: tuple[str, ...]
    provenance: Provenance
    documents: int
    tokens: int
    exempt: int
    files: int
    skipped_files: tuple[str, ...]
    resumed_documents: int
    finished: str
    seconds: float
    tokens_per_second: float

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary."""
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**facts, "guarantee": self.guarantee.as_dict(), "provenance": asdict(self.provenance)}


class _Counts(BlockCounts):
    """Counts that survive a resume."""

    def save(self) -> Mapping[str, Any]:
        return {"tokens": self.tokens, "exempt": self.exempt}

    def restore(self, saved: Mapping[str, Any]) -> None:
        self.tokens, self.exempt = saved.get("tokens", 0), saved.get("exempt", 0)


def run_source(destination: str | os.PathLike[str], *, resume: bool = False) -> RandomSource:
    """Return the randomness of a run: a fresh key, or the key of the interrupted run at this destination.

    Raises:
        ResumeError: If an interrupted run is there but its key is missing or readable by others.
    """
    if resume and os.fspath(destination) != "-" and is_resumable(Path(destination)):
        return RandomSource(load_run_key(run_key_path(Path(destination))))
    return RandomSource()


def sanitize_documents(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    sanitizer: Sanitizer,
    *,
    settings: DocumentSettings | None = None,
    resume: bool = False,
    workers: int = 1,
    progress: Callable[[int, int | None, int, int], None] | None = None,
) -> RunReport:
    """Sanitize a file, a directory tree or standard input, in its own format.

    Args:
        source: A file, a directory, or "-".
        destination: A file, a directory for a directory, or "-".
        sanitizer: The pipeline; give it `run_source(destination, resume=resume)` as its source to be able to resume.
        settings: How documents are read.
        resume: Continue an interrupted run with the same input and settings; starts anew where there is none.
        workers: Processes for the text work; 1 does it in this one. The output does not depend on it. See `TextWorkers`
            for what a program must look like to use more.
        progress: Called after each block with bytes read, bytes in all (None if unknown), documents, tokens.

    Returns:
        The report of the run.

    Raises:
        DocumentFormatError: If the input is malformed; no output remains.
        ResumeError: If the interrupted run had another input, other settings, vocabulary or version.
        ParameterError: If settings or destination do not fit, or another run is writing there.
        ChildProcessError: If a worker was killed; the run can be resumed.
    """
    settings = settings or DocumentSettings()
    counts = _Counts()
    key_path = keep_run_key(source, Path(destination), sanitizer.source, resume=resume)
    started = time.perf_counter()
    try:
        with _process(sanitizer.for_batch_job(), counts, settings, workers) as (process, chosen):
            summary = run_documents(
                source,
                destination,
                process,
                settings=chosen,
                fingerprint=_fingerprint(sanitizer),
                resume=resume,
                progress=None if progress is None else lambda done, total, n: progress(done, total, n, counts.tokens),
                tally=counts,
            )
    finally:
        if key_path is not None and not is_resumable(Path(destination)):
            remove_run_key(key_path)
    seconds = time.perf_counter() - started
    return RunReport(
        guarantee=sanitizer.guarantee,
        disclosed=_run_disclosures(sanitizer, summary.copied_columns, tree=Path(source).is_dir()),
        provenance=sanitizer.provenance,
        documents=summary.documents,
        tokens=counts.tokens,
        exempt=counts.exempt,
        files=summary.files,
        skipped_files=tuple(summary.skipped_files),
        resumed_documents=summary.resumed_documents,
        finished=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        seconds=seconds,
        tokens_per_second=counts.tokens_here / seconds,
    )


@contextmanager
def _process(
    sanitizer: Sanitizer, counts: BlockCounts, settings: DocumentSettings, workers: int
) -> Iterator[tuple[Process | Pipeline, DocumentSettings]]:
    """Yield what sanitizes blocks, and the settings with blocks of the right size for it."""
    if workers < 1:
        raise ParameterError("workers", workers, "must be at least 1.")
    if workers == 1 or settings.line_buffered:  # a line that is waited for cannot wait for others
        yield BlockSanitizer(sanitizer, counts), settings
        return
    # As much in work as without workers, but no block below a section: the pieces left over would be small.
    whole = settings.block_characters
    share = max(1, whole // BLOCKS_IN_WORK, min(whole, settings.details.section_bytes))
    smaller = replace(settings, block_characters=share)
    with TextWorkers(sanitizer.embeddings, *sanitizer.text_side, workers) as processes:
        yield OverlappedSanitizer(sanitizer, counts, processes), smaller


def keep_run_key(
    source: str | os.PathLike[str], destination: Path, randomness: RandomSource, *, resume: bool
) -> Path | None:
    """Save the run key where the run can be resumed, and return where; None where no key must lie about.

    Raises:
        ParameterError: If another run is writing to the destination.
    """
    resumable = os.fspath(source) != "-" and Path(source).exists() and is_regular_or_tree(os.fspath(destination))
    if not resumable or not destination.resolve().parent.is_dir():
        return None
    # Before anything is touched: the key there may be the key of a run that is alive.
    check_not_busy(partial_path(destination.resolve()))
    path = run_key_path(destination)
    if not (resume and is_resumable(destination)):
        save_run_key(path, randomness.export_key())
    return path


def _fingerprint(sanitizer: Sanitizer) -> dict[str, Any]:
    options = asdict(sanitizer.options)
    options["public_words"] = sorted(sanitizer.options.public_words)
    # A digest of 128 random bits says nothing of them; it keeps a run from going on under another key.
    key = hashlib.blake2b(sanitizer.source.export_key(), digest_size=16).hexdigest()
    return {"options": options, "run key": key, **asdict(sanitizer.provenance)}


def _run_disclosures(sanitizer: Sanitizer, copied_columns: list[str], *, tree: bool) -> tuple[str, ...]:
    said = [*sanitizer.disclosed, KEYED]
    said.append("the number of documents, their order, and which of their texts are empty or null")
    if copied_columns:
        said.append("these columns, copied unchanged: " + ", ".join(copied_columns))
    if tree:
        said.append("file names and the directory tree, copied unchanged")
    return tuple(said)
