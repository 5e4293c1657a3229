"""Released ids to released texts, a batch at a time.

Post-processing: it sees gaps, released ids and declared shapes, never a private text. What one text comes out as says
`reference.write_text`; compiled kernels write all texts of a batch at once, but for those they leave to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray, ReleasedIds, ReleasedText
from wordveil.kernels.compiled.library import text_library
from wordveil.kernels.compiled.text import CompiledWriter, PackedWords, WriterSettings
from wordveil.text.characters import letter_cases
from wordveil.text.encoding import EncodedBatch, EncodedText
from wordveil.text.readings import UNKNOWN
from wordveil.text.reference import cased_mask, write_text
from wordveil.text.surrogates import Surrogates


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Writes released ids of one vocabulary."""

    words: Sequence[str]  # the v words
    # the same words for the compiled writer; None leaves everything to the reference
    index: PackedWords | None = field(default=None, repr=False, compare=False)
    # "sentence", "vocabulary", or "shape" (then the batch must carry shapes)
    casing: Literal["sentence", "vocabulary", "shape"] = "sentence"
    cased: bool = False  # whether the vocabulary tells case apart
    mask: str = ""  # what is written for a released id of -1, whatever the casing; "" leaves the token out
    typed: Surrogates | None = None  # what reads the released ids above those of words; None where there are none

    def write(self, encoded: EncodedBatch, released: ReleasedIds) -> list[ReleasedText]:
        """Return the released texts, in order."""
        return self.write_parts([encoded], released)

    def write_parts(self, parts: Sequence[EncodedBatch], released: ReleasedIds) -> list[ReleasedText]:
        """Return the released texts of a batch that was encoded in parts; `released` has the ids of all end to end."""
        texts: list[str | None] = [None] * sum(int(part.last.sum()) for part in parts)
        if self._settings is not None:
            texts = list(self._compiled(self._settings, parts, released))
        if None in texts:
            words = _Decoded(self)
            for i, pieces in enumerate(_by_text(parts, released)):
                texts[i] = self._one(pieces, words) if texts[i] is None else texts[i]
        return cast(list[ReleasedText], texts)

    def _compiled(
        self, settings: WriterSettings, parts: Sequence[EncodedBatch], released: ReleasedIds
    ) -> Iterator[str | None]:
        writer, start = CompiledWriter(settings, shapes=self.casing == "shape"), 0
        for part in parts:
            stop = start + len(part.before)
            ids, surrogates = self._surrogates(released[start:stop])
            yield from writer.write(part, ids, surrogates)
            start = stop

    def _surrogates(self, ids: IdArray) -> tuple[IdArray, list[str]]:
        """Return the distinct surrogates among released ids, and the ids with these numbered from v on."""
        if self.typed is None:
            return ids, []
        some = np.flatnonzero(ids >= len(self.words))
        numbers, places = np.unique(ids[some], return_inverse=True)
        ids = ids.copy()
        ids[some] = len(self.words) + places
        return ids, [self.typed.text(number) for number in numbers.tolist()]

    def _one(self, pieces: Sequence[tuple[EncodedText, IdArray]], words: _Decoded) -> ReleasedText:
        gaps = [""]
        for text, _ in pieces:
            gaps[-1] += text.gaps[0]
            gaps += text.gaps[1:]
        own = [words[i] for _, ids in pieces for i in ids.tolist()]
        shapes = None
        if self.casing == "shape":
            given = np.concatenate([cast(NDArray[np.uint8], text.shapes) for text, _ in pieces])
            ids = np.concatenate([ids for _, ids in pieces])
            shapes = np.where((ids < 0) | (ids >= len(self.words)), 0, given).astype(np.uint8)
        return write_text(gaps, own, shapes, self.casing, cased=self.cased, mask=self.mask)

    @cached_property
    def _settings(self) -> WriterSettings | None:
        cased = cased_mask(self.mask)
        if self.index is None or text_library() is None or len(cased.encode()) != len(self.mask.encode()):
            return None
        return WriterSettings(
            words=self.index,
            characters=letter_cases(),
            mask=self.mask,
            cased_mask=cased,
            sentences=self.casing == "sentence",
            cased=self.cased,
        )


class _Decoded(dict[int, str | None]):
    """What stands for each id, found when it is asked for; None for -1."""

    def __init__(self, writer: Writer) -> None:
        super().__init__({UNKNOWN: None})
        self._writer = writer

    def __missing__(self, i: int) -> str:
        typed, words = self._writer.typed, self._writer.words
        word = self[i] = words[i] if typed is None or i < len(words) else typed.text(i)
        return word


def _by_text(parts: Sequence[EncodedBatch], released: ReleasedIds) -> Iterator[list[tuple[EncodedText, IdArray]]]:
    begun, start = list[tuple[EncodedText, IdArray]](), 0
    for part in parts:
        for text, last in zip(part.texts(), part.last.tolist(), strict=True):
            stop = start + len(text.gaps) - 1
            begun.append((text, released[start:stop]))
            start = stop
            if last:
                yield begun
                begun = []
