"""A JSON file: an array (one record an element) or one value (one record), only the selected strings rewritten.

Arrays are read element by element, so the file may be larger than memory; a single object must fit. Spacing and
indentation are copied as written. JSON lines are another format: see `jsonl`.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO, cast

from wordveil.arrays import PrivateText
from wordveil.documents.base import MAX_RECORD_BYTES, Record
from wordveil.documents.json_walker import WalkError, skip_space
from wordveil.documents.jsonl import JsonFormat
from wordveil.errors import DocumentFormatError

_CHUNK = 1 << 20


class JsonDocument(JsonFormat):
    """One JSON value per file; see the module."""

    name = "json"
    suffixes = (".json",)

    def read(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        window = _Window(stream, path)
        window.accept("\ufeff")
        window.skip_space()
        if window.accept("["):
            yield window.structural(0)
            yield from self._elements(window)
        else:
            record = self._record(window, 0)
            if record.structural:
                raise window.error("the only record would be left out.", remedy="Choose --missing keep.")
            yield record
        window.skip_space()
        if window.at < len(window.text) or window.extend():
            remedy = "One JSON value a line is the format jsonl: choose it."
            raise window.error("more text after the JSON value.", remedy=remedy)
        yield window.structural(1)

    def _elements(self, window: _Window) -> Iterator[Record]:
        ordinal = 0
        window.skip_space()
        if window.accept("]"):
            return
        while True:
            record = self._record(window, ordinal)
            yield record
            ordinal += not record.structural
            window.skip_space()
            if window.accept("]"):
                return
            if not window.accept(","):
                raise window.error("not valid JSON.")
            window.skip_space()
            if not ordinal:
                window.forget()  # nothing stands before the comma

    def _record(self, window: _Window, ordinal: int) -> Record:
        walker = self._walker
        walker.any_value, walker.no_lists = self.any_value, self.no_lists
        while True:
            try:
                end = walker.walk(window.text, window.begin, window.at)
            except WalkError as error:
                failure = error
            else:
                size = end - window.begin  # extending moves the window
                # A number that touches the end of the window may go on.
                if end < len(window.text) or not window.extend():
                    break
                continue
            into_record = failure.position - window.begin
            if not failure.incomplete or not window.extend():
                window.at = window.begin + into_record
                raise window.error(failure.problem, remedy=failure.remedy)
        line = window.line
        window.at = window.begin + size
        window.forget()
        if self._leaves_out(ordinal, window.path, line):
            return Record(ordinal, [], ("",), size=size, structural=True)
        return Record(ordinal, cast(list[PrivateText | None], walker.texts), walker.pieces, size=size, line=line)


class _Window:
    """A moving window over the decoded stream: `begin` of the bytes not yet handed out, `at` of the reader."""

    def __init__(self, stream: BinaryIO, path: str) -> None:
        self._stream = stream
        self.path = path
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._ended = False
        self._lines = 1
        self._bytes = 0
        self.text = ""
        self.begin = 0
        self.at = 0

    def extend(self) -> bool:
        """Read more, at least doubling the window, so that a long record costs linear time; False at the end."""
        if self._ended:
            return False
        if len(self.text) - self.begin > MAX_RECORD_BYTES:
            raise self.error(f"one record is longer than {MAX_RECORD_BYTES} characters.")
        raw = self._stream.read(max(_CHUNK, len(self.text) - self.begin))
        self._ended = not raw
        kept = len(self._decoder.getstate()[0])
        try:
            more = self._decoder.decode(raw, final=self._ended)
        except UnicodeDecodeError as error:
            offset = self._bytes - kept + error.start
        else:
            self._bytes += len(raw)
            self.text = self.text[self.begin :] + more
            self.at -= self.begin
            self.begin = 0
            return bool(more) or not self._ended
        remedy = "Name its encoding, for example --encoding windows-1252."
        raise DocumentFormatError(self.path, "not valid UTF-8.", offset=offset, remedy=remedy)

    def skip_space(self) -> None:
        while True:
            self.at = skip_space(self.text, self.at).end()
            if self.at < len(self.text) or not self.extend():
                return

    def accept(self, mark: str) -> bool:
        if self.at == len(self.text):
            self.extend()
        found = self.text.startswith(mark, self.at)
        self.at += found
        return found

    def structural(self, ordinal: int) -> Record:
        piece = self.text[self.begin : self.at]
        self.forget()
        return Record(ordinal, [], (piece,), size=len(piece), structural=True)

    def forget(self) -> None:
        self._lines += self.text.count("\n", self.begin, self.at)
        self.begin = self.at

    def error(self, problem: str, *, remedy: str = "") -> DocumentFormatError:
        return DocumentFormatError(self.path, problem, line=self.line, remedy=remedy)

    @property
    def line(self) -> int:
        return self._lines + self.text.count("\n", self.begin, self.at)
