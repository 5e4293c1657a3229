"""Opens one document file: guesses the format by name, yields its records, marks the sections.

A section is so many documents (in Parquet, the rows of a row group). Compressed output ends a member with it, and a
run can be resumed there, so that no output byte depends on the caller's blocks. It never follows the lengths of the
private texts: whoever has the output sees where its members end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from functools import cache
from pathlib import Path

from wordveil.arrays import PrivateText
from wordveil.documents.base import DocumentFormat, Record
from wordveil.documents.delimited import Csv, Tsv
from wordveil.documents.json_document import JsonDocument
from wordveil.documents.jsonl import JsonLines
from wordveil.documents.parquet import Parquet
from wordveil.documents.plain_text import PlainText
from wordveil.documents.streams import DAMAGED, InputStream, compression_of
from wordveil.errors import DocumentFormatError, ParameterError, WordveilError
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


def format_of(path: str, format: str | None) -> type[DocumentFormat]:
    """Return the format of this name, or else of a file's; plain text for standard input."""
    chosen = format or ("text" if path == "-" else guess_format(path))
    form = format_class(chosen) if chosen else None
    if form is None:
        known, endings = ", ".join(FORMATS), " ".join(_ENDINGS)
        requirement = f"must be one of {known}; without it {path} must end in one of {endings} (and optionally .gz or"
        raise ParameterError("format", format, f"{requirement} .zst).")
    return form


class DocumentReader(AbstractContextManager["DocumentReader"]):
    """The records of one file."""

    def __init__(self, path: str, form: DocumentFormat, encoding: str | None = None) -> None:
        self.path = path
        self.format = form
        self.source = path if path == "-" else Path(path).name
        self.input = InputStream(path, encoding)

    @property
    def bytes_done(self) -> int:
        share = self.format.share_done
        return self.input.bytes_done if share is None else int(share * (self.input.bytes_total or 0))

    def __iter__(self) -> Iterator[Record]:
        """Yield all records, structural ones included; once only."""
        limit = self.format.details.section_documents
        source = self.source
        line = 0  # of the last whole record
        with suppress(*DAMAGED):
            for record in self.format.read(self.input.stream, self.path):
                record.source = source
                if not record.structural and not self.format.sections:
                    record.closes_section = (record.ordinal + 1) % limit == 0
                line = max(line, record.line)
                yield record
            return
        problem = f"the compressed data is truncated or damaged{' after this' if line else ''}."
        raise DocumentFormatError(self.path, problem, line=line or None, remedy="Fetch the file again.")

    def texts(self) -> Iterator[PrivateText]:
        """Yield the texts of all records, in file order."""
        return (text for record in self for text in record.texts if text is not None)

    def close(self) -> None:
        """Close the file; standard input stays open."""
        self.input.close()

    def __exit__(self, *_: object) -> None:
        self.close()
