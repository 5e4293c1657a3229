"""Atomic output: a temporary sibling that replaces the target on success only.

The temporary file `.<name>.partial` has mode 0600; it takes the mode of the file it replaces, or the usual one,
when it is renamed. Standard output and devices are written directly. Nothing here knows records.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from wordveil.documents.streams import MemberCompressor, compression_of, standard_output
from wordveil.errors import ParameterError, ResumeError

if sys.platform != "win32":  # elsewhere two runs with one output are not noticed
    import fcntl

__all__ = ["OutputWriter", "is_regular_target", "partial_path", "publish", "remove_partial", "sync_directory"]

_BUFFER = 1 << 20


def partial_path(target: Path) -> Path:
    """The temporary sibling of an output."""
    return target.with_name(f".{target.name}.partial")


def is_regular_target(destination: str) -> bool:
    """Whether a destination is a file to be replaced, rather than standard output, a device or a pipe."""
    if destination == "-":
        return False
    path = Path(destination)
    return not path.exists() or path.is_file()


def sync_directory(directory: Path) -> None:
    """Make a rename in the directory survive a power cut, where the system allows it."""
    if os.name != "posix":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def publish(partial: Path, target: Path) -> None:
    """Rename a complete temporary file over its target, with the target's mode or the usual one."""
    partial.chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else usual_mode(0o666))
    partial.replace(target)
    sync_directory(target.parent)


def usual_mode(full: int) -> int:
    """The mode a new file or directory gets from the process's mask."""
    mask = os.umask(0o077)
    os.umask(mask)
    return full & ~mask


def remove_partial(path: Path) -> None:
    """Remove a temporary file or directory, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


class Claim:
    """Holds a temporary file or directory for this process; the system releases it even after a kill."""

    def __init__(self, partial: Path) -> None:
        self._handle = -1
        if sys.platform == "win32":
            return
        self._handle = os.open(partial, os.O_RDONLY)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            busy = True
        else:
            busy = False
        if busy:
            self.release()
            name = partial.name.removeprefix(".").removesuffix(".partial")
            raise ParameterError("destination", name, "is being written by another run; wait for it or stop it.")

    def release(self) -> None:
        """Let other runs write."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def check_not_busy(partial: Path) -> None:
    """Refuse if a living run holds a temporary file or directory; nothing happens where there is none.

    Raises:
        ParameterError: If another run is writing it.
    """
    with suppress(FileNotFoundError):
        Claim(partial).release()


def discard_partial(partial: Path) -> None:
    """Remove what an interrupted run left, unless that run is alive."""
    if partial.exists():
        Claim(partial).release()
    remove_partial(partial)


def open_private(path: Path, *, keep: bool = False) -> BinaryIO:
    """Open a file of mode 0600 for writing: the kept one at its start, or a new one in its place."""
    if not keep:
        discard_partial(path)
    flags = os.O_RDWR | (0 if keep else os.O_CREAT | os.O_EXCL) | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(path, flags, 0o600), "r+b" if keep else "w+b", buffering=_BUFFER)


class OutputWriter:
    """Writes one output file; a context manager that publishes on success and leaves nothing on failure.

    Args:
        destination: A path, or "-" for standard output; the name's ending chooses the compression.
        resume_at: Length at which the temporary file of an interrupted run continues; None starts anew.
        line_buffered: Flush after every write.
    """

    def __init__(self, destination: str, *, resume_at: int | None = None, line_buffered: bool = False) -> None:
        self._line_buffered = line_buffered
        self._atomic = is_regular_target(destination)
        kind = compression_of(destination)
        self._compressor = None if kind is None else MemberCompressor(kind)
        self._sealed = False
        if self._atomic:
            # The target of a symbolic link is replaced, not the link.
            self.target = Path(destination).resolve()
            self.partial = partial_path(self.target)
            self._file = open_private(self.partial, keep=resume_at is not None)
            try:
                self._claim = Claim(self.partial)
            except ParameterError:
                self._file.close()
                raise
            if self._file.seek(0, os.SEEK_END) < (resume_at or 0):
                self.abort(keep=True)
                raise ResumeError("The unfinished output of the interrupted run is cut off. Start without --resume.")
            self._file.truncate(resume_at or 0)
            self._file.seek(resume_at or 0)
            self._empty = not resume_at
        else:
            self._file = standard_output() if destination == "-" else open(destination, "wb")  # noqa: SIM115
            self._empty = True
        self._closes = destination != "-"

    @property
    def compressed(self) -> bool:
        """Whether the output is compressed, so that only the end of a member can be resumed at."""
        return self._compressor is not None

    def write(self, data: bytes) -> None:
        """Append uncompressed data."""
        self._put(data if self._compressor is None else self._compressor.feed(data))
        if self._line_buffered:
            self.close_member()
            self._file.flush()

    def close_member(self) -> None:
        """End the compressed member; nothing for plain output."""
        if self._compressor is not None:
            self._put(self._compressor.close_member())

    def checkpoint(self) -> int:
        """Bring all bytes to the disk; returns the length at which a run can resume (after `close_member`)."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def seal(self) -> None:
        """Finish the bytes without publishing them."""
        if self._sealed:
            return
        self._sealed = True
        self.close_member()
        if self._empty and self._compressor is not None:
            self._put(self._compressor.empty_member())
        self._file.flush()
        if self._atomic:
            os.fsync(self._file.fileno())
            self._file.close()
        elif self._closes:
            self._file.close()

    def commit(self) -> None:
        """Seal and replace the target."""
        self.seal()
        if self._atomic:
            publish(self.partial, self.target)
            self._claim.release()

    def abort(self, *, keep: bool = False) -> None:
        """Close; the temporary file is removed, or kept for a later resume."""
        if not self._atomic:
            if self._closes:
                self._file.close()
            return
        with suppress(OSError):  # a full disk refuses what is still in the buffer once more
            self._file.close()
        if not keep:
            self.partial.unlink(missing_ok=True)
        self._claim.release()

    def _put(self, data: bytes) -> None:
        if data:
            self._empty = False
            self._file.write(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.abort()
