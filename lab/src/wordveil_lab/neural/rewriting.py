"""Private text through a trained rewriter: one noisy pass, then words put back into the text's own gaps.

The rewrite is post-processing of the noisy vectors and of what is disclosed anyway (gaps, number of tokens).
Rewriting the same text twice is two releases of it, unless an id and the run's key place its noise where it was. Noise
of a device has no place.
Whole files are the business of `rewriting_runs`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil.api import (
    EncodedText,
    Guarantee,
    ParameterError,
    Place,
    PrivateText,
    RandomSource,
    ReleasedText,
    TextOptions,
    apply_casing,
    detokenize,
    effective_guarantee,
    nonces,
)
from wordveil_lab.corpora import Corpus, encoder_for
from wordveil_lab.neural.cards import CUT
from wordveil_lab.neural.corpora import Dataset
from wordveil_lab.neural.jobs import load_model
from wordveil_lab.neural.models import Rewriter
from wordveil_lab.neural.pass_records import PassRecord
from wordveil_lab.neural.private_embedding import UNKNOWN

__all__ = ["TextRewriter"]

BATCH_TOKENS = 4096  # padded tokens scored at once: v floats each
LONGEST = 4096  # tokens of a text


class TextRewriter:
    """Rewrites private texts with a trained model.

    Guarantee:
        That of the model's mechanism per token of each text and pass (`guarantee`); passes over one text add up and
        are counted (`passes`). Not covered: the number of tokens, punctuation and layout, which stay as they are.

    Args:
        model: The rewriter.
    """

    def __init__(self, model: Rewriter) -> None:
        if not isinstance(model, Rewriter):
            raise ParameterError("model", type(model).__name__, "must be a rewriter; classifiers write no text.")
        self.model = model
        model.eval()
        self._passes = PassRecord()
        model.embedding.passes = self._passes

    @classmethod
    def load(cls, directory: Path, *, source: RandomSource | None = None, device: str = "cpu") -> TextRewriter:
        """Return the rewriter of a model directory.

        Args:
            directory: What `wordveil train rewrite` wrote.
            source: Randomness, `RandomSource()` unless given.
            device: "cpu", "cuda" or "cuda:N".

        Raises:
            DataFormatError: If there is no finished model.
            ParameterError: If the device is not there, or the model is a classifier.
        """
        return cls(load_model(directory, source=source, device=device))

    @property
    def passes(self) -> PassRecord:
        """Where passes are counted; a record that takes its place closes it."""
        return self._passes

    @passes.setter
    def passes(self, record: PassRecord) -> None:
        self._passes.close()
        self._passes = self.model.embedding.passes = record

    @property
    def source(self) -> RandomSource:
        """Where the noise comes from."""
        return self.model.embedding.source

    def digest(self) -> str:
        """Return a checksum of the model: weights, mechanism and place of the noise."""
        layer = self.model.embedding
        digest = hashlib.blake2b(f"{layer.domain}{layer.noise}".encode(), digest_size=16)
        for name, value in sorted(self.model.state_dict().items()):
            if not name.endswith("_extra_state"):
                digest.update(name.encode() + value.cpu().numpy().tobytes())
        return digest.hexdigest()

    @property
    def guarantee(self) -> Guarantee:
        """What one rewrite promises for one token, between texts that agree in what is disclosed."""
        return effective_guarantee(self.model.embedding.guarantee(), TextOptions(), test_source=False)

    @property
    def disclosed(self) -> tuple[str, ...]:
        """What a rewrite discloses whatever the noise, one sentence each."""
        return (*self.model.embedding.disclosed(), "punctuation and layout", CUT.format(LONGEST))

    def rewrite(self, texts: Sequence[PrivateText], *, ids: Sequence[str] | None = None) -> list[ReleasedText]:
        """Return one rewrite per text, in order.

        Args:
            texts: The private texts. Texts without a token come back as they are: they hold punctuation only.
            ids: One id per text, unique within the run: a text that is rewritten again under its id and the same key
                draws the same noise, and nothing new is released; whether a text has changed shows, and the losses of
                two versions add up only under two keys. None draws afresh, and so does a model with noise="device"
                whatever the ids: each of its rewrites is one more release, and counts.

        Raises:
            WordveilError: If there are ids, and a fork gave this process a key of its own.
        """
        if ids is not None:
            self.source.check_repeats()
        return self.rewrite_counted(texts, ids=ids)[0]

    def rewrite_counted(
        self, texts: Sequence[PrivateText], *, ids: Sequence[str] | None = None
    ) -> tuple[list[ReleasedText], int]:
        """Return the rewrites, as `rewrite` does, and the tokens that passed through the noise."""
        encoded = encoder_for(self.model.embedding.vocabulary).encode(texts)
        names = [os.urandom(16).hex() for _ in texts] if ids is None else ids
        places = [Place(domain="", document=name) for name in names]  # the layer adds the setting
        written = self._written(texts, nonces(self.source, places, texts), encoded)
        cased = self.model.embedding.vocabulary.header.casing == "cased"
        released = []
        for text, words in zip(encoded, written, strict=True):
            released.append(apply_casing(detokenize(text.gaps[: len(words) + 1], words), "sentence", cased=cased))
        return released, sum(map(len, written))

    def _written(
        self, texts: Sequence[PrivateText], where: Sequence[int], encoded: Sequence[EncodedText]
    ) -> list[list[str]]:
        """Return the words written for each text; passes are counted before anything is released."""
        counts = np.array([min(len(text.ids), LONGEST) for text in encoded], dtype=np.int64)
        tokens = np.concatenate([text.ids[:LONGEST] for text in encoded]) if encoded else np.empty(0, np.int32)
        corpus = Corpus(
            tokens=np.where(tokens < 0, UNKNOWN, tokens).astype(np.int32),
            offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        )
        data = Dataset(corpus=corpus, keys=list(texts), max_tokens=LONGEST)
        entries = self.model.embedding.vocabulary.words
        written: list[list[str]] = [[] for _ in texts]
        filled = np.flatnonzero(counts)
        # Texts of like length share a batch: the padding is short. Lengths are disclosed.
        for rows in _batches(filled[np.argsort(counts[filled], kind="stable")], counts):
            places = rows.tolist()
            batch = data.batch(rows)
            if self.model.embedding.noise == "secure":
                batch = replace(batch, nonces=tuple(where[i] for i in places))
            for i, chosen in zip(places, self.model.rewrite(batch), strict=True):
                written[i] = [entries[int(word)] for word in chosen]
        return written


def _batches(rows: NDArray[np.int64], counts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield rows, given by ascending length, in batches that hold few enough tokens with their padding."""
    start = 0
    for stop in range(1, len(rows) + 1):
        if stop == len(rows) or (stop + 1 - start) * int(counts[rows[stop]]) > BATCH_TOKENS:
            yield rows[start:stop]
            start = stop
