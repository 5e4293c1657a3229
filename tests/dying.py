"""Death at a chosen step: a child process that kills itself with SIGKILL before or after it touches the disk.

For driver programs, which try every step in turn and look at what a run leaves behind: `python -m tests.AREA.DRIVER`.
Beside them what tests need that fork, or that interrupt a run by what it tells of its progress.
"""

import json
import os
import pathlib
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any


class Death:
    """Kills this process at the n-th step; 0 lets it live."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with a step before it and one after it."""

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            self.step()
            answer = function(*args, **kwargs)
            self.step()
            return answer

        return wrapped

    def around_the_disk(self) -> None:
        """Put steps around everything in this process that makes a change on disk final.

        Nothing waits for the disk: what a killed process has written, the system keeps.
        """
        os.fsync = self.around(lambda _handle: None)
        for name in ("replace", "unlink", "mkdir", "rmdir"):
            setattr(pathlib.Path, name, self.around(getattr(pathlib.Path, name)))


def in_child(run: Callable[[], None]) -> tuple[int, list[int]]:
    """Run in a forked child; return its exit status (-9 when killed) and the JSON list that it printed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        try:
            run()
        except BaseException as error:  # noqa: BLE001 (a forked child must not return into the parent's code)
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        printed = pipe.read()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), json.loads(printed or "[]")


def interrupt_after(steps: int) -> Callable[..., None]:
    """Return a progress callback that presses Ctrl-C at the step after so many."""
    left = iter(range(steps))

    def stop(*said: object) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    return stop


def in_fork(function: Callable[[], bytes]) -> bytes:
    """Run the function in a forked child, which is warned of no threads that it does without; return its answer."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reading)
        os.write(writing, function())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return answer


def check_deaths(outcomes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hold what a driver program found: after each of many deaths, and of the one run that lives, the same bytes."""
    assert [outcome["killed"] for outcome in outcomes] == [-9] * (len(outcomes) - 1) + [0]
    assert len(outcomes) > 21
    for step, outcome in enumerate(outcomes, 1):
        assert outcome["resumed"] == 0, step
        assert outcome["same"], step
        assert not outcome["early_and_wrong"], step
        assert outcome["left"] == [], step
    return outcomes
