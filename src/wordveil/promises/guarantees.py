"""Guarantees as values: what a mechanism promises, for whom, on what grounds.

    Guarantee
    ├── MetricDP       P[A(x) in U] <= e^(epsilon * dist(x, x') + slack) P[A(x') in U] + delta, for every pair
    ├── LocalDP        the same with dist = 1: every pair of inputs equally
    ├── NeighbourDP    the LocalDP inequality, only for pairs adjacent in a stated graph
    ├── Withholding    equal laws for inputs that agree in what is shown
    └── NoGuarantee    nothing, for a stated reason: a legal value, not an exception

Four promises, never mixed up: composing, converting or comparing across them works only through a theorem named
in `promises.composing` and raises `GuaranteeError` otherwise. `slack` (nats) covers what arithmetic or a finite solve
adds; it is zero only where that is proved, and None where the proof speaks of ideal real numbers and no bound on
rounding is known. Numbers that are promised are rounded *up* whenever they are printed, numbers that are assumed
*down*.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from fractions import Fraction
from html import escape
from itertools import zip_longest
from typing import Any, ClassVar

from wordveil.errors import ParameterError
from wordveil.parameters import check_distance
from wordveil.promises.html import items
from wordveil.promises.rounding import at_least, claimed, round_down, round_up
from wordveil.promises.worked import CERTAIN, WEAK, InWords, WorkedPair


class Standing(StrEnum):
    """On what grounds a guarantee is claimed, the strongest first."""

    PROVED = "proved"
    CERTIFIED = "certified"
    PUBLISHED = "published, unverified"
    REFUTED = "refuted"


class PrivacyUnit(StrEnum):
    """What two neighbouring inputs differ in."""

    TOKEN = "one token of a text of fixed length"
    DOCUMENT_WORD = "every occurrence of one word in a document (a record), replaced by a word not otherwise present"
    SENTENCE = "one sentence of a text with a fixed number of sentences"
    VECTOR = "one vector (row)"
    TEXT = "one text of fixed length"
    WHOLE_TEXT = "a text of any length"


SUMMED = (PrivacyUnit.TOKEN, PrivacyUnit.SENTENCE)
"""Units whose losses add up over a text."""


_GROUNDS = {
    Standing.PUBLISHED: "the promise is published and verified by nobody here; ask for a proof before relying on it",
    Standing.REFUTED: "the promise is refuted: a counter-example is known",
}


class Guarantee(ABC):
    """A promise with its privacy unit, standing and assumptions; see the module docstring for the kinds.

    Nobody need know which kind it is: every kind answers everything.

    Attributes:
        promise: Its name: "metric DP", "local DP", "neighbour DP", "withholding" or "none".
        epsilon: Loss in nats, of metric DP per unit of distance; None where nothing is promised.
        delta: Hockey-stick delta.
        slack: Nats added by arithmetic; None where no bound is known.
        unit: The privacy unit.
        standing: The grounds.
        assumptions: Conditions it rests on, each a sentence.
        scope: What a unit, an input and a distance are.
        metric: Name of the metric that the loss grows with; empty where it does not depend on the distance.
        graph: What makes two inputs adjacent; empty where the promise is for any two.
        largest_distance: Where the loss stops growing; None where it does not grow, or never stops.
        reason: Why nothing is promised; empty where something is.
    """

    promise: ClassVar[str]
    epsilon: float | None
    delta: float
    slack: float | None
    unit: PrivacyUnit
    standing: Standing
    assumptions: tuple[str, ...]
    scope: tuple[str, ...]
    metric: str
    graph: str
    largest_distance: float | None
    reason: str

    @abstractmethod
    def sentence(self) -> str:
        """The promise in one sentence, numbers rounded up."""

    @property
    def of_any_two(self) -> bool:
        """Whether it says something about any two inputs."""
        return self.epsilon is not None and not self.graph

    def loss(self, distance: float) -> float:
        """Return the largest privacy loss in nats, slack included, between two inputs that it speaks of.

        Their distance, in the metric's unit, is of no matter where there is no metric; `ParameterError` if it is
        negative or not finite.
        """
        check_distance(distance)
        return math.inf if self.epsilon is None else self.epsilon + (self.slack or 0.0)

    def largest_loss(self) -> float | None:
        """Return the largest loss in nats, slack included, between any two inputs; None where it has no bound."""
        return self.loss(0.0) if self.of_any_two else None

    def difference(self, other: Guarantee) -> str:
        """Return why the losses of two promises do not add up, as a sentence; empty where they do."""
        for name in ("promise", "metric", "graph", "scope", "unit"):
            left, right = getattr(self, name), getattr(other, name)
            if left != right:
                if left and right and name == "scope":  # only the first part that differs
                    left, right = next((one, two) for one, two in zip_longest(left, right) if one != two)
                return (
                    f"These guarantees differ in their {name} ({left or None} against {right or None}); their epsilons "
                    "have different meanings and cannot be added or compared. Convert both with a theorem first, such "
                    "as to_local()."
                )
        as_they_come = self.unit is PrivacyUnit.VECTOR and not self.graph
        if self.epsilon is not None and not (self.scope or as_they_come):
            return (
                f"Nothing says what '{self.unit}' is to these guarantees: of which vocabulary, read in which way. Take "
                "them from a Sanitizer, a layer or a release, or give both one scope."
            )
        return ""

    def explain(self, pairs: Iterable[WorkedPair]) -> tuple[WorkedPair, ...]:
        """Return pairs of words as the promise bounds them; of none where it does not speak of any two.

        Args:
            pairs: Pairs with their distance in the metric of the promise. The loss of each is used where it is finite,
                for it is known exactly, unless the loss depends on the distance.
        """
        return tuple(self._worked(pair) for pair in pairs) if self.of_any_two else ()

    def _worked(self, pair: WorkedPair) -> WorkedPair:
        loss = pair.loss if math.isfinite(pair.loss) else self.loss(0.0)
        return replace(pair, distance=None, loss=loss, delta=self.delta)

    def in_words(self, typical: Callable[[], float], near: Callable[[], float]) -> InWords:
        """Say in one sentence how strong the promise is.

        What is given returns a typical distance of two words in its metric, and that of a typical word to the nearest.
        """
        pair = WorkedPair(words=("", ""), distance=None, loss=self.loss(0.0), delta=self.delta)
        units = "sentences" if self.unit is PrivacyUnit.SENTENCE else "words"
        guess = f"between any two {units}, an even guess {pair.sure}"
        return InWords(sentence=guess, weak=pair.right > WEAK, hides_nothing=pair.wrong < CERTAIN)

    def warnings(self) -> tuple[str, ...]:
        """Return what to be warned of whatever is released under it, each a sentence."""
        ground = _GROUNDS.get(self.standing)
        return () if ground is None else (ground,)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sentence, the grounds and what the promise rests on."""
        assumed = items(f"Assumed: {assumption}" for assumption in self.assumptions)
        return f"<p><b>{escape(self.sentence())}</b> ({self.standing})</p>{assumed}"

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary."""
        return {"promise": self.promise, **asdict(self), "sentence": self.sentence()}  # type: ignore[call-overload]


@dataclass(frozen=True, kw_only=True)
class Bounded(Guarantee):
    """What every bound on the loss states; see `Guarantee`.

    Epsilon is in (0, inf), delta, which no distance grades, in [0, 1). An epsilon that lies less than a billionth below
    a number of six digits is claimed as that number: 8 for 7.999999999999999. The scope is of the vocabulary and how
    texts are read, by digests; empty where vectors are taken as they come. Only promises of one scope add up.
    """

    epsilon: float
    delta: float = 0.0
    slack: float | None = 0.0
    unit: PrivacyUnit = PrivacyUnit.TOKEN
    standing: Standing
    assumptions: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    reason = ""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ParameterError("epsilon", self.epsilon, "must be in (0, inf).")
        object.__setattr__(self, "epsilon", claimed(self.epsilon))
        if not 0 <= self.delta < 1:
            raise ParameterError("delta", self.delta, "must be in [0, 1).")
        slack = self.slack
        if slack is not None and not (math.isfinite(slack) and slack >= 0):
            raise ParameterError("slack", slack, "must be in [0, inf), or None where no bound on rounding is known.")

    def _sentence(self, inputs: str, factor: str, limits: str = "") -> str:
        """Return the sentence between which inputs the probability of any output changes by which factor."""
        tail = f", delta {round_up(self.delta)}" if self.delta else ""
        if self.slack is None:
            tail += " (for ideal real noise: float64 rounding is outside the proof)"
        elif self.slack:
            tail += f", arithmetic slack {round_up(self.slack, 2)} nats"
        return (
            f"{self.promise} ({self.standing}): between {inputs}, the probability of any output changes by a factor of "
            f"{factor}{tail}; {limits}unit: {self.unit}"
        )


@dataclass(frozen=True, kw_only=True)
class MetricDP(Bounded):
    """Loss at most epsilon * dist(x, x') + slack, for every pair of inputs (d_X-privacy, Lipschitz privacy).

    Besides what every bound states (epsilon, here loss per unit of distance, unit 1/distance; delta; slack; unit;
    standing; assumptions; scope):

    Attributes:
        metric: Exact name of the metric.
        largest_distance: The loss stops growing here, because the mechanism works on min(metric, largest_distance).
    """

    promise = "metric DP"
    metric: str
    largest_distance: float | None = None
    graph = ""

    def loss(self, distance: float) -> float:
        check_distance(distance)
        counted = distance if self.largest_distance is None else min(distance, self.largest_distance)
        return at_least(Fraction(self.epsilon) * Fraction(counted) + Fraction(self.slack or 0.0))

    def largest_loss(self) -> float | None:
        return None if self.largest_distance is None else self.loss(self.largest_distance)

    def _worked(self, pair: WorkedPair) -> WorkedPair:
        return replace(pair, loss=self.loss(pair.distance or 0.0), delta=self.delta)

    def in_words(self, typical: Callable[[], float], near: Callable[[], float]) -> InWords:
        distance = typical()
        pair = WorkedPair(words=("", ""), distance=distance, loss=self.loss(distance), delta=self.delta)
        hidden = pair.wrong >= CERTAIN or replace(pair, loss=self.loss(near())).wrong >= CERTAIN
        sentence = f"between two words at a typical distance ({round_down(distance)}), an even guess {pair.sure}"
        return InWords(sentence=sentence, weak=pair.right > WEAK, hides_nothing=not hidden)

    def sentence(self) -> str:
        largest = self.largest_distance
        cap = "" if largest is None else f", at most exp({round_up(self.epsilon * largest)})"
        return self._sentence(f"two inputs at {self.metric} distance t", f"exp({round_up(self.epsilon)} * t){cap}")


@dataclass(frozen=True, kw_only=True)
class LocalDP(Bounded):
    """Loss at most epsilon + slack between any two inputs, outside probability delta; epsilon is in nats."""

    promise = "local DP"
    metric = graph = ""
    largest_distance = None

    def sentence(self) -> str:
        return self._sentence("any two inputs", f"at most exp({round_up(self.epsilon)})")


@dataclass(frozen=True, kw_only=True)
class NeighbourDP(Bounded):
    """The local-DP inequality for pairs adjacent in a stated public graph; nothing across components.

    Besides what every bound states (epsilon, in nats between adjacent inputs; delta; slack; unit; standing;
    assumptions; scope):

    Attributes:
        graph: What makes two inputs adjacent.
    """

    promise = "neighbour DP"
    graph: str
    metric = ""
    largest_distance = None

    def in_words(self, typical: Callable[[], float], near: Callable[[], float]) -> InWords:
        words = super().in_words(typical, near)
        sentence = words.sentence.replace("any two words", "two words that are neighbours")
        return replace(words, sentence=f"{sentence}; between others it may be certain", weak=True)

    def sentence(self) -> str:
        return self._sentence(
            f"two inputs adjacent in {self.graph}",
            f"at most exp({round_up(self.epsilon)})",
            "nothing is promised for other pairs; ",
        )


@dataclass(frozen=True, kw_only=True)
class Withholding(Guarantee):
    """Inputs that agree in what is shown have one law of outputs, exactly; nothing is promised between others.

        P[A(x) in U] = P[A(x') in U]  for every U, and every x, x' that agree in what `agreeing` names

    What is shown is shown: that is why it is no local DP of epsilon 0.

    Attributes:
        agreeing: What two inputs must agree in, as words that follow "that agree in".
        unit: The privacy unit.
        standing: The grounds.
        assumptions: Conditions the promise rests on, each a sentence.
        scope: The lists and the reading of texts, by digests.

    Example:
        >>> Withholding(agreeing="length").graph
        'texts that agree in length'
    """

    promise = "withholding"
    agreeing: str
    unit: PrivacyUnit = PrivacyUnit.WHOLE_TEXT
    standing: Standing = Standing.PROVED
    assumptions: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    epsilon = delta = slack = 0.0
    metric = reason = ""
    largest_distance = None

    @property
    def graph(self) -> str:  # type: ignore[override]  # of the fields of a promise it is a function of another
        """What makes two inputs adjacent."""
        return f"texts that agree in {self.agreeing}"

    def in_words(self, typical: Callable[[], float], near: Callable[[], float]) -> InWords:
        sentence = f"between two texts that agree in {self.agreeing}, an even guess stays even; others are told apart"
        return InWords(sentence=sentence, weak=False)

    def sentence(self) -> str:
        return (
            f"{self.promise} ({self.standing}): two texts that agree in {self.agreeing} give every release with equal "
            f"probability (loss 0 between them alone); nothing is promised for other pairs; unit: {self.unit}"
        )


@dataclass(frozen=True, kw_only=True)
class NoGuarantee(Guarantee):
    """No promise holds.

    Attributes:
        reason: Why, as a sentence a user can act on.
        unit: The unit for which a promise was asked.
        standing: Refuted where a counter-example is known, else published or unverified.
    """

    promise = "none"
    reason: str
    unit: PrivacyUnit = PrivacyUnit.TOKEN
    standing: Standing = Standing.PUBLISHED
    epsilon = largest_distance = None
    delta = slack = 0.0
    assumptions = scope = ()
    metric = graph = ""

    def in_words(self, typical: Callable[[], float], near: Callable[[], float]) -> InWords:
        return InWords(sentence="nothing is promised", weak=True)

    def warnings(self) -> tuple[str, ...]:
        return (f"nothing is promised: {self.reason}",)

    def sentence(self) -> str:
        return f"no guarantee ({self.standing}): {self.reason}"


def weakest(standings: Sequence[Standing]) -> Standing:
    """Return the weakest of several standings: a chain stands no better than its weakest link."""
    return max(standings, key=[*Standing].index)


def within_scope(claim: Guarantee, *parts: str, assuming: Sequence[str] = ()) -> Guarantee:
    """Return the claim with these parts of its scope, and with what they take for granted; twice is once."""
    if not isinstance(claim, Bounded):
        return claim
    scope, assumptions = dict.fromkeys((*claim.scope, *parts)), dict.fromkeys((*claim.assumptions, *assuming))
    return replace(claim, scope=tuple(scope), assumptions=tuple(assumptions))
