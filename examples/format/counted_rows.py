"""Row groups in plain text: a line with the number of rows, then so many lines, each the text of a row.

A whole document format for wordveil in one file: reader, sink and suffix. The output has row groups of a fixed number
of rows, whatever those of the input were: they would tell how long its parts are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.documents.base import DocumentFormat, OutputFile, Record, decode_utf8, read_line
from wordveil.documents.output import open_direct
from wordveil.errors import DocumentFormatError
from wordveil.files.atomic import open_private


class CountedRows(DocumentFormat):
    """Files of counted rows; see the module."""

    name = "counted-rows"
    has_columns = False
    suffixes = (".rows",)
    encodings = False
    sections = True

    def read(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Yield one record a row; a section ends with a row group of the output."""
        ordinal = 0
        for line, raw in _rows(stream, path):
            if self.is_left_out(ordinal):
                continue
            text = PrivateText(decode_utf8(raw[:-1], path, line=line))
            last = (ordinal + 1) % self.details.row_group_rows == 0
            yield Record(ordinal, [text], None, size=len(raw), closes_section=last, line=line)
            ordinal += 1

    def render(self, record: Record, released: Sequence[ReleasedText | None]) -> bytes:
        """Return a row; `sink` writes it with the others of its group."""
        return f"{released[0]}\n".encode()

    def sink(self, target: OutputFile) -> RowGroups:
        """Return what writes whole row groups."""
        return RowGroups(self, target)


class RowGroups:
    """Holds the rows of one group until it is whole."""

    resumable_anywhere = False

    def __init__(self, form: CountedRows, target: OutputFile) -> None:
        self._form, self._durable, self._closes = form, target.path is not None, target.destination != "-"
        if target.path is None:
            self._file = open_direct(target.destination)
        else:
            self._file = open_private(target.path, start=target.start)
        self._rows: list[bytes] = []

    def write(self, record: Record, released: Sequence[ReleasedText | None]) -> None:
        """Take a row."""
        self._rows.append(self._form.render(record, released))

    def end_section(self) -> None:
        """Write the group."""
        if self._rows:
            self._file.write(b"%d\n" % len(self._rows) + b"".join(self._rows))
            self._rows = []

    def checkpoint(self) -> int:
        """Bring all groups to the disk; return their bytes."""
        self._file.flush()
        if not self._durable:
            return 0
        os.fsync(self._file.fileno())
        return self._file.tell()

    def seal(self) -> None:
        """Write the last group, which may have fewer rows."""
        self.end_section()
        self.checkpoint()

    def close(self) -> None:
        """Let go of the file; standard output stays open."""
        if self._closes:
            self._file.close()


def _rows(stream: BinaryIO, path: str) -> Iterator[tuple[int, bytes]]:
    """Yield every row with its line."""
    line = 1
    while head := read_line(stream, path, line):
        if not head.strip().isdigit():
            raise DocumentFormatError(path, "no number of rows.", line=line, remedy="Begin each row group with one.")
        for _ in range(int(head)):
            line += 1
            raw = read_line(stream, path, line)
            if not raw.endswith(b"\n"):
                raise DocumentFormatError(path, "the row group is cut off.", line=line, remedy="Fetch the file again.")
            yield line, raw
        line += 1
