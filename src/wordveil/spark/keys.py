"""The key of a Spark job: a 0600 file that driver and executors read by its path, which is all that a plan holds."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from wordveil.errors import ParameterError, ResumeError
from wordveil.files.atomic import write_whole
from wordveil.files.run_key import load_run_key, remove_run_key, save_run_key
from wordveil.randomness import RandomSource
from wordveil.sanitizing.sanitizer import Sanitizer


@contextmanager
def run_key(path: str | os.PathLike[str]) -> Iterator[str]:
    """Make a job's key, or take up the one that an interrupted job left, and destroy it when the block succeeds.

    Write the released frame inside the block. After a failure the key stays, so that the same job, started again, gives
    the same bytes; whoever reads it can remove the noise until then. Beside it lies `<key>.noise`: what decided the
    noise of each release under it, so that a job started again on another version or arithmetic is refused.

    Args:
        path: A file that every executor can read under this path: on a shared disk, or a mounted secret.

    Yields:
        The path, for `key_file`.

    Raises:
        ResumeError: If others can read the key that is there, or an earlier version left it.
    """
    place = Path(path).absolute()
    if place.exists():
        load_run_key(place)
        if not _facts_of(place).exists():
            problem = "is of a job of an earlier version, under which this one would draw other noise"
            raise ResumeError(f"{place} {problem}: {_REMEDY.format(place)}")
    else:
        write_whole(_facts_of(place), b"{}", private=True)
        save_run_key(place, RandomSource().export_key())
    yield str(place)
    remove_run_key(place)
    _facts_of(place).unlink(missing_ok=True)


_REMEDY = (
    "start the job again on the version and arithmetic that it began on. Or delete {0}, and begin another job: what "
    "the first one wrote and what this one writes are then two releases."
)


def _facts_of(key_file: Path) -> Path:
    return key_file.with_name(f"{key_file.name}.noise")


def check_same_job(key_file: str, release: Sequence[str], noise: Mapping[str, object]) -> None:
    """Write down what decides the noise of a release under a key of `run_key`, or hold it against an earlier attempt's.

    Raises:
        ResumeError: If the attempt before had another version, arithmetic, vocabulary or setting; names which.
    """
    facts = _facts_of(Path(key_file))
    if not facts.exists():  # a key of the caller's own, who keeps it
        return
    written, place = json.loads(facts.read_bytes()), json.dumps(release)
    ours = json.loads(json.dumps(dict(noise)))
    if place not in written:
        write_whole(facts, json.dumps({**written, place: ours}).encode("ascii"), private=True)
    elif unlike := _unlike(ours, written[place], "when the job began"):
        raise ResumeError(
            f"The key {key_file} has drawn this release already, otherwise: {unlike}. To retry, "
            f"{_REMEDY.format(key_file)} A release of its own under this key takes another name=."
        )


@lru_cache(maxsize=8)
def _source(path: str, _stamp: tuple[int, int, int]) -> RandomSource:
    return RandomSource(load_run_key(Path(path)))


def keyed(key_file: str) -> RandomSource:
    """Return the randomness of a job on this host; the file is read once a process."""
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


def check_host(ours: Mapping[str, object], theirs: Mapping[str, object]) -> None:
    """Refuse to draw where the same key would give other noise than on the driver: a retry would release twice."""
    if unlike := _unlike(ours, theirs, "on the driver"):
        raise ParameterError("executor", unlike, "must be as on the driver, or a retried task would draw other noise.")


def _unlike(ours: Mapping[str, object], theirs: Mapping[str, object], there: str) -> str:
    names = [name for name, value in ours.items() if theirs.get(name) != value]
    return "; ".join(f"{name} is {ours[name]!r} here and {theirs.get(name)!r} {there}" for name in names)
