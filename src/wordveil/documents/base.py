"""What every document format shares: records, options and the interface of a format.

A record is cut into the raw pieces that are copied and the private texts between them; rendering puts released
texts back into the gaps. Nothing here knows what happens to a text in between, and nothing here does any output:
see `output`. How a released text is written (quotes, escapes) never depends on the private text it replaces.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, AnyStr, BinaryIO, ClassVar, Literal, Protocol, get_args

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.documents.output import ByteSink, OutputFile
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.parameters import check_choice, check_other_columns, check_whole, similar_name, strings, unnamed_columns

MAX_RECORD_BYTES = 100_000_000
"""A longer record is refused: all of it is held, up to ten times over, and memory is to stay within 1 GB."""

BOM = b"\xef\xbb\xbf"


Missing = Literal["refuse", "keep", "skip"]
"""What happens to a record that lacks a text column, or holds something else than text in it."""


@dataclass(slots=True)
class Record:
    """One record of a document set."""

    ordinal: int  # number of documents before this one in its file
    # the selected texts in file order; None where the value is null
    texts: list[PrivateText | None] = field(repr=False)
    template: Any = field(repr=False)  # the format's own means to rebuild the record
    source: str = "-"  # input name: file name, path inside a tree, or "-"
    # bytes the record takes in the (decompressed) input; decides where blocks end, and nothing of the output
    size: int = 0
    structural: bool = False  # true for what is no document and is copied: header line, brackets, blank lines
    closes_section: bool = False  # true where a section of the input ends (see `DocumentReader`)
    line: int = 0  # line of the file where the record begins, or its row in a Parquet file; for messages
    id: str = field(default="", repr=False)  # what a column of its own calls the document; "" goes by its place

    @property
    def key(self) -> str:
        """Document id of the record: its own, or input name and ordinal."""
        return self.id or f"{self.source}:{self.ordinal}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which columns are sanitized and which others are copied: none that is not named.

    Where nothing is said of the other columns and there are some, reading stops at the first record. The attributes are
    those of `DocumentSettings`; a null is always kept.
    """

    columns: tuple[str, ...] = ()
    keep: tuple[str, ...] | None = None
    keep_others: bool = False
    drop_others: bool = False
    missing: Missing = "refuse"

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, get_args(Missing))
        check_other_columns(self.keep, keep_others=self.keep_others, drop_others=self.drop_others)
        strings("keep", self.keep or ())
        for column in self.columns:
            if not column:
                raise ParameterError("columns", column, "must be the name of a column.")
            if column in (self.keep or ()):
                raise ParameterError("keep", column, "is a text column. Name only columns to copy unchanged.")

    @property
    def asks(self) -> bool:
        return self.keep is None and not (self.keep_others or self.drop_others)

    @property
    def named(self) -> tuple[str, ...]:
        return self.columns + (self.keep or ())

    def copies(self, column: str) -> bool:
        """Whether a column that is not sanitized is copied."""
        if self.asks:
            raise unnamed_columns(self.columns, [column], "the file")
        return self.keep_others or column in (self.keep or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatDetails:
    r"""Details of single formats; alone, a file that a choice does not concern is refused.

    Attributes:
        whole_file: Plain text: the file is one record (default: one record a line).
        delimiter: CSV/TSV: one character; None takes a tab for TSV and looks at the header line for CSV.
        quoting: CSV/TSV: "auto" (TSV none; CSV as its header line), "none", "minimal" or "all".
        header: CSV/TSV: the first line holds the column names; without one they are "1", "2", ...
        csv_safe: CSV/TSV: a released text that a spreadsheet may take for a formula begins with an apostrophe.
        ascii_json: JSON/JSONL: write released characters beyond ASCII as `\uXXXX`.
        section_documents: Documents after which a compressed member of the output ends, and a run into it can resume.
            Their number is disclosed anyway; their lengths, and the places that follow from them, are not.
        row_group_rows: Parquet: rows of one row group of the output.
    """

    whole_file: bool = False
    delimiter: str | None = None
    quoting: str = "auto"
    header: bool = True
    csv_safe: bool = False
    ascii_json: bool = False
    section_documents: int = 4096
    row_group_rows: int = 16_384

    def __post_init__(self) -> None:
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or self.delimiter in '"\r\n' or ord(self.delimiter) > 127
        ):
            raise ParameterError("delimiter", self.delimiter, "must be one ASCII character, no quote or line end.")
        check_choice("quoting", self.quoting, ("auto", "none", "minimal", "all"))
        check_whole("section_documents", self.section_documents)
        check_whole("row_group_rows", self.row_group_rows)

    def usual_but(self, names: Collection[str]) -> FormatDetails:
        """Return the details, those of `CHOICES` that are not named as they usually are."""
        usual = FormatDetails()
        return replace(self, **{name: getattr(usual, name) for name in CHOICES.difference(names)})


CHOICES = frozenset(("whole_file", "delimiter", "quoting", "header", "csv_safe", "ascii_json"))
"""Details that decide what is read or written; the others are sizes."""


class Sink(Protocol):
    """Where the released records of one file go."""

    resumable_anywhere: bool  # whether the file can go on after any record, or only where a section ended

    def write(self, record: Record, released: Sequence[ReleasedText | None]) -> None:
        """Append a record."""

    def end_section(self) -> None:
        """Write what a section needs at its end."""

    def checkpoint(self) -> int:
        """Bring what was written to the disk; return where to go on, as `OutputFile.start`."""

    def seal(self) -> None:
        """Complete the file."""

    def close(self) -> None:
        """Let go of the file; standard output stays open."""


class DocumentFormat(ABC):
    """A file format: finds the texts in a byte stream and writes records back.

    One object serves one file: it gathers `copied_columns` while it reads.

    Attributes:
        name: The name given to `format=`.
        has_columns: Whether texts are chosen by column.
        suffixes: Endings of the names of such files, ".txt" for instance; a directory's files are taken by them.
        encodings: Whether the input may be in another encoding than UTF-8.
        choices: The details among `CHOICES` that concern it.
        sections: Whether it marks by itself where sections end, as formats with row groups do.
        share_done: Share of the file read so far, where bytes do not tell; else None.
        copied_columns: Names of the columns copied unchanged so far.
        other_columns: Names of all columns that hold no text, copied or not; of JSON, those of the first record.
        gaps: How often so far a record lacked a text column ("missing"), held something else than text there, which was
            made null ("not_text"), or was left out for one or the other ("skipped") or by `leave_out`; and how many
            members were left out that the first record does not have ("members").
        leave_out: Ordinals of documents that are read past; set before reading.
        any_value: Take numbers and booleans in a selected column as they are written; for columns that are read only,
            and set before reading.
        no_lists: Refuse a selected column that lies in a list; the same.
    """

    name: ClassVar[str]
    has_columns: ClassVar[bool]
    suffixes: ClassVar[tuple[str, ...]] = ()
    encodings: ClassVar[bool] = True
    choices: ClassVar[Collection[str]] = CHOICES
    sections: ClassVar[bool] = False
    share_done: float | None = None
    leave_out: Collection[int] = ()
    any_value: bool = False
    no_lists: bool = False

    def __init__(self, selection: Selection, details: FormatDetails) -> None:
        if selection.columns and not self.has_columns:
            problem = f"cannot be given: the format {self.name} has no columns. Choose another, such as jsonl or csv."
            raise ParameterError("columns", selection.columns, problem)
        if selection.keep and not self.has_columns:
            raise ParameterError("keep", selection.keep, f"cannot be given: the format {self.name} has no columns.")
        self.selection = selection
        self.details = details
        self.copied_columns: dict[str, None] = {}
        self.other_columns: dict[str, None] = {}
        self.gaps: Counter[str] = Counter()

    def is_left_out(self, ordinal: int) -> bool:
        """Whether a document is to be read past, given how many were not before it; counts it then."""
        if ordinal + self.gaps["left_out"] not in self.leave_out:
            return False
        self.gaps["left_out"] += 1
        return True

    @abstractmethod
    def read(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Yield the records of a decompressed stream.

        Args:
            stream: Buffered binary stream at its start.
            path: The file as the caller named it, for messages.

        Yields:
            Records in file order, structural ones among them.

        Raises:
            DocumentFormatError: If the bytes are not this format, or a selected column is missing or no text.
        """

    @abstractmethod
    def render(self, record: Record, released: Sequence[ReleasedText | None]) -> bytes:
        """Bytes of a record with its texts replaced.

        Args:
            record: A record read by this object.
            released: One text for each of the record's texts, None exactly where that is None.

        Returns:
            The record in the format read, its line end and separators included.
        """

    def sink(self, target: OutputFile) -> Sink:
        """Return what writes the records of a file that this object read; here, one after the other."""
        return ByteSink(self.render, target)


def read_line(stream: BinaryIO, path: str, line: int) -> bytes:
    """Read one line, line end included; only a line feed ends a line (U+0085, U+2028 and a lone CR do not)."""
    raw = stream.readline(MAX_RECORD_BYTES + 1)
    if len(raw) > MAX_RECORD_BYTES:
        problem = f"the line is longer than {MAX_RECORD_BYTES} bytes."
        raise DocumentFormatError(path, problem, line=line, remedy="Break it into several lines.")
    return raw


def absent_column(name: str, present: Collection[str], chosen: Collection[str] = ()) -> tuple[str, str]:
    """Problem and remedy where a column is absent that the caller named.

    The names that are there are counted, not printed: the first line of a table without a header is somebody's text,
    and the members of a JSON object can be names of persons. Where a text column was found, they are names of columns,
    and one that is like the absent one is shown.
    """
    problem = f"no column {name!r} among its {len(present)}."
    if name.casefold() in {other.casefold() for other in present}:
        problem += " One differs from it only in upper and lower case."
    elif name not in chosen and set(chosen) & set(present):
        problem += similar_name(name, [other for other in present if other not in chosen])
    if "," in name:
        return problem, "Give --column once for each column."
    return problem, "Check what --column and --keep name."


def decode_utf8(raw: bytes, path: str, *, line: int | None = None, offset: int = 0) -> str:
    """Decode strictly; the error names the position and holds no content.

    UTF-16 without a byte order mark is valid UTF-8 where the text is ASCII, one NUL beside every letter: read so,
    its words would be randomized letter by letter. It is refused; a few NULs in a text are characters like others.
    """
    problem, encoding = "not valid UTF-8.", "windows-1252"
    if len(raw) >= 4 and raw.count(0) * 3 >= len(raw):
        problem, encoding = "a third of the bytes or more are NUL: this looks like UTF-16.", "utf-16"
    else:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            offset += error.start
    # Raised outside the handler: the original exception carries the bytes and must not be chained.
    remedy = f"Name its encoding, for example --encoding {encoding}."
    raise DocumentFormatError(path, problem, line=line, offset=offset, remedy=remedy)


def join_pieces(
    pieces: Sequence[AnyStr], released: Sequence[ReleasedText | None], encode: Callable[[ReleasedText], AnyStr]
) -> AnyStr:
    """Put the encoded texts into the gaps between the raw pieces; a None leaves its gap empty."""
    parts = [pieces[0]]
    for text, piece in zip(released, pieces[1:], strict=True):
        if text is not None:
            parts.append(encode(text))
        parts.append(piece)
    return pieces[0][:0].join(parts)
