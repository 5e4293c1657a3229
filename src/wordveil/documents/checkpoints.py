"""What an interrupted run leaves to be continued: a journal, and the run key where the caller saves one.

The journal `.<name>.journal` says how far the temporary output goes and for which settings; it is there from the start,
and is replaced atomically after the output bytes it speaks of are on the disk. Both files have mode 0600. The key goes
before the output is published, the journal after it, when the run's report is made too. What a killed run left is
continued by `--resume` and replaced by any other run with this output; the owner may delete it. The journal holds no
text; it does hold a digest of the whole input, so it is as confidential as the key beside it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wordveil.documents.output import is_regular_target, open_private, sync_directory
from wordveil.errors import ResumeError

__all__ = [
    "RUN_KEY",
    "Journal",
    "file_identity",
    "is_complete",
    "is_resumable",
    "load_run_key",
    "remove_run_key",
    "run_key_path",
    "save_run_key",
]

_VERSION = 2

RUN_KEY = "run key"
"""The name of the run key's digest in a fingerprint; a run whose output is complete needs its key no more."""


def _sibling(destination: str | Path, ending: str) -> Path:
    target = Path(destination).resolve()
    return target.with_name(f".{target.name}.{ending}")


def run_key_path(destination: str | Path) -> Path:
    """Where the run key of an output lies until success."""
    return _sibling(destination, "key")


def journal_path(destination: str | Path) -> Path:
    """Where the journal of an output lies until success."""
    return _sibling(destination, "journal")


def is_resumable(destination: str | Path) -> bool:
    """Whether an interrupted run with this output left a journal."""
    return is_regular_or_tree(str(destination)) and journal_path(destination).exists()


def is_complete(destination: str | Path) -> bool:
    """Whether an interrupted run with this output had written all of it."""
    try:
        return bool(json.loads(journal_path(destination).read_bytes())["complete"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def is_regular_or_tree(destination: str) -> bool:
    """Whether the destination can be renamed into place: a file or a directory, existing or not."""
    return is_regular_target(destination) or (destination != "-" and Path(destination).is_dir())


def _write_private(path: Path, data: bytes) -> None:
    fresh = path.with_name(path.name + ".new")
    try:
        with open_private(fresh) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def save_run_key(path: Path, key: bytes) -> None:
    """Write the run key to a file of mode 0600 and bring it to the disk."""
    _write_private(path, key)


def load_run_key(path: Path) -> bytes:
    """Read a run key back.

    Raises:
        ResumeError: If there is none, or if others can read it.
    """
    try:
        mode = path.stat().st_mode
        key = path.read_bytes()
    except FileNotFoundError:
        key = b""
    if not key:
        raise ResumeError(f"{path} does not exist or is empty: the run cannot continue. Start it without --resume.")
    if os.name == "posix" and mode & 0o077:
        raise ResumeError(f"{path} can be read by others (mode {mode & 0o777:04o}). Start without --resume.")
    return key


def remove_run_key(path: Path) -> None:
    """Remove the run key after success; nothing happens where there is none."""
    path.unlink(missing_ok=True)


def file_identity(path: Path, name: str | None = None) -> dict[str, Any]:
    """Name (it is part of document ids), size and SHA-256 of the whole file: an edit anywhere in it is noticed."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"name": name or path.name, "size": os.fstat(file.fileno()).st_size, "sha256": digest}


@dataclass(slots=True)
class Journal:
    """How far a run has come.

    Attributes:
        path: The journal file.
        fingerprint: Everything the output depends on, as JSON values.
        records: Records of the input that are done, structural ones included.
        documents: Documents among them.
        position: Where the temporary output continues: bytes, Parquet row groups or files of a tree.
        tally: The caller's own counts at this point.
        copied_columns: Columns copied so far.
        gaps: See `DocumentFormat`.
        bad_files: What was wrong with the files of a tree that were left out.
        complete: All bytes are written; only the renaming and the report may be missing.
    """

    path: Path
    fingerprint: Mapping[str, Any]
    records: int = 0
    documents: int = 0
    position: int = 0
    tally: Mapping[str, Any] = field(default_factory=dict)
    copied_columns: list[str] = field(default_factory=list)
    gaps: dict[str, int] = field(default_factory=dict)
    bad_files: list[str] = field(default_factory=list)
    complete: bool = False

    def save(self) -> None:
        """Replace the journal file; call it only when the output bytes are on the disk."""
        content = asdict(self) | {"path": self.path.name, "version": _VERSION}
        _write_private(self.path, json.dumps(content, sort_keys=True).encode("ascii"))

    def load(self) -> bool:
        """Take over the file's progress if it was written for the same fingerprint; False where there is no file.

        Raises:
            ResumeError: If the file is damaged or was written for other settings; names the settings that differ.
        """
        try:
            content = json.loads(self.path.read_bytes())
            earlier = dict(content["fingerprint"])
            progress = {name: content[name] for name in _PROGRESS}
        except FileNotFoundError:
            return False
        except (ValueError, KeyError, TypeError):
            earlier = None
        if earlier is None or content.get("version") != _VERSION:
            raise ResumeError(f"{self.path} is damaged or of another version. Start without --resume.")
        now = json.loads(json.dumps(dict(self.fingerprint)))
        if progress["complete"]:
            now[RUN_KEY] = earlier.get(RUN_KEY)
        differing = sorted(set(_differences(now, earlier)))
        if differing:
            raise ResumeError(
                f"The interrupted run differs in: {', '.join(differing)}. "
                "Give the same settings and input, or start without --resume."
            )
        for name, value in progress.items():
            setattr(self, name, value)
        return True

    def remove(self) -> None:
        """Remove the file after success."""
        self.path.unlink(missing_ok=True)


_PROGRESS = ("records", "documents", "position", "tally", "copied_columns", "gaps", "bad_files", "complete")


def _differences(now: Mapping[str, Any], earlier: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names whose values differ, those inside a mapping as `outer.inner`."""
    for name in now.keys() | earlier.keys():
        one, other = now.get(name), earlier.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from (f"{name}.{inner}" for inner in _differences(one, other))
        elif one != other:
            yield name
