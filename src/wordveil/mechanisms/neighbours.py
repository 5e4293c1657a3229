"""Neighbour response: any public word with a small probability, else one of the word's public neighbours.

Claim, law and sampler on one screen. The lists are public and part of the vocabulary (`vocabulary.neighbour_lists`).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from functools import cached_property
from typing import ClassVar

import numpy as np

from wordveil.arrays import Float64Array, IdArray, PrivateIds, Progress, ReleasedIds
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.library import document_bits
from wordveil.kernels.threads import resolve_threads
from wordveil.mechanisms.base import WordMechanism, WordRandomizer
from wordveil.parameters import check_draws, check_positive, check_whole, checked_ids
from wordveil.promises.guarantees import Guarantee, LocalDP, Standing
from wordveil.promises.pair_loss import PairLoss, discretized
from wordveil.randomness import BitArray, DocumentStreams, Draws, Stream, random_bits
from wordveil.vocabulary.frequencies import most_frequent
from wordveil.vocabulary.stored_lists import neighbour_lists, word_classes
from wordveil.vocabulary.table import Embeddings

LENGTH = 16  # of a list, where none is given
USUAL = "usual"  # outputs, where none are given: classes, or common words where the length of a list is given
CLASSES = re.compile(r"classes:([1-9]\d{0,3})")
TOTAL = 1 << 64  # of every row's integer weights: one draw is one 64-bit word
_EXACT = Context(prec=60)
_TOGETHER = 1 << 16  # tokens drawn at a time: arrays that stay in the second cache
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
        however often they are released: with outputs="classes:256", all words of a class. Otherwise a word's list, and
        soon the word, shows after some releases of it, each of which costs epsilon.

    Attributes:
        epsilon: Largest loss between any two inputs, nats, in (0, inf). Beyond about 40 nats, 64 random bits honour
            no smaller probability, and the claim stays below epsilon.
        k: Length of a list, at least 1 and below the number of outputs: the k outputs nearest to a word by cosine,
            itself first. 0 takes the usual length, 16, and 1 for classes, which have no other.
        outputs: "classes:K", the faces of K public classes of words, or as many as there are words that may be output:
            the list of a word is the face of its class (`vocabulary.classes`); or so many of the words that may be
            output, the most frequent in public English text; None for all. Unless given, "classes:256", and 4 000 words
            where k is given. Every word stays an input.

    Raises:
        ParameterError: If a parameter is outside its domain, or (when fitted) there are no more than k outputs.

    Reference:
        Kairouz, Oh, Viswanath (2014), Extremal Mechanisms for Local Differential Privacy (the two-valued law); Ye,
        Barg (2018), Optimal Schemes for Discrete Distribution Estimation under Locally Differential Privacy (subset
        selection). Lists with a floor over the whole vocabulary, the integer law and classes are wordveil's.

    Example:
        >>> from wordveil import load_embeddings
        >>> from wordveil.randomness import RandomSource
        >>> table = load_embeddings()
        >>> randomizer = NeighbourResponse(epsilon=7.0).fit(table)
        >>> randomizer.release(table.ids(["doctor", "not-a-word"]), RandomSource.seeded_for_tests(1)).shape
        (2,)
        >>> print(randomizer.guarantee().sentence())  # doctest: +ELLIPSIS
        local DP (proved): ... by a factor of at most exp(7); ...
    """

    name: ClassVar[str] = "neighbours"
    paper: ClassVar[str] = "wordveil; after Kairouz et al. 2014"
    epsilon: float = 7.0
    k: int = 0
    outputs: int | str | None = USUAL

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_whole("k", self.k, least=0)
        if self.outputs == USUAL:
            object.__setattr__(self, "outputs", 4000 if self.k else "classes:256")
        if isinstance(self.outputs, str):
            if not CLASSES.fullmatch(self.outputs):
                raise ParameterError("outputs", self.outputs, 'must be a number of words, "classes:256" or the like.')
            if self.k > 1:
                raise ParameterError("k", self.k, "must be 1 where words are released as faces of classes.")
        elif self.outputs is not None:
            check_whole("outputs", self.outputs, least=2)
        object.__setattr__(self, "k", self.k or (LENGTH if self.classes is None else 1))

    @property
    def classes(self) -> int | None:
        """Number of classes that are asked for; None where words are released."""
        return int(self.outputs.partition(":")[2]) if isinstance(self.outputs, str) else None

    @classmethod
    def examples(cls) -> Sequence[NeighbourResponse]:
        return (
            cls(epsilon=3.0, k=2, outputs=None),
            cls(epsilon=2.0, k=1, outputs=4),
            cls(epsilon=2.0, outputs="classes:6"),
        )

    def fit(self, embeddings: Embeddings) -> FittedNeighbourResponse:
        return self.fitter(embeddings)(self.epsilon)

    def fitter(self, embeddings: Embeddings) -> Callable[[float], FittedNeighbourResponse]:
        chosen, lists = self.listed(embeddings)
        listed = FittedNeighbourResponse(embeddings=embeddings, mechanism=self, chosen=chosen, lists=lists)

        def at(epsilon: float) -> FittedNeighbourResponse:
            fitted = replace(listed, mechanism=self.with_epsilon(epsilon))
            # The last of a list weighs the remainder more: of equal lists in another order it has to be the same word.
            even = (TOTAL - fitted.integers.anywhere) % self.k == 0
            return fitted if even else replace(fitted, lists=np.sort(fitted.lists, axis=1))

        return at

    def listed(self, embeddings: Embeddings) -> tuple[IdArray, IdArray]:
        """Return the ids that may be released, ascending, and the list of each word, shape (number of words, k).

        `ParameterError` if there are no more than k of them.
        """
        words, classes = embeddings.candidates, None
        if self.classes is not None:
            classes = word_classes(embeddings, min(self.classes, len(words)))
            words = classes.outputs
        elif isinstance(self.outputs, int) and self.outputs < len(words):
            words = most_frequent(embeddings, self.outputs)
        if self.k >= len(words):
            raise ParameterError("k", self.k, f"must be below {len(words)}, the number of words that may be output.")
        if classes is not None:
            return words, classes.face[:, None]
        return words, neighbour_lists(embeddings, self.k, outputs=words).ids


@dataclass(frozen=True, kw_only=True)
class IntegerLaw:
    """The integer weights of the outputs for any input; each input's sum to 2^64.

    Every output weighs `floor`. What is left is shared by the k members of the list, equally, and the remainder of the
    division, less than k, goes to the last of them. For an unknown token all 2^64 are shared by the outputs in the same
    way. `ParameterError` if epsilon is too small for 64-bit weights.
    """

    epsilon: float  # largest loss wanted, nats
    outputs: int  # v, number of outputs
    k: int  # length of every list; below v
    # weight of an output that is not in the list: the least for which no two inputs lose more than epsilon
    floor: int = field(init=False)

    def __post_init__(self) -> None:
        v, limit = self.outputs, Decimal(self.epsilon)
        ratio = _EXACT.exp(min(limit, Decimal(_MOST)))
        # Where weights are real numbers, 2^64 / (k e^epsilon + v - k); remainders move it by next to nothing.
        floor = max(1, int(_EXACT.divide(TOTAL, self.k * ratio + v - self.k)))
        while self._loss(floor) > limit:
            floor += 1
            if v * floor > TOTAL:
                break
        object.__setattr__(self, "floor", floor)
        if self.share < 1:
            raise ParameterError("epsilon", self.epsilon, f"is too small for 64-bit weights of {v} outputs.")

    @property
    def anywhere(self) -> int:
        """Weight of the uniform draw over all outputs: a 64-bit word below it picks one of them."""
        return self.outputs * self.floor

    @property
    def unknown(self) -> int:
        """Weight of every output but the last for an unknown token."""
        return TOTAL // self.outputs

    @property
    def share(self) -> int:
        """What each member of a list weighs beyond the floor; the last weighs `rest` more."""
        return (TOTAL - self.anywhere) // self.k

    @property
    def rest(self) -> int:
        """What the last member of a list weighs beyond the others."""
        return (TOTAL - self.anywhere) % self.k

    @property
    def claim(self) -> float:
        """The largest loss between any two inputs, nats: ln(largest weight / smallest weight), rounded up."""
        exact = self._loss(self.floor)
        nearest = float(exact)
        return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)

    def largest(self, floor: int) -> int:
        """Return the largest weight of an output, at some weight of those that are not in a list."""
        share, rest = divmod(TOTAL - self.outputs * floor, self.k)
        return max(sum(divmod(TOTAL, self.outputs)), floor + share + rest)

    def _loss(self, floor: int) -> Decimal:
        return _EXACT.ln(_EXACT.divide(self.largest(floor), floor)).next_plus(_EXACT)


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedNeighbourResponse(WordRandomizer):
    """Neighbour response bound to a vocabulary and its public lists."""

    answers_unknown: ClassVar[bool] = True
    embeddings: Embeddings  # the public vocabulary
    mechanism: NeighbourResponse  # the parameters
    chosen: IdArray = field(repr=False)  # ids that may be released, ascending, shape (v,)
    lists: IdArray = field(repr=False)  # the list of each word, shape (number of words, k)
    draw_width: int = 1

    @property
    def faces(self) -> IdArray | None:
        return None if self.mechanism.classes is None else self.lists[:, 0]

    @property
    def outputs(self) -> IdArray:
        return self.chosen

    @cached_property
    def public_data(self) -> str:
        # Lists beside a vocabulary are whoever's put them there; others follow from it.
        if self.embeddings.directory is None:
            return ""
        return hashlib.sha256(np.ascontiguousarray(self.lists, dtype="<i4").data).hexdigest()

    @cached_property
    def integers(self) -> IntegerLaw:
        return IntegerLaw(epsilon=self.mechanism.epsilon, outputs=len(self.outputs), k=self.lists.shape[1])

    def guarantee(self) -> Guarantee:
        return LocalDP(epsilon=self.integers.claim, standing=Standing.PROVED)

    def pair_loss(self, first: int, second: int) -> float:
        """Return 0 for two words of equal lists, and otherwise what the guarantee says."""
        one, other = self.lists[first], self.lists[second]
        equal = set(one) == set(other) and (not self.integers.rest or one[-1] == other[-1])
        return 0.0 if equal else self.integers.claim

    def procedure(self) -> str:
        law, v = self.integers, len(self.outputs)
        near = "the face of its public class of like words"
        if self.mechanism.classes is None:
            near = f"one of its {law.k} public neighbours, itself among them if it may be released"
        return f"with probability {law.anywhere / TOTAL:.2g} any of {v:,} words, else {near}"

    def advice(self) -> str:
        if self.mechanism.classes is None:
            return (
                "several releases of one word show its list, and then the word, at epsilon each; "
                "--set outputs=classes:256 shows no more than the word's class, however often a word is released"
            )
        return (
            "n releases of one word lose n epsilon at worst, and any number of them shows its class and nothing of "
            "which word of the class it was; whoever reads the words around it may still guess that, about 6 words of "
            "10 in reviews of which only the classes show"
        )

    def weights(self, ids: IdArray) -> BitArray:
        """Return the integer weights of every output for each input, -1 for an unknown token, shape (n, v)."""
        law, v = self.integers, len(self.outputs)
        table = np.full((len(ids), v), law.floor, dtype=np.uint64)
        for weights, word in zip(table, ids.tolist(), strict=True):
            members = np.searchsorted(self.outputs, self.lists[word]) if word >= 0 else np.arange(v)
            share, rest = divmod(TOTAL - law.anywhere, len(members))
            weights[members] += np.uint64(share)
            weights[members[-1]] += np.uint64(rest)
        return table

    def law(self, ids: IdArray) -> Float64Array:
        return np.asarray(self.weights(ids) / float(TOTAL))

    def likelihoods(self, outputs: IdArray) -> Float64Array:
        law = self.integers
        distinct, asked = np.unique(outputs, return_inverse=True)
        place = np.full(len(self.embeddings), -1)
        place[distinct] = np.arange(len(distinct))
        rows, members = np.nonzero(place[self.lists] >= 0)
        table = np.full((len(distinct), len(self.lists)), law.floor, dtype=np.uint64)
        table[place[self.lists[rows, members]], rows] += np.where(
            members == law.k - 1, np.uint64(law.share + law.rest), np.uint64(law.share)
        )
        return np.asarray(table[asked] / float(TOTAL))

    def keep_probabilities(self, ids: IdArray) -> Float64Array:
        own = (self.integers.floor + self.integers.share) / TOTAL
        return np.where(np.isin(ids, self.outputs), own, 0.0)

    @cached_property
    def _listing(self) -> tuple[IdArray, IdArray]:
        """Return every pair of an output and an input whose list holds it, by outputs."""
        v = len(self.embeddings)
        every = np.arange(v, dtype=np.int32)
        held = self.lists.astype(np.int64) * v + every[:, None]
        outputs, inputs = np.divmod(np.sort(held, axis=None), v)
        return outputs.astype(np.int32), inputs.astype(np.int32)

    def likely_inputs(self, outputs: IdArray, weights: Float64Array, count: int) -> tuple[IdArray, Float64Array]:
        count = min(count, len(self.embeddings))
        common = np.argsort(-weights, kind="stable")[:count].astype(np.int32)
        listed, listing = self._listing
        ids, chances = np.empty((len(outputs), count), np.int32), np.empty((len(outputs), count))
        bounds = zip(*(np.searchsorted(listed, outputs, side).tolist() for side in ("left", "right")), strict=True)
        for i, (first, last) in enumerate(bounds):  # whoever lists it, and the most frequent of all others
            own = listing[first:last]
            some = np.concatenate((own, common[~np.isin(common, own)]))
            chance = np.full(len(some), self.integers.floor / TOTAL)
            chance[: len(own)] = (self.integers.floor + self.integers.share) / TOTAL
            best = np.argsort(-weights[some] * chance, kind="stable")[:count]
            ids[i], chances[i] = some[best], chance[best]
        return ids, chances

    def sample(self, stream: Stream, n: int) -> Draws:
        return (random_bits(stream.lane(0), (n,)),)

    def draws(self, documents: DocumentStreams, size: int) -> Iterator[Draws]:
        return ((drawn,) for drawn in document_bits(documents, 0, min(size, _TOGETHER)))

    def randomize(
        self, ids: PrivateIds, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> ReleasedIds:
        ids = checked_ids(ids, len(self.embeddings), unknown=True)
        check_draws(draws, (len(ids),))
        resolve_threads(threads)  # one is enough: a draw and two look-ups a word
        law, (bits,) = self.integers, draws
        floor, unknown, anywhere, share = map(np.uint64, (law.floor, law.unknown, law.anywhere, law.share))
        # Every token takes every step, whatever it is and wherever its draw falls, so that time tells nothing. To
        # divide by a constant is to multiply here. The last output, and the last of a list, take the remainders.
        known = ids >= 0
        place = np.where(known, bits // floor, bits // unknown)
        uniform = self.outputs[np.minimum(place, np.uint64(len(self.outputs) - 1))]
        member = np.minimum((bits - anywhere) // share, np.uint64(law.k - 1))
        listed = self.lists[np.maximum(ids, 0), member.astype(np.intp)]
        released = np.where(known & (bits >= anywhere), listed, uniform)
        if progress is not None:
            progress(len(ids))
        return ReleasedIds(np.asarray(released, dtype=np.int32))

    def loss_profile(self, diameter: float | None = None) -> PairLoss:
        """The pair of two lists with as few words in common as can be, which dominates all.

        delta(e) = k (p - e^e q), or (v - k) (p - e^e q) where two lists must overlap.
        """
        law = self.integers
        k = min(law.k, law.outputs - law.k)
        # Rounded up, and by what an unknown token's last output weighs more than its others.
        p = math.nextafter((law.largest(law.floor) + law.outputs) / TOTAL, 1.0)
        q = math.nextafter(law.floor / TOTAL, 0.0)
        return discretized(lambda e: max(0.0, k * (p - math.exp(e) * q)), slack=0.0, speaks_of="any two inputs")
