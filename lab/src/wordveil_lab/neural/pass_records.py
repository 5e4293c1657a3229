"""Passes of private texts through the noise, counted in a file, so that memory does not grow and later runs add up.

The file holds, for every pass, a keyed digest of the text and the place of the pass's noise. A pass that is repeated
with the same noise (a resumed run) is the same release and counts once; one without a place to return to always
counts. Whoever has the file can test a guess of a
text, so it is as confidential as the texts and has mode 0600.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import weakref
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from wordveil.api import DataFormatError, ParameterError
from wordveil_lab.neural.passes import KEY_BYTES, check_process, check_promise, sentence_keys, text_digest

__all__ = ["PassRecord"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS secret (key BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS promise (text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS passes (place BLOB, text BLOB, PRIMARY KEY (place, text)) WITHOUT ROWID;
"""
PLACE_BYTES = 10  # a nonce of `RandomSource`


class PassRecord:
    """Counts passes by text and place, in the process that opened it.

    Args:
        path: The file, made where there is none; None keeps the counts in a temporary file of this process.

    Attributes:
        path: The same.

    Raises:
        DataFormatError: If the file is no such record.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path, self._process = path, os.getpid()
        if path is not None and not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self._file = sqlite3.connect("" if path is None else path)
        weakref.finalize(self, self._file.close)
        try:
            self._file.executescript(SCHEMA)
            self._key = self._secret()
        except sqlite3.DatabaseError:
            raise DataFormatError(path or "", "is no record of passes.", remedy="Name another file.") from None

    def _secret(self) -> bytes:
        with self._file:
            row: Any = self._file.execute("SELECT key FROM secret").fetchone()
            if row is None:
                row = (os.urandom(KEY_BYTES),)
                self._file.execute("INSERT INTO secret VALUES (?)", row)
        return bytes(row[0])

    @property
    def promise(self) -> str:
        row: Any = self._file.execute("SELECT text FROM promise").fetchone()
        if row is None and self.largest:
            raise DataFormatError(self.path or "", "counts passes of an unknown promise.", remedy="Name another file.")
        return "" if row is None else str(row[0])

    def count(self, sentences: Sequence[Hashable] | None, places: Sequence[int] | None = None, *, promise: str) -> None:
        """Add one pass of each text, unless it passed at its place before; the counts are on the disk on return.

        Args:
            sentences: The texts.
            places: Where the noise of each lies; None for fresh noise, every pass of which counts.
            promise: What the pass promises, by `promise_text`.

        Raises:
            ParameterError: If the texts are not given.
            GuaranteeError: If the record counts passes of another promise.
            WordveilError: In a fork of the process that opened the record.
        """
        check_process(self._process)
        if sentences is None:
            raise ParameterError("sentences", None, "must be given as texts: this record counts by text.")
        counted = self.promise
        check_promise(counted, promise)
        texts: Any = sentence_keys(sentences)
        if places is None:
            drawn = [os.urandom(PLACE_BYTES) for _ in texts]
        else:
            drawn = [place.to_bytes(PLACE_BYTES, "little") for place in places]
        rows = [(place, text_digest(text, self._key)) for place, text in zip(drawn, texts, strict=True)]
        with self._file:
            if not counted:
                self._file.execute("INSERT INTO promise VALUES (?)", (promise,))
            self._file.executemany("INSERT OR IGNORE INTO passes VALUES (?, ?)", rows)

    @property
    def largest(self) -> int:
        """The most passes that any one text went through."""
        check_process(self._process)
        query = "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM passes GROUP BY text)"
        return int(self._file.execute(query).fetchone()[0] or 0)

    @property
    def counts(self) -> Mapping[str, int]:
        """The largest count, by a name of the record that says nothing of its key."""
        return {hashlib.blake2b(key=self._key, digest_size=16).hexdigest(): self.largest}

    def add(self, counts: Mapping[str, int], promise: str) -> None:
        """Refuse counts of which nobody knows the text; the record's own are there already.

        Raises:
            ParameterError: If another counter has counted a pass.
        """
        if any(count for name, count in counts.items() if name not in self.counts):
            raise ParameterError("passes", "in the state", "have no text, and this record counts by text.")

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @staticmethod
    def discard(path: Path) -> None:
        """Remove a record that nothing has open, with what a killed process left of its last transaction."""
        for name in (path.name, f"{path.name}-journal"):
            path.with_name(name).unlink(missing_ok=True)
