"""Log-likelihood ratios of laws that are known in closed form, for choosing events where a classifier would be blind.

The law is the one the mechanism *claims* to draw from. An event chosen with it is counted on real samples, so a
mechanism that draws from another law is not given any credit; only the upper edge of a trade-off band trusts it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.mechanisms.base import VectorRandomizer
from wordveil.randomness import RandomSource

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
