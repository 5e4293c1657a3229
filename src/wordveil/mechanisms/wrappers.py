"""Word mechanisms around another one: each adds a draw of a lane of its own, and hands on what is asked of words.

    StandIns   a public word drawn uniformly takes the place of an unknown token, and the mechanism inside releases it
    Typed      what has a kind becomes a public value of its kind; words are released by the mechanism inside

For every token, of whatever kind, the mechanism inside draws as well, so that time does not tell which are unknown.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from wordveil.arrays import Float64Array, IdArray, PrivateIds, Progress, ReleasedIds, write_ids
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.library import document_bits
from wordveil.mechanisms.base import LAW_ROWS, WordRandomizer
from wordveil.mechanisms.common import answered_by
from wordveil.mechanisms.grids import Grid, moved
from wordveil.parameters import check_draws
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.pair_loss import PairLoss
from wordveil.promises.relations import AtDistance, DistanceFunction, Inputs, Pair, Relation
from wordveil.randomness import BitArray, DocumentStreams, Draws, Stream, multiply_high, random_bits
from wordveil.text.readings import UNKNOWN
from wordveil.text.surrogates import Surrogates
from wordveil.vocabulary.table import public_sample

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Typed(Wrapper):
    """Releases a token of a kind as a public value of that kind, and a word, known or not, by another mechanism.

    A value is one of the 2^b of its kind, by the top b bits of a 64-bit word: exactly uniform, whatever the token. A
    number on a grid moves by the law of `grids`.

    Guarantee:
        Between two words that of the mechanism inside; between two tokens of a kind nothing is lost, and on a grid what
        its steps cost. Tokens of unlike kinds are not compared: texts must agree in them. Where the promise inside is
        one loss for any two words, the promise is the largest of all losses.
    """

    lane: ClassVar[int] = 254
    surrogates: Surrogates  # the kinds with their ids

    def guarantee(self) -> Guarantee:
        return self._of_any(self.randomizer.guarantee())

    def published(self) -> Guarantee:
        return self._of_any(self.randomizer.published())

    def _of_any(self, claim: Any) -> Guarantee:
        losses = [grid.guarantee().largest_loss() or math.inf for grid in self.surrogates.grids]
        speaks_of_words_alone = claim.metric or claim.graph or claim.epsilon is None
        widest: Guarantee = claim if speaks_of_words_alone else replace(claim, epsilon=max([claim.epsilon, *losses]))
        return widest

    @property
    def kinds(self) -> Sequence[WordRandomizer]:
        return (self.randomizer, *map(Grid.of, self.surrogates.grids))

    def other_pairs(self, claim: Guarantee) -> list[Pair]:
        grids = [span for span in self.surrogates.spans if span.grid]
        return [
            Pair(first=grid.codes[0], second=grid.codes[-1], label=f"the ends of a {grid.kind} grid", epsilon=end.loss)
            for grid, kind in zip(grids, self.kinds[1:], strict=True)
            for end in kind.ends
        ]

    def loss_profile(self, diameter: float | None = None) -> PairLoss | None:
        return None if self.surrogates.grids else self.randomizer.loss_profile(diameter)

    def law(self, ids: IdArray) -> Float64Array | None:
        """Return the exact rows P(output | input) of inputs of one kind, over `outputs`, or the ids of their span."""
        for span in self.surrogates.spans:
            if len(ids) and span.codes[-1] <= ids.min() <= ids.max() <= span.codes[0]:
                if span.grid is None:
                    return np.full((len(ids), len(span.ids)), 1 / len(span.ids))
                return Grid.of(span.grid).law(span.codes[0] - ids)
        if len(ids) and ids.min() < UNKNOWN:
            raise ParameterError("ids", "<hidden>", "must be of one kind: each kind has outputs of its own.")
        return self.randomizer.law(ids)

    def randomize(
        self, ids: PrivateIds, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> ReleasedIds:
        words, *inside = draws
        check_draws([words], (len(ids),))
        # Whatever a token is, the mechanism inside draws for it.
        untyped = PrivateIds(np.maximum(ids, UNKNOWN))
        drawn = self.randomizer.randomize(untyped, tuple(inside), threads=threads, progress=progress)
        released, typed = ReleasedIds(drawn.astype(np.int32)), np.flatnonzero(ids < UNKNOWN)
        codes = PrivateIds(ids[typed])
        write_ids(released, typed, self.values(codes, words[typed]))
        return released

    def values(self, codes: PrivateIds, words: BitArray) -> ReleasedIds:
        """Return the released ids of typed tokens."""
        released = ReleasedIds(np.full(len(codes), UNKNOWN, np.int32))
        for span in self.surrogates.spans:
            some = (span.codes[-1] <= codes) & (codes <= span.codes[0])
            if span.grid is not None:
                values = moved(span.grid, span.codes[0] - codes[some], words[some])
            else:
                values = (words[some] >> np.uint64(65 - len(span.ids).bit_length())).astype(np.int64)
            write_ids(released, some, ReleasedIds((span.ids.start + values).astype(np.int32)))
        if (released == UNKNOWN).any():
            raise ParameterError("ids", "<hidden>", "must be words, -1, or codes of typed tokens.")
        return released
