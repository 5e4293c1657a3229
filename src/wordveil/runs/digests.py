"""The files of a run, by their digests, and what is said of what is copied beside the texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordveil.documents.settings import DocumentSettings
from wordveil.documents.trees import tree_files
from wordveil.errors import printable
from wordveil.files.journal import file_identity

COPIED = "these columns, copied unchanged: "
TREE = "file names and the directory tree, copied unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDigest:
    """A file of a run."""

    name: str
    size: int
    sha256: str


def file_digests(path: Path, settings: DocumentSettings | None = None) -> tuple[FileDigest, ...]:
    """Digests of a file, or of the files of a directory, all or those that are read; none of what is neither."""
    if path.is_file():
        names = [path.name]
        path = path.parent
    elif not path.is_dir():
        return ()
    elif settings is None:
        names = sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
    else:
        names = tree_files(path, settings).taken
    return digests_of(file_identity(path / name, name) for name in names)


def strangers(path: Path) -> list[str]:
    """Return what a released folder holds that is no file of its own: links, pipes and the like."""
    inside = path.rglob("*") if path.is_dir() else ()
    odd = (each for each in inside if each.is_symlink() or not (each.is_file() or each.is_dir()))
    return sorted(each.relative_to(path).as_posix() for each in odd)


def digests_of(identities: Iterable[Mapping[str, Any]]) -> tuple[FileDigest, ...]:
    """Return the digests of files as a journal holds them."""
    return tuple(FileDigest(**{**identity, "name": printable(identity["name"])}) for identity in identities)
