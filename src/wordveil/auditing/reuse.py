"""Is the noise fresh: within a batch, from call to call, between threads, and in forked processes?

For vectors, two equal outputs for the same input have probability 0 under any continuous law, and next to none on a
fine grid: 256 values of Laplace noise in one dimension, rounded to 2^-20 of its scale, hold a pair in 1 of 130 runs,
and more than four pairs in fewer than 1 of 10^12. No statistics are needed.
For discrete outputs, equal positions of two calls must agree no more often than unequal ones; each element is used in
one comparison only, so that both counts are binomial with the same probability if all draws are independent.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import numpy as np

from wordveil.auditing.findings import Finding, Status, at_least, result
from wordveil.auditing.intervals import lower_bound, upper_bound
from wordveil.auditing.subjects import Outputs, Subject
from wordveil.promises.rounding import round_up

WITHIN_PROCESS = ("noise shared within a batch", "noise repeated between calls")
"""Checks whose failure makes the samples of an audit depend on each other."""

VECTORS = 128
WORDS = 400
MEETINGS = 100  # words of each of two threads that take turns: a turn takes far longer than a line
COINCIDENCES = 4  # equal vectors that a grid may cause; more of them has probability CHANCE at most
CHANCE = 1e-12
PATIENCE = 60.0  # seconds for a forked child, or a thread
THREADS, FORKS = "noise shared between threads", "noise repeated after a fork"
CALL = 8  # vectors of one call of a thread: one call that repeats another is more than coincidence


def check_reuse(subject: Subject, private: Any, *, alpha: float) -> list[Finding]:
    """Return findings on noise shared within a batch, repeated between calls, shared by threads, and after a fork.

    Two threads take turns at every line of Python but NumPy's, so that they meet in the middle of things: a count they
    share is found, a buffer inside compiled code perhaps not. The output for the input given should be as random as
    possible. An honest mechanism is refuted with a chance of alpha at most.
    """
    if subject.discrete:
        return _discrete(subject, private, alpha)
    return _continuous(subject, private)


def _continuous(subject: Subject, private: Any) -> list[Finding]:
    here = subject.sample(private, VECTORS)
    again = subject.sample(private, VECTORS)

    def calls() -> Outputs:
        return np.concatenate([subject.sample(private, CALL) for _ in range(VECTORS // CALL)])

    def apart(check: str, *parts: Outputs) -> Finding:
        return _repeats(check, np.concatenate([np.unique(part, axis=0) for part in parts]))

    return [
        _repeats(WITHIN_PROCESS[0], here),
        apart(WITHIN_PROCESS[1], here, again),
        *_elsewhere(apart, calls, lambda: subject.sample(private, VECTORS)),
    ]


def _repeats(check: str, rows: Outputs) -> Finding:
    repeated = len(rows) - len(np.unique(rows, axis=0))
    return result(
        check=check,
        bad=repeated > COINCIDENCES,
        observed=f"{repeated} of {len(rows)} noisy vectors of the same input repeat another bit for bit",
        expected=f"none, or {COINCIDENCES} at most on a grid: continuous noise never repeats",
        alpha=CHANCE,
    )


def _discrete(subject: Subject, private: Any, alpha: float) -> list[Finding]:
    share = alpha / 4
    calls = [subject.sample(private, WORDS) for _ in range(4)]
    # Position i of one call against position i + 1 of another: independent unless draws repeat with a shift.
    apart = int(np.count_nonzero(calls[2][:-1] == calls[3][1:]))
    within = int(np.count_nonzero(calls[0][0::2] == calls[0][1::2]))

    def equal(check: str, one: Outputs, other: Outputs) -> Finding:
        return _compare(check, int(np.count_nonzero(one == other)), len(one), apart, WORDS - 1, share)

    return [
        _compare(WITHIN_PROCESS[0], within, WORDS // 2, apart, WORDS - 1, share),
        equal(WITHIN_PROCESS[1], calls[0], calls[1]),
        *_elsewhere(equal, lambda: subject.sample(private, MEETINGS), lambda: subject.sample(private, WORDS)),
    ]


def _compare(check: str, hits: int, n: int, base: int, base_n: int, alpha: float) -> Finding:
    low, high = float(lower_bound(hits, n, alpha / 2)), float(upper_bound(base, base_n, alpha / 2))
    return result(
        check=check,
        bad=low > high,
        observed=f"{hits} of {n} outputs agree (at least {at_least(low)}), {base} of {base_n} unrelated ones do",
        expected=f"agreement as for unrelated draws (at most {round_up(high)})",
        alpha=alpha,
    )


def _elsewhere(
    judge: Callable[..., Finding], in_thread: Callable[[], Outputs], in_fork: Callable[[], Outputs]
) -> list[Finding]:
    """Return what comes of two threads, and of two forks; skipped where one of the two gave no answer."""
    unanswered = {"observed": "one of the two gave no answer", "expected": "fresh noise in every thread and process"}
    return [
        judge(check, *parts)
        if parts is not None
        else Finding(check=check, status=Status.SKIPPED, alpha=0.0, **unanswered)
        for check, parts in ((THREADS, _in_threads(in_thread)), (FORKS, _in_forks(in_fork)))
    ]


def _in_threads(work: Callable[[], Outputs]) -> tuple[Outputs, Outputs] | None:
    """Return what the work gives in two threads at a time; None where one of them fails."""
    made: list[Outputs] = []
    together = threading.Barrier(2)

    def run() -> None:
        with suppress(Exception):  # a mechanism that does not run in threads cannot share noise there
            together.wait(PATIENCE)
            sys.settrace(_taking_turns)  # of this thread alone
            made.append(work())

    threads = [threading.Thread(target=run, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    return (made[0], made[1]) if len(made) == 2 else None


def _taking_turns(frame: FrameType, event: str, argument: Any) -> Any:
    """Let the other thread go on, between any two lines but NumPy's, which share nothing of a mechanism's."""
    if event == "call" and frame.f_globals.get("__name__", "").startswith("numpy"):
        return None
    if event == "line":
        time.sleep(0)
    return _taking_turns


def _in_forks(work: Callable[[], Outputs]) -> tuple[Outputs, Outputs] | None:
    """Return what the work gives in two children forked one after the other from the same state."""
    if not hasattr(os, "fork"):
        return None
    first, second = _in_fork(work), _in_fork(work)
    return None if first is None or second is None else (first, second)


def _in_fork(work: Callable[[], Outputs]) -> Outputs | None:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking is the point, threads or not
        child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(work(), pipe)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    if not select.select([reading], [], [], PATIENCE)[0]:
        os.kill(child, signal.SIGKILL)  # our own child: a lock held by another thread at the fork
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    # Our own child's own array, never foreign data.
    return pickle.loads(data) if status == 0 else None  # noqa: S301
