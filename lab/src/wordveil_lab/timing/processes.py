"""What whole processes take: a first sentence, and a file from gzip to gzip, beside `import numpy` and gzip alone.

Wall clock, processor time and peak memory of fresh processes with compiled byte code, the best of all rounds.

Usage: python -m wordveil_lab.timing.processes FILE.jsonl.gz COLUMN [ROUNDS]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NOTE = b"Maria Lindqvist was seen on 14 March 2026 for poorly controlled diabetes.\n"
GZIP = "import gzip, sys; gzip.compress(gzip.open(sys.argv[1]).read(), 4)"  # the level of the outputs


def taken(command: list[str]) -> tuple[float, float, float]:
    """Return seconds on the clock, processor seconds and MiB at the peak of one process and what it waited for."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    process.stdin.write(NOTE)
    process.stdin.close()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"exit status {os.waitstatus_to_exitcode(status)}: {' '.join(command)}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Print a table, the ratios last."""
    source, column, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 5
    program = str(Path(sys.executable).parent / "wordveil")
    wordveil, options = [program, "sanitize"], ["--column", column, "--keep-others", "--again"]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.jsonl.gz"
        commands = {
            "import numpy": [sys.executable, "-c", "import numpy"],
            "first sentence": wordveil,
            "first sentence, redacted": [program, "redact"],
            "gzip to gzip, nothing done": [sys.executable, "-c", GZIP, source],
            "file, gzip to gzip": [*wordveil, source, "-o", str(output), *options],
        }
        found = {name: [taken(command)] for name, command in commands.items()}  # the first round fills caches
        for _ in range(rounds):
            for name, command in commands.items():
                output.unlink(missing_ok=True)
                found[name].append(taken(command))
    best = {name: [min(one) for one in zip(*runs[1:], strict=True)] for name, runs in found.items()}
    print("| process | on the clock, s | processor, s | peak, MiB |\n|---|---|---|---|")
    for name, (wall, processor, peak) in best.items():
        print(f"| {name} | {wall:.3f} | {processor:.3f} | {peak:.0f} |")
    pairs = {name: "import numpy" for name in commands if name.startswith("first")}
    for name, beside in (pairs | {"file, gzip to gzip": "gzip to gzip, nothing done"}).items():
        print(f"{name} / {beside}: {best[name][1] / best[beside][1]:.2f} of processor time")


if __name__ == "__main__":
    main()
