"""Progress bars on standard error, drawn only where somebody watches: on a terminal.

Each yields a callback, or None where nothing is drawn, so that the library is not even asked to report. Rich is loaded
only when it draws.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

__all__ = ["count_bar", "document_bar", "row_bar"]


def _watched(quiet: bool) -> bool:
    return sys.stderr.isatty() and not quiet


def _bar(*columns: ProgressColumn) -> Progress:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def count_bar(unit: str) -> Iterator[Callable[[int], None] | None]:
    """Yield a callback that adds to a count of `unit`."""
    if not _watched(quiet=False):
        yield None
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    with _bar(SpinnerColumn(), TextColumn("{task.completed:,.0f} " + unit), TimeElapsedColumn()) as bar:
        task = bar.add_task("", total=None)
        yield lambda done: bar.advance(task, done)


@contextmanager
def row_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a callback for (rows done, rows in all), with the time left."""
    if not _watched(quiet):
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    with _bar(BarColumn(), MofNCompleteColumn(), TextColumn(what), TimeRemainingColumn()) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def document_bar(*, quiet: bool) -> Iterator[Callable[[int, int | None, int, int], None] | None]:
    """Yield a callback for (bytes read, bytes in all, documents, tokens), with tokens per second and the time left."""
    if not _watched(quiet):
        yield None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[documents]:,} documents, {task.fields[rate]:,.0f} tokens/s"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with _bar(*columns) as bar:
        task = bar.add_task("", total=None, documents=0, rate=0.0)

        def show(done: int, total: int | None, documents: int, tokens: int) -> None:
            rate = tokens / (bar.tasks[0].elapsed or 1.0)
            bar.update(task, completed=done, total=total, documents=documents, rate=rate)

        yield show
