"""Checks the graphics card's kernels against the processor's and times them beside the card's own product rate.

Usage: python -m wordveil_lab.timing.gpu [--device cuda] [--small] [--rounds 9]

Prints one Markdown table, ready for docs/performance.md. Fails, before it times anything, if an answer differs from
the processor's, a score lies outside its proven bound, or a mass outside the slack that is claimed. `--device cpu
--small` is a rehearsal on CPU tensors: its checks count, its times do not.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import typer

import wordveil.api as wv
from wordveil_lab.benchmarks.machine import Workload
from wordveil_lab.package import told

torch = wv.gpu_torch
TILES = tuple(wv.GpuTiles(**sizes) for sizes in told("timing/gpu.toml")["tiles"])
RATE, CAP = 2.0, 10.0


@dataclass(frozen=True, kw_only=True)
class Card:
    """What is measured on."""

    device: Any  # of PyTorch
    rounds: int  # timings of each figure, of which the median counts
    products: dict[str, float]  # type of numbers -> rate of its measured product, operations a second


def seconds(work: Callable[[], Any], device: Any, rounds: int) -> float:
    """Return the median time of a call, after two that are not counted."""
    times = []
    for _ in range(rounds + 2):
        if device.type == "cpu":
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
            continue
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize(device)
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize(device)
        times.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(times[2:])


def product_rate(device: Any, side: int, kind: Any, rounds: int) -> float:
    """Return the rate of a large square product of random numbers, operations a second."""
    generator = torch.Generator(device).manual_seed(0)
    a, b = (torch.randn((side, side), generator=generator, device=device).to(kind) for _ in range(2))
    return 2.0 * side**3 / seconds(lambda: torch.matmul(a, b), device, rounds)


def check(condition: bool, what: str) -> None:
    """Stop the run if a check fails."""
    if not condition:
        raise SystemExit(f"CHECK FAILED: {what}")


def check_decoding(search: wv.GpuNearestWords, workload: Workload) -> str:
    """Compare answers with the processor's and scores with their bound; return how much of the bound was used."""
    outputs = np.arange(workload.vocabulary, dtype=np.int32)
    own, some = wv.NearestWords(workload.vectors, outputs), workload.queries[:512]
    check(np.array_equal(search.nearest(some), own.nearest(some)), "nearest words differ from the processor's")
    ids, distances = search.top(some[:64], 10)
    expected = own.top(some[:64], 10)
    check(np.array_equal(ids, expected[0]) and np.array_equal(distances, expected[1]), "ten nearest words differ")
    screen = search.screen
    rows = torch.from_numpy(some[:64]).to(search.device)
    packed = wv.pack_gpu_queries(rows, screen.words, screen.tiles.rows)
    found = screen.maxima(packed)[: len(rows)].double()
    exact = torch.full((len(rows), screen.blocks * screen.tiles.words), -torch.inf, device=search.device).double()
    table = screen.words.table.double() - screen.words.centre
    half = 0.5 * torch.square(table).sum(1)
    exact[:, : len(table)] = (rows - screen.words.centre) @ table.T - half
    best = exact.view(len(rows), screen.blocks, screen.width, screen.tiles.lanes).amax(2).flatten(1)
    real = torch.isfinite(best)
    used = float(((found - best).abs() / screen._bounds(packed).double())[real].max())
    check(used <= 1, f"a score is {used:.3f} bounds away from the exact one")
    hits = screen.hits(screen.maxima(packed), packed, 1, 64)
    return f"answers equal; {used:.2f} of the bound used, {float(hits.counts.double().mean()):.2f} groups a query"


def fastest_tiles(workload: Workload, card: Card) -> wv.GpuTiles:
    """Return the tiles whose screen is fastest; the default where Triton does not run."""
    default = wv.default_gpu_tiles(card.device)
    if card.device.type == "cpu" or not wv.HAS_TRITON:
        return default
    from triton.runtime.errors import OutOfResources

    outputs, times = np.arange(workload.vocabulary, dtype=np.int32), {}
    search = wv.GpuNearestWords(workload.vectors, outputs, device=str(card.device))
    rows = _resident(search, workload)
    for tiles in dict.fromkeys((default, *TILES)):
        screen = wv.GpuScreen(search.screen.words, tiles)
        packed = wv.pack_gpu_queries(rows, screen.words, tiles.rows)
        try:
            times[tiles] = seconds(partial(screen.maxima, packed), card.device, 3)
        except OutOfResources:
            continue
        print(f"  {tiles}: {times[tiles] * 1e3:.2f} ms", flush=True)
    return min(times, key=lambda tiles: times[tiles])


def _resident(search: wv.GpuNearestWords, workload: Workload) -> Any:
    """Return one chunk of queries on the device, repeated where the workload has fewer."""
    picked = np.resize(np.arange(len(workload.queries)), search.chunk_rows())
    return torch.from_numpy(workload.queries[picked]).to(search.device)


def timed(workload: Workload, what: str, work: Callable[[], Any], count: int, card: Card, product: str) -> str:
    """Time what does so many tokens; return a line of the table."""
    rate = count / seconds(work, card.device, card.rounds)
    ratio = rate * workload.flops_per_token / card.products[product]
    return f"| {size_of(workload)} | {what} | {rate:,.0f} | {ratio:.2f} of {product} |"


def size_of(workload: Workload) -> str:
    """Return the size of a vocabulary as the table names it."""
    return f"{workload.vocabulary:,} x {workload.dimensions}".replace(",", " ")


def decoding(workload: Workload, card: Card) -> list[str]:
    """Check and time decoding; return lines of the table."""
    tiles = fastest_tiles(workload, card)
    outputs = np.arange(workload.vocabulary, dtype=np.int32)
    search = wv.GpuNearestWords(workload.vectors, outputs, device=str(card.device), tiles=tiles)
    print(f"{size_of(workload)}: {tiles}\n  {check_decoding(search, workload)}", flush=True)
    rows = _resident(search, workload)
    pack = partial(wv.pack_gpu_queries, rows, search.screen.words, search.screen.tiles.rows)
    packed, whole = pack(), np.ascontiguousarray(np.tile(rows.cpu().numpy(), (4, 1)))

    def device_only() -> Any:
        made = pack()
        hits = search.screen.hits(search.screen.maxima(made), made, 1, 16)
        return search.winners(rows, hits) if search.screen.triton else hits

    works: tuple[tuple[str, Callable[[], Any], int], ...] = (
        ("screen alone", lambda: search.screen.maxima(packed), len(rows)),
        ("decoding, queries on the card", device_only, len(rows)),
        ("decoding, queries in main memory", lambda: search.nearest(whole), len(whole)),
    )
    return [timed(workload, *work, card, "bfloat16") for work in works]


def selection(workload: Workload, card: Card) -> list[str]:
    """Check and time selection; return lines of the table."""
    ids = np.arange(workload.vocabulary, dtype=np.int32)
    rows = wv.SelectionRows(workload.vectors, wv.Euclidean(), ids, ids, rate=RATE, cap=CAP)
    search = wv.GpuSelection(rows, device=str(card.device))
    some = ids[:: max(1, len(ids) // 96)]
    error = float(np.abs(search.masses(some).cpu().numpy() / rows.masses(some) - 1).max())
    check(error <= search.arithmetic_slack(), f"masses differ by {error:.1e}, more than the slack")
    tokens = workload.ids
    random = wv.random_bits(wv.RandomSource().fresh_stream().lane(0), (len(tokens), 2))
    print(f"{size_of(workload)}: masses within {error:.1e} (slack {search.arithmetic_slack():.1e})")
    once = np.unique(tokens)
    fresh = np.resize(ids, len(once))
    return [
        timed(workload, what, partial(search.draw, words, random[: len(words)]), len(words), card, "float64")
        for what, words in (("selection, every word once", fresh), (f"selection, {len(once):,} distinct words", tokens))
    ]


def main(device: str = "cuda", *, small: bool = False, rounds: int = 9) -> None:
    """Check, time and print the table; on a few thousand words where a rehearsal is asked for."""
    opened = wv.open_gpu(device)
    name = torch.cuda.get_device_name(opened) if opened.type == "cuda" else "CPU tensors (a rehearsal)"
    side = 256 if small else 8192
    products = {kind: product_rate(opened, side, getattr(torch, kind), rounds) for kind in ("bfloat16", "float64")}
    card = Card(device=opened, rounds=rounds, products=products)
    rate = f"{', '.join(f'{kind} {product / 1e12:,.2f}' for kind, product in products.items())} TFLOP/s"
    triton = "Triton" if wv.HAS_TRITON and opened.type == "cuda" else "plain PyTorch"
    print(f"{name}, PyTorch {torch.__version__}, {triton}; product of {side}: {rate}", flush=True)
    lines = []
    for vocabulary, dimensions in ((1500, 12),) if small else ((400_000, 300), (70_000, 300)):
        tokens = 256 if small else 8192
        lines += decoding(Workload(vocabulary=vocabulary, dimensions=dimensions, tokens=tokens), card)
    sizes = (1500, 10, 200) if small else (400_001, 50, 1 << 20)
    lines += selection(Workload(vocabulary=sizes[0], dimensions=sizes[1], tokens=sizes[2]), card)
    print(f"\n{name}: {rate}; medians of {rounds} ({triton})\n")
    print("| vocabulary | work | tokens/s | ratio to the measured product |\n|---|---|---|---|")
    print("\n".join(lines))


if __name__ == "__main__":
    typer.run(main)
