"""The whole pipeline, top to bottom: text, tokens, ids, mechanism, words, text.

    texts --encode--> gaps and ids --place unknown words--> ids --mechanism--> ids --write--> released texts

Everything private happens between `encode` and the mechanism; everything after it is post-processing.
"""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordveil import __version__
from wordveil.arrays import IdArray, PrivateText
from wordveil.calibration import public_sample
from wordveil.certificates import Certificate
from wordveil.embeddings.table import Embeddings
from wordveil.explanations import Explanation, InWords, explain, in_words, metric_of
from wordveil.fitting import fit_words, on_device
from wordveil.kernels.compiled import engine_name
from wordveil.kernels.integer_draws import multiply_high
from wordveil.mechanisms.base import Progress, VectorMechanism, WordMechanism, WordRandomizer
from wordveil.randomness import Draws, RandomSource, Stream, words
from wordveil.release import MASK, BatchRelease, Provenance, Release, TextOptions, disclosures, effective_guarantee
from wordveil.tokenization import EncodedBatch, Encoder, Writer, tokenizer_for
from wordveil.tokenization.encoded import tokens_per_text

if TYPE_CHECKING:
    from wordveil.guarantees import Guarantee

__all__ = ["Sanitizer"]

UNKNOWN_LANE = 255  # the last lane: mechanisms and decoders stay below it
STAND_INS = 4096
"""Public words an unknown token is replaced by: any public list keeps the promise, a long one only costs time."""
DRAW_VALUES = 1 << 22  # eight-byte values drawn at a time: 32 MiB
PLACED = 1 << 16  # stand-ins drawn at a time: arrays that stay in the second cache


@dataclass(frozen=True)
class Sanitizer:
    """Sanitizes texts with one mechanism over one vocabulary.

    Args:
        embeddings: The public vocabulary.
        mechanism: A word mechanism, or a vector mechanism (which is then decoded to the nearest word).
        options: Choices around the mechanism; see `TextOptions`.
        source: Randomness; a fresh secure source unless given.
        threads: Threads for the mechanism, None for one per processor; the output does not depend on it.
        device: "cpu", or a graphics card for the search or the draw, "cuda" or "cuda:1" (extra: gpu): the same promise.
        certificate: For calibration="certified"; None looks among those shipped with the embedded vocabulary.

    Example:
        >>> import wordveil as wv
        >>> vocabulary = wv.Embeddings.from_arrays(["good", "great", "bad"], [[0.0], [0.1], [1.0]])
        >>> sanitizer = wv.Sanitizer(vocabulary, wv.SanText(epsilon=8.0))
        >>> release = sanitizer("A good film, 10/10!")
        >>> release.tokens, release.guarantee.standing.value
        (4, 'proved')
    """

    embeddings: Embeddings
    mechanism: WordMechanism | VectorMechanism
    _: KW_ONLY
    options: TextOptions = field(default_factory=TextOptions)
    source: RandomSource = field(default_factory=RandomSource, repr=False)
    threads: int | None = None
    certificate: Certificate | None = None
    device: str = "cpu"
    _randomizer: WordRandomizer = field(init=False, repr=False, compare=False)
    _encoder: Encoder = field(init=False, repr=False, compare=False)
    _writer: Writer = field(init=False, repr=False, compare=False)
    _stand_ins: IdArray = field(init=False, repr=False, compare=False)
    _domain: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        header = self.embeddings.header
        encoder = Encoder(
            lookup=self.embeddings.ids,
            casing="cased" if header.casing == "cased" else "lower",
            tokenizer=tokenizer_for(header.tokenizer, markup=self.options.markup),
            numbers=self.options.numbers,
            public_words=self.options.public_words,
            keep_shapes=self.options.casing == "shape",
        )
        writer = Writer(
            words=self.embeddings.words,
            casing=self.options.casing,
            cased=header.casing == "cased",
            mask=MASK if self.options.unknown == "mask" else "",
        )
        object.__setattr__(self, "_stand_ins", public_sample(self.embeddings, STAND_INS))
        fitted = fit_words(self.mechanism, self.embeddings, self.certificate)
        object.__setattr__(self, "_randomizer", on_device(fitted, self.device))
        object.__setattr__(self, "_encoder", encoder)
        object.__setattr__(self, "_writer", writer)
        # Two sanitizers under one key must not share noise: equal draws at two epsilons would tell more than their sum.
        setting = f"{self.mechanism!r}|{self.options!r}|{header.checksum}|{self.embeddings.candidates_checksum}"
        object.__setattr__(self, "_domain", hashlib.blake2b(setting.encode(), digest_size=16).hexdigest() + "|")

    @property
    def guarantee(self) -> Guarantee:
        """What every release of this sanitizer promises."""
        return effective_guarantee(self._randomizer.guarantee(), self.options, test_source=self.source.is_test_source)

    @property
    def provenance(self) -> Provenance:
        """Where every release of this sanitizer comes from."""
        header = self.embeddings.header
        return Provenance(
            version=__version__,
            mechanism=repr(self.mechanism),
            vocabulary=header.name,
            checksum=header.checksum,
            candidates_checksum=self.embeddings.candidates_checksum,
            engine=engine_name() if self.device == "cpu" else self.device,
            test_source=self.source.is_test_source,
        )

    @property
    def in_words(self) -> InWords:
        """How strong the guarantee is, in one sentence worked out on two typical public words."""
        return in_words(self.embeddings, self.guarantee, metric_of(self.mechanism, self._randomizer))

    def explained(self, tokens: int = 50) -> Explanation:
        """Work the guarantee out on public words, and on a text of so many tokens."""
        metric = metric_of(self.mechanism, self._randomizer)
        return explain(self.embeddings, self.guarantee, metric=metric, tokens=tokens, advice=self._randomizer.advice())

    @property
    def text_side(self) -> tuple[Encoder, Writer]:
        """What reads the private texts and what writes the released ones."""
        return self._encoder, self._writer

    def for_batch_job(self) -> Sanitizer:
        """Return the same sanitizer with work kept from batch to batch: for one job on the owner's machine only."""
        other = copy.copy(self)
        object.__setattr__(other, "_randomizer", self._randomizer.for_batch_job())
        return other

    def __call__(self, text: str, *, document_id: str | None = None) -> Release:
        """Sanitize one text.

        Args:
            text: The private text.
            document_id: Give one to make a retry draw the same noise, so that it releases nothing new; without it
                every call draws afresh, and several releases of one text add up.

        Returns:
            The release: text, guarantee, what is disclosed, provenance.
        """
        batch = self.release_batch([PrivateText(text)], ids=None if document_id is None else [document_id])
        return Release(
            text=batch.texts[0],
            guarantee=self.guarantee,
            disclosed=disclosures(self.options),
            tokens=batch.tokens,
            provenance=self.provenance,
        )

    def release_batch(
        self, texts: Sequence[PrivateText], *, ids: Sequence[str] | None = None, progress: Progress | None = None
    ) -> BatchRelease:
        """Sanitize a batch of documents; what a document becomes does not depend on its batch.

        Args:
            texts: The private texts.
            ids: One id per text, unique within the run; None draws fresh ones.
            progress: Called with the number of tokens done since the last call.

        Returns:
            The released texts, in order.
        """
        names = [os.urandom(16).hex() for _ in texts] if ids is None else ids
        nonces = self.nonces(texts, names)
        parts, tokens = self._encoded(texts)
        released = self.release_ids(tokens, tokens_per_text(parts), nonces, progress=progress)
        del tokens  # of a long text, as large as what is made of it
        return BatchRelease(
            texts=self._writer.write_parts(parts, released),
            tokens=len(released),
            exempt=sum(int(part.exempt.sum()) for part in parts),
        )

    def _encoded(self, texts: Sequence[PrivateText]) -> tuple[list[EncodedBatch], IdArray]:
        parts, ids = list[EncodedBatch](), [np.empty(0, np.int32)]
        for part in self._encoder.encode_parts(texts):
            parts.append(part.without_ids())
            ids.append(part.ids)
        return parts, np.concatenate(ids)

    def nonces(self, texts: Sequence[PrivateText], ids: Sequence[str]) -> list[int]:
        """Return the place of each document's noise under the run's key."""
        return self.source.nonces([self._domain + name for name in ids], texts)

    def release_ids(
        self,
        tokens: IdArray,
        counts: NDArray[np.int64],
        nonces: Sequence[int],
        *,
        progress: Progress | None = None,
    ) -> IdArray:
        """Return the released id of every token, -1 where it was unknown and stays so.

        Args:
            tokens: Ids of all documents end to end, shape (t,), -1 where unknown.
            counts: Tokens of each document, shape (n,).
            nonces: One per document; see `nonces`.
            progress: Called with the number of tokens done since the last call.
        """
        if self.options.unknown == "random":
            return self._randomize(self._place_unknown(tokens, nonces, counts.tolist()), counts, nonces, progress)
        known = tokens >= 0
        running = np.zeros(len(tokens) + 1, dtype=np.int32)
        np.cumsum(known, out=running[1:])
        counts = np.diff(running[np.cumsum(counts)], prepend=0)
        released = np.full(len(tokens), -1, dtype=np.int32)
        released[known] = self._randomize(tokens[known], counts, nonces, progress)
        return released

    def _place_unknown(self, tokens: IdArray, nonces: Sequence[int], counts: Sequence[int]) -> IdArray:
        """Put a uniform public word in the place of every unknown token; a word is drawn for each token alike."""
        candidates = self._stand_ins

        def sample(stream: Stream, n: int) -> Draws:
            return (words(stream.lane(UNKNOWN_LANE), (n,)),)

        placed = tokens.copy()
        start = 0
        for (drawn,) in self.source.documents(nonces, counts).chunks(sample, PLACED):
            part = placed[start : start + len(drawn)]
            public = candidates[multiply_high(drawn, np.uint64(len(candidates)))]
            part[:] = np.where(part < 0, public, part)
            start += len(drawn)
        return placed

    def _randomize(
        self, tokens: IdArray, counts: NDArray[Any], nonces: Sequence[int], progress: Progress | None
    ) -> IdArray:
        """Run the mechanism over known ids, so many for each document; once per distinct word if so chosen."""
        spread: IdArray | None = None
        if self.options.per == "document":
            tokens, counts, spread = _once_per_document(tokens, counts, len(self.embeddings))
        released = np.empty(len(tokens), dtype=np.int32)
        size = max(1, DRAW_VALUES // self._randomizer.draw_width)
        start = 0
        for draws in self.source.documents(nonces, counts.tolist()).chunks(self._randomizer.sample, size):
            stop = start + len(draws[0])
            released[start:stop] = self._randomizer.randomize(
                tokens[start:stop], draws, threads=self.threads, progress=progress
            )
            start = stop
        return released if spread is None else released[spread]


def _once_per_document(tokens: IdArray, counts: NDArray[Any], v: int) -> tuple[IdArray, NDArray[np.int64], IdArray]:
    """Distinct words of each document, ascending; how many each has; the place of every token among all of them."""
    place = np.empty(v, np.int32)  # of each word of the document at hand
    spread = np.empty(len(tokens), np.int32)
    distinct, numbers = [np.empty(0, np.int32)], list[int]()
    start = total = 0
    for count in counts.tolist():
        some = slice(start, start + count)
        own = np.unique(tokens[some])
        place[own] = np.arange(total, total + len(own))
        spread[some] = place[tokens[some]]
        distinct.append(own)
        numbers.append(len(own))
        start, total = start + count, total + len(own)
    return np.concatenate(distinct), np.array(numbers, np.int64), spread
