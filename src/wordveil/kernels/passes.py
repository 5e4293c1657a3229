"""One pass over all pairs of some words, block of rows by block of rows, which can be saved after any and continued."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wordveil.arrays import Float64Array
from wordveil.kernels.threads import map_chunks


class Pass(ABC):
    """A pass whose answer has the same bits for any number of threads and any point of resuming."""

    blocks: int
    next = 0  # the first block that is not done

    @abstractmethod
    def visit(self, block: int) -> Any:
        """Return what a block comes to; threads visit several at a time."""

    @abstractmethod
    def take(self, block: int, found: Any) -> None:
        """Add what was found, block after block."""

    @abstractmethod
    def pairs(self, block: int) -> int:
        """Return how many pairs a block visits."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on from here."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from the state of another object made for the same inputs."""

    @property
    def visited(self) -> int:
        """Pairs visited so far, those before a `restore` included."""
        return sum(map(self.pairs, range(self.next)))

    def steps(self, threads: int | None = None) -> Iterator[int]:
        """Go on to the end; yield the number of pairs just visited, at points where `state` may be taken."""
        for block, found in enumerate(map_chunks(self.visit, range(self.next, self.blocks), threads), self.next):
            self.take(block, found)
            self.next = block + 1
            yield self.pairs(block)


class Sums(Pass):
    """A pass that adds up the normalizers: a number for each word is `values`."""

    values: Float64Array

    @abstractmethod
    def logs(self) -> Float64Array:
        """Return ln Z of every word; -inf where no weight is left in float64."""

    @abstractmethod
    def log_error(self) -> float:
        """Return a bound on the error of one ln Z, in nats."""

    def state(self) -> dict[str, Any]:
        return {"values": self.values, "next": self.next}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.values[:], self.next = state["values"], int(state["next"])


@dataclass(frozen=True, kw_only=True)
class WorstPair:
    """A pair of rows and its value."""

    value: float
    first: int
    second: int

    def beats(self, other: WorstPair) -> bool:
        """Return whether this pair comes before the other: a larger value, or lower ids at the same value."""
        return (-self.value, self.first, self.second) < (-other.value, other.first, other.second)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> WorstPair:
        """Return the pair of these fields, however its numbers were stored; other entries are ignored."""
        return cls(value=float(saved["value"]), first=int(saved["first"]), second=int(saved["second"]))


class Maximum(Pass):
    """A pass that finds the worst pair: `best` is that of the pairs visited so far."""

    best = WorstPair(value=0.0, first=0, second=0)

    def take(self, block: int, found: WorstPair | None) -> None:
        if found is not None and found.beats(self.best):
            self.best = found

    def state(self) -> dict[str, Any]:
        return {**vars(self.best), "next": self.next}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.best, self.next = WorstPair.from_dict(state), int(state["next"])
