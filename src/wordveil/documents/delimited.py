"""CSV and TSV: only the selected fields are rewritten, every other byte is copied.

Records are cut by the rules of RFC 4180: a field that begins with a quote runs to the closing quote, doubled quotes
inside. TSV has no quoting unless asked for: a field is quoted as a whole there, quotes being text, or holds none. A
released field is quoted where it must be, or always where the header names its column in quotes; it never depends on
how the private field was quoted. A record whose number of fields differs from the header's is refused: a stray
delimiter would carry private text into a copied column. So is a quote inside a field that does not begin with one:
another reader may take it for an opening one. Backslash escapes and comment lines are not supported.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import BinaryIO

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.documents.base import (
    BOM,
    MAX_RECORD_BYTES,
    DocumentFormat,
    Record,
    absent_column,
    decode_utf8,
    join_pieces,
    read_line,
)
from wordveil.documents.streams import compression_of
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.parameters import unnamed_columns

_QUOTE = b'"'
_WHOLE = re.compile(rb'"([^"]|"")*"')
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet may take for the beginning of a formula; the last four are wide forms of the first."""

_CANDIDATE_DELIMITERS = (b",", b";", b"\t", b"|")


@dataclass(slots=True)
class _Row:
    """One record: raw bytes without line end, the start of each field and the end of the last, plus one."""

    body: bytes
    end: bytes
    starts: list[int]
    line: int

    @property
    def width(self) -> int:
        return len(self.starts) - 1

    def field(self, index: int) -> bytes:
        return self.body[self.starts[index] : self.starts[index + 1] - 1]


@dataclass(slots=True)
class _Layout:
    """What the header settles: width, selected and copied fields, and which released fields are always quoted."""

    width: int
    selected: list[int]
    written: list[int] | None


class _Delimited(DocumentFormat):
    """Shared by CSV and TSV; the two differ in their defaults only."""

    has_columns = True
    choices = ("delimiter", "quoting", "header", "csv_safe")
    _default_quoting = "minimal"

    def read(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        self._path = path
        self._stream = stream
        self._line = 0
        usual = self._default_quoting if self.details.quoting == "auto" else self.details.quoting
        self._quoted = usual != "none"
        first = read_line(stream, path, 1)
        self._binary = _CONTROL.search(first) is not None
        mark = BOM if first.startswith(BOM) else b""
        if not first[len(mark) :].strip():
            raise DocumentFormatError(path, "the file has no header line.", line=1, remedy="Give a file with one.")
        self._delimiter = self._find_delimiter(first)
        row = self._row(first[len(mark) :])
        if not row.end and b"\r" in row.body:
            raise self._error("line ends are lone CR.", 1, "Convert them to LF.")
        layout = self._layout(row)
        if self.details.header:
            yield self._header(row, layout, mark)
        else:
            yield Record(0, [], (mark,), size=len(mark), structural=True)
            yield (record := self._record(row, layout, 0))
        ordinal = 0 if self.details.header or record.structural else 1
        while raw := read_line(stream, path, self._line + 1):
            if not raw.rstrip(b"\r\n"):
                self._line += 1
                yield Record(ordinal, [], (raw,), size=len(raw), structural=True)
                continue
            yield (record := self._record(self._row(raw), layout, ordinal))
            ordinal += not record.structural

    def render(self, record: Record, released: Sequence[ReleasedText | None]) -> bytes:
        if record.structural:
            return b"".join(record.template)
        pieces, line = record.template
        written: bytes = join_pieces(pieces, released, lambda text: self._encode(text, line))
        return written

    def _encode(self, text: ReleasedText, line: int) -> bytes:
        guarded = f"'{text}" if self.details.csv_safe and text.startswith(FORMULA) else text
        raw = guarded.encode("utf-8")
        special = self._delimiter in raw or b"\n" in raw or b"\r" in raw
        if not self._quoted:
            if special:
                problem = "a released text holds a delimiter or line end, which a file without quoting cannot."
                raise DocumentFormatError(self._path, problem, line=line, remedy="Choose quoting 'minimal'.")
            return raw
        if self._always or special or _QUOTE in raw or (not raw and self._single):
            return _QUOTE + raw.replace(_QUOTE, b'""') + _QUOTE
        return raw

    def _find_delimiter(self, header: bytes) -> bytes:
        """The given delimiter, or the most frequent candidate in the (public) header line outside quotes.

        Without a header the first line is private, and must not choose where columns end: a comma then.
        """
        if self.details.delimiter is not None:
            return self.details.delimiter.encode("ascii")
        if self.name == "tsv":
            return b"\t"
        if not self.details.header:
            return b","
        outside = b"".join(header.split(_QUOTE)[::2])
        return max(_CANDIDATE_DELIMITERS, key=outside.count)

    def _row(self, raw: bytes) -> _Row:
        self._line += 1
        line = self._line
        if not self._quoted or _QUOTE not in raw:
            body, end = _split_end(raw)
            starts = [*accumulate((len(part) + 1 for part in body.split(self._delimiter)), initial=0)]
            row = _Row(body, end, starts, line)
            if self.details.quoting == "auto" and _QUOTE in raw:
                self._check_unquoted(row)
            return row
        buffer, starts, at = bytearray(raw), [0], 0
        while True:
            if buffer.startswith(_QUOTE, at):
                at = self._closing_quote(buffer, at + 1, line)
            else:
                cut = buffer.find(self._delimiter, at)
                cut = _body_length(buffer) if cut < 0 else cut
                if _QUOTE in buffer[at:cut]:
                    # Perhaps a field that was meant to be quoted: its delimiters would carry private text on.
                    raise self._error("a quote stands inside a field that does not begin with one.", line)
                at = cut
            starts.append(at + 1)
            if at >= _body_length(buffer):
                body, end = _split_end(bytes(buffer))
                return _Row(body, end, starts, line)
            if not buffer.startswith(self._delimiter, at):
                raise self._error("text follows a closing quote.", line)
            at += 1

    def _check_unquoted(self, row: _Row) -> None:
        """Refuse what may be quoted after all: the rest of such a field lies in other columns, or in other rows."""
        for field in map(row.field, range(row.width)):
            if _QUOTE in field and not _WHOLE.fullmatch(field):
                problem = "a quote stands inside a field, or opens one that it does not close."
                remedy = "Choose quoting 'minimal' if the file quotes its fields, or 'none' if quotes are text."
                raise self._error(problem, row.line, remedy)

    def _closing_quote(self, buffer: bytearray, at: int, line: int) -> int:
        while True:
            at = buffer.find(_QUOTE, at)
            if at < 0:
                at = len(buffer)
                more = read_line(self._stream, self._path, self._line + 1)
                if not more or at + len(more) > MAX_RECORD_BYTES:
                    raise self._error("a quoted field is not closed.", line)
                self._line += 1
                buffer += more
            elif buffer.startswith(_QUOTE, at + 1):
                at += 2
            else:
                return at + 1

    def _error(self, problem: str, line: int, remedy: str = "") -> DocumentFormatError:
        if self._binary:  # its quotes are no quotes
            problem = "the first line holds control characters: this is a binary file, or text in another encoding."
            remedy = "Give a text file, or name the encoding, for example --encoding utf-16."
        elif self._quoted and not remedy:
            remedy = "If the file does not use quotes, choose quoting 'none'."
        return DocumentFormatError(self._path, problem, line=line, remedy=remedy)

    def _layout(self, row: _Row) -> _Layout:
        if self.details.header:
            names = [self._decode(row, index) for index in range(row.width)]
        else:
            names = [str(index + 1) for index in range(row.width)]
        if not self.selection.columns:
            which = f"must name the text columns among the {len(names)} of {self._path}.{self._look()}"
            raise ParameterError("columns", (), which)
        missing = [name for name in self.selection.named if name not in names]
        if missing:
            problem, remedy = absent_column(missing[0], names, self.selection.columns)
            remedy += f" --delimiter sets the separator, --no-header names columns 1, 2, ...{self._look()}"
            raise DocumentFormatError(self._path, problem, line=row.line, remedy=remedy)
        selected = [index for index, name in enumerate(names) if name in self.selection.columns]
        others = [name for name in names if name not in self.selection.columns]
        self.other_columns.update(dict.fromkeys(others))
        if self.selection.asks and others:
            raise unnamed_columns(self.selection.columns, others, self._path)
        copied = [i for i, name in enumerate(names) if i not in selected and self.selection.copies(name)]
        times = Counter(names)
        if twice := [names[i] for i in copied if times[names[i]] > 1]:
            problem = f"the column {twice[0]!r}, which is to be copied, stands twice."
            raise DocumentFormatError(self._path, problem, line=row.line, remedy="Give one of the two another name.")
        self.copied_columns.update(dict.fromkeys(names[i] for i in copied))
        written = None if len(selected) + len(copied) == len(names) else sorted(selected + copied)
        self._always = self.details.quoting == "all" or (
            self._quoted
            and self.details.quoting == "auto"
            and self.details.header
            and all(row.field(index).startswith(_QUOTE) for index in selected)
        )
        self._single = (row.width if written is None else len(written)) == 1
        return _Layout(row.width, selected, written)

    def _look(self) -> str:
        """What shows its owner the columns. Without a header the first line is somebody's text: no error holds it."""
        if not os.path.isfile(self._path) or compression_of(self._path) is not None:
            return ""
        return f" The first line shows which there are: head -n 1 {shlex.quote(self._path)}"

    def _header(self, row: _Row, layout: _Layout, mark: bytes) -> Record:
        body = row.body
        if layout.written is not None:
            body = self._delimiter.join(row.field(index) for index in layout.written)
        size = len(mark) + len(row.body) + len(row.end)
        return Record(0, [], (mark, body, row.end), size=size, structural=True)

    def _record(self, row: _Row, layout: _Layout, ordinal: int) -> Record:
        if row.width != layout.width:
            problem = f"{row.width} fields, but the header has {layout.width}."
            if row.width < layout.width and _QUOTE not in row.body:
                remedy = "Complete the row, or remove it."
                raise DocumentFormatError(self._path, problem, line=row.line, remedy=remedy)
            raise self._error(problem, row.line)
        if self.is_left_out(ordinal):
            return Record(ordinal, [], (), size=len(row.body) + len(row.end), structural=True)
        texts = [PrivateText(self._decode(row, index)) for index in layout.selected]
        template = (self._pieces(row, layout), row.line)
        return Record(ordinal, list(texts), template, size=len(row.body) + len(row.end), line=row.line)

    def _pieces(self, row: _Row, layout: _Layout) -> list[bytes]:
        pieces, starts, body = [], row.starts, row.body
        if layout.written is None:
            at = 0
            for index in layout.selected:
                pieces.append(body[at : starts[index]])
                at = starts[index + 1] - 1
            pieces.append(body[at:] + row.end)
            return pieces
        piece: list[bytes] = []
        for place, index in enumerate(layout.written):
            piece.append(self._delimiter if place else b"")
            if index in layout.selected:
                pieces.append(b"".join(piece))
                piece = []
            else:
                piece.append(row.field(index))
        pieces.append(b"".join((*piece, row.end)))
        return pieces

    def _decode(self, row: _Row, index: int) -> str:
        raw = row.field(index)
        if self._quoted and raw.startswith(_QUOTE):
            raw = raw[1:-1].replace(b'""', _QUOTE)
        return decode_utf8(raw, self._path, line=row.line, offset=row.starts[index])


def _body_length(raw: bytes | bytearray) -> int:
    return len(raw) - (2 if raw.endswith(b"\r\n") else 1 if raw.endswith(b"\n") else 0)


def _split_end(raw: bytes) -> tuple[bytes, bytes]:
    length = _body_length(raw)
    return raw[:length], raw[length:]


class Csv(_Delimited):
    """Comma separated values and their relatives; see the module."""

    name = "csv"
    suffixes = (".csv",)


class Tsv(_Delimited):
    """Tab separated values without quoting; see the module."""

    name = "tsv"
    suffixes = (".tsv",)
    _default_quoting = "none"
