"""What each compiled kernel gains over NumPy and Python: all in turns in one process, medians of the ratios of times.

Usage: python -m wordveil_lab.timing.kernels [VOCABULARY DIMENSIONS ...] [--rounds N] [--threads T]

One thread is timed by the processor, several on the clock, which other programs on the machine disturb. A processor
without AVX-512 is imitated by `OPENBLAS_CORETYPE=Haswell NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR"`:
there only the lines of avx2 count. A kernel that gains less than 1.2 is not kept.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer

import wordveil as wv
from wordveil.api import Euclidean, NearestWords, PrivateText, SelectionRows, available_engines, nonces
from wordveil_lab.benchmarks.machine import Workload, best_timing

SIZES = [400_001, 50, 70_000, 300, 4_000, 4_000]
QUERIES, INPUTS, DRAWS, TEXTS, WORDS = 512, 256, 4_096, 1_000, 240
NEIGHBOURS = 11

Work = Callable[[int], Any]


def array_works(workload: Workload) -> Iterator[tuple[str, Work]]:
    """Yield each step that reads a whole vocabulary, on the engine that is chosen now, with some threads."""
    ids = np.arange(workload.vocabulary, dtype=np.int32)
    words, queries = NearestWords(workload.vectors, ids), workload.queries[:QUERIES]
    yield "nearest", lambda threads: words.nearest(queries, threads=threads)
    yield f"nearest {NEIGHBOURS}", lambda threads: words.top(queries, NEIGHBOURS, threads=threads)
    rows = SelectionRows(workload.vectors, Euclidean(), ids, ids, rate=2.0, cap=10.0)
    generator = np.random.Generator(np.random.PCG64(1))
    tokens = ids[generator.integers(0, INPUTS, DRAWS)]
    bits = generator.integers(0, 2**64, (DRAWS, rows.draw_width), dtype=np.uint64)
    kept = rows.with_cache(1 << 28)
    kept.draw(tokens, bits, threads=1)
    yield "draw, ceilings new", lambda threads: rows.with_cache(1 << 28).draw(tokens, bits, threads=threads)
    yield "draw, ceilings kept", lambda threads: kept.draw(tokens, bits, threads=threads)


def text_works() -> Iterator[tuple[str, Work]]:
    """Yield each step from text to text, of the default mechanism, and redaction."""
    embeddings = wv.load_embeddings()
    sanitizer = wv.Sanitizer(embeddings, wv.NeighbourResponse(), options=wv.TextOptions(unknown="typed"))
    generator = np.random.Generator(np.random.PCG64(2))
    places = (len(embeddings) * generator.random((TEXTS, WORDS)) ** 4).astype(int)  # many common words, few rare ones
    texts = [PrivateText(" ".join(embeddings.words[int(i)] for i in row) + ".") for row in places]
    documents = [[text] for text in texts]
    where = nonces(sanitizer.source, sanitizer.places(map(str, range(TEXTS))), documents)
    prepared = sanitizer.prepare(documents)
    drawn = sanitizer.release_ids(prepared.tokens, prepared.cost, where)
    redactor = wv.Redactor()
    yield "read", lambda _: sanitizer.prepare(documents)
    yield "random bits, gather", lambda _: sanitizer.release_ids(prepared.tokens, prepared.cost, where)
    yield "write", lambda _: sanitizer.parts.writer.write_parts(prepared.parts, drawn)
    yield "redact", lambda _: redactor.release_rows(documents, judged=False)


def by_name(works: Callable[[], Iterator[tuple[str, Work]]], engines: Iterable[str]) -> dict[str, dict[str, Work]]:
    """Return the works of each name by engine."""
    made: dict[str, dict[str, Work]] = {}
    for engine in engines:
        os.environ["WORDVEIL_ENGINE"] = engine
        for name, work in works():
            made.setdefault(name, {})[engine] = work
    return made


def measure(name: str, by_engine: dict[str, Work], rounds: int, threads: int) -> None:
    """Print one line for each engine: what is done, threads, engine, median time, ratio to NumPy's."""
    times: dict[str, list[float]] = {engine: [] for engine in by_engine}
    for number in range(rounds + 1):  # the first round fills caches
        for engine, work in by_engine.items():
            os.environ["WORDVEIL_ENGINE"] = engine
            taken = best_timing(partial(work, threads), 1)
            if number:
                times[engine].append(taken.cpu if threads == 1 else taken.wall)
    for engine, seconds in times.items():
        ratio = statistics.median(slow / fast for slow, fast in zip(times["numpy"], seconds, strict=True))
        median = 1e3 * statistics.median(seconds)
        print(f"| {name} | {threads} | {engine} | {median:.1f} ms | {ratio:.2f} |", flush=True)


def main(sizes: Annotated[list[int] | None, typer.Argument()] = None, rounds: int = 5, threads: int = 2) -> None:
    """Measure the steps of text, and those of each pair of words and dimensions with one thread and more."""
    for name, by_engine in by_name(text_works, ("numpy", available_engines()[-1])).items():
        measure(name, by_engine, rounds, 1)
    chosen = sizes or SIZES
    for vocabulary, dimensions in zip(chosen[::2], chosen[1::2], strict=True):
        works = partial(array_works, Workload(vocabulary=vocabulary, dimensions=dimensions))
        for name, by_engine in by_name(works, available_engines()).items():
            for count in range(1, threads + 1):
                measure(f"{vocabulary} x {dimensions}, {name}", by_engine, rounds, count)


if __name__ == "__main__":
    typer.run(main)
