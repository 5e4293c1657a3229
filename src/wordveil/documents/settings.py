"""How a document set is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from os import PathLike, fspath
from typing import Any, cast

from wordveil.documents.base import FormatDetails, Missing, Record, Selection
from wordveil.documents.reader import DocumentReader, format_class, format_of, guess_format
from wordveil.documents.streams import checked_encoding
from wordveil.errors import ParameterError
from wordveil.parameters import strings

_FIRST_BLOCK = 1 << 20  # each block is twice the one before: the time left is known from the first seconds on


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSettings:
    """How a document set is read.

    Attributes:
        format: A name in `FORMATS`, or another package's (see `plugins`); None goes by the file name, and takes plain
            text for standard input.
        columns: The columns that hold text; `a.b` goes into nested values.
        keep: The other columns to copy. No column is copied that is not named: where there are others, and neither
            this nor one of the next two says what becomes of them, nothing is read.
        keep_others: Copy all other columns.
        drop_others: Copy no other column.
        missing: JSON: what happens to a record that lacks a text column, or holds something else than text in it:
            "refuse" stops the run, "keep" copies the record with null in the place of what is no text, "skip" leaves
            the record out.
        encoding: Encoding of the input, such as "windows-1252"; None for UTF-8, with or without a byte order mark. The
            output is UTF-8.
        details: Details of single formats.
        block_characters: Target size of a block, in bytes of input. Affects memory and speed only.
        line_buffered: Hand out every record as soon as it is read, write it at once.
        pattern: In a directory tree, the file names taken.
    """

    format: str | None = None
    columns: tuple[str, ...] = ()
    keep: tuple[str, ...] | None = None
    keep_others: bool = False
    drop_others: bool = False
    missing: Missing = "refuse"
    encoding: str | None = None
    details: FormatDetails = field(default_factory=FormatDetails)
    block_characters: int = 24_000_000
    line_buffered: bool = False
    pattern: str = "*"

    def __post_init__(self) -> None:
        if self.block_characters < 1:
            raise ParameterError("block_characters", self.block_characters, "must be at least 1.")
        checked_encoding(self.encoding)
        if isinstance(cast(object, self.columns), str):
            raise ParameterError("columns", self.columns, "must be a sequence of names.")
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "keep", None if self.keep is None else tuple(strings("keep", self.keep)))
        assert self.selection  # refuses what contradicts itself

    @property
    def selection(self) -> Selection:
        """What becomes of the columns."""
        others: dict[str, Any] = {"keep": self.keep, "keep_others": self.keep_others, "drop_others": self.drop_others}
        return Selection(columns=self.columns, missing=self.missing, **others)

    def open(self, path: str | PathLike[str]) -> DocumentReader:
        """Open a file, or "-" for standard input: iterate over the reader for records, and close it.

        Raises:
            ParameterError: If the format is unknown; and while reading, if there are other columns and nothing was said
                of them.
            WordveilError: If the format of another package cannot be used.
            DocumentFormatError: While reading, if the file is not in this format.
        """
        name = fspath(path)
        form = format_of(name, self.format)
        if self.encoding is not None and not form.encodings:
            requirement = f"cannot be chosen: the text of the format {form.name} is UTF-8."
            raise ParameterError("encoding", self.encoding, requirement)
        for choice, usual in asdict(self.details.usual_but(form.choices)).items():
            if usual != (chosen := getattr(self.details, choice)):
                raise ParameterError(choice, chosen, f"does not concern the format {form.name}: leave it out.")
        return DocumentReader(name, form(self.selection, self.details), checked_encoding(self.encoding))

    def open_texts(self, path: str) -> DocumentReader:
        """Open one file for its texts alone, which are not written again."""
        return replace(self, keep=None, keep_others=False, drop_others=True).open(path)

    def open_values(self, path: str, column: str) -> DocumentReader:
        """Open one file for the texts and numbers of one column, as the texts of its documents; there may be none.

        A column that lies in a list is refused while it is read.
        """
        alone = replace(self, keep=None, keep_others=False, drop_others=True)  # the column may be a kept one
        reader = replace(alone, columns=(column,), missing="keep").open(path)
        reader.format.any_value = reader.format.no_lists = True
        return reader

    def for_file(self, name: str) -> DocumentSettings:
        """The settings for one file of a tree: what is chosen concerns only the formats that have a choice."""
        form = self.format or guess_format(name)
        kind = format_class(form) if form else None
        if kind is None:
            return self
        encoding = self.encoding if kind.encodings else None
        settings = replace(self, encoding=encoding, details=self.details.usual_but(kind.choices))
        if kind.has_columns:
            return settings
        return replace(settings, columns=(), keep=None, keep_others=False, drop_others=False)

    def blocks(self, records: Iterator[Record]) -> Iterator[list[Record]]:
        """Cut records into blocks that end at sections, or inside one where a section is larger than a block.

        The first blocks are smaller, so that progress is seen at once.
        """
        block: list[Record] = []
        size = section = 0  # of the block, and of what it has of its last section
        budget = min(_FIRST_BLOCK, self.block_characters)
        whole_sections = True  # the block began at a section
        for record in records:
            block.append(record)
            size += record.size
            section += record.size
            if self.line_buffered:
                full = True
            elif record.closes_section:
                full = not whole_sections or size + section // 2 > budget
            else:
                full = size >= budget and section >= budget // 2
            if full:
                yield block
                block, size, whole_sections = [], 0, record.closes_section
                budget = min(2 * budget, self.block_characters)
            if full or record.closes_section:
                section = 0
        if block:
            yield block

    def fingerprint(self) -> dict[str, Any]:
        """The settings the output depends on, as JSON values."""
        settings = asdict(self) | {"encoding": checked_encoding(self.encoding)}
        for name in ("block_characters", "line_buffered"):
            del settings[name]
        return {f"documents.{name}": value for name, value in settings.items()}
