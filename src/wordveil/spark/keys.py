"""The key of a Spark job: a 0600 file that driver and executors read by its path, which is all that a plan holds."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from wordveil.errors import ParameterError, ResumeError
from wordveil.files.run_key import load_run_key, remove_run_key, save_run_key
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.randomness import RandomSource

__all__ = ["check_host", "check_repeatable", "keyed", "run_key"]


@contextmanager
def run_key(path: str | os.PathLike[str]) -> Iterator[str]:
    """Make a job's key, or take up the one that an interrupted job left, and destroy it when the block succeeds.

    Write the released frame inside the block. After a failure the key stays, so that the same job, started again, gives
    the same bytes; whoever reads it can remove the noise until then.

    Args:
        path: A file that every executor can read under this path: on a shared disk, or a mounted secret.

    Yields:
        The path, for `key_file`.

    Raises:
        ResumeError: If others can read the key that is there.
    """
    place = Path(path).absolute()
    if place.exists():
        load_run_key(place)
    else:
        save_run_key(place, RandomSource().export_key())
    yield str(place)
    remove_run_key(place)


@lru_cache(maxsize=8)
def _source(path: str, _stamp: tuple[int, int, int]) -> RandomSource:
    return RandomSource(load_run_key(Path(path)))


def keyed(key_file: str) -> RandomSource:
    """Return the randomness of a job on this host; the file is read once a process.

    Raises:
        ResumeError: If the file is not there, or others can read it.
    """
    try:
        facts = os.stat(key_file)
    except FileNotFoundError:
        problem = f"{key_file} is not on this host: the key must lie where every executor reads it under this path."
        raise ResumeError(problem) from None
    return _source(key_file, (facts.st_ino, facts.st_mtime_ns, facts.st_size))


def check_repeatable(sanitizer: Sanitizer) -> None:
    """Refuse noise that no retry could repeat, or that anyone can.

    Raises:
        ParameterError: If the mechanism has no name that holds in other processes, or the source is a test source.
    """
    if sanitizer.source.is_test_source:
        raise ParameterError("source", "<test source>", "must not draw the noise of a release; use a plain Sanitizer.")
    if pickle.loads(pickle.dumps(sanitizer)).parts.domain != sanitizer.parts.domain:  # noqa: S301 (our own bytes)
        problem = "must be a mechanism that can be named: a retry has to repeat its noise."
        raise ParameterError("mechanism", sanitizer.mechanism, problem)


def check_host(ours: dict[str, object], theirs: dict[str, object]) -> None:
    """Refuse to draw where the same key would give other noise than on the driver: a retry would release twice.

    Raises:
        ParameterError: If version, vocabulary, engine or another of `runs.fingerprint` differ; names which.
    """
    unlike = [name for name, value in ours.items() if theirs.get(name) != value]
    if unlike:
        told = "; ".join(f"{name} is {ours[name]!r} here and {theirs.get(name)!r} on the driver" for name in unlike)
        raise ParameterError("executor", told, "must be as on the driver, or a retried task would draw other noise.")
