"""Stand-ins: a public word drawn uniformly takes the place of an unknown token, and another mechanism releases it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from wordveil.arrays import Float64Array, IdArray, PrivateIds, Progress, ReleasedIds
from wordveil.mechanisms.base import LAW_ROWS, WordRandomizer
from wordveil.mechanisms.wrapper import Wrapper
from wordveil.parameters import check_draws
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.relations import AtDistance, DistanceFunction, Inputs, Pair, Relation
from wordveil.randomness import Draws, multiply_high
from wordveil.text.readings import UNKNOWN
from wordveil.vocabulary.public_sample import public_sample

MOST = 4096
"""Public words that stand in: any public list keeps the promise, a long one only costs time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StandIns(Wrapper):
    """Draws a uniform public word for an unknown token and releases it by another mechanism.

    P(y | unknown) = mean over the s public words x of P(y | x), each drawn by floor(s w / 2^64) of a 64-bit word w.

    Guarantee:
        That of the mechanism inside. Of unknown tokens there is one law, which is a mixture of laws of words: between
        it and a word x, no loss is larger than the largest between x and a word that stands in.
    """

    lane: ClassVar[int] = 255
    public: IdArray = field(repr=False)  # ids of the words that stand in, shape (s,); drawn by a public rule

    @classmethod
    def of(cls, randomizer: WordRandomizer, most: int = MOST) -> StandIns:
        """Put it around a mechanism, with so many public words at most."""
        return cls(randomizer=randomizer, public=public_sample(randomizer.embeddings, most))

    def related(self, claim: Guarantee | None = None) -> Relation:
        words = super().related(claim)
        return replace(words, distances=self._of(words.distances)) if isinstance(words, AtDistance) else words

    def _of(self, distances: DistanceFunction) -> DistanceFunction:
        """Return distances that know the unknown token: it is as far from a word as the farthest that stands in."""

        def known_or_not(first: Inputs, second: Inputs) -> Float64Array:
            one, other = first < 0, second < 0
            rows = distances(np.maximum(first, 0), np.maximum(second, 0))
            if one.any():
                rows[one] = distances(self.public, np.maximum(second, 0)).max(axis=0)
            if other.any():
                rows[:, other] = distances(self.public, np.maximum(first, 0)).max(axis=0)[:, None]
            rows[np.ix_(one, other)] = 0.0  # one law
            return rows

        return known_or_not

    def other_pairs(self, claim: Guarantee) -> list[Pair]:
        relation, word = self.related(claim), int(self.outputs[0])
        epsilon, delta = relation.loss(UNKNOWN, word) or (None, 0.0)
        label = f"an unknown token and word {word}"
        return [Pair(first=UNKNOWN, second=word, label=label, epsilon=epsilon, delta=delta)]

    def law(self, ids: IdArray) -> Float64Array | None:
        rows = self.randomizer.law(np.maximum(ids, 0))
        if rows is not None and (unknown := np.asarray(ids) < 0).any():
            rows = rows.copy()
            rows[unknown] = self._of_unknown
        return rows

    @cached_property
    def _of_unknown(self) -> Float64Array:
        """The law of unknown tokens; words that stand in differ in their shares by 2^-64 at most."""
        total = np.zeros(len(self.outputs))
        for low in range(0, len(self.public), LAW_ROWS):
            rows = self.randomizer.law(self.public[low : low + LAW_ROWS])
            assert rows is not None
            total += rows.sum(axis=0)
        return np.asarray(total / len(self.public))

    def randomize(
        self, ids: PrivateIds, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> ReleasedIds:
        words, *inside = draws
        check_draws([words], (len(ids),))
        # For every token, known or not, so that time does not tell which are unknown.
        public = self.public[multiply_high(words, np.uint64(len(self.public)))]
        placed = PrivateIds(np.where(ids < 0, public, ids))
        return self.randomizer.randomize(placed, tuple(inside), threads=threads, progress=progress)
