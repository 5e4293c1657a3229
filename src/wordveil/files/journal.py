"""How far a run has come, in one small file that is replaced atomically after the bytes it speaks of are on the disk.

A run's journal `.<name>.journal` is there from the start and goes last, when the report is made too. It has mode 0600,
and is as confidential as the key beside it: it holds no text, but a digest of the whole input. What a killed run left
is continued by `--resume` and replaced by any other run with this output; the owner may delete it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordveil.errors import ResumeError
from wordveil.files.atomic import is_replaceable, sibling, write_whole

_VERSION = 4

RUN_KEY = "run key"
"""The name of the run key's digest in an identity; a run whose output is complete needs its key no more."""
UNDER_KEY = "keyed."
"""Begins the name of what is told of a run under its key, which goes with it: a complete output is not held to that."""


def journal_path(destination: str | os.PathLike[str]) -> Path:
    """Where the journal of an output lies until success."""
    return sibling(destination, "journal")


def is_resumable(destination: str | os.PathLike[str]) -> bool:
    """Whether an interrupted run with this output left a journal."""
    return is_replaceable(destination) and journal_path(destination).exists()


@dataclass(slots=True)
class Journal:
    """How far a run has come."""

    path: Path  # the journal file
    identity: Mapping[str, Any]  # everything the output depends on, the whole input included, as JSON values
    # where input and output go on; empty before anything is done
    position: Mapping[str, Any] = field(default_factory=dict)
    tally: Mapping[str, Any] = field(default_factory=dict)  # what was counted so far
    # once all bytes are written, what the unfinished folder calls the output: only the renaming and the report may be
    # missing
    product: str | None = None
    # its `stamp` then, so that nothing else is reported on as the output
    written: list[list[str | int]] = field(default_factory=list)
    remedy: str = "start without --resume"  # what to do where it cannot be taken over

    def save(self) -> None:
        """Replace the journal file; call it only when the output bytes are on the disk."""
        names = ("identity", "position", "tally", "product", "written")
        content = {"version": _VERSION, **{name: getattr(self, name) for name in names}}
        write_whole(self.path, json.dumps(content, sort_keys=True).encode("ascii"), private=True)

    def load(self) -> bool:
        """Take over the file's progress if it was written for the same identity; False where there is no file."""
        content = stored(self.path)
        if content is None:
            return False
        if not content:
            raise ResumeError(f"{self.path} is damaged or of another version: {self.remedy}.")
        now, earlier = json.loads(json.dumps(dict(self.identity))), content["identity"]
        if content["product"] is not None:  # all is drawn, and the key is gone with what was told under it
            now |= {name: earlier.get(name) for name in now if name == RUN_KEY or name.startswith(UNDER_KEY)}
        differing = sorted(set(differences(now, earlier)))
        if differing:
            raise ResumeError(
                f"The interrupted run differs in: {', '.join(differing)}. "
                f"Give the same settings and input, or {self.remedy}."
            )
        self.position, self.tally = content["position"], content["tally"]
        self.product, self.written = content["product"], content["written"]
        return True

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def file_identity(path: Path, name: str | None = None) -> dict[str, Any]:
    """Name (it is part of document ids), size and SHA-256 of the whole file: an edit anywhere in it is noticed."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"name": name or path.name, "size": os.fstat(file.fileno()).st_size, "sha256": digest}


def stored(path: Path) -> dict[str, Any] | None:
    """Return what a journal file holds, None where there is none, nothing where it is damaged or of another version."""
    try:
        content = json.loads(path.read_bytes())
        shape = {name: type(content[name]) for name in ("identity", "position", "tally")}
        whole = content["version"] == _VERSION and set(shape.values()) == {dict} and "product" in content
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        whole = False
    return content if whole else {}


def differences(now: Mapping[str, Any], earlier: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names whose values differ, those inside a mapping as `outer.inner`."""
    for name in now.keys() | earlier.keys():
        one, other = now.get(name), earlier.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from (f"{name}.{inner}" for inner in differences(one, other))
        elif one != other:
            yield name
