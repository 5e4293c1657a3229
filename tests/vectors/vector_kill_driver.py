"""Kills releases of a file with SIGKILL at every step that touches the disk, resumes them, prints what came of it.

Run as: vector_kill_driver.py SOURCE DESTINATION KEEP. A child process is forked for every point of death: before and
after each fsync, rename and removal, and inside the release of each block. Then a second child resumes.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import sys
from collections.abc import Callable
from typing import Any

from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace
from wordveil.randomness import RandomSource
from wordveil.vector_release import VectorSettings, release_vector_file
from wordveil.vector_release.releasing import RowReleaser

KEY = b"sixteen bytes :)"


class Death:
    """Kills this process at the n-th step."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            self.step()
            answer = function(*args, **kwargs)
            self.step()
            return answer

        return wrapped


def run(arguments: list[str], steps: int, *, resume: bool) -> None:
    source, destination, keep = arguments
    death = Death(steps)
    os.fsync = death.around(os.fsync)
    for name in ("replace", "unlink", "mkdir", "rmdir"):
        setattr(pathlib.Path, name, death.around(getattr(pathlib.Path, name)))
    shutil.rmtree = death.around(shutil.rmtree)
    RowReleaser.release = death.around(RowReleaser.release)
    report = release_vector_file(
        source,
        destination,
        MultivariateLaplace(epsilon=5.0),
        settings=VectorSettings(block_rows=9 if steps > 10**6 else 20, keep=tuple(filter(None, [keep])), threads=1),
        source=RandomSource(KEY),
        resume=resume,
    )
    print(json.dumps([report.rows, report.resumed_rows]), flush=True)


def in_child(arguments: list[str], steps: int, *, resume: bool) -> tuple[int, list[int]]:
    """Exit status (-9 when killed) and what the run reported."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        try:
            run(arguments, steps, resume=resume)
        except BaseException as error:  # noqa: BLE001 (a forked child must not return into the parent's code)
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        printed = pipe.read()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), json.loads(printed or "[]")


def main() -> None:
    arguments = sys.argv[1:]
    target = pathlib.Path(arguments[1])
    assert in_child(arguments, 10**9, resume=False)[0] == 0
    whole = target.read_bytes()
    outcomes = []
    for steps in range(1, 1000):
        target.unlink(missing_ok=True)
        killed, _ = in_child(arguments, steps, resume=False)
        early = target.exists() and target.read_bytes() != whole
        resumed, counts = in_child(arguments, 10**9, resume=True)
        outcomes.append(
            {
                "killed": killed,
                "resumed": resumed,
                "taken_over": counts[1] if counts else None,
                "same": target.exists() and target.read_bytes() == whole,
                "early_and_wrong": early,
                "left": sorted(p.name for p in target.parent.iterdir() if p != target),
            }
        )
        if killed == 0:
            break
    print(json.dumps(outcomes))


main()
