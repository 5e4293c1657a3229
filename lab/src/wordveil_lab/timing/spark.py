"""What Spark on this machine makes of a tree of documents, beside one process and beside the model of docs/spark.md.

Public texts are replicated with distinct ids into 16 files of JSON lines. In one run, by turns: one process (the
reference), then local clusters of one and two executors of one core each. The model's two constants, the tokens a core
does in a second and what a job costs besides, are measured with the same session, so that the other work of a shared
machine is in both: the ratio is the figure to trust.

Usage: WORDVEIL_DATA=... python -m wordveil_lab.timing.spark [DOCUMENTS] [EXECUTORS ...]     (default: 100000 1 2)

The last line says how many times as fast the last number of executors is as the first, with and without what a job
costs besides its tokens. On a machine that does nothing else, 100000 takes a minute or two and 1000000 four or five.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import wordveil as wv
from wordveil.api import DocumentSettings, sanitize_files
from wordveil_lab.rows import read_rows

TEXTS = {"documents/agnews.test.tsv": "description", "privacy/sms-spam.tsv": "text"}
FILES = 16
JSONL = DocumentSettings(columns=("text",), keep_others=True)


def write_tree(root: Path, documents: int) -> None:
    """Write a tree of so many documents; a text comes again with another id."""
    root.mkdir()
    texts = cycle([str(row[column]) for name, column in TEXTS.items() for row in read_rows(name, [column])])
    for index in range(FILES):
        numbers = range(index * documents // FILES, (index + 1) * documents // FILES)
        lines = (json.dumps({"id": n, "text": text}) + "\n" for n, text in zip(numbers, texts, strict=False))
        with open(root / f"part-{index:02}.jsonl", "w", encoding="utf-8") as file:
            file.writelines(lines)


def sanitizer() -> wv.Sanitizer:
    """Return a new key's; the default of `wordveil sanitize`, one thread."""
    options = wv.TextOptions(unknown="typed")
    return wv.Sanitizer(wv.load_embeddings(), wv.NeighbourResponse(), options=options, threads=1)


@contextmanager
def most_memory() -> Iterator[dict[str, float]]:
    """Yield the most memory that processes of a cluster were seen to have, MiB; a page of two of them counts half."""
    most, end = {"Python": 0.0, "Java": 0.0}, threading.Event()

    def watch() -> None:
        while not end.wait(0.5):
            python, java = 0.0, 0.0
            for place, command in cluster_processes(b"pyspark.daemon", b"CoarseGrainedExecutorBackend"):
                with suppress(OSError):  # it is gone
                    lines = (place / "smaps_rollup").read_text().splitlines()
                    share = sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
                    python += share if b"pyspark" in command else 0.0
                    java = max(java, share if b"CoarseGrainedExecutorBackend" in command else 0.0)
            most.update(Python=max(most["Python"], python), Java=max(most["Java"], java))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        end.set()
        thread.join()


def cluster_processes(*names: bytes) -> Iterator[tuple[Path, bytes]]:
    """Yield the folder and the command of every process of the cluster whose command holds a name."""
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it is gone
            command = (place / "cmdline").read_bytes()
            if any(name in command for name in names) and is_ours(int(place.name)):
                yield place, command


def used_by_workers() -> float:
    """Return the processor seconds that the Python processes of the cluster have used so far."""
    ticks = 0
    for place, _ in cluster_processes(b"pyspark.daemon"):
        with suppress(OSError):  # it is gone
            ticks += sum(map(int, (place / "stat").read_text().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def is_ours(process: int) -> bool:
    """Whether a process descends from this one."""
    while process > 1 and process != os.getpid():
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return process == os.getpid()


def cluster(executors: int, work: Path, tree: Path, small: Path) -> dict[str, Any]:
    """Release both trees on a local cluster; the first small one starts its workers and is not timed."""
    from pyspark.sql import SparkSession

    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1"}
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,1024]").appName("measure")
    spark = builder.config(map=quiet).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    seconds, used, report = list[float](), 0.0, None
    with most_memory() as memory:
        for turn, source in enumerate((small, small, small, tree)):
            started, before = time.perf_counter(), used_by_workers()
            report = sanitize_files(spark, source, work / f"out-{executors}-{turn}", sanitizer(), settings=JSONL)
            seconds.append(time.perf_counter() - started)
            used = used_by_workers() - before
    spark.stop()
    assert report is not None
    besides = min(seconds[1:3])
    return {"besides": besides, "seconds": seconds[3], "used": used, "tokens": report.tokens, "memory": memory}


def one_process(tree: Path, out: Path) -> tuple[float, float, int]:
    """Return seconds on the clock, of the processor, and tokens."""
    started, used = time.perf_counter(), time.process_time()
    report = wv.sanitize_documents(tree, out, sanitizer(), settings=JSONL)
    return time.perf_counter() - started, time.process_time() - used, report.tokens


def main(documents: int, executors: list[int]) -> None:
    """Measure, and print what the model of one machine would have said."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        tree, small = work / "tree", work / "small"
        write_tree(tree, documents)
        write_tree(small, FILES)
        size = sum(file.stat().st_size for file in tree.iterdir())
        before, used, tokens = one_process(tree, work / "one")
        print(f"{documents:,} documents, {tokens:,} tokens, {size / 1e6:,.0f} MB in {FILES} files;", end=" ")
        print(f"{os.getloadavg()[0]:.0f} processes wanted the {os.cpu_count()} cores")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"one process: {before:.1f} s, {tokens / before:,.0f} tokens/s; {tokens / used:,.0f} a core-second")
        print(f"  peak memory {peak:,.0f} MiB")
        spans = list[tuple[float, float]]()
        for count in executors:
            made = cluster(count, work, tree, small)
            after, _, _ = one_process(tree, work / f"after-{count}")
            alone, before = (before + after) / 2, after
            spent, besides, memory = made["seconds"], made["besides"], made["memory"]
            model = besides + alone / count
            spans.append((spent, spent - besides))
            print(f"{count} executors: {spent:.1f} s, {tokens / spent:,.0f} tokens/s;", end=" ")
            print(f"{alone / spent:.2f} times as fast as one process before and after it ({alone:.1f} s)")
            print(f"  model: {besides:.1f} s and {alone:.1f} s / {count} = {model:.1f} s; measured / model", end=" ")
            print(f"{spent / model:.2f}")
            print(f"  {tokens / made['used']:,.0f} tokens a core-second of its workers")
            print(f"  memory: Python {memory['Python']:,.0f} MiB in all, Java {memory['Java']:,.0f} MiB an executor")
        whole, inside = (first / last for first, last in zip(spans[0], spans[-1], strict=True))
        print(f"{executors[-1]} executors: {whole:.2f} times as fast as {executors[0]};", end=" ")
        print(f"{inside:.2f} without what a job costs besides")


if __name__ == "__main__":
    given = [int(argument) for argument in islice(sys.argv, 1, None)]
    main(given[0] if given else 100_000, given[1:] or [1, 2])
