"""Document sets: one file, standard input, or a directory tree whose files are run one after the other.

A tree is written to a temporary sibling `.<name>.partial` that is renamed when every file is done; inside it each
file is atomic by itself. A malformed file is left out and told of at the end, and the others are done. Relative paths
are kept; file names are the user's own and are copied.
"""

from __future__ import annotations

import errno
import fnmatch
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wordveil.documents.checkpoints import Journal, file_identity, is_regular_or_tree, is_resumable, journal_path
from wordveil.documents.jobs import (
    Callbacks,
    DocumentSettings,
    DocumentSummary,
    Job,
    Notice,
    Process,
    Progress,
    Tally,
)
from wordveil.documents.output import (
    Claim,
    check_not_busy,
    discard_partial,
    partial_path,
    remove_partial,
    sync_directory,
    usual_mode,
)
from wordveil.documents.parquet import Parquet
from wordveil.documents.reader import FORMATS, guess_format
from wordveil.documents.running import run_file, take_up
from wordveil.errors import DocumentFormatError, ParameterError, ResumeError, WordveilError, printable

__all__ = ["TreeFiles", "run_documents", "tree_files"]

_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
_NAMED = 10  # files that a notice names


def run_documents(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    process: Process,
    *,
    settings: DocumentSettings | None = None,
    fingerprint: Mapping[str, Any] | None = None,
    resume: bool = False,
    tally: Tally | None = None,
    callbacks: Callbacks | None = None,
) -> DocumentSummary:
    """Run a document set through a function and write the same formats.

    Args:
        source: A file, a directory, or "-" for standard input.
        destination: A file (a directory for a directory), or "-" for standard output.
        process: Takes a block of records and returns, for each, one released text per text, None for None. The
            answer for a record must not depend on the other records.
        settings: How the input is read.
        fingerprint: What the output depends on besides input and settings: parameters, vocabulary checksum,
            version. JSON values, nothing private.
        resume: Continue an interrupted run; starts anew where none was interrupted.
        tally: The caller's counts, kept over a resume.
        callbacks: Progress, notices to the owner, and the end of the writing.

    Returns:
        Documents, files, copied columns, and what was left out.

    Raises:
        DocumentFormatError: If the input is malformed, in a tree every file; no output and no temporary file remains.
        OSError: If the disk is full; names the output, and says whether the run can be resumed.
        ParameterError: If settings or destination do not fit.
        ResumeError: If the interrupted run had another input, other settings or another fingerprint.
    """
    extra = {} if tally is None else {"tally": tally}
    job = Job(
        process=process,
        settings=settings or DocumentSettings(),
        fingerprint=dict(fingerprint or {}),
        resume=resume,
        calls=callbacks or Callbacks(),
        **extra,
    )
    origin, target = os.fspath(source), os.fspath(destination)
    runner = _run_tree if origin != "-" and Path(origin).is_dir() else run_file
    try:
        return runner(origin, target, job)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        full = error
    kept = is_regular_or_tree(target) and is_resumable(target)
    advice = "make room and add --resume" if kept else "nothing is left of the run; make room and start it again"
    raise OSError(full.errno, f"{os.strerror(full.errno or 0)}: {advice}", target)


@dataclass(slots=True)
class TreeFiles:
    """The files of a tree as sorted relative paths; a directory that is not entered ends in a slash.

    Attributes:
        taken: Files that are read.
        other: Files of no known format, not fitting the pattern, or not to be opened, and unreadable directories.
        hidden: Files and directories whose names begin with a dot.
        links: Links to directories, to nothing, or to what lies outside the tree; they are not followed.
    """

    taken: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    @property
    def skipped(self) -> list[str]:
        """All that is not read."""
        return [*self.other, *self.hidden, *self.links]


def tree_files(root: Path, settings: DocumentSettings) -> TreeFiles:
    """Sort the files of a tree into those that are taken and those that are not."""
    found = TreeFiles()
    for path, is_folder in _entries(root, found):
        relative = path.relative_to(root).as_posix()
        if path.name.startswith("."):
            found.hidden.append(relative + "/" * is_folder)
        elif path.is_symlink():
            found.links.append(relative)
        elif not is_folder:
            fits = fnmatch.fnmatch(path.name, settings.pattern) and (settings.format or guess_format(path.name))
            (found.taken if fits and path.is_file() else found.other).append(relative)
    found.taken = list(_once(root, sorted(found.taken), found.links))
    for names in (found.other, found.hidden, found.links):
        names.sort()
    return found


def _entries(root: Path, found: TreeFiles) -> Iterator[tuple[Path, bool]]:
    """Yield every file and directory and whether it is a directory; hidden ones and links are not entered."""

    def unreadable(error: OSError) -> None:
        found.other.append(Path(error.filename).relative_to(root).as_posix() + "/")

    for folder, folders, names in os.walk(root, onerror=unreadable):
        yield from ((Path(folder) / name, True) for name in folders)
        yield from ((Path(folder) / name, False) for name in names)
        folders[:] = [name for name in folders if not name.startswith(".")]


def _once(root: Path, names: list[str], links: list[str]) -> Iterator[str]:
    """Yield files, each under its first name only: one text must not be drawn twice. The others count as links."""
    seen = set()
    for name in names:
        facts = (root / name).stat()
        if (facts.st_dev, facts.st_ino) in seen:
            links.append(name)
            continue
        seen.add((facts.st_dev, facts.st_ino))
        yield name


def _run_tree(source: str, destination: str, job: Job) -> DocumentSummary:
    root, target = Path(source), Path(destination).resolve()
    _check_tree(root.resolve(), target, destination)
    if target.is_dir() and any(target.iterdir()) and not (job.resume and journal_path(target).exists()):
        raise ParameterError("destination", destination, "must be a new or empty directory for a tree.")
    files = tree_files(root, job.settings)
    if not files.taken:
        raise ParameterError("source", source, "holds no file of a known format that fits the pattern.")
    check_not_busy(partial_path(target))
    identities = {relative: _identity(root / relative, relative) for relative in files.taken}
    whole = hashlib.sha256(json.dumps(identities, sort_keys=True).encode("ascii")).hexdigest()
    facts = job.settings.fingerprint() | {"input": {"files": len(identities), "sha256": whole}, **job.fingerprint}
    journal = Journal(journal_path(target), facts)
    resumed = _TreeRun(root, target, identities, job, journal).execute()
    _tell(journal.bad_files, files, job.calls.notice)
    summary = DocumentSummary(
        documents=journal.documents,
        files=len(files.taken) - len(journal.bad_files),
        copied_columns=list(journal.copied_columns),
        gaps=dict(journal.gaps),
        skipped_files=files.skipped,
        bad_files=list(journal.bad_files),
        resumed_documents=resumed,
    )
    job.calls.published(summary)
    journal.remove()
    return summary


def _tell(bad_files: list[str], files: TreeFiles, notice: Notice) -> None:
    """Name the files that are not in the output, a few of each kind."""
    for message in bad_files:
        notice(f"left out: {message}")
    kinds = {
        "of another format or unreadable": files.other,
        "hidden": files.hidden,
        "links, and other names of a file that is read": files.links,
    }
    for kind, names in kinds.items():
        if names:
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            notice(f"not read ({kind}): {', '.join(map(printable, names[:_NAMED]))}{more}")


def _identity(path: Path, relative: str) -> dict[str, Any]:
    try:
        return file_identity(path, relative)
    except OSError:
        return {"name": relative}  # it is left out when its turn comes


@dataclass(slots=True)
class _TreeRun:
    """A tree on its way: its temporary directory and journal kept in step."""

    root: Path
    target: Path
    identities: Mapping[str, Mapping[str, Any]]
    job: Job
    journal: Journal

    def execute(self) -> int:
        """Run to the end and publish, the journal kept; returns the number of documents taken over."""
        journal, partial = self.journal, partial_path(self.target)
        if take_up(journal, self.job):
            if not (partial.is_dir() or (journal.complete and self.target.is_dir())):
                raise ResumeError("The unfinished output of the interrupted run is gone. Start without --resume.")
        else:
            discard_partial(partial)
            partial.mkdir(mode=0o700)
        claim = Claim(partial) if partial.is_dir() else None
        try:
            journal.save()
            resumed = self._run_files(partial)
        except WordveilError:
            remove_partial(partial)
            journal.remove()
            raise
        finally:
            if claim is not None:
                claim.release()
        journal.complete = True
        journal.save()
        self.job.calls.sealed()
        _publish_tree(partial, self.target)
        return resumed

    def _run_files(self, partial: Path) -> int:
        """Run the files that are not done; returns the number of documents taken over."""
        journal, names = self.journal, list(self.identities)
        resumed = journal.documents
        sizes = [int(self.identities[relative].get("size", 0)) for relative in names]
        for index in range(journal.position, len(names)):
            progress = _shifted(self.job.calls.progress, sum(sizes[:index]), sum(sizes), journal.documents)
            resumed += self._run_one(names[index], partial, progress)
            journal.position = index + 1
            journal.tally = dict(self.job.tally.save())
            journal.save()
        if len(journal.bad_files) == len(names):
            problem = f"none of its {len(names)} files can be read. The first: {journal.bad_files[0]}"
            raise DocumentFormatError(self.root, problem)
        return resumed

    def _run_one(self, relative: str, partial: Path, progress: Progress | None) -> int:
        """Run one file, or note what is wrong with it; returns the number of documents taken over."""
        journal, job, output = self.journal, self.job, partial / relative
        output.parent.mkdir(parents=True, exist_ok=True)
        calls = Callbacks(progress=progress)
        here = replace(job, settings=_settings_for(relative, job.settings), calls=calls)
        before, identity = dict(job.tally.save()), self.identities[relative]
        try:
            done = run_file(str(self.root / relative), str(output), here, name=relative, identity=identity)
        except DocumentFormatError as error:
            job.tally.restore(before)
            journal.bad_files.append(str(error))
            return 0
        journal.documents += done.documents
        journal.copied_columns = list(dict.fromkeys([*journal.copied_columns, *done.copied_columns]))
        journal.gaps = {name: journal.gaps.get(name, 0) + done.gaps.get(name, 0) for name in journal.gaps | done.gaps}
        return done.resumed_documents


def _settings_for(relative: str, settings: DocumentSettings) -> DocumentSettings:
    """The settings for one file: columns concern only the formats that have some."""
    form = settings.format or guess_format(relative)
    if form == Parquet.name:
        return replace(settings, encoding=None)
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


def _publish_tree(partial: Path, target: Path) -> None:
    if not partial.is_dir():
        return  # the interrupted run was killed after the rename
    if target.is_dir():
        target.rmdir()
    partial.chmod(usual_mode(0o777))
    partial.replace(target)
    sync_directory(target.parent)
