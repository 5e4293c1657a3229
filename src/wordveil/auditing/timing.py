"""Does the time a word takes tell which word it was?

Words are timed in rounds, each word once a round in random order, so drift of the machine hits all alike. The first
half of the rounds chooses the pair that looks most different; the second half tests it with a sign test, exact if
rounds are independent. A passed check bounds nothing: a finer clock may see more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import bdtrc

from wordveil.arrays import Float64Array
from wordveil.auditing.findings import Finding, result
from wordveil.auditing.intervals import check_alpha
from wordveil.errors import ParameterError
from wordveil.promises.rounding import round_up


def check_timing(
    work: Callable[[Any], Any], inputs: Sequence[Any], *, rounds: int = 200, alpha: float = 1e-6, seed: int = 0
) -> Finding:
    """Test, in at least 100 rounds, whether an input takes longer than another; wrong with chance alpha at most."""
    check_alpha(alpha)
    if len(inputs) < 2 or rounds < 100:
        raise ParameterError("rounds", (len(inputs), rounds), "must be at least 2 inputs and 100 rounds.")
    generator = np.random.default_rng(seed)
    for private in inputs:
        work(private)
    seconds = np.empty((rounds, len(inputs)))
    for row in seconds:  # every input once, in random order
        for i in generator.permutation(len(inputs)):
            start = time.perf_counter_ns()
            work(inputs[i])
            row[i] = (time.perf_counter_ns() - start) * 1e-9
    return judge_times(seconds, alpha)


def judge_times(seconds: Float64Array, alpha: float) -> Finding:
    """Return the finding for measured times, shape (rounds, inputs); see `check_timing`."""
    half = len(seconds) // 2
    medians = np.median(seconds[:half], axis=0)
    slow, fast = int(medians.argmax()), int(medians.argmin())
    gap = seconds[half:, slow] - seconds[half:, fast]
    longer, ties = int((gap > 0).sum()), int((gap == 0).sum())
    n = len(gap) - ties
    chance = float(bdtrc(longer - 1, n, 0.5)) if slow != fast and longer else 1.0
    later = np.median(seconds[half:], axis=0)
    return result(
        check="time per word",
        bad=chance <= alpha,
        observed=f"input {slow} took longer than input {fast} in {longer} of {n} rounds (median "
        f"{later[slow] * 1e6:.4g} against {later[fast] * 1e6:.4g} microseconds), chance {round_up(chance, 2)}",
        expected="neither takes longer more often",
        alpha=alpha,
    )
