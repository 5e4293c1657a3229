"""What a run would do, told from the beginning of its files before anything is drawn or written.

What is said holds counts of private texts. It is for their owner's screen alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wordveil.arrays import PrivateText
from wordveil.denoising.prior import public_sentences
from wordveil.documents import DocumentSettings
from wordveil.documents.streams import compression_of
from wordveil.errors import DocumentFormatError, ParameterError, counted
from wordveil.parameters import listed_names
from wordveil.runs.engine import Notice
from wordveil.runs.other_columns import other_columns, settle_others
from wordveil.runs.preconditions import check_file, tree_to_run

FILES, BYTES = 10, 1 << 20
"""Files of a tree that are looked into, spread evenly, and bytes that are read of each."""
SENTENCES = 1000  # public ones, by which the speed is measured


@dataclass(kw_only=True)
class Looked:
    """What was seen of an input: of the files looked into their beginnings, of all files the names of columns."""

    files: int  # number of files to be read
    size: int  # their bytes, as they lie on the disk
    skipped: int  # number of files that would not be read
    named: list[tuple[str, DocumentSettings]]  # the files, each with its settings
    columns: tuple[str, ...]  # names of the columns that hold text
    copied: list[str]  # names of those that would be copied
    left: list[str]  # names of those that would be left out
    bad: list[str] = field(default_factory=list)  # what is wrong with those looked into that cannot be read
    # the texts at the beginnings, each document's together
    documents: list[list[PrivateText]] = field(default_factory=list)
    read: int = 0  # bytes on the disk that hold those texts

    def lines(self) -> Iterator[str]:
        """Yield what is said of the files, with the remedy where none of those looked into can be read."""
        others = f"; not read: {self.skipped:,}" if self.skipped else ""
        yield f"input: {counted(self.files, 'file')}, {self.size:,} bytes{others}"
        if self.columns:
            copied = f"copied as they are: {listed_names(self.copied)}" if self.copied else "no other is copied"
            left = f"; left out: {listed_names(self.left)}" if self.left else ""
            yield f"columns: text in {listed_names(self.columns)}; {copied}{left}"
        yield from (f"cannot be read: {problem}" for problem in self.bad)

    def whole(self, part: float) -> int:
        """Return a count over all files, given the one over what was read."""
        return round(part * self.size / max(1, self.read))


def look(
    source: str | os.PathLike[str], destination: str | os.PathLike[str], settings: DocumentSettings, notice: Notice
) -> Looked:
    """Look at an input as a run begins: columns are settled, and the beginnings of some files read.

    Raises:
        ParameterError: Where a run would stop before it reads, and if the input can be read only once.
        DocumentFormatError: If there is one file, and its beginning cannot be read.
    """
    origin, target = os.fspath(source), os.fspath(destination)
    if origin == "-":
        raise ParameterError("source", origin, "can be read only once: name a file or a folder.")
    paths, skipped = [origin], 0
    if Path(origin).is_dir():
        found = tree_to_run(origin, target, settings, resume=True)
        paths, skipped = [str(Path(origin) / name) for name in found.taken], len(found.skipped)
    else:
        check_file(origin, target, resume=target != "-")
    own = {path: settings.for_file(path) if Path(origin).is_dir() else settings for path in paths}
    columns = [other_columns(path, own[path]) for path in paths]
    settle_others(origin, settings, columns, notice)
    names = list(dict.fromkeys(name for listed in columns for name in listed))
    copied = [name for name in names if settings.keep_others or name in (settings.keep or ())]
    looked = Looked(
        files=len(paths),
        size=sum(os.path.getsize(path) for path in paths),
        skipped=skipped,
        named=list(own.items()),
        columns=settings.columns,
        copied=copied,
        left=[name for name in names if name not in copied],
    )
    for path in paths[:: -(-len(paths) // FILES)]:
        _read_beginning(path, own[path], looked)
    return looked


def _read_beginning(path: str, settings: DocumentSettings, looked: Looked) -> None:
    size, before = 0, len(looked.documents)
    try:
        with settings.open_texts(path) as reader:
            for record in reader:
                if not record.structural:
                    looked.documents.append([text for text in record.texts if text is not None])
                size += record.size
                if size >= BYTES:
                    break
            plain = reader.format.share_done is None and compression_of(path) is None
            # Packed bytes are read ahead, of a small file all of them.
            looked.read += min(os.path.getsize(path), size if plain else max(1, reader.bytes_done))
    except DocumentFormatError as error:
        if looked.files == 1:
            raise
        del looked.documents[before:]
        looked.bad.append(str(error))


def tokens_per_second(tokens_of: Callable[[Sequence[PrivateText]], int]) -> float:
    """Return how fast a release is on public sentences, given what releases texts and returns their tokens."""
    sentences = [PrivateText(sentence) for sentence in public_sentences(SENTENCES)]
    tokens_of(sentences[:10])  # what is loaded once
    started = time.perf_counter()
    return tokens_of(sentences) / (time.perf_counter() - started)


def in_time(seconds: float) -> str:
    """Return a duration in round words."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
