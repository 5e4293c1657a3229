"""What a row of the league table promises, before and after it is fitted."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from wordveil.api import Guarantee, ParameterError, WordRandomizer


class Group(StrEnum):
    """What is promised in common by the rows of one part of the table."""

    METRIC = "metric"
    RANK = "rank"
    LOCAL = "local"
    NEIGHBOUR = "neighbour"
    REFUTED = "refuted"


class Baseline(StrEnum):
    """What every row is read against: the input as it is, and output that knows nothing of it.

    A score that random words reach as well says nothing about a mechanism.
    """

    NO_NOISE = "no noise"
    RANDOM = "random words"

    @property
    def label(self) -> str:
        """Its name."""
        return self.value


@dataclass(frozen=True, kw_only=True)
class PromiseSettings:
    """What the promises have besides epsilon."""

    delta: float = 1e-5  # of the promises that have one, in (0, 1/2)
    clip_quantile: float = 0.5  # the public clip norm is this quantile of the vocabulary's norms
    projected: int | None = None  # dimensions of projections; None takes a fifth of the embedding's
    rank_c: float = 0.04  # c of the rank-softmax decoder

    def __post_init__(self) -> None:
        if not 0 < self.delta < 0.5:
            raise ParameterError("delta", self.delta, "must be in (0, 1/2).")
        if not 0 < self.clip_quantile <= 1:
            raise ParameterError("clip_quantile", self.clip_quantile, "must be in (0, 1].")


@dataclass(frozen=True, kw_only=True)
class Target:
    """One row of the table before it is fitted."""

    name: str
    group: Group
    # Of the group's promise: per unit of distance for "metric" and "rank", nats for the others; the claimed one for
    # "refuted"
    epsilon: float

    @property
    def label(self) -> str:
        """Name and epsilon."""
        return f"{self.name} @ {self.epsilon:g}"


@dataclass(frozen=True, kw_only=True)
class OfferedTarget(Target):
    """A row of somebody else's mechanism.

    Attributes:
        code: Names its build, so that no result of older code is taken for it.
        place: The Python path of its class; "" for an installed package's, which its name finds.
    """

    code: str
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A fitted row."""

    words: WordRandomizer = field(repr=False)
    guarantee: Guarantee  # what it promises in its group's terms
    note: str = ""  # where the promise comes from, when it is not the mechanism's own; "" otherwise
    decoded: bool = True  # whether words are released that were decoded from noisy vectors, and not those vectors
