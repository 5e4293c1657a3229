"""A vector mechanism followed by a decoder is a word mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wordveil.arrays import PrivateIds, ReleasedIds
from wordveil.decoding.base import Decoder, FittedDecoder
from wordveil.decoding.nearest import Nearest
from wordveil.mechanisms.base import Progress, VectorMechanism, VectorRandomizer, WordMechanism, WordRandomizer
from wordveil.mechanisms.checks import check_mechanism
from wordveil.mechanisms.common import with_vocabulary
from wordveil.mechanisms.worst_pairs import word_relation
from wordveil.metrics.distances import AnyMetric
from wordveil.parameters import checked_ids
from wordveil.promises.guarantees import Guarantee, PrivacyUnit
from wordveil.promises.pair_loss import PairLoss
from wordveil.promises.relations import Relation
from wordveil.randomness import Draws, Stream
from wordveil.vocabulary.table import Embeddings


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

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return self.mechanism.epsilon

    def with_epsilon(self, epsilon: float) -> Decoded:
        return replace(self, mechanism=self.mechanism.with_epsilon(epsilon))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The vector mechanism's name, with the decoder's where it is not the nearest word."""
        return (
            self.mechanism.name if isinstance(self.decoder, Nearest) else f"{self.mechanism.name}+{self.decoder.name}"
        )

    @property
    def paper(self) -> str:  # type: ignore[override]
        return self.mechanism.paper

    @property
    def calibration(self) -> str:  # type: ignore[override]
        return self.mechanism.calibration

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

    @property
    def public_data(self) -> str:
        return self.randomizer.public_data

    @property
    def metric(self) -> AnyMetric:
        return self.randomizer.metric

    @property
    def laplace_dimensions(self) -> int | None:
        return self.randomizer.laplace_dimensions

    def guarantee(self) -> Guarantee:
        return self._of_words(self.randomizer.guarantee())

    def published(self) -> Guarantee:
        return self._of_words(self.randomizer.published())

    def _of_words(self, claim: Any) -> Guarantee:
        return with_vocabulary(replace(claim, unit=PrivacyUnit.TOKEN), self.embeddings, self.randomizer)

    def related(self, claim: Guarantee | None = None) -> Relation:
        stated = self.published() if claim is None else claim
        return word_relation(stated, self.embeddings, self.metric, edges=self.randomizer.related().edges)

    def loss_profile(self, diameter: float | None = None) -> PairLoss | None:
        return self.randomizer.loss_profile(diameter)

    def together(self, claim: Guarantee, draws: int) -> Guarantee:
        return self.randomizer.together(claim, draws)

    def on(self, device: str) -> FittedDecoded:
        space = self.randomizer.decoding_space(self.embeddings) if device != "cpu" else self.embeddings
        return replace(self, decoder=self.decoder.on(device, space))

    def disclosed(self) -> tuple[str, ...]:
        return self.randomizer.disclosed()

    def advice(self) -> str:
        return self.randomizer.advice()

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
