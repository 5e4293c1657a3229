"""Progress on standard error: a bar on a terminal, elsewhere a line every half minute.

Each yields a callback, or None where nothing is shown, so that the library is not even asked to report. Rich is loaded
only when it draws. The time left is what the mean speed so far makes of the rest, so that it is there from the first
report on. Nothing is drawn where the text itself comes from the terminal or goes to it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

KEYBOARD = "reading the keyboard, a document a line; end with Ctrl-D at the start of a line, or give a file"
_drawn: list[Progress] = []
"""The bar on the screen, if any."""

EVERY = 30.0
"""Seconds between two lines where nobody watches a terminal."""


def clock(seconds: float) -> str:
    """Return seconds as h:mm:ss."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def _measured(done: float, total: float | None, elapsed: float) -> tuple[str, str]:
    """Return which share is done, and how long the rest takes at the mean speed so far; nothing without a total."""
    if not total:
        return "", ""
    left = "?" if done <= 0 else clock(elapsed * max(0.0, total - done) / done)
    return f"{done / total:.0%}, ", f", {left} left"


class _Lines:
    """Says what is done, at most every `EVERY` seconds."""

    def __init__(self) -> None:
        self._begun = self._said = time.monotonic()

    def __call__(self, done: float, total: float | None, what: str) -> None:
        now = time.monotonic()
        if now - self._said < EVERY:
            return
        self._said = now
        share, left = _measured(done, total, now - self._begun)
        print(f"{share}{what}, {clock(now - self._begun)}{left}", file=sys.stderr, flush=True)


@contextmanager
def paused() -> Iterator[None]:
    """Take the bar off the screen for as long as a question stands there."""
    for bar in _drawn:
        bar.stop()
    yield
    for bar in _drawn:
        bar.start()


@contextmanager
def count_bar(unit: str) -> Iterator[Callable[[int], None]]:
    """Yield a callback that adds to a count of `unit`."""
    with _share_bar(quiet=False) as show:
        counted = 0

        def count(done: int) -> None:
            nonlocal counted
            counted += done
            if show is not None:
                show(counted, None, f"{counted:,} {unit}")

        yield count


@contextmanager
def row_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a callback for (rows done, rows in all), with the time left."""
    with _share_bar(quiet=quiet) as show:
        yield None if show is None else lambda done, total: show(done, total, f"{done:,} of {total:,} {what}")


@contextmanager
def step_bar() -> Iterator[Callable[[str], None]]:
    """Yield a callback for what is being done. No thread redraws the bar, so that work in between may fork."""
    with _share_bar(quiet=False, redrawn=False) as show:
        yield lambda step: None if show is None else show(0, None, step)


@contextmanager
def document_bar(
    source: str, output: str, *, quiet: bool
) -> Iterator[Callable[[int, int | None, int, int], None] | None]:
    """Yield a callback for (bytes read, bytes in all, documents, tokens), with tokens per second and the time left."""
    begun = time.monotonic()
    typed = source == "-" and sys.stdin is not None and sys.stdin.isatty()
    printed = output == "-" and sys.stdout is not None and sys.stdout.isatty()
    if typed and not quiet:
        print(KEYBOARD, file=sys.stderr, flush=True)

    def worded(documents: int, tokens: int) -> str:
        rate = tokens / max(time.monotonic() - begun, 1e-9)
        return f"{documents:,} documents, {rate:,.0f} tokens/s"

    with _share_bar(quiet=quiet or typed or printed) as show:
        if show is None:
            yield None
        else:
            yield lambda done, total, documents, tokens: show(done, total, worded(documents, tokens))


@contextmanager
def _share_bar(*, quiet: bool, redrawn: bool = True) -> Iterator[Callable[[float, float | None, str], None] | None]:
    if quiet or not sys.stderr.isatty():
        yield None if quiet else _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TextColumn("{task.fields[left]}")
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=redrawn) as bar:
        task = bar.add_task("", total=None, left="")

        def show(done: float, total: float | None, words: str) -> None:
            share, left = _measured(done, total, bar.tasks[0].elapsed or 0.0)
            words, left = f"{share}{words}", left.removeprefix(", ")
            bar.update(task, completed=done, total=total, refresh=not redrawn, description=words, left=left)

        _drawn.append(bar)
        try:
            yield show
        finally:
            _drawn.remove(bar)
