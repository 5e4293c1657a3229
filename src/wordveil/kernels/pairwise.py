"""Exact exponential-family rows for any matrix: P(y | x) proportional to exp(-rate * min(dist(x, y), cap)).

Where `SelectionRows` needs coordinates, this needs only distances from one word to all outputs. A number of 128 random
bits, and further ones where an edge lies there, is a share of the sum of the row's ideal weights (`kernels.ideal`).
Each distinct input costs one row of v exponentials; `NearRows` avoids that where it fits.
"""

from __future__ import annotations

import math

import numpy as np

from wordveil.arrays import Float64Array, IdArray, Int64Array, Progress
from wordveil.kernels.channel_rows import ChannelRows
from wordveil.kernels.distance_sources import TableSource
from wordveil.kernels.ideal import IdealRows
from wordveil.kernels.ideal_distances import Entries
from wordveil.kernels.threads import by_spans, filled
from wordveil.metrics.distances import AnyMetric
from wordveil.randomness import BitArray

INPUTS = 32  # distinct inputs of one chunk of work


class PairwiseRows(ChannelRows):
    """Rows from a matrix; outputs are sorted, the metric says its name."""

    ideal: IdealRows

    def __init__(self, source: TableSource, metric: AnyMetric, outputs: IdArray, *, rate: float, cap: float) -> None:
        self.source, self.metric, self.outputs = source, metric, outputs
        self.rate, self.cap = rate, cap
        self.ideal = IdealRows(distances=Entries(source.matrix), outputs=outputs, base=None, rate=rate, cap=cap)

    def weights(self, ids: IdArray) -> Float64Array:
        return self.ideal.weights(self.source.canonical[ids])

    def log_normalizers(
        self, ids: IdArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> Float64Array:
        def logs(span: slice) -> list[float]:
            totals = self.weights(ids[span]).sum(axis=1).tolist()
            return [math.log(total) if total > 0 else -math.inf for total in totals]

        return filled(np.empty(len(ids)), INPUTS, logs, threads, progress)

    def draw(
        self, ids: IdArray, bits: BitArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        answer = np.empty(len(ids), dtype=np.int32)
        canonical = self.source.canonical[ids]
        order = np.argsort(canonical, kind="stable")
        inputs, starts = np.unique(canonical[order], return_index=True)
        words = list(zip(inputs.tolist(), np.split(order, starts[1:]), strict=False))  # no tokens are one part

        def some(span: slice) -> list[Int64Array]:
            return [self.ideal.whole(word, bits[tokens]) for word, tokens in words[span]]

        for span, found in by_spans(len(words), INPUTS, some, threads):
            for (_, tokens), columns in zip(words[span], found, strict=True):
                answer[tokens] = self.outputs[columns]
                if progress is not None:
                    progress(len(tokens))
        return answer

    def arithmetic_slack(self) -> float:
        """Return, in nats, what the entries' error makes of two weights and two normalizers; 0 without one."""
        return self.ideal.arithmetic_slack() + 4 * self.rate * self.source.error
