"""Tokens per second of wordveil and its peers on one workload, each beside the limit the machine's product sets.

Rates are per second of processor time, that is per core; wall time is kept beside it. `limit_ratio` compares with the
tokens per second that the largest BLAS product of the stated type would allow on one core in the same run.

Measurements are shown as a table, as JSON and as a plot; ratios to the machine's limit stand first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import wordveil.api as wv
from wordveil_lab.benchmarks import peers
from wordveil_lab.benchmarks.machine import Machine, Timing, Workload, best_timing, peak_memory_bytes
from wordveil_lab.package import told
from wordveil_lab.plots import SETTINGS, svg

EPSILON = 4.0
NAME = "wordveil"
PRODUCTS = {"decode": "float32", "select": "float64", "sanitize": "float64"}
"""Task -> type of the product whose rate is its limit."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One line of the table."""

    task: str  # "decode", "select" or "sanitize"
    engine: str
    vocabulary: int
    dimensions: int
    threads: int
    tokens: int
    wall_seconds: float
    cpu_seconds: float
    rate: float  # tokens per second of processor time, that is per core
    wall_rate: float  # tokens per second of wall time
    limit: float  # tokens per second of one core if only the product took time
    limit_type: str
    agreement: float | None  # share of answers equal to wordveil's; None where draws are random
    peak_bytes: int  # largest resident size of the process so far

    @property
    def limit_ratio(self) -> float:
        """The rate over the limit: above 1 where equal inputs share a row or a narrower type screens."""
        return self.rate / self.limit


def _line(
    task: str,
    workload: Workload,
    machine: Machine,
    engine: str,
    tokens: int,
    timing: Timing,
    agreement: float | None = None,
) -> Measurement:
    return Measurement(
        task=task,
        engine=engine,
        vocabulary=workload.vocabulary,
        dimensions=workload.dimensions,
        threads=wv.resolve_threads(workload.threads),
        tokens=tokens,
        wall_seconds=timing.wall,
        cpu_seconds=timing.cpu,
        rate=tokens / timing.cpu,
        wall_rate=tokens / timing.wall,
        limit=machine.limit(PRODUCTS[task], workload.flops_per_token),
        limit_type=PRODUCTS[task],
        agreement=agreement,
        peak_bytes=peak_memory_bytes(),
    )


def measure(workload: Workload, machine: Machine, *, with_peers: bool = True) -> list[Measurement]:
    """Measure decoding, selection and whole sanitizing: a line for each task and engine, wordveil first."""
    return [line for task in TASKS.values() for line in task(workload, machine, with_peers)]


def _decode(workload: Workload, machine: Machine, with_peers: bool) -> list[Measurement]:
    line = partial(_line, "decode", workload, machine)
    outputs = np.arange(workload.vocabulary, dtype=np.int32)
    if workload.device == "cpu":
        words: Any = wv.NearestWords(workload.vectors, outputs)
    else:
        words = wv.GpuNearestWords(workload.vectors, outputs, device=workload.device)
    answers, total = list[wv.IdArray](), Timing(wall=0.0, cpu=0.0)
    words.nearest(workload.vectors[:1], threads=1)
    for queries in workload.query_blocks():

        def work(block: wv.Float64Array = queries) -> None:
            answers.append(words.nearest(block, threads=workload.threads))

        total += best_timing(work, workload.repeats)
    lines = [line(f"{NAME}, {words.engine}", workload.tokens, _billed(workload, total))]
    for name, (prepare, module, most) in peers.DECODERS.items() if with_peers else ():
        if not peers.available(module):
            continue
        some = workload.queries[:most]
        found, timing = peers.timed(module, workload.threads, partial(prepare(workload.vectors), some))
        lines.append(line(name, len(some), timing, float(np.mean(found == answers[0][:most]))))
    return lines


def _select(workload: Workload, machine: Machine, with_peers: bool) -> list[Measurement]:
    line = partial(_line, "select", workload, machine)
    fitted = wv.TEM(epsilon=EPSILON).fit(workload.embeddings).on(workload.device)
    source = wv.RandomSource()
    draws = fitted.sample(source.fresh_stream(), workload.tokens)
    ids = wv.PrivateIds(workload.ids)
    once, lines = wv.PrivateIds(np.unique(ids)), []
    for what, some in ((f"{len(once)} distinct words", ids), ("every word once", once)):

        def work(some: wv.PrivateIds = some) -> None:
            fitted.for_batch_job().randomize(some, (draws[0][: len(some)],), threads=workload.threads)

        timing = best_timing(work, workload.repeats)
        lines.append(line(f"{NAME}, {what}", len(some), _billed(workload, timing)))
    for name, (select, module, most) in peers.SELECTORS.items() if with_peers else ():
        _, timing = peers.timed(module, workload.threads, partial(select, workload.vectors, ids[:most], EPSILON / 2))
        lines.append(line(name, len(ids[:most]), timing))
    return lines


def _sanitize(workload: Workload, machine: Machine, with_peers: bool) -> list[Measurement]:
    line = partial(_line, "sanitize", workload, machine)
    mechanism = wv.TEM(epsilon=EPSILON)
    sanitizer = wv.Sanitizer(workload.embeddings, mechanism, threads=workload.threads, device=workload.device)
    texts = [wv.PrivateText(text) for text in workload.texts]
    sanitizer.release_batch(texts[:1])
    timing = best_timing(lambda: sanitizer.for_batch_job().release_batch(texts), workload.repeats)
    return [line(f"{NAME}, text to text", workload.tokens, _billed(workload, timing))]


def _billed(workload: Workload, timing: Timing) -> Timing:
    """Return a time as it counts: on a card, wall time, since the processor may sleep while the card works."""
    return timing if workload.device == "cpu" else Timing(wall=timing.wall, cpu=timing.wall)


Task = Callable[[Workload, Machine, bool], list[Measurement]]
TASKS: dict[str, Task] = {"decode": _decode, "select": _select, "sanitize": _sanitize}
"""What is measured, by name."""


_PLAN = told("benchmarks/sizes.toml")
AXES: dict[str, list[int]] = _PLAN["axes"]
"""Size that grows -> its steps."""
SIZES: dict[str | None, dict[str, int]] = {None: _PLAN["table"], **_PLAN["growth"]}
"""Size that grows, None for a single table -> sizes unless told otherwise."""


def growth_curve(
    axis: str, workload: Workload, machine: Machine, *, tasks: tuple[str, ...] = ("decode", "select"), most: int = 0
) -> Iterator[list[Measurement]]:
    """Yield the measurements of each step along one of `AXES`, to `most` at most, or to the end where that is 0."""
    wv.check_choice("axis", axis, AXES)
    if most and most < AXES[axis][0]:
        raise wv.ParameterError("most", most, f"must be at least {AXES[axis][0]}, the first step, or 0.")
    for step in AXES[axis]:
        if (most and step > most) or (axis == "threads" and step > wv.resolve_threads(None)):
            continue
        sized = replace(workload, **{axis: step})  # type: ignore[arg-type]
        yield [line for task in tasks for line in TASKS[task](sized, machine, False)]


COLUMNS: dict[str, Callable[[Measurement], str]] = {
    "of limit": lambda line: f"{line.limit_ratio:.2f} {line.limit_type[-2:]}",
    "tokens/s/core": lambda line: f"{line.rate:,.0f}",
    "tokens/s": lambda line: f"{line.wall_rate:,.0f}",
    "same": lambda line: "" if line.agreement is None else f"{line.agreement:.0%}",
    "task": lambda line: line.task,
    "v x d": lambda line: f"{line.vocabulary} x {line.dimensions}",
    "thr": lambda line: str(line.threads),
    "tokens": lambda line: str(line.tokens),
    "engine": lambda line: line.engine,
}
"""Heading of the table -> what stands under it."""


def table(machine: Machine, lines: Sequence[Measurement]) -> str:
    """Return a plain text table under one line about the machine."""
    columns = [[heading, *map(cell, lines)] for heading, cell in COLUMNS.items()]
    for column in columns:
        width = max(map(len, column))
        column[:] = [cell.ljust(width) if column[0] in ("task", "engine") else cell.rjust(width) for cell in column]
    text = [
        f"{machine.processor}, {machine.cores} cores, {machine.blas}, NumPy {machine.numpy}, engine {machine.engine}",
        f"product, GFLOP/s: float32 {machine.float32_rate:.0f} one core, {machine.float32_all:.0f} all; "
        f"float64 {machine.float64_rate:.0f} one core, {machine.float64_all:.0f} all",
    ]
    text += ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
    text.append(f"peak memory {max(line.peak_bytes for line in lines) / 2**20:,.0f} MiB")
    return "\n".join(text)


def as_json(machine: Machine, lines: Sequence[Measurement]) -> dict[str, Any]:
    """Return everything measured as a JSON-ready dictionary."""
    measured = [asdict(line) | {"limit_ratio": line.limit_ratio} for line in lines]
    return {"machine": asdict(machine), "measurements": measured}


def save_plot(path: Path, lines: Sequence[Measurement], *, axis: str | None = None) -> None:
    """Save a plot of tokens per second, an SVG: bars by engine, or lines along the axis that grew."""
    path.write_bytes(svg((8.0, 4.5), lambda canvas: _paint(canvas.subplots(), lines, axis), SETTINGS))


def _paint(axes: Any, lines: Sequence[Measurement], axis: str | None) -> None:
    if axis is None:
        axes.barh([f"{line.task}: {line.engine}" for line in lines], [line.rate for line in lines])
        axes.invert_yaxis()
        axes.set(xscale="log", xlabel="tokens per second and core")
        return
    first: dict[str, dict[int, Measurement]] = {}  # the first engine of each task at each size
    for line in lines:
        first.setdefault(line.task, {}).setdefault(int(getattr(line, axis)), line)
    for task, curve in first.items():
        (drawn,) = axes.plot([*curve], [line.wall_rate for line in curve.values()], marker="o", label=task)
        limits = [line.limit for line in curve.values()]
        axes.plot([*curve], limits, linewidth=0.8, linestyle=":", color=drawn.get_color())
    axes.set(xscale="log", yscale="log", xlabel=axis, ylabel="tokens per second")
    axes.legend()
