"""What tells that an output is complete: a small file `.NAME.release` beside it, which stays.

It is written when a run has ended, and holds nothing private: the settings by their digests, what was counted (a report
says as much), and by what the input and the output are known again. The input is known by the names of its files, their
places on the disk and the times they were last written, all in one digest. A digest of what it *holds* would let
whoever has it test a guess of the whole file.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wordveil.files.atomic import Stamp, sibling, stamp, write_whole
from wordveil.files.journal import RUN_KEY, differences

ENDING = ".release"
_VERSION = 1
_PRIVATE = ("input", RUN_KEY)
"""What of an identity tells of the text or the key."""


@dataclass(frozen=True, kw_only=True)
class ReleaseRecord:
    """What is remembered of a complete output."""

    settings: Mapping[str, Any]  # a digest of everything the output depends on besides the input and the key, by name
    input: str  # by what the input is known again
    output: str  # by what the output is known again: which files, and when each was last written
    tally: Mapping[str, Any]  # what was counted
    finished: str  # time of the end, UTC, ISO 8601

    @classmethod
    def of(
        cls, output: Stamp, identity: Mapping[str, Any], *, inputs: str, tally: Mapping[str, Any], finished: str
    ) -> ReleaseRecord:
        return cls(settings=_digests(identity), input=inputs, output=_digest(output), tally=tally, finished=finished)

    def save(self, destination: str | os.PathLike[str]) -> None:
        content = {"version": _VERSION, **asdict(self)}
        write_whole(record_path(destination), json.dumps(content, sort_keys=True).encode("ascii"))

    def differing(self, identity: Mapping[str, Any], inputs: str) -> list[str]:
        """Return the names of what is not as it was: settings, and "input"."""
        names = set(differences(_digests(identity), self.settings))
        return sorted(names | ({"input"} if inputs != self.input else set()))


def time_of_end() -> str:
    """Return the time now as records and reports say it: UTC, ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def record_path(destination: str | os.PathLike[str]) -> Path:
    """Where the record of an output lies."""
    return sibling(destination, ENDING.removeprefix("."))


def load_record(destination: str | os.PathLike[str]) -> ReleaseRecord | None:
    """Return the record of an output; None where there is none, or none that this version reads."""
    try:
        content = json.loads(record_path(destination).read_bytes())
        version = content.pop("version")
        record = ReleaseRecord(**content)
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return record if version == _VERSION else None


def written(target: Path) -> str:
    """Return by what a file or folder is known again, as long as nobody writes to it."""
    return _digest(stamp(target))


def known_again(paths: Sequence[Path]) -> str:
    """Return by what files are known again without a look at what they hold: their names, places and times."""
    facts: Stamp = [[path.name, path.stat().st_ino, path.stat().st_mtime_ns] for path in paths]
    return _digest(facts)


def _digest(facts: Sequence[Sequence[str | int]]) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _digests(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return a digest of each value that may be told, in the shape of the identity."""
    return {name: _digested(value) for name, value in identity.items() if name not in _PRIVATE}


def _digested(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _digested(inner) for name, inner in value.items()}
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
