"""Plain text: one record a line, or the whole file as one record.

Line ends are kept exactly as they are (LF, CRLF, none at the end of the file), and so is a byte order mark. Only
a line feed ends a line: a lone CR, U+0085 and U+2028 are characters of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import BinaryIO

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.documents.base import BOM, MAX_RECORD_BYTES, DocumentFormat, Record, decode_utf8, read_line
from wordveil.errors import DocumentFormatError


class PlainText(DocumentFormat):
    """Plain UTF-8 text; see the module."""

    name = "text"
    suffixes = (".txt", ".text", ".md")
    has_columns = False
    choices = ("whole_file",)

    def read(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        return self._whole(stream, path) if self.details.whole_file else self._lines(stream, path)

    def render(self, record: Record, released: Sequence[ReleasedText | None]) -> bytes:
        before, after = record.template
        (text,) = released
        written = "" if text is None else text
        if not self.details.whole_file:
            written = written.replace("\n", " ")  # as of <br />: a record is a line, and stays one
        return before + written.encode("utf-8") + after  # type: ignore[no-any-return]

    def _lines(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        offset = 0
        for number in count():
            # Nothing here keeps the bytes of a line once it is decoded: it can be long.
            record = self._line(stream, path, number, offset)
            if record is None:
                return
            offset += record.size
            yield record

    def _line(self, stream: BinaryIO, path: str, number: int, offset: int) -> Record | None:
        raw = read_line(stream, path, number + 1)
        if not raw:
            return None
        mark = BOM if number == 0 and raw.startswith(BOM) else b""
        end = b"\r\n" if raw.endswith(b"\r\n") else b"\n" if raw.endswith(b"\n") else b""
        size, raw = len(raw), raw[len(mark) : len(raw) - len(end)]
        text = decode_utf8(raw, path, line=number + 1, offset=offset + len(mark))
        return Record(number, [PrivateText(text)], (mark, end), size=size, line=number + 1)

    def _whole(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        raw = stream.read(MAX_RECORD_BYTES + 1)
        if len(raw) > MAX_RECORD_BYTES:
            problem = f"the file is longer than {MAX_RECORD_BYTES} bytes."
            raise DocumentFormatError(path, problem, remedy="Read it line by line instead of as one record.")
        mark = BOM if raw.startswith(BOM) else b""
        text = decode_utf8(raw[len(mark) :], path, offset=len(mark))
        yield Record(0, [PrivateText(text)], (mark, b""), size=len(raw), line=1)
