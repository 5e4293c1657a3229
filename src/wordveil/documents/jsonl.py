r"""JSON lines: one JSON value a line, only the selected strings are rewritten.

Everything outside the selected strings is copied as written: spacing, numbers, escapes, order, blank lines, line
ends and a byte order mark. Released strings are written with the shortest escapes, characters beyond ASCII as
they are, or as `\uXXXX` with `ascii_json`; the style never follows the private string.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import BinaryIO, cast

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.documents.base import (
    DocumentFormat,
    FormatDetails,
    Record,
    Selection,
    decode_utf8,
    join_pieces,
    read_line,
)
from wordveil.documents.json_walker import JsonWalker, WalkError, selection_tree, skip_space
from wordveil.errors import DocumentFormatError
from wordveil.parameters import unnamed_columns

_SPACE = " \t\r\n"
_SAY = "Say with --keep, --keep-others or --drop-others what becomes of them."
_CONTROLS = bytes(range(32))
_lone_surrogate = re.compile("[\ud800-\udfff]")


def render_json(pieces: Sequence[str], released: Sequence[ReleasedText | None], *, ascii_only: bool) -> bytes:
    """Join raw pieces and released strings; None leaves the raw null that begins the next piece."""
    line = join_pieces(pieces, released, encode_basestring_ascii if ascii_only else _quoted)
    try:
        return line.encode("utf-8")
    except UnicodeEncodeError:
        # Half of a surrogate pair is a legal JSON escape but no character: it can only be written as an escape.
        return _lone_surrogate.sub(lambda half: f"\\u{ord(half[0]):04x}", line).encode("utf-8")


def _quoted(text: str) -> str:
    """Return a text as a JSON string; `encode_basestring` in half the time where there are no control characters."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data.translate(None, _CONTROLS)) < len(data):
        return encode_basestring(text)
    return '"{}"'.format(text.replace("\\", "\\\\").replace('"', '\\"'))


class JsonFormat(DocumentFormat):
    """Shared by JSON lines and JSON files: how a value is walked and rendered."""

    has_columns = True
    choices = ("ascii_json",)

    def __init__(self, selection: Selection, details: FormatDetails) -> None:
        super().__init__(selection, details)
        self._walker = JsonWalker(selection_tree(selection), selection.missing)
        self.copied_columns = self._walker.copied
        self._begun = False

    def render(self, record: Record, released: Sequence[ReleasedText | None]) -> bytes:
        return render_json(record.template, released, ascii_only=self.details.ascii_json)

    def _leaves_out(self, ordinal: int, path: str, line: int) -> bool:
        """Whether the value that was walked last is left out; counts it, or what it lacks.

        Raises:
            ParameterError: If nothing was said of the other members and the first record has some.
            DocumentFormatError: If a later one has others than the first: they are never copied unasked.
        """
        walker = self._walker
        if walker.skipped:
            self.gaps["skipped"] += 1
            return True
        new = len(walker.dropped.keys() - self.other_columns.keys()) if self._begun else 0
        if new and self.selection.asks:
            problem = f"members that were not named, and that the first record does not have: {new}."
            raise DocumentFormatError(path, problem, line=line, remedy=_SAY)
        if new:
            self.gaps["members"] += new
        if not self._begun:
            self._begun = True
            self.other_columns.update(walker.copied | walker.dropped)
            if walker.dropped and self.selection.asks:
                raise unnamed_columns(self.selection.columns, list(walker.dropped), path)
        if self.is_left_out(ordinal):
            return True
        if walker.lacking or walker.not_text:
            self.gaps.update(missing=walker.lacking, not_text=walker.not_text)
        return False


class JsonLines(JsonFormat):
    """JSON lines; see the module."""

    name = "jsonl"
    suffixes = (".jsonl", ".ndjson")

    def read(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        offset, ordinal = 0, 0
        for number in count(1):
            # Nothing here keeps a line once its texts are taken out: it can be long.
            record = self._record(stream, path, number, offset, ordinal)
            if record is None:
                return
            offset += record.size
            ordinal += not record.structural
            yield record

    def _record(self, stream: BinaryIO, path: str, number: int, offset: int, ordinal: int) -> Record | None:
        raw = read_line(stream, path, number)
        if not raw:
            return None
        size = len(raw)
        line = decode_utf8(raw, path, line=number, offset=offset)
        del raw
        start = skip_space(line, number == 1 and line.startswith("\ufeff")).end()
        if start == len(line):
            return Record(ordinal, [], (line,), size=size, structural=True)
        try:
            texts, pieces = self._walked(line, start)
        except WalkError as error:
            problem, remedy = error.problem, error.remedy
        else:
            if self._leaves_out(ordinal, path, number):
                return Record(ordinal, [], ("",), size=size, structural=True)
            return Record(ordinal, texts, pieces, size=size, line=number)
        raise DocumentFormatError(path, problem, line=number, remedy=remedy)

    def _walked(self, line: str, start: int) -> tuple[list[PrivateText | None], list[str]]:
        walker = self._walker
        walker.any_value, walker.no_lists = self.any_value, self.no_lists
        end = walker.walk(line, 0, start)
        if line[end:].strip(_SPACE):
            raise WalkError("more than one JSON value on the line.", end)
        walker.pieces[-1] += line[end:]
        texts, walker.texts = walker.texts, []  # which would hold a long text until the next line
        return cast(list[PrivateText | None], texts), walker.pieces
