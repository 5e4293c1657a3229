"""Measurements as a table, as JSON and as a plot; ratios to the machine's limit stand first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wordveil_lab.benchmarks.machine import Machine
from wordveil_lab.benchmarks.measuring import Measurement
from wordveil_lab.plots import SETTINGS, svg

HEADINGS = ("of limit", "tokens/s/core", "tokens/s", "same", "task", "v x d", "thr", "tokens", "engine")


def table(machine: Machine, lines: Sequence[Measurement]) -> str:
    """Return a plain text table under one line about the machine."""
    rows = [HEADINGS, *(_row(line) for line in lines)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    text = [
        f"{machine.processor}, {machine.cores} cores, {machine.blas}, NumPy {machine.numpy}, engine {machine.engine}",
        f"product, GFLOP/s: float32 {machine.float32_rate:.0f} one core, {machine.float32_all:.0f} all; "
        f"float64 {machine.float64_rate:.0f} one core, {machine.float64_all:.0f} all",
    ]
    for row in rows:
        cells = [
            cell.ljust(width) if i in (4, 8) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        text.append("  ".join(cells).rstrip())
    text.append(f"peak memory {max(line.peak_bytes for line in lines) / 2**20:,.0f} MiB")
    return "\n".join(text)


def _row(line: Measurement) -> tuple[str, ...]:
    return (
        f"{line.limit_ratio:.2f} {line.limit_type[-2:]}",
        f"{line.rate:,.0f}",
        f"{line.wall_rate:,.0f}",
        "" if line.agreement is None else f"{line.agreement:.0%}",
        line.task,
        f"{line.vocabulary} x {line.dimensions}",
        str(line.threads),
        str(line.tokens),
        line.engine,
    )


def as_json(machine: Machine, lines: Sequence[Measurement]) -> dict[str, Any]:
    """Return everything measured as a JSON-ready dictionary."""
    return {"machine": asdict(machine), "measurements": [line.as_dict() for line in lines]}


def save_plot(path: Path, lines: Sequence[Measurement], *, axis: str | None = None) -> None:
    """Save a plot of tokens per second, an SVG: bars by engine, or lines along the axis that grew."""
    path.write_bytes(svg((8.0, 4.5), lambda canvas: _paint(canvas.subplots(), lines, axis), SETTINGS))


def _paint(axes: Any, lines: Sequence[Measurement], axis: str | None) -> None:
    if axis is None:
        axes.barh([f"{line.task}: {line.engine}" for line in lines], [line.rate for line in lines])
        axes.invert_yaxis()
        axes.set(xscale="log", xlabel="tokens per second and core")
        return
    for task in dict.fromkeys(line.task for line in lines):
        _curve(axes, task, axis, [line for line in lines if line.task == task])
    axes.set(xscale="log", yscale="log", xlabel=axis, ylabel="tokens per second")
    axes.legend()


def _curve(axes: Any, task: str, axis: str, lines: Sequence[Measurement]) -> None:
    """Draw the first engine of a task against the size that grew, with the limit as a thin line."""
    first: dict[int, Measurement] = {}
    for line in lines:
        first.setdefault(int(getattr(line, axis)), line)
    sizes = list(first)
    (drawn,) = axes.plot(sizes, [first[s].wall_rate for s in sizes], marker="o", label=task)
    axes.plot(sizes, [first[s].limit for s in sizes], linewidth=0.8, linestyle=":", color=drawn.get_color())
