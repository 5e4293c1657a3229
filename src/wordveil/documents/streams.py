"""Opens inputs (file, standard input, .gz, .zst) as one buffered stream of UTF-8, and compresses outputs.

Compressed output consists of complete members, one a section of so many documents, so that an interrupted file can be
cut back to a member and continued. Where the extra fast-gzip is installed, isal reads and writes gzip: the same text in
other bytes. Nothing here knows records.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import sys
import zlib
from abc import ABC, abstractmethod
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from wordveil.errors import DocumentFormatError, MissingExtraError, ParameterError, WordveilError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BUFFER = 1 << 20
_GZIP_LEVELS = {"zlib": 4, "isal": 3}  # zlib's is two to three times as fast as the usual 6, and a twentieth larger
_ZSTD_LEVEL = 3
_ZSTD_PIECE = 1 << 10  # compressed bytes at a time: four can stand for 128 KiB
_GZIP_WBITS = 31

# The first bytes of a file; a Zstandard file may also begin with a skippable frame.
_MAGIC = {"gz": re.compile(rb"\x1f\x8b"), "zst": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")}

DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)
"""What reading truncated or damaged compressed data raises."""


def compression_of(name: str) -> str | None:
    """The compression a file name asks for: "gz", "zst" or None."""
    lowered = name.lower()
    return "gz" if lowered.endswith(".gz") else "zst" if lowered.endswith(".zst") else None


def checked_encoding(name: str | None) -> str | None:
    """The encoding to translate from; None for UTF-8."""
    try:
        found = codecs.lookup(name or "utf-8")
    except LookupError:
        found = None
    if found is None or not getattr(found, "_is_text_encoding", True):
        raise ParameterError("encoding", name, "is not known; give for example windows-1252, latin-1 or utf-16.")
    return None if found.name in ("utf-8", "utf-8-sig") else found.name


def _zstandard() -> ModuleType:
    with suppress(ImportError):
        return import_module("zstandard")
    raise MissingExtraError("Reading or writing .zst files", "zstandard", "zstd")


def gzip_library() -> str:
    """Return what writes gzip in this process, "isal" where it is installed or "zlib"; an output is written by one."""
    return "zlib" if find_spec("isal") is None else "isal"


class InputStream:
    """A decompressed input with its progress in raw bytes.

    Args:
        path: A file, or "-" for standard input.
        encoding: What the file is translated to UTF-8 from; None where it is UTF-8 already, or no text.

    Attributes:
        stream: The buffered stream of decompressed bytes.
        bytes_total: Size of the file, or None for standard input.
    """

    def __init__(self, path: str, encoding: str | None = None) -> None:
        self.path = path
        self.bytes_total: int | None = None
        self._raw: BinaryIO | None = None
        if path == "-":
            if sys.stdin is None:
                raise DocumentFormatError(path, "standard input is closed.", remedy="Name a file, or feed the command.")
            self.stream: BinaryIO = sys.stdin.buffer
        else:
            self.stream = self._open(path)
        if encoding is not None:
            self.stream = io.BufferedReader(_Utf8Raw(self.stream, path, encoding), _BUFFER)

    def _open(self, path: str) -> BinaryIO:
        try:
            raw = open(path, "rb", buffering=_BUFFER)  # noqa: SIM115 (closed by close)
        except OSError as error:
            raise DocumentFormatError(path, f"cannot be opened: {error.strerror}.") from None
        self._raw = raw
        self.bytes_total = Path(path).stat().st_size
        try:
            return _decompressed(raw, path)
        except WordveilError:
            raw.close()
            raise

    @property
    def descriptor(self) -> int:
        """Of the open file: what is read, whatever has its path by now."""
        return sys.stdin.fileno() if self._raw is None else self._raw.fileno()

    @property
    def bytes_done(self) -> int:
        return 0 if self._raw is None or self._raw.closed else self._raw.tell()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._raw is not None:
            self.stream.close()
            self._raw.close()


class _Translated(io.RawIOBase, ABC):
    """A stream that is made of another one; hands on what is there, so that a line need not wait for the next."""

    _ready = memoryview(b"")

    @abstractmethod
    def _more(self) -> bytes | None:
        """Return further bytes, which may be none yet; None at the end."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        while not self._ready:
            more = self._more()
            if more is None:
                return 0
            self._ready = memoryview(more)
        size = min(len(view), len(self._ready))
        view[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


class _Utf8Raw(_Translated):
    """A stream of another encoding as UTF-8."""

    def __init__(self, source: BinaryIO, path: str, encoding: str) -> None:
        self._source = cast(io.BufferedReader, source)
        self._path = path
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._offset = 0
        self._ended = False

    def _more(self) -> bytes | None:
        if self._ended:
            return None
        raw = self._source.read1(_BUFFER // 8)
        self._ended = not raw
        kept = len(self._decoder.getstate()[0])
        try:
            ready = self._decoder.decode(raw, final=self._ended).encode("utf-8")
        except UnicodeError as error:
            wrong = self._offset - kept + getattr(error, "start", 0)
        else:
            self._offset += len(raw)
            return ready
        # Raised outside the handler: the original exception carries the bytes and must not be chained.
        remedy = "Name the encoding the file is in."
        raise DocumentFormatError(self._path, f"not valid {self._encoding}.", offset=wrong, remedy=remedy)


def _decompressed(raw: BinaryIO, path: str) -> BinaryIO:
    compression = compression_of(path)
    if compression is None:
        return raw
    head = cast(io.BufferedReader, raw).peek(4)
    if head and not _MAGIC[compression].match(head):
        problem = f"not .{compression} data, as its name says."
        raise DocumentFormatError(path, problem, remedy="Give it the name of what it is.")
    if compression == "gz":
        unpacked: Any = gzip.GzipFile(fileobj=raw) if gzip_library() == "zlib" else _IsalRaw(raw)
        return io.BufferedReader(unpacked, _BUFFER)
    return io.BufferedReader(_ZstdRaw(raw, path), _BUFFER)


class _IsalRaw(io.RawIOBase):
    """Decompressed bytes of all members; damage raises what zlib raises."""

    def __init__(self, raw: BinaryIO) -> None:
        self._file = import_module("isal.igzip").IGzipFile(fileobj=raw)
        self._damage = import_module("isal.isal_zlib").error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        try:
            return cast(int, self._file.readinto(buffer))
        except self._damage as error:
            raise zlib.error(str(error)) from None


class _ZstdRaw(_Translated):
    """Decompressed bytes of all frames; unlike the library's reader it notices a truncated last frame."""

    def __init__(self, raw: BinaryIO, path: str) -> None:
        self._library = _zstandard()
        self._raw = raw
        self._path = path
        self._frame = self._library.ZstdDecompressor().decompressobj()
        self._in_frame = False
        self._waiting = b""

    def _more(self) -> bytes | None:
        data = self._waiting or self._raw.read(_ZSTD_PIECE)
        self._waiting = b""
        if data:
            return self._decompress(data)
        if self._in_frame:
            raise EOFError
        return None

    def _decompress(self, data: bytes) -> bytes:
        try:
            ready = cast(bytes, self._frame.decompress(data))
        except self._library.ZstdError:
            ready = None
        if ready is None:
            raise DocumentFormatError(self._path, "the compressed data is damaged.", remedy="Fetch it again.")
        self._in_frame = not self._frame.eof
        if self._frame.eof:
            self._waiting = self._frame.unused_data
            self._frame = self._library.ZstdDecompressor().decompressobj()
        return ready


class MemberCompressor:
    """Compresses one member after the other; the bytes do not depend on how the caller slices its data."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._library = _zstandard() if kind == "zst" else zlib
        if kind == "gz" and gzip_library() == "isal":
            self._library = import_module("isal.isal_zlib")
        self._buffer = bytearray()
        self._member: Any = None

    def feed(self, data: bytes) -> bytes:
        """Take data in; returns the compressed bytes that are ready."""
        ready = b""
        for start in range(0, len(data), _BUFFER):
            self._buffer += data[start : start + _BUFFER]
            if len(self._buffer) >= _BUFFER:
                ready += self._open().compress(bytes(self._buffer[:_BUFFER]))
                del self._buffer[:_BUFFER]
        return ready

    def close_member(self) -> bytes:
        """End the member; returns its last bytes, nothing where no data came since the last one."""
        if self._member is None and not self._buffer:
            return b""
        member = self._open()
        ready: bytes = member.compress(bytes(self._buffer)) + member.flush()
        self._buffer.clear()
        self._member = None
        return ready

    def empty_member(self) -> bytes:
        """A member without data: what an empty file becomes."""
        self._open()
        return self.close_member()

    def _open(self) -> Any:
        if self._member is None:
            if self._kind == "gz":
                # The library's own gzip header: no time, no name.
                level = _GZIP_LEVELS["zlib" if self._library is zlib else "isal"]
                self._member = self._library.compressobj(level, zlib.DEFLATED, _GZIP_WBITS)
            else:
                self._member = self._library.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).compressobj()
        return self._member
