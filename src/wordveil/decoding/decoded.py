"""A vector mechanism followed by a decoder is a word mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wordveil.arrays import PrivateIds, Progress, ReleasedIds
from wordveil.decoding.base import Decoder, FittedDecoder
from wordveil.decoding.nearest import Nearest
from wordveil.mechanisms.base import VectorMechanism, VectorRandomizer, WordMechanism, WordRandomizer
from wordveil.mechanisms.common import answered_by, check_mechanism, with_vocabulary
from wordveil.mechanisms.worst_pairs import word_relation
from wordveil.parameters import checked_ids
from wordveil.promises.guarantees import Guarantee, PrivacyUnit
from wordveil.promises.relations import Relation
from wordveil.randomness import Draws, Stream
from wordveil.vocabulary.table import Embeddings


@answered_by("mechanism", "epsilon paper calibration")
@dataclass(frozen=True, kw_only=True)
class Decoded(WordMechanism):
    """Embed a word, randomize its vector, decode the noisy vector.

    Guarantee:
        That of the vector mechanism between the two words' vectors: decoding is post-processing.

    Attributes:
        mechanism: The vector mechanism.
        decoder: The decoder, `Nearest()` unless said otherwise.
    """

    mechanism: VectorMechanism
    decoder: Decoder = field(default_factory=Nearest)

    def with_epsilon(self, epsilon: float) -> Decoded:
        return replace(self, mechanism=self.mechanism.with_epsilon(epsilon))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The vector mechanism's name, with the decoder's where it is not the nearest word."""
        decoder = "" if isinstance(self.decoder, Nearest) else f"+{self.decoder.name}"
        return f"{self.mechanism.name}{decoder}"

    def fitter(self, embeddings: Embeddings) -> Callable[[float], FittedDecoded]:
        fitted = self.fit(embeddings)
        return lambda epsilon: replace(fitted, randomizer=self.mechanism.with_epsilon(epsilon).fit(embeddings))

    def fit(self, embeddings: Embeddings) -> FittedDecoded:
        randomizer = self.mechanism.fit(embeddings)
        decoder = self.decoder.fit(randomizer.decoding_space(embeddings))
        return FittedDecoded(
            embeddings=embeddings,
            randomizer=randomizer,
            decoder=decoder,
            draw_width=randomizer.draw_width + decoder.draws,
        )


@answered_by("randomizer", "public_data metric laplace_dimensions loss_profile together disclosed advice")
@dataclass(frozen=True, kw_only=True)
class FittedDecoded(WordRandomizer):
    """`Decoded` bound to a vocabulary."""

    embeddings: Embeddings
    randomizer: VectorRandomizer
    decoder: FittedDecoder
    draw_width: int

    @property
    def engine(self) -> str:
        return self.decoder.engine

    @property
    def vectors(self) -> VectorRandomizer:
        return self.randomizer

    def guarantee(self) -> Guarantee:
        return self._of_words(self.randomizer.guarantee())

    def published(self) -> Guarantee:
        return self._of_words(self.randomizer.published())

    def _of_words(self, claim: Any) -> Guarantee:
        return with_vocabulary(replace(claim, unit=PrivacyUnit.TOKEN), self.embeddings, self.randomizer)

    def related(self, claim: Guarantee | None = None) -> Relation:
        stated = self.published() if claim is None else claim
        return word_relation(stated, self.embeddings, self.metric, edges=self.randomizer.related().edges)

    def on(self, device: str) -> FittedDecoded:
        space = self.randomizer.decoding_space(self.embeddings) if device != "cpu" else self.embeddings
        return replace(self, decoder=self.decoder.on(device, space))

    def sample(self, stream: Stream, n: int) -> Draws:
        return (*self.randomizer.sample(stream, n), *self.decoder.sample(stream, n))

    def randomize(
        self, ids: PrivateIds, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> ReleasedIds:
        kept = len(draws) - self.decoder.draws
        ids = checked_ids(ids, len(self.embeddings))
        noisy = self.randomizer.randomize(np.asarray(self.embeddings.vectors[ids]), draws[:kept])
        return self.decoder.decode(noisy, draws[kept:], threads=threads, progress=progress)


def as_words(mechanism: object) -> WordMechanism:
    """Return a mechanism as one of words, a vector mechanism decoded to the nearest; `ParameterError` for others."""
    chosen: Any = check_mechanism(mechanism)
    words: WordMechanism = Decoded(mechanism=chosen) if chosen.releases == "vectors" else chosen
    return words
