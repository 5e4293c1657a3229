"""Writes rendered records one after the other, compressed as the output's name asks for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from wordveil.arrays import ReleasedText
from wordveil.documents.streams import MemberCompressor, compression_of
from wordveil.errors import ParameterError
from wordveil.files.atomic import open_private


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFile:
    """The output of one file."""

    path: Path | None  # the file to write, of mode 0600; None writes straight to the destination
    destination: str  # the output as the caller named it
    parts: Path  # a folder for what is put together at the end
    start: int | None = None  # what `checkpoint` returned last in an interrupted run; None writes anew
    line_buffered: bool = False  # write every record at once


def open_direct(destination: str) -> BinaryIO:
    """Open standard output, a device or a pipe."""
    if destination != "-":
        return open(destination, "wb")
    if sys.stdout is None:
        raise ParameterError("destination", "-", "cannot be written: standard output is closed. Name a file.")
    return sys.stdout.buffer


class ByteSink:
    """Writes records that have bytes of their own."""

    def __init__(self, render: Callable[[Any, Sequence[ReleasedText | None]], bytes], target: OutputFile) -> None:
        self._render, self._line_buffered = render, target.line_buffered
        kind, path = compression_of(target.destination), target.path
        self._compressor = None if kind is None else MemberCompressor(kind)
        self._file = open_direct(target.destination) if path is None else open_private(path, start=target.start)
        self._durable, self._closes = path is not None, target.destination != "-"
        self._empty = not target.start
        self.resumable_anywhere = self._compressor is None and not self._line_buffered

    def write(self, record: Any, released: Sequence[ReleasedText | None]) -> None:
        data = self._render(record, released)
        self._put(data if self._compressor is None else self._compressor.feed(data))
        if self._line_buffered:
            self.end_section()
            self._file.flush()

    def end_section(self) -> None:
        """End the compressed member; nothing for plain output."""
        if self._compressor is not None:
            self._put(self._compressor.close_member())

    def checkpoint(self) -> int:
        """Bring all bytes to the disk; returns their number."""
        self._file.flush()
        if self._durable:
            os.fsync(self._file.fileno())
            return self._file.tell()
        return 0

    def seal(self) -> None:
        self.end_section()
        if self._empty and self._compressor is not None:
            self._put(self._compressor.empty_member())
        self.checkpoint()

    def close(self) -> None:
        """Let go of the file; standard output stays open."""
        if self._closes:
            with suppress(OSError):  # a full disk refuses what is still in the buffer once more
                self._file.close()

    def _put(self, data: bytes) -> None:
        if data:
            self._empty = False
            self._file.write(data)
