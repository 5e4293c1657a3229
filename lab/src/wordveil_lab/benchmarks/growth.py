"""Growth curves: one size grows, the others stay, and the rates are measured at every step."""

from __future__ import annotations

from collections.abc import Iterator

from wordveil.api import ParameterError, resolve_threads
from wordveil_lab.benchmarks.machine import Machine
from wordveil_lab.benchmarks.measuring import Measurement, measure_task
from wordveil_lab.benchmarks.workload import Workload

AXES: dict[str, tuple[int, ...]] = {
    "tokens": (10_000, 100_000, 1_000_000, 10_000_000),
    "vocabulary": (10_000, 50_000, 100_000, 200_000, 400_000),
    "dimensions": (50, 100, 200, 300, 384),
    "threads": (1, 2, 4, 8, 16),
}
"""Size that grows -> its steps; steps beyond `most` are left out, and thread counts beyond the processors."""

SIZES: dict[str | None, dict[str, int]] = {
    None: {"vocabulary": 70_000, "dimensions": 300, "tokens": 4096, "repeats": 2},
    "tokens": {"vocabulary": 10_000, "dimensions": 50, "tokens": 10_000, "repeats": 1},
    "vocabulary": {"vocabulary": 10_000, "dimensions": 50, "tokens": 2048, "repeats": 2},
    "dimensions": {"vocabulary": 70_000, "dimensions": 50, "tokens": 2048, "repeats": 2},
    "threads": {"vocabulary": 70_000, "dimensions": 300, "tokens": 8192, "repeats": 2},
}
"""Size that grows, None for a single table -> sizes unless told otherwise; a whole curve takes a few minutes."""


def growth_curve(
    axis: str, workload: Workload, machine: Machine, *, tasks: tuple[str, ...] = ("decode", "select"), most: int = 0
) -> Iterator[list[Measurement]]:
    """Yield the measurements of each step along one axis.

    Args:
        axis: One of `AXES`.
        workload: The sizes that stay.
        machine: Product rates measured in the same process.
        tasks: What to measure.
        most: Largest step taken, 0 for all.

    Raises:
        ParameterError: If the axis is unknown, or `most` leaves no step.
    """
    if axis not in AXES:
        raise ParameterError("axis", axis, f"must be one of {', '.join(AXES)}.")
    if most and most < AXES[axis][0]:
        raise ParameterError("most", most, f"must be at least {AXES[axis][0]}, the first step, or 0.")
    for step in AXES[axis]:
        if (most and step > most) or (axis == "threads" and step > resolve_threads(None)):
            continue
        sized = workload.resized(**{axis: step})
        yield [line for task in tasks for line in measure_task(task, sized, machine, with_peers=False)]
