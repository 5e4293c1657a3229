"""A word mechanism around another one: it adds a draw of a lane of its own, and hands on what is asked of words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from wordveil.kernels.compiled.library import document_bits
from wordveil.mechanisms.base import WordRandomizer
from wordveil.mechanisms.common import answered_by
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.relations import Pair, Relation
from wordveil.randomness import DocumentStreams, Draws, Stream, random_bits

TOGETHER = 1 << 16  # words of the lane drawn at a time: arrays that stay in the second cache
OF_WORDS = (
    "embeddings engine draws_by_arithmetic metric laplace_dimensions public_data vectors selection faces outputs "
    "likelihoods keep_probabilities likely_inputs pair_loss loss_profile together procedure advice disclosed"
)
"""What is asked of words, and so of the randomizer inside."""


@answered_by("randomizer", OF_WORDS)
@dataclass(frozen=True, kw_only=True, eq=False)
class Wrapper(WordRandomizer):
    """What randomizers around another have in common.

    Every token, whatever it is, takes one word of the lane: what becomes of one place never depends on what stands at
    others.
    """

    lane: ClassVar[int]  # of the word, one of the last: mechanisms and decoders stay below them
    answers_unknown: ClassVar[bool] = True
    randomizer: WordRandomizer = field(repr=False)  # the one inside

    def guarantee(self) -> Guarantee:
        return self.randomizer.guarantee()

    def published(self) -> Guarantee:
        return self.randomizer.published()

    def related(self, claim: Guarantee | None = None) -> Relation:
        return self.randomizer.related(self.published() if claim is None else claim)

    def worst_pairs(self, n: int = 8, seed: int = 0, *, claim: Guarantee | None = None) -> list[Pair]:
        """Return those of the randomizer inside, the last of them replaced by pairs of other tokens than words."""
        claim = self.published() if claim is None else claim
        others = self.other_pairs(claim)[: n - 2]
        return [*self.randomizer.worst_pairs(n, seed, claim=claim)[: n - len(others)], *others]

    @abstractmethod
    def other_pairs(self, claim: Guarantee) -> list[Pair]:
        """Return pairs to try of which one at least is no word."""

    @property
    def draw_width(self) -> int:  # type: ignore[override]
        return 1 + self.randomizer.draw_width

    def on(self, device: str) -> Self:
        return replace(self, randomizer=self.randomizer.on(device))

    def for_batch_job(self) -> Self:
        return replace(self, randomizer=self.randomizer.for_batch_job())

    def sample(self, stream: Stream, n: int) -> Draws:
        return (random_bits(stream.lane(self.lane), (n,)), *self.randomizer.sample(stream, n))

    def draws(self, documents: DocumentStreams, size: int) -> Iterator[Draws]:
        words, rest = document_bits(documents, self.lane, TOGETHER), np.empty(0, np.uint64)
        for inside in self.randomizer.draws(documents, size):
            n, parts = len(inside[0]), [rest]
            while sum(map(len, parts)) < n:
                parts.append(next(words))
            joined = np.concatenate(parts)
            rest = joined[n:]
            yield (joined[:n], *inside)
