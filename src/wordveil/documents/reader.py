"""Opens one document file: guesses the format by name, yields its records, marks the sections.

A section is so many documents (in Parquet, the rows of a row group). Compressed output ends a member with it, and a
run can be resumed there, so that no output byte depends on the caller's blocks. It never follows the lengths of the
private texts: whoever has the output sees where its members end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from wordveil.arrays import ReleasedText
from wordveil.documents.base import DocumentFormat, FormatDetails, Missing, Record, Selection
from wordveil.documents.delimited import Csv, Tsv
from wordveil.documents.json_document import JsonDocument
from wordveil.documents.jsonl import JsonLines
from wordveil.documents.parquet import Parquet
from wordveil.documents.plain_text import PlainText
from wordveil.documents.streams import DAMAGED, InputStream, checked_encoding, compression_of
from wordveil.errors import DocumentFormatError, ParameterError, WordveilError
from wordveil.parameters import strings
from wordveil.plugins import foreign_names, foreign_object

FORMATS: dict[str, type[DocumentFormat]] = {
    form.name: form for form in (PlainText, JsonLines, JsonDocument, Csv, Tsv, Parquet)
}
"""Format names and what reads them."""

_ENDINGS = {suffix: name for name, form in FORMATS.items() for suffix in form.suffixes}


def format_class(name: str) -> type[DocumentFormat] | None:
    """Return the format of a name, another package's too; None where there is none."""
    return FORMATS.get(name) or foreign_object("readers", name, DocumentFormat)


def guess_format(name: str) -> str | None:
    """The format a file name stands for, a final .gz or .zst ignored; None where it tells nothing."""
    path = Path(name)
    if compression_of(name) is not None:
        path = path.with_suffix("")
    suffix = path.suffix.lower()
    return _ENDINGS.get(suffix) or (_foreign_endings().get(suffix) if suffix else None)


@cache
def _foreign_endings() -> dict[str, str]:
    endings = dict[str, str]()
    for name in foreign_names("readers", FORMATS):
        with suppress(WordveilError):  # a broken package is in nobody's way until its format is asked for by name
            form = format_class(name)
            endings |= {suffix: name for suffix in form.suffixes} if form else {}
    return endings


def open_documents(  # noqa: PLR0913 (three of them say what else is copied)
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Sequence[str] = (),
    keep: Sequence[str] | None = None,
    keep_others: bool = False,
    drop_others: bool = False,
    missing: Missing = "refuse",
    encoding: str | None = None,
    details: FormatDetails | None = None,
) -> DocumentReader:
    """Open a document file.

    Args:
        path: A file, or "-" for standard input.
        format: A name in `FORMATS`, or another package's (see `plugins`); None goes by the file name, and takes plain
            text for standard input.
        columns: The columns that hold text; `a.b` goes into nested values.
        keep: The other columns to copy.
        keep_others: Copy all other columns.
        drop_others: Leave the other columns out.
        missing: JSON: what happens to a record without a text column; see `Selection`.
        encoding: Encoding of the input; None for UTF-8, with or without a byte order mark. The output is UTF-8.
        details: Details of single formats.

    Returns:
        A reader; iterate over it for records, close it or use it as a context manager.

    Raises:
        ParameterError: If the format is unknown or the choice of columns contradicts itself; and while reading, if
            there are other columns and nothing was said of them.
        WordveilError: If the format of another package cannot be used.
        DocumentFormatError: While reading, if the file is not in this format.
    """
    name = os.fspath(path)
    chosen = format or ("text" if name == "-" else guess_format(name))
    form = format_class(chosen) if chosen else None
    if form is None:
        endings = " ".join(_ENDINGS)
        raise ParameterError(
            "format",
            format,
            f"must be one of {', '.join(FORMATS)}; without it {name} must end in one of {endings} "
            "(and optionally .gz or .zst).",
        )
    if isinstance(columns, str):
        raise ParameterError("columns", columns, "must be a sequence of names.")
    selection = Selection(
        columns=tuple(columns),
        keep=None if keep is None else tuple(strings("keep", keep)),
        keep_others=keep_others,
        drop_others=drop_others,
        missing=missing,
    )
    if encoding is not None and not form.encodings:
        raise ParameterError("encoding", encoding, f"cannot be chosen: the text of the format {form.name} is UTF-8.")
    return DocumentReader(name, form(selection, details or FormatDetails()), checked_encoding(encoding))


class DocumentReader:
    """The records of one file."""

    def __init__(self, path: str, form: DocumentFormat, encoding: str | None = None) -> None:
        self.path = path
        self.format = form
        self.source = path if path == "-" else Path(path).name
        self._input = InputStream(path, encoding)

    @property
    def copied_columns(self) -> list[str]:
        """Names of the columns copied unchanged so far."""
        return list(self.format.copied_columns)

    @property
    def other_columns(self) -> list[str]:
        """Names of the columns that hold no text, as far as they are known."""
        return list(self.format.other_columns)

    @property
    def gaps(self) -> dict[str, int]:
        """What the records read so far lacked; see `DocumentFormat`."""
        return dict(self.format.gaps)

    @property
    def bytes_total(self) -> int | None:
        """Size of the file, None for standard input."""
        return self._input.bytes_total

    @property
    def bytes_done(self) -> int:
        """Raw bytes read so far."""
        share = self.format.share_done
        return self._input.bytes_done if share is None else int(share * (self.bytes_total or 0))

    def __iter__(self) -> Iterator[Record]:
        """Yield all records, structural ones included; once only."""
        limit = self.format.details.section_documents
        source = self.source
        damaged, line = False, 0  # of the last whole record
        try:
            for record in self.format.read(self._input.stream, self.path):
                record.source = source
                if not record.structural and not self.format.sections:
                    record.closes_section = (record.ordinal + 1) % limit == 0
                line = max(line, record.line)
                yield record
        except DAMAGED:
            damaged = True
        if damaged:
            where = " after this" if line else ""
            problem = f"the compressed data is truncated or damaged{where}."
            raise DocumentFormatError(self.path, problem, line=line or None, remedy="Fetch the file again.")

    def render(self, record: Record, released: Sequence[ReleasedText | None]) -> bytes:
        """Bytes of a record with its texts replaced; not for Parquet."""
        return self.format.render(record, released)

    def close(self) -> None:
        """Close the file; standard input stays open."""
        self._input.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
