"""How the time of some work grows with its size, in whatever time this machine has for it."""

import time
from collections.abc import Callable


def assert_proportional(work: Callable[[int], object], size: int) -> None:
    """Assert that sixteen times the size takes far from 256 times the time, as it would if it were quadratic."""

    def seconds(of: int) -> float:
        begun = time.process_time()
        work(of)
        return time.process_time() - begun

    short = min(seconds(size) for _ in range(3))
    assert any(seconds(16 * size) < 80 * short + 0.05 for _ in range(3))
