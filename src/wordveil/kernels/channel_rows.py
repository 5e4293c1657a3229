"""What rows of an exponential-family channel are, whatever draws from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from wordveil.arrays import Float64Array, IdArray, Progress
from wordveil.kernels.compiled.library import NUMPY
from wordveil.kernels.ideal import IdealRows
from wordveil.metrics.distances import AnyMetric
from wordveil.randomness import BitArray


class ChannelRows(ABC):
    """Rows of P(y | x) ~ b(y) exp(-rate * min(dist(x, y), cap)), in a metric bound to the vocabulary it belongs to."""

    rate: float
    cap: float
    metric: AnyMetric
    outputs: IdArray
    base: Float64Array | None = None  # the base measure b of the outputs; None for 1
    ideal: IdealRows | None = None  # the ideal weights that decide what is drawn; None on a card
    engine = NUMPY  # what its heaviest work runs on
    draw_width = 2  # random 64-bit integers that a draw takes

    def with_cache(self, limit_bytes: int) -> Self:
        """Return the same rows for one batch job, with a cache where one helps."""
        return self

    @abstractmethod
    def weights(self, ids: IdArray) -> Float64Array:
        """Return whole weight rows, shape (n, number of outputs)."""

    @abstractmethod
    def log_normalizers(
        self, ids: IdArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> Float64Array:
        """Return ln Z(x) for each input, shape (n,); -inf where every weight fell below what float64 can hold."""

    @abstractmethod
    def draw(
        self, ids: IdArray, bits: BitArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        """Draw one output id per input id in [0, v), both of shape (n,), int32.

        Of random 64-bit integers, shape (n, draw_width); the answer does not depend on threads. A card works alone.
        """

    @abstractmethod
    def arithmetic_slack(self) -> float:
        """Return a bound on what arithmetic adds to the privacy loss, in nats; infinite where there is none."""
