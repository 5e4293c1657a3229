"""The files of a directory tree: which are read, and which are not.

Relative paths are kept; file names are the user's own and are copied.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from wordveil.documents.reader import guess_format
from wordveil.documents.settings import DocumentSettings
from wordveil.files.records import ENDING

_MARKERS = frozenset({"_SUCCESS", "_metadata", "_common_metadata"})
_MARKING = ("_committed_", "_started_")
_CHECKSUM = ".crc"
_BESIDE = (_CHECKSUM, ENDING)  # of hidden files: checksums of Hadoop, records of complete releases


@dataclass(slots=True)
class TreeFiles:
    """The files of a tree as sorted relative paths; a directory that is not entered ends in a slash."""

    taken: list[str] = field(default_factory=list)  # files that are read
    # directories, and what lies in them, that cannot be looked at: each with what is wrong
    unreadable: list[str] = field(default_factory=list)
    # files of no known format, not fitting the pattern, or not to be opened
    other: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)  # files and directories whose names begin with a dot
    # links to directories, to nothing, or to what lies outside the tree; they are not followed
    links: list[str] = field(default_factory=list)

    @property
    def skipped(self) -> list[str]:
        """All that is not read, though nothing is wrong with it; what others write beside data counts for nothing."""
        return [*self.other, *self.hidden, *self.links]


def tree_files(root: Path, settings: DocumentSettings) -> TreeFiles:
    """Sort the files of a tree into those that are taken and those that are not."""
    found = TreeFiles()
    for path, is_folder in _entries(root, found):
        try:
            _sort(path, path.relative_to(root).as_posix(), is_folder, settings, found)
        except OSError as error:
            problem = _problem(path, error) if is_folder else f"{path}: cannot be read: {error.strerror}."
            found.unreadable.append(problem)
    found.taken = list(_once(root, sorted(found.taken), found.links))
    found.unreadable = sorted(set(found.unreadable))
    for names in (found.other, found.hidden, found.links):
        names.sort()
    return found


def _sort(path: Path, relative: str, is_folder: bool, settings: DocumentSettings, found: TreeFiles) -> None:
    name = path.name
    beside = name in _MARKERS or name.startswith(_MARKING) or (name.startswith(".") and name.endswith(_BESIDE))
    if beside and not is_folder:  # what Hadoop, Spark or this package writes beside data: it holds none
        return
    if path.name.startswith("."):
        found.hidden.append(relative + "/" * is_folder)
    elif path.is_symlink():
        found.links.append(relative)
    elif not is_folder:
        fits = fnmatch.fnmatch(path.name, settings.pattern) and (settings.format or guess_format(path.name))
        if fits or path.suffix != _CHECKSUM:
            (found.taken if fits and path.is_file() else found.other).append(relative)


def _problem(folder: Path | str, error: OSError) -> str:
    return f"{folder}/: cannot be read: {error.strerror}."


def _entries(root: Path, found: TreeFiles) -> Iterator[tuple[Path, bool]]:
    def unreadable(error: OSError) -> None:
        found.unreadable.append(_problem(error.filename, error))

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
