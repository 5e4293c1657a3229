"""The whole pipeline, top to bottom: text, tokens, ids, mechanism, words, text.

    texts --encode--> gaps and ids --place unknown words--> ids --mechanism--> ids --write--> released texts

Everything private happens between `encode` and the mechanism; everything after it is post-processing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordveil import __version__
from wordveil.arrays import IdArray, PrivateText
from wordveil.errors import ParameterError
from wordveil.kernels.compiled import engine_name
from wordveil.kernels.document_words import document_words
from wordveil.kernels.integer_draws import multiply_high
from wordveil.mechanisms.base import Progress, VectorMechanism, WordMechanism, WordRandomizer
from wordveil.parameters import check_kind, strings, unique_ids
from wordveil.pipeline.calibration import public_sample
from wordveil.pipeline.explanations import Explanation, InWords, explain, in_words, metric_of
from wordveil.pipeline.fitting import certificate_in_use, fit_words, on_device
from wordveil.pipeline.noise_domains import noise_domain, shown
from wordveil.promises.certificates import Certificate
from wordveil.promises.release import (
    KEYED,
    MASK,
    BatchRelease,
    Provenance,
    Release,
    TextOptions,
    disclosures,
    effective_guarantee,
)
from wordveil.randomness import RandomSource
from wordveil.text import EncodedBatch, Encoder, Writer, tokenizer_for
from wordveil.text.encoded import tokens_per_document, tokens_per_text
from wordveil.text.readings import UNKNOWN
from wordveil.text.surrogates import Surrogates
from wordveil.vocabulary.table import Embeddings

if TYPE_CHECKING:
    from wordveil.promises.guarantees import Guarantee

__all__ = ["Sanitizer"]

UNKNOWN_LANE, TYPED_LANE = 255, 254  # the last lanes: mechanisms and decoders stay below them
STAND_INS = 4096
"""Public words an unknown token is replaced by: any public list keeps the promise, a long one only costs time."""
DRAW_VALUES = 1 << 22  # eight-byte values drawn at a time: 32 MiB
PLACED = 1 << 16  # stand-ins and surrogates drawn at a time: arrays that stay in the second cache


@dataclass(frozen=True)
class Sanitizer:
    """Sanitizes texts with one mechanism over one vocabulary.

    A copy, also by pickling, draws from a fresh secure source: no key travels.

    Args:
        embeddings: The public vocabulary.
        mechanism: A word mechanism, or a vector mechanism (which is then decoded to the nearest word).
        options: Choices around the mechanism; see `TextOptions`.
        source: Randomness; a fresh secure source unless given.
        threads: Threads for the mechanism, None for one per processor; the output does not depend on it.
        device: "cpu", or a graphics card for the search or the draw, "cuda" or "cuda:1" (extra: gpu): the same promise.
        certificate: For calibration="certified"; None looks among those shipped with the embedded vocabulary.

    Raises:
        ParameterError: If an argument is of another kind.

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
    _origin: Provenance = field(init=False, repr=False, compare=False)
    _domain: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_kind("embeddings", self.embeddings, Embeddings)
        check_kind("options", self.options, TextOptions)
        check_kind("source", self.source, RandomSource)
        header = self.embeddings.header
        packed = self.embeddings.packed_words
        typed = None
        if self.options.unknown == "typed":
            typed = Surrogates(first=len(self.embeddings), grids=self.options.grids)
        encoder = Encoder(
            lookup=self.embeddings.ids,
            index=packed,
            casing="cased" if header.casing == "cased" else "lower",
            tokenizer=tokenizer_for(header.tokenizer, markup=self.options.markup),
            numbers="vocabulary" if self.options.numbers == "vocabulary" else "unknown",
            public_words=self.options.public_words,
            keep_shapes=self.options.casing == "shape",
            typed=typed,
        )
        writer = Writer(
            words=self.embeddings.words,
            index=packed,
            casing=self.options.casing,
            cased=header.casing == "cased",
            mask=MASK if self.options.unknown == "mask" else "",
            typed=typed,
        )
        certificate = certificate_in_use(self.mechanism, self.embeddings, self.certificate)
        fitted = on_device(fit_words(self.mechanism, self.embeddings, certificate), self.device)
        origin = Provenance(
            version=__version__,
            mechanism=shown(self.mechanism),
            vocabulary=header.name,
            checksum=header.checksum,
            candidates_checksum=self.embeddings.candidates_checksum,
            engine=engine_name() if self.device == "cpu" else self.device,
            certificate="" if certificate is None else certificate.checksum,
        )
        object.__setattr__(self, "_stand_ins", public_sample(self.embeddings, STAND_INS))
        object.__setattr__(self, "_randomizer", fitted)
        object.__setattr__(self, "_encoder", encoder)
        object.__setattr__(self, "_writer", writer)
        object.__setattr__(self, "_origin", origin)
        object.__setattr__(self, "_domain", noise_domain(self.mechanism, fitted, self.options, origin))

    @property
    def guarantee(self) -> Guarantee:
        """What every release of this sanitizer promises."""
        return effective_guarantee(self._claim, self.options, test_source=True) if self._tested else self._promise

    @property
    def disclosed(self) -> tuple[str, ...]:
        """What every release of this sanitizer discloses whatever the noise, a sentence each."""
        return self._disclosed

    @property
    def provenance(self) -> Provenance:
        """Where every release of this sanitizer comes from."""
        return replace(self._origin, test_source=True) if self._tested else self._origin

    @property
    def _tested(self) -> bool:
        return self.source.is_test_source  # asked each time: a fork makes a secure source of a test source

    @cached_property
    def _claim(self) -> Guarantee:
        return self._randomizer.guarantee()

    @cached_property
    def _promise(self) -> Guarantee:
        return effective_guarantee(self._claim, self.options, test_source=False)

    @cached_property
    def _disclosed(self) -> tuple[str, ...]:
        return disclosures(self.options, self._claim) + self._randomizer.disclosed()

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
        return self._changed(_randomizer=self._randomizer.for_batch_job())

    def _changed(self, **fields: Any) -> Sanitizer:
        other = object.__new__(Sanitizer)
        vars(other).update(vars(self) | fields)
        return other

    def __copy__(self) -> Sanitizer:
        return self._changed(source=RandomSource())

    def __deepcopy__(self, memo: dict[int, Any]) -> Sanitizer:
        return copy(self)  # all the rest is immutable

    def __reduce__(self) -> tuple[Any, ...]:
        chosen = {name: getattr(self, name) for name in ("options", "threads", "certificate", "device")}
        return _remade, (self.embeddings, self.mechanism, chosen)

    def __call__(self, text: str, *, document_id: str | None = None) -> Release:
        """Sanitize one text.

        Args:
            text: The private text.
            document_id: Give one to make a retry draw the same noise, so that it releases nothing new; without it
                every call draws afresh, and several releases of one text add up.

        Returns:
            The release: text, guarantee, what is disclosed, provenance.

        Raises:
            ParameterError: If text or id is no string.
        """
        check_kind("text", text, str)
        if document_id is not None:
            check_kind("document_id", document_id, str)
        batch = self.release_batch([PrivateText(text)], ids=None if document_id is None else [document_id])
        return Release(
            text=batch.texts[0],
            guarantee=batch.guarantee,
            disclosed=batch.disclosed,
            tokens=batch.tokens,
            provenance=batch.provenance,
        )

    def release_batch(
        self, texts: Sequence[PrivateText], *, ids: Sequence[str] | None = None, progress: Progress | None = None
    ) -> BatchRelease:
        """Sanitize a batch of documents of one text each; what a document becomes does not depend on its batch.

        Args:
            texts: The private texts.
            ids: One id per text, unique within the run; None draws fresh ones.
            progress: Called with the number of tokens done since the last call.

        Returns:
            The released texts, in order.

        Raises:
            ParameterError: If texts or ids are no lists of strings, or the ids are too few, too many or not unique.
        """
        return self.release_documents([[text] for text in strings("texts", texts)], ids=ids, progress=progress)

    def release_documents(
        self,
        documents: Sequence[Sequence[PrivateText]],
        *,
        ids: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> BatchRelease:
        """Sanitize a batch of documents of several texts each, such as the text columns of a record.

        Args:
            documents: The private texts of each document.
            ids: One id per document, unique within the run; None draws fresh ones.
            progress: Called with the number of tokens done since the last call.

        Returns:
            The released texts of all documents end to end, in order.

        Raises:
            ParameterError: As for `release_batch`.
        """
        if any(isinstance(document, str) for document in documents):
            raise ParameterError("documents", f"<{len(documents)} entries>", "must be lists of str, one per document.")
        names = [os.urandom(16).hex() for _ in documents] if ids is None else unique_ids(ids, len(documents))
        texts = strings("texts", list(chain.from_iterable(documents)))
        nonces = self.nonces(documents, names)
        parts, tokens = self._encoded(texts)
        counts = tokens_per_document(tokens_per_text(parts), documents)
        released = self.release_ids(tokens, counts, nonces, progress=progress)
        del tokens  # of a long text, as large as what is made of it
        return BatchRelease(
            texts=self._writer.write_parts(parts, released),
            guarantee=self.guarantee,
            disclosed=self.disclosed if ids is None else (*self.disclosed, KEYED),
            tokens=len(released),
            exempt=sum(int(part.exempt.sum()) for part in parts),
            provenance=self.provenance,
        )

    def _encoded(self, texts: Sequence[PrivateText]) -> tuple[list[EncodedBatch], IdArray]:
        parts, ids = list[EncodedBatch](), [np.empty(0, np.int32)]
        for part in self._encoder.encode_parts(texts):
            parts.append(part.without_ids())
            ids.append(part.ids)
        return parts, np.concatenate(ids)

    def nonces(self, documents: Sequence[Sequence[PrivateText]], ids: Sequence[str]) -> list[int]:
        """Return the place of each document's noise under the run's key: by its id and all its texts."""
        # The lengths say where each text ends.
        names = (
            f"{self._domain}{','.join(str(len(text)) for text in texts)}|{name}"
            for texts, name in zip(documents, ids, strict=True)
        )
        return self.source.nonces(names, map("".join, documents))

    def release_ids(
        self,
        tokens: IdArray,
        counts: NDArray[np.int64],
        nonces: Sequence[int],
        *,
        progress: Progress | None = None,
    ) -> IdArray:
        """Return the released id of every token, -1 where it was unknown and stays so, above v for surrogates.

        Args:
            tokens: Ids of all documents end to end, shape (t,), -1 where unknown, below where typed.
            counts: Tokens of each document, shape (n,).
            nonces: One per document; see `nonces`.
            progress: Called with the number of tokens done since the last call.
        """
        if self.options.unknown in ("random", "typed"):
            placed = self._place_unknown(tokens, nonces, counts.tolist())
            released = self._randomize(placed, tokens < 0, counts, nonces, progress)
            self._place_surrogates(released, tokens, nonces, counts.tolist())
            return released
        known = tokens >= 0
        running = np.zeros(len(tokens) + 1, dtype=np.int32)
        np.cumsum(known, out=running[1:])
        counts = np.diff(running[np.cumsum(counts)], prepend=0)
        released = np.full(len(tokens), -1, dtype=np.int32)
        tokens = tokens[known]
        released[known] = self._randomize(tokens, np.zeros(len(tokens), np.bool_), counts, nonces, progress)
        return released

    def _place_surrogates(
        self, released: IdArray, tokens: IdArray, nonces: Sequence[int], counts: Sequence[int]
    ) -> None:
        """Write a surrogate over what was drawn for each typed token, which went through the mechanism as unknown.

        One word is drawn per token, typed or not: what becomes of one place never depends on what stands at others.
        """
        typed = self._encoder.typed
        if typed is None:
            return

        start = 0
        for drawn in document_words(self.source.documents(nonces, counts), TYPED_LANE, PLACED):
            part = tokens[start : start + len(drawn)]
            some = part < UNKNOWN
            released[start : start + len(drawn)][some] = typed.draw(part[some], drawn[some])
            start += len(drawn)

    def _place_unknown(self, tokens: IdArray, nonces: Sequence[int], counts: Sequence[int]) -> IdArray:
        """Replace every unknown token by a uniformly drawn public word.

        One word is drawn per token, known or not, so that timing does not depend on which are unknown.
        """
        candidates = self._stand_ins
        placed = tokens.copy()
        start = 0
        for drawn in document_words(self.source.documents(nonces, counts), UNKNOWN_LANE, PLACED):
            part = placed[start : start + len(drawn)]
            public = candidates[multiply_high(drawn, np.uint64(len(candidates)))]
            part[:] = np.where(part < 0, public, part)
            start += len(drawn)
        return placed

    def _randomize(
        self,
        tokens: IdArray,
        stand_in: NDArray[np.bool_],
        counts: NDArray[Any],
        nonces: Sequence[int],
        progress: Progress | None,
    ) -> IdArray:
        """Run the mechanism over ids, so many for each document; once per distinct known word if so chosen."""
        spread: NDArray[np.int64] | None = None
        if self.options.per == "document":
            first, counts, spread = _once_per_document(tokens, stand_in, counts, len(self.embeddings))
            tokens = tokens[first]
        released = np.empty(len(tokens), dtype=np.int32)
        size = max(1, DRAW_VALUES // self._randomizer.draw_width)
        start = 0
        for draws in self._randomizer.draws(self.source.documents(nonces, counts.tolist()), size):
            stop = start + len(draws[0])
            released[start:stop] = self._randomizer.randomize(
                tokens[start:stop], draws, threads=self.threads, progress=progress
            )
            start = stop
        return released if spread is None else released[spread]


def _once_per_document(
    tokens: IdArray, stand_in: NDArray[np.bool_], counts: NDArray[Any], v: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the tokens to draw for, how many each document has, and the place of every token among them.

    The occurrences of a known word share a draw. A stand-in shares one with nothing, whatever word it is: were it to
    join a word of the document, that the two positions agree would tell of that word a second time.
    """
    alone = np.cumsum(stand_in, dtype=np.int64)  # from 1: a number of its own for each
    kinds = np.where(stand_in, v + alone, tokens)
    firsts, numbers, spread = [np.empty(0, np.int64)], list[int](), [np.empty(0, np.int64)]
    start = total = 0
    for count in counts.tolist():
        _, first, place = np.unique(kinds[start : start + count], return_index=True, return_inverse=True)
        firsts.append(start + first)
        spread.append(total + place)
        numbers.append(len(first))
        start, total = start + count, total + len(first)
    return np.concatenate(firsts), np.array(numbers, np.int64), np.concatenate(spread)


def _remade(embeddings: Embeddings, mechanism: WordMechanism | VectorMechanism, chosen: Mapping[str, Any]) -> Sanitizer:
    return Sanitizer(embeddings, mechanism, **chosen)
