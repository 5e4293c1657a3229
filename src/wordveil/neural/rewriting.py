"""Private text through a trained rewriter: one noisy pass, then words put back into the text's own gaps.

The rewrite is post-processing of the noisy vectors and of what is disclosed anyway (gaps, number of tokens).
Every call draws afresh: rewriting the same text twice is two releases of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.documents import DocumentSettings, DocumentSummary, Record, run_documents
from wordveil.errors import ParameterError
from wordveil.evaluation.corpora import Corpus, encoder_for
from wordveil.guarantees import Guarantee
from wordveil.neural.cards import CUT, DISCLOSED
from wordveil.neural.corpora import Dataset
from wordveil.neural.jobs import load_model
from wordveil.neural.models import Rewriter
from wordveil.neural.private_embedding import UNKNOWN
from wordveil.randomness import RandomSource
from wordveil.tokenization import apply_casing, detokenize

__all__ = ["TextRewriter"]

BATCH_TOKENS = 8192  # padded tokens scored at once: v floats each
LONGEST = 4096  # tokens of a text


class TextRewriter:
    """Rewrites private texts with a trained model.

    Guarantee:
        That of the model's mechanism per token of each text and call (`guarantee`). Not covered: the number of tokens,
        punctuation and layout, which stay as they are.

    Args:
        model: The rewriter.
    """

    def __init__(self, model: Rewriter) -> None:
        if not isinstance(model, Rewriter):
            raise ParameterError("model", type(model).__name__, "must be a rewriter; classifiers write no text.")
        self.model = model

    @classmethod
    def load(cls, directory: Path, *, source: RandomSource | None = None) -> TextRewriter:
        """Return the rewriter of a model directory.

        Args:
            directory: What `wordveil train rewrite` wrote.
            source: Randomness, `RandomSource()` unless given.

        Raises:
            DataFormatError: If there is no finished model.
        """
        return cls(load_model(directory, source=source))

    @property
    def guarantee(self) -> Guarantee:
        """What one rewrite promises for one token."""
        return self.model.embedding.guarantee()

    @property
    def disclosed(self) -> tuple[str, ...]:
        """What a rewrite discloses whatever the noise, one sentence each."""
        return (*DISCLOSED, "punctuation and layout", CUT.format(LONGEST))

    def rewrite(self, texts: Sequence[PrivateText]) -> list[ReleasedText]:
        """Return one rewrite per text, in order.

        Args:
            texts: The private texts. Texts without a token come back as they are: they hold punctuation only.
        """
        vocabulary = self.model.embedding.vocabulary
        encoded = encoder_for(vocabulary).encode(texts)
        counts = np.array([min(len(text.ids), LONGEST) for text in encoded], dtype=np.int64)
        tokens = np.concatenate([text.ids[:LONGEST] for text in encoded]) if encoded else np.empty(0, np.int32)
        corpus = Corpus(
            tokens=np.where(tokens < 0, UNKNOWN, tokens).astype(np.int32),
            offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        )
        data = Dataset(name="rewritten", corpus=corpus, max_tokens=LONGEST)
        filled = np.flatnonzero(counts)
        # Texts of like length share a batch: the padding is short. Lengths are disclosed.
        filled = filled[np.argsort(counts[filled], kind="stable")]
        written: dict[int, list[str]] = {}
        self.model.eval()
        for rows in _batches(filled, counts):
            for row, ids in zip(rows.tolist(), self.model.rewrite(data.batch(rows)), strict=True):
                written[row] = [vocabulary.words[int(i)] for i in ids]
        cased = vocabulary.header.casing == "cased"
        released = []
        for row, text in enumerate(encoded):
            words = written.get(row, [])
            released.append(apply_casing(detokenize(text.gaps[: len(words) + 1], words), "sentence", cased=cased))
        return released

    def rewrite_documents(
        self, source: str, destination: str, *, settings: DocumentSettings | None = None
    ) -> DocumentSummary:
        """Rewrite a file, a directory or standard input in its own format.

        Args:
            source: A file, a directory, or "-".
            destination: A file, a directory for a directory, or "-".
            settings: How documents are read.

        Raises:
            DocumentFormatError: If the input is malformed; no output remains.
        """
        return run_documents(source, destination, self._release, settings=settings)

    def _release(self, records: list[Record]) -> list[list[ReleasedText | None]]:
        given = [text for record in records for text in record.texts if text is not None]
        released = iter(self.rewrite(given))
        return [[None if text is None else next(released) for text in record.texts] for record in records]


def _batches(rows: NDArray[np.int64], counts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield rows, given by ascending length, in batches that hold few enough tokens with their padding."""
    start = 0
    for stop in range(1, len(rows) + 1):
        if stop == len(rows) or (stop + 1 - start) * int(counts[rows[stop]]) > BATCH_TOKENS:
            yield rows[start:stop]
            start = stop
