"""Does an input look like what the vocabulary is for? Asked for the owner of the texts, before anything is released.

Text of another language is released like any other. Nearly all of its words are unknown then, and become words that
say nothing of it. How many are unknown is a private fact: it is for the owner's screen, and enters no release, no
report and no journal. A warning holds no text and no number.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wordveil.arrays import IdArray, PrivateText
from wordveil.errors import ForeignTextWarning, InputWarning
from wordveil.text.characters import letters_by_script
from wordveil.text.readings import UNKNOWN
from wordveil.text.surrogates import Surrogates
from wordveil.vocabulary.packaged import packaged_header

if TYPE_CHECKING:  # a redaction asks only whether anything was read
    from wordveil.text.encoding import Encoder
    from wordveil.vocabulary.table import Embeddings

Look = Callable[[Sequence[PrivateText], IdArray, int], None]
"""Called with private texts, the ids of their tokens end to end, and the number of public words among them."""

Warn = Callable[[InputWarning], None]
"""Called with a warning; where it raises, the run ends."""

SHARE = 0.3
"""Of unknown words, or of letters of another script; English text has .02 to .16 of them (docs/limits.md)."""
LEAST = 20  # words or letters; fewer are not judged
SAMPLE, LETTERS = 10_000, 50_000  # words, or letters looked at, of a run after which it is not judged any more
CHARACTERS = 20_000  # of the texts of a block that are looked at for scripts, or read once more


def warn_caller(warning: InputWarning) -> None:
    """Warn as Python does, in the name of the line outside this package that asked for the release."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "wordveil":
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


def nothing_read(documents: int, tokens: int) -> InputWarning | None:
    """Return what to say of an input without documents, or without words in them."""
    if tokens:
        return None
    return InputWarning(f"the input holds no {'words' if documents else 'documents'}: there was nothing to release.")


def unwatched(texts: Sequence[PrivateText], tokens: IdArray, exempt: int) -> None:
    """Look at nothing."""


class InputWatch:
    """Counts the unknown words of a run for its owner, and warns where the first of them look like another language.

    Args:
        embeddings: The vocabulary, or the sentences of a stock.
        encoder: What reads texts as words; None judges scripts only.
        sentences: Whether the run's tokens are sentences: words are then read for this alone, and only in the sample.
        warn: Called at most once before the block at hand is released, with `ForeignTextWarning`, and at the end with
            any other `InputWarning`.
    """

    def __init__(
        self, embeddings: Embeddings, encoder: Encoder | None, *, sentences: bool = False, warn: Warn = warn_caller
    ) -> None:
        # Words so far in this process, public ones included, typed tokens left out where they are told apart; and those
        # of them outside the vocabulary.
        self.words = self.unknown = 0
        self._embeddings, self._encoder, self._sentences, self._warn = embeddings, encoder, sentences, warn
        self._sample = Counter[str]()
        self.settled = False  # whether nothing more is judged: a warning was given, or enough was looked at
        self._warned = False
        self._typed = encoder is None or encoder.typed is not None  # numbers and the like are told apart from words

    def look(self, texts: Sequence[PrivateText], tokens: IdArray, exempt: int) -> None:
        """Take in a block of texts before it is released, and warn if the sample so far is not what it should be."""
        words = 0 if self._sentences else int(np.count_nonzero(tokens >= UNKNOWN)) + exempt
        unknown = 0 if self._sentences else int(np.count_nonzero(tokens == UNKNOWN))
        self.words += words
        self.unknown += unknown
        if self.settled:
            return
        if self._sentences or (not self._typed and unknown > SHARE * words):
            words, unknown = self._read_again(texts)
        scripts, usual = letters_by_script(_beginning(texts)), self._embeddings.scripts
        foreign = sum(letters for script, letters in scripts.items() if script not in usual)
        self._sample.update(words=words, unknown=unknown, letters=scripts.total(), foreign=foreign)
        self.settled = self._sample["words"] >= SAMPLE or self._sample["letters"] >= LETTERS
        if doubt := self._doubt():
            self.settled = self._warned = True
            self._warn(ForeignTextWarning(doubt))

    def finish(self, documents: int, tokens: int) -> None:
        """Warn of what shows only when all is done."""
        if empty := nothing_read(documents, tokens):
            self._warn(empty)
        elif not self._warned and self._typed and _exceeds(self.unknown, self.words):
            text = f"more than {SHARE:.0%} of the words are outside the vocabulary, though fewer were at the beginning"
            self._warn(InputWarning(f"{text}. The release says nothing of them."))

    def in_words(self) -> str:
        """Return the count for the owner's screen; "" where no words were counted."""
        if not self.words:
            return ""
        tokens = "words" if self._typed else "tokens, numbers included"
        return f"outside the vocabulary: {self.unknown:,} of {self.words:,} {tokens} ({self.unknown / self.words:.0%})"

    def _doubt(self) -> str:
        if _exceeds(self._sample["foreign"], self._sample["letters"]):
            reason = f"more than {SHARE:.0%} of its letters are of another script"
        elif _exceeds(self._sample["unknown"], self._sample["words"]):
            reason = f"more than {SHARE:.0%} of its words are outside the vocabulary"
        else:
            return ""
        english = self._sentences or self._embeddings.header.checksum == packaged_header().checksum
        usual = "English text" if english and self._encoder else "the text that this vocabulary is for"
        return f"this does not look like {usual}: {reason}. The release will say nothing of them."

    def _read_again(self, texts: Sequence[PrivateText]) -> tuple[int, int]:
        """Count words and unknown ones at the beginning of texts, where typed tokens were not told apart from words."""
        if self._encoder is None:
            return 0, 0
        encoder = replace(self._encoder, typed=self._encoder.typed or Surrogates(first=len(self._embeddings)))
        part = encoder.encode_batch([*_beginning(texts)])
        known = int(np.count_nonzero(part.ids > UNKNOWN)) + int(part.exempt.sum())
        unknown = int(np.count_nonzero(part.ids == UNKNOWN))
        return known + unknown, unknown


def _exceeds(part: int, whole: int) -> bool:
    """Whether a share is above `SHARE`, by two standard errors (at most sqrt(whole) / 2 each), so not by chance."""
    return whole >= LEAST and part > SHARE * whole + math.sqrt(whole)


def _beginning(texts: Iterable[PrivateText]) -> Iterable[PrivateText]:
    left = CHARACTERS
    for text in texts:
        if left <= 0:
            return
        yield PrivateText(text[:left])
        left -= len(text)
