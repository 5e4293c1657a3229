"""Epsilon, k and outputs of neighbour response from what a user cares about, worked out on public words alone.

    far         share of released words that are drawn from all outputs alike, whatever the word was
    attacker    share of words named by the best guess at one released word, for whoever knows how often words occur
    similarity  mean cosine of a word and what is released for it, less that of a uniform output; in the vocabulary's
                own vectors, each word weighing what it occurs in public text
    nats        epsilon times the tokens of a text

All are exact under the law, and each moves one way with epsilon. Nothing private is read, and no noise is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.errors import ParameterError
from wordveil.mechanisms.neighbours import USUAL, NeighbourResponse
from wordveil.parameters import check_choice, check_whole
from wordveil.promises.rounding import bracket
from wordveil.vocabulary.frequencies import word_frequencies
from wordveil.vocabulary.table import Embeddings

KS = (1, 4, 8, 16)  # no longer than the lists that come with the embedded vocabulary
CLASSES = (128, 256, 512, 1024)
TARGETS = ("attacker", "similarity", "far", "nats")
RANGE = (0.01, 40.0)  # nats in which epsilons are searched
SMOOTHING = 0.5
BLOCK = 1 << 10  # words: their lists of vectors stay in the third cache


@dataclass(frozen=True, kw_only=True)
class NeighbourPoint:
    """A choice of epsilon, k and outputs, and what it comes to; see the module for the four numbers."""

    epsilon: float
    k: int
    outputs: int | str | None
    far: float
    attacker: float
    similarity: float
    nats: float


class _Curve:
    """The numbers of one k and some outputs, as `NeighbourResponse` has them, of which there are v, at any epsilon.

    The list of every word is of places among the outputs, shape (number of words, k); the prior is what each word
    weighs. The sums are those of a word's cosines with its list and with all outputs, in the mean.
    """

    def __init__(
        self, said: int | str | None, lists: IdArray, v: int, prior: Float64Array, sums: Sequence[float], tokens: int
    ) -> None:
        self.said, self.v, self.k, self.tokens = said, v, lists.shape[1], tokens
        self.sums, self.likeliest = sums, float(prior.max())
        self.listed = np.zeros(v)  # the likeliest input of each output among those that list it
        for column in lists.T:
            np.maximum.at(self.listed, column, prior)

    def at(self, epsilon: float) -> NeighbourPoint:
        v, k, (near, everywhere) = self.v, self.k, self.sums
        q = 1 / (k * math.exp(epsilon) + v - k)
        p = math.exp(epsilon) * q
        return NeighbourPoint(
            epsilon=epsilon,
            k=k,
            outputs=self.said,
            far=v * q,
            attacker=float(np.maximum(p * self.listed, q * self.likeliest).sum()),
            similarity=(p - q) * near + (q - 1 / v) * everywhere,
            nats=epsilon * self.tokens,
        )


def _curves(
    embeddings: Embeddings, lengths: Sequence[int], outputs: int | str | None, prior: Float64Array, tokens: int
) -> Iterator[_Curve]:
    """Yield the curve of each length, ascending, from the longest lists, whose beginnings are the shorter ones."""
    chosen, lists = NeighbourResponse(k=max(lengths), outputs=outputs).listed(embeddings)
    near, everywhere = _cosines(embeddings, lists, chosen, prior)
    places = np.searchsorted(chosen, lists).astype(np.int32)
    for k in lengths:
        sums = float(near[k - 1]), everywhere
        yield _Curve(outputs, places[:, :k], len(chosen), prior, sums, tokens)


def _cosines(
    embeddings: Embeddings, lists: IdArray, outputs: IdArray, prior: Float64Array
) -> tuple[Float64Array, float]:
    """Return sums of cosines with the first 1, 2, ... of a list, and with all outputs: means by the prior."""
    vectors = np.asarray(embeddings.vectors, dtype=np.float64)
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    total = units[outputs].sum(axis=0)
    near = np.zeros(lists.shape[1])
    for low in range(0, len(units), BLOCK):
        part = slice(low, low + BLOCK)
        cosines = np.einsum("ikd,id->ik", units[lists[part]], units[part])
        near += prior[part] @ np.cumsum(cosines, axis=1)
    return near, float(prior @ (units @ total))


def neighbour_points(
    embeddings: Embeddings,
    target: str,
    value: float,
    *,
    k: int | None = None,
    outputs: int | str | None = USUAL,
    tokens: int = 50,
) -> tuple[NeighbourPoint, ...]:
    """Return for each k and outputs the epsilon that reaches a target: the largest for what must stay low, or smallest.

    Args:
        embeddings: The public vocabulary.
        target: "attacker", "far" or "nats", to be at most `value`, or "similarity", to be at least that.
        value: What to reach.
        k: The only length of lists to look at; None looks at those of `KS` that the vocabulary allows.
        outputs: As for `NeighbourResponse`; unless given, each of `CLASSES`, and the 4 000 most frequent words.
        tokens: Length of the text whose nats are summed.

    Returns:
        One point for each that can reach it, classes first.

    Raises:
        ParameterError: If the target is unknown, or no k reaches the value.
    """
    check_choice("target", target, TARGETS)
    check_whole("tokens", tokens)
    prior = word_frequencies(embeddings, smoothing=SMOOTHING)
    prior = prior / prior.sum()
    searched = [outputs]
    if outputs == USUAL:
        few = [count for count in CLASSES if count < len(embeddings.candidates)]
        searched = [*(f"classes:{count}" for count in few if k in (None, 1)), 4000]
    points = (
        _reach(curve, target, value)
        for one in searched
        if (lengths := _lengths(embeddings, k, one))
        for curve in _curves(embeddings, lengths, one, prior, tokens)
    )
    found = [point for point in points if point is not None]
    if not found:
        raise ParameterError(target, value, f"is not reached for any epsilon from {RANGE[0]:g} to {RANGE[1]:g} nats.")
    return tuple(found)


def _lengths(embeddings: Embeddings, k: int | None, outputs: int | str | None) -> list[int]:
    if k is not None:
        return [k]
    if isinstance(outputs, str):
        return [1]
    most = min(len(embeddings.candidates), outputs or len(embeddings.candidates))
    return [one for one in KS if one < most]


def _reach(curve: _Curve, target: str, value: float) -> NeighbourPoint | None:
    """Return the point at which a curve reaches a value, on the side where the wish holds; None where it cannot."""

    def beyond(epsilon: float) -> bool:
        """Whether epsilon is too large (attacker, nats) or large enough (similarity, far)."""
        number = float(getattr(curve.at(epsilon), target))
        return number < value if target == "far" else number > value

    low, high = RANGE
    if beyond(low) or not beyond(high):
        return None
    low, high = bracket(beyond, low, high, 1e-12)
    return curve.at(low if target in ("attacker", "nats") else high)
