"""Saving long computations so that they can be continued: one small file, written all or nothing.

It holds public numbers only. The file is tied to the inputs of the computation; other inputs refuse it.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wordveil.errors import ResumeError
from wordveil.files.atomic import write_whole

_SECONDS = 15.0


class SavedWork:
    """The state of an interrupted computation, by name of its stage.

    Args:
        path: The file, or None to save nothing.
        inputs: Digest of everything the computation depends on.

    Raises:
        ResumeError: If the file belongs to other inputs or is damaged.
    """

    def __init__(self, path: str | os.PathLike[str] | None, inputs: str) -> None:
        self._path = None if path is None else Path(path)
        self._inputs = inputs
        self._stages: dict[str, dict[str, Any]] = {}
        self._saved_at = time.monotonic()
        if self._path is not None and self._path.exists():
            self._read(self._path)

    def _read(self, path: Path) -> None:
        try:
            with np.load(path, allow_pickle=False) as stored:
                content = {name: stored[name] for name in stored.files}
            inputs = str(content.pop("inputs"))
        except (ValueError, OSError, KeyError, EOFError):
            raise ResumeError(f"{path} is no saved certification; remove it, or name another file.") from None
        if inputs != self._inputs:
            raise ResumeError(f"{path} was saved for other inputs; remove it, or name another file.")
        for name, value in content.items():
            stage, _, entry = name.rpartition("|")
            self._stages.setdefault(stage, {})[entry] = value

    def get(self, stage: str) -> Mapping[str, Any] | None:
        """Return what was saved for a stage, or None."""
        return self._stages.get(stage)

    def put(self, stage: str, values: Mapping[str, Any], *, final: bool = False) -> None:
        """Remember a stage; write the file if that is due, or the stage is finished."""
        if self._path is None:
            return
        if not final and time.monotonic() - self._saved_at < _SECONDS:
            return
        self._stages[stage] = {name: np.asarray(value) for name, value in values.items()}
        self._write(self._path)

    def forget(self, stage: str) -> None:
        """Drop a stage that a finished one has made superfluous."""
        self._stages.pop(stage, None)

    def remove(self) -> None:
        """Delete the file: the whole computation is finished."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _write(self, path: Path) -> None:
        content = {
            f"{stage}|{name}": value for stage, entries in self._stages.items() for name, value in entries.items()
        }
        packed = io.BytesIO()
        np.savez(packed, inputs=np.asarray(self._inputs), **content)
        write_whole(path, packed.getvalue(), shared=True)
        self._saved_at = time.monotonic()
