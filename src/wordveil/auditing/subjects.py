"""What can be audited, seen as one thing: a sampler of outputs for a chosen input.

A subject samples outputs, knows which sets of inputs it compares, and may know the law its claim speaks of. The
adapters here cover vector mechanisms, word mechanisms and any callable on vectors or texts; mechanisms named by a
user's Python path are resolved in `adapters`. Samples must come from independent draws: `reuse` checks that first.

Where a law is known in closed form, its log-likelihood ratios choose events to which a classifier would be blind. The
law is the one the mechanism *claims* to draw from. An event chosen with it is counted on real samples, so a
mechanism that draws from another law is not given any credit; only the upper edge of a trade-off band trusts it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import VectorRandomizer, WordRandomizer
from wordveil.promises.relations import Pair
from wordveil.randomness import RandomSource, Stream

LogRatio = Callable[[Float64Array], Float64Array]
"""Outputs, shape (n, d), to ln p(y | first)/p(y | second), shape (n,); +-inf where one law cannot give y."""


def claimed_log_ratio(randomizer: VectorRandomizer, first: Any, second: Any) -> LogRatio | None:
    """Return the log-likelihood ratio between two inputs, or None where a density is not known or an input has none."""
    inputs = np.asarray([first, second], dtype=np.float64)

    def ratio(outputs: Float64Array) -> Float64Array:
        logs = randomizer.log_density(outputs, inputs)
        assert logs is not None
        with np.errstate(invalid="ignore"):
            gap = np.asarray(logs[:, 0] - logs[:, 1], dtype=np.float64)
        return np.where(np.isnan(gap), 0.0, gap)  # impossible under both: no evidence

    stream = RandomSource.seeded_for_tests(0).fresh_stream()  # any output of each will do
    at_home = randomizer.log_density(randomizer.randomize(inputs, randomizer.sample(stream, 2)), inputs)
    return None if at_home is None or np.isposinf(at_home).any() else ratio


Outputs = NDArray[Any]
"""n outputs: (n, d) floats, (n,) ids, or (n,) strings."""

TextFunction = Callable[[str], Any]
"""One text to one released text: a string, or an object with the string as `text`, as a `Release` has."""


def released_text(value: Any) -> str:
    """Return the text that leaves: the value itself, or its `text`."""
    return value if isinstance(value, str) else str(getattr(value, "text", value))


class Subject(ABC):
    """Something that turns a private input into a released output at random."""

    discrete: bool  # whether outputs are ids or strings rather than vectors

    @abstractmethod
    def sample(self, private: Any, n: int) -> Outputs:
        """Return n outputs for the same input, independent if the mechanism is what it should be."""

    def log_ratio(self, pair: Pair) -> LogRatio | None:
        """Return ln p(y | first)/p(y | second) under the claimed law, or None where that is not known."""
        return None


def _repeated(private: Any, n: int) -> Float64Array:
    return np.repeat(np.asarray(private, dtype=np.float64)[None, :], n, axis=0)


class _Randomized(Subject):
    """A randomizer of wordveil."""

    def __init__(self, randomizer: Any, source: RandomSource) -> None:
        self.randomizer, self._source, self._calls = randomizer, source, count(1)  # threads share it, unlike a `+= 1`

    def stream(self) -> Stream:
        """Return the stream of one call: asked of the source each time, so that a forked child gets its own key's."""
        return self._source.stream("audit", str(next(self._calls)))


class VectorSubject(_Randomized):
    """A vector randomizer of wordveil."""

    discrete = False
    randomizer: VectorRandomizer

    def sample(self, private: Any, n: int) -> Outputs:
        return self.randomizer.randomize(_repeated(private, n), self.randomizer.sample(self.stream(), n))

    def log_ratio(self, pair: Pair) -> LogRatio | None:
        return claimed_log_ratio(self.randomizer, pair.first, pair.second)


class WordSubject(_Randomized):
    """A word randomizer of wordveil; inputs and outputs are word ids."""

    discrete = True
    randomizer: WordRandomizer

    def sample(self, private: Any, n: int) -> Outputs:
        return self.randomizer.for_batch_job().trial(np.full(n, int(private), dtype=np.int32), self.stream())


class VectorFunctionSubject(Subject):
    """A callable from rows, shape (n, d), to noisy rows, (n, m), anyone's; called on batches of equal rows."""

    discrete = False

    def __init__(self, function: Callable[[Float64Array], Any]) -> None:
        self.function = function

    def sample(self, private: Any, n: int) -> Outputs:
        out = np.asarray(self.function(_repeated(private, n)), dtype=np.float64)
        if len(out) != n:
            raise ParameterError("function", f"{len(out)} rows", f"must return one output row per input row, {n}.")
        return out.reshape(n, -1)


class TextSubject(Subject):
    """A callable from one text to one released text, anyone's: the audit sees the whole of it as one output."""

    discrete = True

    def __init__(self, function: TextFunction) -> None:
        self.function = function

    def sample(self, private: Any, n: int) -> Outputs:
        outputs = np.empty(n, dtype=object)  # arrays of strings drop what ends a text in NUL
        outputs[:] = [released_text(self.function(str(private))) for _ in range(n)]
        return outputs


class OnGrid(Subject):
    """A vector subject whose outputs are rounded to a grid far finer than its noise, as releases of vectors are.

    Proofs speak of real numbers; the low bits of float64 sums tell inputs apart whatever the noise, and a good score
    finds them. `float_attack` looks at those bits on purpose; everything else audits the law above them. The grid is
    20 powers of two below the noise's scale, which outputs of one private input show.
    """

    discrete = False

    def __init__(self, subject: Subject, private: Any) -> None:
        spread = float(np.abs(np.diff(subject.sample(private, 64), axis=0)).max())
        self.subject = subject
        self.step = 2.0 ** (math.floor(math.log2(spread)) - 20) if spread > 0 else 0.0

    def sample(self, private: Any, n: int) -> Outputs:
        outputs = self.subject.sample(private, n)
        return outputs if self.step == 0 else np.rint(outputs / self.step) * self.step

    def log_ratio(self, pair: Pair) -> LogRatio | None:
        return self.subject.log_ratio(pair)
