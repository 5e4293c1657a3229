"""Typed tokens: what has a kind becomes a public value of its kind; words are released by another mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from wordveil.arrays import Float64Array, IdArray, PrivateIds, Progress, ReleasedIds, write_ids
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import WordRandomizer
from wordveil.mechanisms.grids import Grid, moved
from wordveil.mechanisms.wrapper import Wrapper
from wordveil.parameters import check_draws
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.pair_loss import PairLoss
from wordveil.promises.relations import Pair
from wordveil.randomness import BitArray, Draws
from wordveil.text.readings import UNKNOWN
from wordveil.text.surrogates import Surrogates


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
