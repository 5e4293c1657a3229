"""Document sets: one file, standard input, or a directory tree whose files are run one after the other.

A tree is written to a temporary sibling `.<name>.partial` that is renamed when every file is done; inside it each
file is atomic by itself. Relative paths are kept; file names are the user's own and are copied.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordveil.documents.checkpoints import Journal, file_identity, journal_path
from wordveil.documents.output import Claim, discard_partial, partial_path, remove_partial, sync_directory, usual_mode
from wordveil.documents.reader import FORMATS, guess_format
from wordveil.documents.running import (
    DocumentSettings,
    DocumentSummary,
    Job,
    Pipeline,
    Process,
    Progress,
    Tally,
    run_file,
)
from wordveil.errors import ParameterError, ResumeError, WordveilError

__all__ = ["run_documents", "tree_files"]


def run_documents(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    process: Process | Pipeline,
    *,
    settings: DocumentSettings | None = None,
    fingerprint: Mapping[str, Any] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    tally: Tally | None = None,
) -> DocumentSummary:
    """Run a document set through a function and write the same formats.

    Args:
        source: A file, a directory, or "-" for standard input.
        destination: A file (a directory for a directory), or "-" for standard output.
        process: Takes a block of records and returns, for each, one released text per text, None for None. The
            answer for a record must not depend on the other records. Or a pipeline of the same.
        settings: How the input is read.
        fingerprint: What the output depends on besides input and settings: parameters, vocabulary checksum,
            version. JSON values, nothing private.
        resume: Continue an interrupted run; starts anew where none was interrupted.
        progress: Called after every block.
        tally: The caller's counts, kept over a resume.

    Returns:
        Documents, files and copied columns.

    Raises:
        DocumentFormatError: If the input is malformed; no output and no temporary file remains.
        ParameterError: If settings or destination do not fit.
        ResumeError: If the interrupted run had another input, other settings or another fingerprint.
    """
    extra = {} if tally is None else {"tally": tally}
    job = Job(
        process=process,
        settings=settings or DocumentSettings(),
        fingerprint=dict(fingerprint or {}),
        resume=resume,
        progress=progress,
        **extra,
    )
    origin = os.fspath(source)
    runner = _run_tree if origin != "-" and Path(origin).is_dir() else run_file
    return runner(origin, os.fspath(destination), job)


def tree_files(root: Path, settings: DocumentSettings) -> tuple[list[str], list[str]]:
    """Files of a tree that are taken, and those that are not, as sorted relative paths.

    Hidden files and directories are passed over; links to directories are not followed.
    """
    taken: list[str] = []
    skipped: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if name.startswith("."):
                continue
            relative = (Path(folder) / name).relative_to(root).as_posix()
            fits = fnmatch.fnmatch(name, settings.pattern) and (settings.format or guess_format(name))
            (taken if fits else skipped).append(relative)
    return sorted(taken), sorted(skipped)


def _run_tree(source: str, destination: str, job: Job) -> DocumentSummary:
    root, target = Path(source).resolve(), Path(destination).resolve()
    _check_tree(root, target, destination)
    if target.is_dir() and any(target.iterdir()) and not (job.resume and journal_path(target).exists()):
        raise ParameterError("destination", destination, "must be a new or empty directory for a tree.")
    taken, skipped = tree_files(root, job.settings)
    if not taken:
        raise ParameterError("source", source, "holds no file of a known format that fits the pattern.")
    facts = job.settings.fingerprint() | {"input": _tree_identity(root, taken), **job.fingerprint}
    journal = Journal(journal_path(target), facts)
    partial = partial_path(target)
    if job.resume and journal.load():
        if not (partial.is_dir() or (journal.complete and target.is_dir())):
            raise ResumeError("The unfinished output of the interrupted run is gone. Start without --resume.")
        job.tally.restore(journal.tally)
    else:
        # The journal goes first: a stale one must never speak of the new temporary directory.
        journal.remove()
        discard_partial(partial)
        partial.mkdir(mode=0o700)
        journal.tally = dict(job.tally.save())
        journal.save()
    claim = Claim(partial) if partial.is_dir() else None
    try:
        resumed = _run_files(root, taken, partial, job, journal)
    except WordveilError:
        remove_partial(partial)
        journal.remove()
        raise
    finally:
        if claim is not None:
            claim.release()
    journal.complete = True
    journal.save()
    _publish_tree(partial, target)
    journal.remove()
    return DocumentSummary(
        documents=journal.documents,
        files=len(taken),
        copied_columns=list(journal.copied_columns),
        skipped_files=skipped,
        resumed_documents=resumed,
    )


def _run_files(root: Path, taken: list[str], partial: Path, job: Job, journal: Journal) -> int:
    """Run the files that are not done; returns the number of documents taken over."""
    resumed = journal.documents
    sizes = [(root / relative).stat().st_size for relative in taken]
    for index in range(journal.position, len(taken)):
        relative = taken[index]
        output = partial / relative
        output.parent.mkdir(parents=True, exist_ok=True)
        job_here = replace(
            job,
            settings=_settings_for(relative, job.settings),
            progress=_shifted(job.progress, sum(sizes[:index]), sum(sizes), journal.documents),
        )
        done = run_file(os.fspath(root / relative), os.fspath(output), job_here, name=relative)
        resumed += done.resumed_documents
        journal.position = index + 1
        journal.documents += done.documents
        journal.copied_columns = list(dict.fromkeys([*journal.copied_columns, *done.copied_columns]))
        journal.tally = dict(job.tally.save())
        journal.save()
    return resumed


def _settings_for(relative: str, settings: DocumentSettings) -> DocumentSettings:
    """The settings for one file: columns concern only the formats that have some."""
    form = settings.format or guess_format(relative)
    if form is not None and form in FORMATS and not FORMATS[form].has_columns:
        return replace(settings, columns=(), keep=None, drop_others=False)
    return settings


def _shifted(progress: Progress | None, before: int, total: int, documents: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, _total, here: progress(before + done, total, documents + here)


def _check_tree(root: Path, target: Path, destination: str) -> None:
    if destination == "-" or (target.exists() and not target.is_dir()):
        raise ParameterError("destination", destination, "must be a directory for a tree.")
    if not target.parent.is_dir():
        raise ParameterError("destination", destination, "must lie in an existing directory.")
    if target.is_relative_to(root) or root.is_relative_to(target):
        raise ParameterError("destination", destination, "must lie outside the input directory.")


def _tree_identity(root: Path, taken: list[str]) -> str:
    digest = hashlib.sha256()
    for relative in taken:
        digest.update(f"{relative}\0{file_identity(root / relative, relative)}\0".encode())
    return digest.hexdigest()


def _publish_tree(partial: Path, target: Path) -> None:
    if not partial.is_dir():
        return  # the interrupted run was killed after the rename
    if target.is_dir():
        target.rmdir()
    partial.chmod(usual_mode(0o777))
    partial.replace(target)
    sync_directory(target.parent)
