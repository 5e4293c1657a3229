"""Opens embedding files as byte streams: plain, .gz, or one member of a .zip archive.

Compression is recognized by content, not by name. A member of an archive is named like a file in a folder:
`glove.6B.zip/glove.6B.50d.txt`. Nothing is unpacked to disk.
"""

from __future__ import annotations

import gzip
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar, final

from wordveil.arrays import MALFORMED
from wordveil.errors import EmbeddingFormatError

# What the standard library raises on damaged or unusual archives: RuntimeError covers encryption and unknown
# versions, ValueError undecodable names, IndexError cut records. Errors of the disk itself pass through.
DAMAGE = (*MALFORMED, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, RuntimeError, IndexError, struct.error)

_Opened = TypeVar("_Opened", zipfile.ZipFile, IO[bytes])
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"


@final
class Source:
    """A readable stream of decompressed bytes that knows how much of its file it has used."""

    def __init__(self, path: Path, stream: IO[bytes] | gzip.GzipFile, raw: IO[bytes], size: int) -> None:
        self.path = path
        self._stream = stream
        self._raw = raw
        self._size = size

    def read(self, count: int) -> bytes:
        """Return up to `count` bytes, b"" only at the end; an `EmbeddingFormatError` for damaged or cut off data."""
        try:
            return self._stream.read(count)
        except DAMAGE as error:
            remedy = "Fetch the file again."
            raise EmbeddingFormatError(self.path, f"the compressed data is damaged ({error}).", remedy=remedy) from None

    def share(self) -> float:
        """Return the share of the file on disk that has been read, in [0, 1]."""
        return min(1.0, self._raw.tell() / self._size) if self._size else 1.0


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open a file or archive member for reading decompressed bytes.

    `EmbeddingFormatError` if an archive has several members and none is named; `FileNotFoundError` if there is no such
    file.
    """
    file, member = locate(path)
    size = file.stat().st_size
    with file.open("rb") as raw:
        magic = raw.read(4)
        raw.seek(0)
        if magic == _ZIP:
            with _opened(file, lambda: zipfile.ZipFile(raw)) as archive:
                info = _member(path, archive, member)
                with _opened(path, lambda: archive.open(info)) as stream:
                    yield Source(path, stream, raw, size)
        elif magic[:2] == _GZIP:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield Source(path, unpacked, raw, size)
        else:
            yield Source(path, raw, raw, size)


def is_zip(path: Path) -> bool:
    """Return whether a path is a .zip archive by content (.npz files are)."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(4) == _ZIP


def locate(path: Path) -> tuple[Path, str | None]:
    """Split a path into the file on disk, which must exist, and the archive member named after it."""
    if path.is_file():
        return path, None
    for parent in path.parents:
        if is_zip(parent):
            return parent, path.relative_to(parent).as_posix()
    raise FileNotFoundError(f"No such embedding file: {path}")


def _opened(path: Path, opening: Callable[[], _Opened]) -> _Opened:
    # A damaged directory can point before the start of the file, which the system reports as OSError.
    try:
        return opening()
    except (OSError, *DAMAGE) as error:
        raise EmbeddingFormatError(path, f"is a damaged archive ({error}).", remedy="Fetch it again.") from None


def _member(path: Path, archive: zipfile.ZipFile, member: str | None) -> zipfile.ZipInfo:
    files = [info for info in archive.infolist() if not info.filename.endswith("/")]
    chosen = [info for info in files if member in (None, info.filename)]
    if len(chosen) != 1:
        names = ", ".join(info.filename for info in files[:8])
        remedy = f"Name one of its members after the archive: {path}/MEMBER." if member is None else ""
        raise EmbeddingFormatError(path, f"the archive holds {len(files)} files ({names}).", remedy=remedy)
    return chosen[0]
