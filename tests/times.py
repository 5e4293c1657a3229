"""How the time of some work grows with its size, in whatever time this machine has for it; the memory of a process."""

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

without_peaks = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")


def peak_memory(program: str, *arguments: object) -> int:
    """Return the most memory that a program held in a new process, in kilobytes."""
    # What `resource` tells of a process may be the peak of the one that started it.
    program += "\nprint(open('/proc/self/status').read())"
    run = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return int(re.findall(r"VmHWM:\s+(\d+) kB", run.stdout)[0])


def assert_proportional(work: Callable[[int], object], size: int) -> None:
    """Assert that sixteen times the size takes far from 256 times the time, as it would if it were quadratic."""

    def seconds(of: int) -> float:
        begun = time.process_time()
        work(of)
        return time.process_time() - begun

    short = min(seconds(size) for _ in range(3))
    assert any(seconds(16 * size) < 80 * short + 0.05 for _ in range(3))
