"""Typed tokens: what has a kind becomes a public value of its kind; words are released by another mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wordveil.arrays import Float64Array, IdArray, PrivateIds, Progress, ReleasedIds, write_ids
from wordveil.errors import ParameterError
from wordveil.mechanisms.around import Around
from wordveil.mechanisms.base import WordRandomizer
from wordveil.mechanisms.grids import Grid, moved
from wordveil.parameters import check_draws
from wordveil.promises.composing import of_either
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.pair_loss import PairLoss
from wordveil.promises.relations import Pair
from wordveil.randomness import BitArray, Draws
from wordveil.text.readings import UNKNOWN
from wordveil.text.surrogates import Span, Surrogates


@dataclass(frozen=True, kw_only=True, eq=False)
class Typed(Around):
    """Releases a token of a kind as a public value of that kind, and a word, known or not, by another mechanism.

    A value is one of the 2^b of its kind, by the top b bits of a 64-bit word: exactly uniform, whatever the token. A
    number on a grid moves by the law of `grids`.

    Guarantee:
        Between two words that of the mechanism inside; between two tokens of a kind nothing is lost, and on a grid what
        its steps cost. Tokens of unlike kinds are not compared: texts must agree in them. Where the promise inside is
        one loss for any two words, the promise is the largest of all losses.

    Attributes:
        surrogates: The kinds with their ids.
    """

    lane: ClassVar[int] = 254
    surrogates: Surrogates

    def guarantee(self) -> Guarantee:
        return of_either(self.randomizer.guarantee(), self._grid_claims)

    def published(self) -> Guarantee:
        return of_either(self.randomizer.published(), self._grid_claims)

    @property
    def _grid_claims(self) -> list[Guarantee]:
        return [grid.guarantee() for grid in self.surrogates.grids]

    @property
    def kinds(self) -> Sequence[WordRandomizer]:
        return (self.randomizer, *map(Grid.of, self.surrogates.grids))

    def other_pairs(self, claim: Guarantee) -> list[Pair]:
        ends = [(span.codes[0], span.codes[-1], span.grid) for span in self.surrogates.spans() if span.grid]
        return [
            Pair(
                first=low,
                second=high,
                label=f"the ends of the grid of {grid.kind}",
                epsilon=grid.guarantee().loss(grid.points - 1),
            )
            for low, high, grid in ends
        ]

    def loss_profile(self, diameter: float | None = None) -> PairLoss | None:
        return None if self.surrogates.grids else self.randomizer.loss_profile(diameter)

    def span(self, ids: IdArray) -> Span | None:
        """Return the one kind of some inputs; None for words.

        Raises:
            ParameterError: If they are of several kinds.
        """
        if not len(ids) or ids.min() >= UNKNOWN:
            return None
        for span in self.surrogates.spans():
            if span.codes[-1] <= ids.min() <= ids.max() <= span.codes[0]:
                return span
        raise ParameterError("ids", "<hidden>", "must be of one kind: each kind has outputs of its own.")

    def law(self, ids: IdArray) -> Float64Array | None:
        """Return the exact rows P(output | input) of inputs of one kind, over `outputs`, or the ids of their span."""
        span = self.span(ids)
        if span is None:
            return self.randomizer.law(ids)
        if span.grid is not None:
            return Grid.of(span.grid).law(span.codes[0] - ids)
        return np.full((len(ids), len(span.ids)), 1 / len(span.ids))

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
        """Return the released ids of typed tokens.

        Args:
            codes: What `Surrogates.code` returned, shape (n,).
            words: One uniform word each, shape (n,).
        """
        released = ReleasedIds(np.full(len(codes), UNKNOWN, np.int32))
        for span in self.surrogates.spans():
            some = (span.codes[-1] <= codes) & (codes <= span.codes[0])
            if span.grid is not None:
                values = moved(span.grid, span.codes[0] - codes[some], words[some])
            else:
                values = (words[some] >> np.uint64(65 - len(span.ids).bit_length())).astype(np.int64)
            write_ids(released, some, ReleasedIds((span.ids.start + values).astype(np.int32)))
        if (released == UNKNOWN).any():
            raise ParameterError("ids", "<hidden>", "must be words, -1, or codes of typed tokens.")
        return released
