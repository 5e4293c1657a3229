"""`wordveil bench`: tokens per second on this machine, against its own product rate and against plain peers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from wordveil.api import JsonOption, ParameterError, say, show


def bench(
    vocabulary: Annotated[
        int | None, Option("--vocabulary", help="Words in the generated vocabulary; 70 000 without --growth.")
    ] = None,
    dimensions: Annotated[
        int | None, Option("--dimensions", help="Dimensions of the vectors: 300 without --growth.")
    ] = None,
    tokens: Annotated[
        int | None, Option("--tokens", help="Tokens decoded, selected and sanitized: 4096 without --growth.")
    ] = None,
    threads: Annotated[int, Option("--threads", help="Threads; 0 for one per processor.")] = 1,
    device: Annotated[
        str, Option("--device", help="cpu, or cuda for a graphics card (extra: gpu), then by wall time.")
    ] = "cpu",
    repeats: Annotated[
        int | None, Option("--repeats", help="Runs of each measurement, of which the best counts: 2 or 1.")
    ] = None,
    peers: Annotated[bool, Option("--peers/--no-peers", help="Time NumPy, faiss and gensim too.")] = True,
    growth: Annotated[
        str | None,
        Option("--growth", help="Grow one of tokens, vocabulary, dimensions, threads; it sets the other sizes."),
    ] = None,
    most: Annotated[int, Option("--most", help="Largest step of --growth; 0 for all.")] = 0,
    as_json: JsonOption = False,
    plot: Annotated[Path | None, Option("--plot", help="Save a plot, an SVG.")] = None,
) -> None:
    """Measure decoding, selection and whole sanitizing, side by side with peers where they are installed.

    Rates are per second of processor time, so that other programs on the machine disturb them little; "of limit"
    compares with what the machine's largest matrix product would allow, measured in the same run.
    """
    from wordveil_lab.benchmarks.machine import Workload, measure_machine
    from wordveil_lab.benchmarks.measuring import AXES, SIZES, growth_curve, measure, save_plot, table
    from wordveil_lab.benchmarks.measuring import as_json as to_json

    if growth not in SIZES:
        raise ParameterError("growth", growth, f"must be one of {', '.join(AXES)}.")
    given = {"vocabulary": vocabulary, "dimensions": dimensions, "tokens": tokens, "repeats": repeats}
    sizes = SIZES[growth] | {name: size for name, size in given.items() if size is not None}
    workload = Workload(**sizes, threads=threads or None, device=device)
    machine = measure_machine()
    if growth is None:
        lines = measure(workload, machine, with_peers=peers)
    else:
        lines = []
        for step in growth_curve(growth, workload, machine, most=most):
            lines += step
            say(f"{growth} {getattr(step[0], growth)}: " + ", ".join(f"{m.task} {m.wall_rate:,.0f}/s" for m in step))
    show(to_json(machine, lines), [table(machine, lines)], as_json=as_json)
    if plot is not None:
        save_plot(plot, lines, axis=growth)
