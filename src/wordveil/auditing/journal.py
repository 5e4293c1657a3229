"""A journal of finished blocks, so that a computation of hours survives being stopped.

One JSON line a block, appended and flushed to disk when the block is done; the first line identifies the inputs. A torn
last line (the machine stopped while writing) is dropped and its block computed again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from wordveil.errors import ResumeError

__all__ = ["Journal"]


class Journal:
    """Finished blocks of one computation.

    Args:
        path: The journal file, made where absent; None keeps nothing.
        identity: What the computation is about; a journal of another one is refused.

    Raises:
        ResumeError: If the file belongs to other inputs or is no journal.
    """

    def __init__(self, path: str | os.PathLike[str] | None, identity: dict[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self.done: dict[int, dict[str, Any]] = {}
        if self._path is None:
            return
        header = json.dumps({"journal": "wordveil channel verification", **identity}, sort_keys=True)
        if self._path.exists() and self._path.stat().st_size:
            self._load(self._path, header)
        else:
            self._append(header)

    def _load(self, path: Path, header: str) -> None:
        raw = path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        lines = whole.decode("utf-8", "replace").splitlines()
        if not lines or lines[0] != header:
            raise ResumeError(
                f"{path} is the journal of another computation (or of other inputs); give a new journal file."
            )
        for line in lines[1:]:
            entry = json.loads(line)
            self.done[entry["block"]] = entry
        if len(whole) < len(raw):
            with path.open("r+b") as file:
                file.truncate(len(whole))

    def _append(self, line: str) -> None:
        if self._path is None:
            return
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())

    def record(self, block: int, result: dict[str, Any]) -> None:
        """Keep one finished block."""
        entry = {"block": block, **result}
        self.done[block] = entry
        self._append(json.dumps(entry))
