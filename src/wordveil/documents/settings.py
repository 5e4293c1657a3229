"""How a document set is read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from wordveil.documents.base import FormatDetails, Missing, Selection
from wordveil.documents.reader import DocumentReader, format_class, guess_format, open_documents
from wordveil.documents.streams import checked_encoding
from wordveil.errors import ParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSettings:
    """How a document set is read; see `open_documents`.

    Attributes:
        format: Format name, or None to go by the file name.
        columns: The columns that hold text.
        keep: The other columns to copy. No column is copied that is not named: where there are others, and neither
            this nor one of the next two says what becomes of them, nothing is read.
        keep_others: Copy all other columns.
        drop_others: Copy no other column.
        missing: JSON: what happens to a record that lacks a text column, or holds something else than text in it:
            "refuse" stops the run, "keep" copies the record with null in the place of what is no text, "skip" leaves
            the record out.
        encoding: Encoding of the input, such as "windows-1252"; None for UTF-8. The output is UTF-8.
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
        others: dict[str, Any] = {"keep": self.keep, "keep_others": self.keep_others, "drop_others": self.drop_others}
        Selection(columns=tuple(self.columns), missing=self.missing, **others)  # refuses what contradicts itself

    @property
    def asks(self) -> bool:
        """Whether nothing was said of the columns that hold no text."""
        return self.keep is None and not (self.keep_others or self.drop_others)

    def open(self, path: str) -> DocumentReader:
        """Open one file with these settings."""
        return open_documents(
            path,
            format=self.format,
            columns=self.columns,
            keep=self.keep,
            keep_others=self.keep_others,
            drop_others=self.drop_others,
            missing=self.missing,
            encoding=self.encoding,
            details=self.details,
        )

    def open_texts(self, path: str) -> DocumentReader:
        """Open one file for its texts alone, which are not written again."""
        return replace(self, keep=None, keep_others=False, drop_others=True).open(path)

    def open_values(self, path: str, column: str) -> DocumentReader:
        """Open one file for the texts and numbers of one column, as the texts of its documents; there may be none."""
        alone = replace(self, keep=None, keep_others=False, drop_others=True)  # the column may be a kept one
        reader = replace(alone, columns=(column,), missing="keep").open(path)
        reader.format.any_value = True
        return reader

    def for_file(self, name: str) -> DocumentSettings:
        """The settings for one file of a tree: columns and encodings concern only the formats that have some."""
        form = self.format or guess_format(name)
        kind = format_class(form) if form else None
        if kind is None:
            return self
        settings = self if kind.encodings else replace(self, encoding=None)
        return (
            settings
            if kind.has_columns
            else replace(settings, columns=(), keep=None, keep_others=False, drop_others=False)
        )

    def fingerprint(self) -> dict[str, Any]:
        """The settings the output depends on, as JSON values."""
        settings = asdict(self) | {"encoding": checked_encoding(self.encoding)}
        for name in ("block_characters", "line_buffered"):
            del settings[name]
        return {f"documents.{name}": value for name, value in settings.items()}
