"""Death at a chosen step: a child process that kills itself with SIGKILL before or after it touches the disk.

Beside it what tests need that fork, or that interrupt a run by what it tells of its progress.
"""

import json
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.beside import content, names

from wordveil.files.journal import is_resumable
from wordveil.files.run_key import run_key_path


class Death:
    """Kills this process at the n-th step; 0 lets it live."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with a step before it and one after it, or as it is where nothing is to die."""
        if self.left <= 0:
            return function

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
        if self.left > 0:
            os.fsync = self.around(lambda _handle: None)
        for name in ("replace", "unlink", "mkdir", "rmdir"):
            setattr(Path, name, self.around(getattr(Path, name)))


def forked(function: Callable[[], bytes]) -> tuple[int, bytes]:
    """Run in a forked child, which is warned of no threads that it does without; return its exit status and answer."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            os.write(writing, function())
        except BaseException as error:  # noqa: BLE001 (a forked child must not return into the parent's code)
            print(repr(error), file=sys.__stderr__, flush=True)
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), answer


def in_child(run: Callable[[], Any]) -> tuple[int, Any]:
    """Return the exit status of a forked child (-9 when killed) and what the function returned there."""
    status, said = forked(lambda: json.dumps(run()).encode())
    return status, json.loads(said or "null")


def in_fork(function: Callable[[], bytes]) -> bytes:
    """Return what the function returned in a forked child, which must end well."""
    status, answer = forked(function)
    assert status == 0
    return answer


def interrupt_after(steps: int) -> Callable[..., None]:
    """Return a progress callback that presses Ctrl-C at the step after so many."""
    left = iter(range(steps))

    def stop(*said: object) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    return stop


@dataclass(frozen=True)
class Outcome:
    """What a death left, and what the run said that went on."""

    resumable: bool
    has_key: bool
    has_output: bool
    said: Any


def check_deaths(run: Callable[..., Any], target: Path, *, every: int = 1) -> list[Outcome]:
    """Kill a run at each step in turn, and hold that it leaves nothing wrong and goes on to the same bytes.

    Every fifth time the run that goes on is killed, too. What is complete has no key any more.

    Args:
        run: Writes the target: takes a `Death`, whose steps it may place, and whether it goes on.
        target: A file or folder that stands alone in its folder, but for its record.
        every: Two for every second step.

    Returns:
        What each death left; the last run lives. What the first, undisturbed one said stands before them.
    """

    def killed(steps: int, *, resume: bool) -> bool:
        status, _ = in_child(lambda: run(Death(steps), resume=resume) and None)
        assert status in (0, -signal.SIGKILL)
        return status != 0

    said = run(Death(0), resume=False)
    whole, found, died, steps = content(target), [Outcome(False, False, True, said)], True, 0
    while died:
        steps += every
        for path in target.parent.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        died = killed(steps, resume=False)
        left = is_resumable(target), run_key_path(target).exists(), target.exists()
        assert not left[2] or content(target) == whole, steps
        assert not (left[1] and left[2]), steps
        if steps % 5 == 0:
            killed(3 + steps % 4, resume=True)
        said = run(Death(0), resume=True)
        assert (content(target), names(target.parent)) == (whole, [target.name]), steps
        found.append(Outcome(*left, said))
    assert len(found) > 21
    return found
