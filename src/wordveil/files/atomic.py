"""Files that are there whole or not at all: written beside their place, brought to the disk, renamed into it.

A run's output grows in a private folder `.<name>.partial` beside its target, which one process holds at a time.
Nothing here knows what is written.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from wordveil.errors import ParameterError, ResumeError

if sys.platform != "win32":  # elsewhere two runs with one output are not noticed
    import fcntl

_BUFFER = 1 << 20
_REPLACED = "replaced"  # in an output's unfinished folder: the folder that was there before
_PATIENCE, _PAUSE = 50, 0.1  # times, and seconds between them


def sibling(target: str | os.PathLike[str], ending: str) -> Path:
    """The hidden file or folder `.<name>.<ending>` beside an output; a link's is beside what it leads to."""
    place = Path(target).resolve()
    return place.with_name(f".{place.name}.{ending}")


def is_replaceable(destination: str | os.PathLike[str]) -> bool:
    """Whether a destination is a file or folder, there or not, rather than standard output, a device or a pipe."""
    path = Path(destination)
    return os.fspath(destination) != "-" and (not path.exists() or path.is_file() or path.is_dir())


def sync(file: BinaryIO) -> None:
    """Bring what was written to the disk."""
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make names in a folder survive a power cut, where the system allows it."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_private(path: Path, *, start: int | None = None) -> BinaryIO:
    """Open a file of mode 0600 for writing: a new one, or the one that is there, to go on at `start`."""
    if start is None:
        path.unlink(missing_ok=True)
    elif not (path.is_file() and path.stat().st_size >= start):
        problem = "cut off" if path.is_file() else "gone"
        raise ResumeError(f"The unfinished output of the interrupted run is {problem}. Start without --resume.")
    flags = os.O_RDWR | (os.O_CREAT | os.O_EXCL if start is None else 0) | getattr(os, "O_NOFOLLOW", 0)
    file = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=_BUFFER)
    if start is not None:
        file.truncate(start)
        file.seek(start)
    return file


def write_whole(path: Path, data: bytes, *, private: bool = False, shared: bool = False) -> None:
    """Write a file in one step: a reader, or a run after a power cut, sees the old bytes or the new ones.

    Args:
        path: The file.
        data: All of it.
        private: Leave it with mode 0600; else it has the mode of the file it replaces, or the usual one.
        shared: Several processes may write it at once.
    """
    fresh = path.with_name(f".{path.name.removeprefix('.')}.{os.getpid() if shared else 'new'}")
    try:
        with open_private(fresh) as file:
            file.write(data)
            sync(file)
        if not private:
            _open_up(fresh, path)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _open_up(path: Path, target: Path) -> None:
    """Give what is complete the mode of the file it replaces, or the one a new file or folder gets."""
    mask = os.umask(0o077)
    os.umask(mask)
    if path.is_dir():
        for file in filter(Path.is_file, path.rglob("*")):
            file.chmod(0o666 & ~mask)
        path.chmod(0o777 & ~mask)
    else:
        path.chmod(stat.S_IMODE(target.stat().st_mode) if target.is_file() else 0o666 & ~mask)


def _remove(path: Path) -> None:
    """Remove a file or folder, though another process may not have stopped to write and remove in it."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    for _ in range(_PATIENCE):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(_PAUSE)
    shutil.rmtree(path)


Stamp = list[list[str | int]]
"""Which files a file or folder is made of, and when each was last written."""


def stamp(path: Path) -> Stamp:
    """Return which files a file or folder is made of, and when each was last written; a renaming leaves it as it is."""
    inside = sorted(each for each in path.rglob("*") if each.is_symlink() or not each.is_dir()) if path.is_dir() else []
    facts = [(each, each.lstat()) for each in inside] if path.is_dir() else [(path, path.stat())]
    return [[file.relative_to(path).as_posix(), it.st_ino, it.st_size, it.st_mtime_ns] for file, it in facts]


def publish(target: Path, product: str, written: Stamp, *, replace: bool = False) -> None:
    """Rename what is complete in an output's unfinished folder, `product`, into its place, and empty the folder.

    Nothing is published, nor taken for the output, but what has the `stamp` it had when it was complete, `written`. A
    folder that is there is empty; or goes as a whole, with `replace`.

    Raises:
        ResumeError: If it is in neither place.
    """
    target, folder = target.resolve(), sibling(target, "partial")
    whole = folder / product
    found = whole if whole.exists() else target
    if not found.exists():
        raise ResumeError("The output of the interrupted run is gone. Start without --resume.")
    if stamp(found) != written:
        raise ResumeError("The output is not what the interrupted run wrote any more. Start without --resume.")
    if found is whole:
        _open_up(whole, target)
        if target.is_dir() and replace:
            target.rename(folder / _REPLACED)  # gone with the unfinished folder, whatever happens in between
        elif target.is_dir():
            target.rmdir()
        whole.replace(target)
        _sync_folder(target.parent)
    for left in folder.iterdir():
        _remove(left)


def standing(target: Path) -> Stamp:
    """Return the `stamp` of an output; empty where there is none."""
    return stamp(target) if target.exists() else []


def check_not_busy(target: Path) -> None:
    """Refuse where a living run is writing an output; an empty folder of one that died at its very end goes."""
    folder = sibling(target, "partial")
    if folder.is_dir() and not folder.is_symlink():
        with suppress(FileNotFoundError):
            handle = _claimed(folder, target)
            if sys.platform != "win32" and os.fstat(handle).st_uid == os.geteuid():
                with suppress(OSError):
                    folder.rmdir()
            os.close(handle)


def _claimed(folder: Path, target: Path) -> int:
    """Return a handle that holds a folder for this process; the system lets go of it even after a kill."""
    if sys.platform == "win32":
        return os.open(os.devnull, os.O_RDONLY)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)  # a pipe of this name would wait for ever
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.stat(folder)):  # and no folder that another run has removed since
            return handle
    os.close(handle)
    raise _busy(target)


def _busy(target: Path) -> ParameterError:
    return ParameterError("destination", target.name, "is being written by another run; wait for it or stop it.")


class Unfinished:
    """The private `folder` of an output that is being written, of mode 0700, held by this process.

    `before` is how the output was `standing` when it was found out what to do: another run that ended since is noticed.
    With `keep` what an interrupted run left in the folder stays; where that is `complete`, nothing need be in it.

    Raises:
        ParameterError: If another run is writing this output, or has written it since; or something of somebody's is in
            the folder's place.
        ResumeError: If what is to be kept is gone.
    """

    def __init__(self, target: Path, before: Stamp, *, keep: bool, complete: bool = False) -> None:
        self.folder = sibling(target, "partial")
        if keep and not complete and not self.folder.is_dir():
            raise ResumeError("The unfinished output of the interrupted run is gone. Start without --resume.")
        if self.folder.is_symlink() or (self.folder.exists() and not self.folder.is_dir()):
            problem = f"has {self.folder.name} beside it, which is no run's folder; move it away."
            raise ParameterError("destination", target.name, problem)
        busy = not target.parent.is_dir()  # which the system says better
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)  # no folder is removed here: another run may have made it
            self._handle = _claimed(self.folder, target)
        except (FileNotFoundError, FileExistsError, IsADirectoryError):
            if busy:
                raise
            busy = True
        if busy:
            raise _busy(target)
        try:
            self._settle(target, before, keep=keep or complete)
        except BaseException:
            os.close(self._handle)
            raise

    def _settle(self, target: Path, before: Stamp, *, keep: bool) -> None:
        """Empty a folder that was there, and see that the place and the output are as they were."""
        if sys.platform != "win32":
            if os.fstat(self._handle).st_uid != os.geteuid():
                raise ParameterError("destination", target.name, "has another user's unfinished folder beside it.")
            os.fchmod(self._handle, 0o700)
        if standing(target) != before:
            if not keep:
                self.remove()
            raise _busy(target)
        for left in () if keep else self.folder.iterdir():
            _remove(left)

    def remove(self) -> None:
        _remove(self.folder)

    def release(self) -> None:
        """Let other runs write; a folder that nothing is left in goes, unless it is another run's by now."""
        with suppress(OSError):
            if sys.platform == "win32" or os.path.samestat(os.fstat(self._handle), os.stat(self.folder)):
                self.folder.rmdir()
        os.close(self._handle)
