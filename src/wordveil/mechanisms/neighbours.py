"""Neighbour response: any public word with a small probability, else one of the word's public neighbours.

Claim, law and sampler on one screen. The lists are public and part of the vocabulary (`vocabulary.neighbour_lists`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import cached_property
from typing import ClassVar, Literal, get_args

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.errors import ParameterError
from wordveil.kernels.integer_draws import WordArray
from wordveil.mechanisms.base import Progress, WordMechanism, WordRandomizer
from wordveil.mechanisms.rows import check_draws, checked_ids
from wordveil.parameters import check_positive, check_whole
from wordveil.promises.guarantees import Guarantee, LocalDP, Standing
from wordveil.randomness import Draws, Stream, words
from wordveil.vocabulary.neighbour_lists import NeighbourLists, crowds, nearest_outputs
from wordveil.vocabulary.table import Embeddings

__all__ = ["FittedNeighbourResponse", "IntegerLaw", "Lists", "NeighbourResponse"]

Lists = Literal["nearest", "crowds"]
TOTAL = 1 << 64  # of every row's integer weights: one draw is one 64-bit word
_EXACT = Context(prec=60)
_MOST = 50  # nats: beyond what weights of 64 bits can tell apart


@dataclass(frozen=True, kw_only=True)
class NeighbourResponse(WordMechanism):
    """Release a word of the input's public list with weight e^epsilon, any other output with weight 1.

    P(y | x) = p for the k outputs y of the list of x, q for all others, with p/q = e^epsilon and k p + (v - k) q = 1.
    In other words: with probability v q a uniform public word, else a uniform member of the list. k = 1 is k-ary
    randomized response. An unknown token releases a uniform word.

    Guarantee:
        epsilon local DP between any two words, known or unknown, proved, without slack: the weights are integers that
        sum to 2^64 for every input, and the claim is the logarithm of the largest over the smallest, rounded up. It
        needs no metric and no certificate, since all lists are equally long. Two words with equal lists lose nothing,
        however often they are released: with lists="crowds", all words of a crowd. With lists="nearest" a word's
        list, and soon the word, shows after some releases of it, each of which costs epsilon.

    Attributes:
        epsilon: Largest loss between any two inputs, nats, in (0, inf). Beyond about 40 nats, 64 random bits honour
            no smaller probability, and the claim stays below epsilon.
        k: Length of a list, at least 1 and below the number of outputs; for crowds the smallest size, the largest is
            2k - 1.
        outputs: Release only so many of the words that may be output, the most frequent in public English text; None
            for all. Every word stays an input.
        lists: "nearest" lists each word's k nearest outputs by cosine, itself first; "crowds" parts the outputs into
            blocks of like words, and a word's list is its block.

    Raises:
        ParameterError: If a parameter is outside its domain, or (when fitted) there are no more than k outputs.

    Reference:
        Kairouz, Oh, Viswanath (2014), Extremal Mechanisms for Local Differential Privacy (the two-valued law); Ye,
        Barg (2018), Optimal Schemes for Discrete Distribution Estimation under Locally Differential Privacy (subset
        selection). Lists with a floor over the whole vocabulary, the integer law and crowds are wordveil's.

    Example:
        >>> from wordveil import load_embeddings
        >>> from wordveil.randomness import RandomSource
        >>> table = load_embeddings()
        >>> randomizer = NeighbourResponse(epsilon=8.0).fit(table)
        >>> randomizer.release(table.ids(["doctor", "not-a-word"]), RandomSource.seeded_for_tests(1)).shape
        (2,)
        >>> print(randomizer.guarantee().sentence())  # doctest: +ELLIPSIS
        local DP (proved): ... by a factor of exp(8), ...
    """

    name: ClassVar[str] = "neighbours"
    paper: ClassVar[str] = "wordveil; after Kairouz et al. 2014"
    epsilon: float = 8.0
    k: int = 16
    outputs: int | None = 4000
    lists: Lists = "nearest"

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_whole("k", self.k)
        if self.outputs is not None:
            check_whole("outputs", self.outputs, least=2)
        if self.lists not in get_args(Lists):
            raise ParameterError("lists", self.lists, f"must be one of {', '.join(get_args(Lists))}.")

    @classmethod
    def examples(cls) -> Sequence[NeighbourResponse]:
        return (
            cls(epsilon=3.0, k=2, outputs=None),
            cls(epsilon=2.0, k=1, outputs=4),
            cls(epsilon=2.0, k=2, outputs=None, lists="crowds"),
        )

    def fit(self, embeddings: Embeddings) -> FittedNeighbourResponse:
        make = nearest_outputs if self.lists == "nearest" else crowds
        lists = make(embeddings, self.k, outputs=self.outputs)
        if self.k >= len(lists.outputs):
            raise ParameterError("k", self.k, f"must be below {len(lists.outputs)}, the number of outputs.")
        return FittedNeighbourResponse(embeddings=embeddings, mechanism=self, lists=lists)


@dataclass(frozen=True, kw_only=True)
class IntegerLaw:
    """The integer weights of the outputs for any input; each input's sum to 2^64.

    Every output weighs `floor`. What is left is shared by the members of the list, equally, and the remainder of the
    division, less than the length of the list, goes to the last of them. For an unknown token all 2^64 are shared by
    the outputs in the same way.

    Attributes:
        epsilon: Largest loss wanted, nats.
        outputs: v, number of outputs.
        sizes: The lengths that lists have; each below v.
        floor: Weight of an output that is not in the list: the least for which no two inputs lose more than epsilon.

    Raises:
        ParameterError: If epsilon is too small for 64-bit weights.
    """

    epsilon: float
    outputs: int
    sizes: tuple[int, ...]
    floor: int = field(init=False)

    def __post_init__(self) -> None:
        v, limit = self.outputs, Decimal(self.epsilon)
        ratio = _EXACT.exp(min(limit, Decimal(_MOST)))
        smallest = min(self.sizes)
        # Where weights are real numbers, 2^64 / (k e^epsilon + v - k); remainders move it by next to nothing.
        floor = max(1, int(_EXACT.divide(TOTAL, smallest * ratio + v - smallest)))
        while self._loss(floor) > limit:
            floor += 1
            if v * floor > TOTAL:
                raise ParameterError("epsilon", self.epsilon, f"is too small for 64-bit weights of {v} outputs.")
        object.__setattr__(self, "floor", floor)

    @property
    def anywhere(self) -> int:
        """Weight of the uniform draw over all outputs: a 64-bit word below it picks one of them."""
        return self.outputs * self.floor

    @property
    def unknown(self) -> int:
        """Weight of every output but the last for an unknown token."""
        return TOTAL // self.outputs

    def share(self, size: int) -> int:
        """Return what each member of a list of this length weighs beyond the floor; the last weighs more."""
        return (TOTAL - self.anywhere) // size

    @property
    def claim(self) -> float:
        """The largest loss between any two inputs, nats: ln(largest weight / smallest weight), rounded up."""
        exact = self._loss(self.floor)
        nearest = float(exact)
        return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)

    def _loss(self, floor: int) -> Decimal:
        shared = [divmod(TOTAL - self.outputs * floor, size) for size in self.sizes]
        largest = max(floor + share + rest for share, rest in shared)
        largest = max(largest, sum(divmod(TOTAL, self.outputs)))
        return _EXACT.ln(_EXACT.divide(largest, floor)).next_plus(_EXACT)


@dataclass(frozen=True, kw_only=True)
class FittedNeighbourResponse(WordRandomizer):
    """Neighbour response bound to a vocabulary and its public lists.

    Attributes:
        embeddings: The public vocabulary.
        mechanism: The parameters.
        lists: The list of every input.
    """

    answers_unknown: ClassVar[bool] = True
    embeddings: Embeddings
    mechanism: NeighbourResponse
    lists: NeighbourLists
    draw_width: int = 1

    @cached_property
    def integers(self) -> IntegerLaw:
        """The weights that draw."""
        sizes = tuple(int(size) for size in np.unique(self.lists.sizes))
        return IntegerLaw(epsilon=self.mechanism.epsilon, outputs=len(self.lists.outputs), sizes=sizes)

    def guarantee(self) -> Guarantee:
        return LocalDP(epsilon=self.integers.claim, standing=Standing.PROVED)

    def weights(self, ids: IdArray) -> WordArray:
        """Return the integer weights of every output for each input, -1 for an unknown token, shape (n, v)."""
        law, v = self.integers, len(self.lists.outputs)
        table = np.full((len(ids), v), law.floor, dtype=np.uint64)
        for row, word in zip(table, ids.tolist(), strict=True):
            members = np.searchsorted(self.lists.outputs, self.lists.of(word)) if word >= 0 else np.arange(v)
            row[members] += np.uint64(law.share(len(members)))
            row[members[-1]] += np.uint64(TOTAL - sum(row.tolist()))
        return table

    def law(self, ids: IdArray) -> Float64Array:
        return np.asarray(self.weights(ids) / float(TOTAL))

    def sample(self, stream: Stream, n: int) -> Draws:
        return (words(stream.lane(0), (n,)),)

    def randomize(
        self, ids: IdArray, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        ids = checked_ids(ids, len(self.embeddings), unknown=True)
        check_draws(draws, (len(ids),))
        law, (bits,), outputs = self.integers, draws, self.lists.outputs
        last = np.uint64(len(outputs) - 1)
        known = ids >= 0
        # Every token takes every step, whatever it is and wherever its draw falls: time tells nothing. Division by a
        # constant is a multiplication here. Above `anywhere` a draw's distance from it falls to a member of the list.
        floor = np.where(known, bits // np.uint64(law.floor), bits // np.uint64(law.unknown))
        somewhere = outputs[np.minimum(floor, last)]
        near = self.lists.pick(np.maximum(ids, 0), bits - np.uint64(law.anywhere), law.share)
        released = np.where(known & (bits >= np.uint64(law.anywhere)), near, somewhere)
        if progress is not None:
            progress(len(ids))
        return np.asarray(released, dtype=np.int32)
