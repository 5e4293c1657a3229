"""Asks the owner of the input whether to go on after a warning: `--yes`, or y at a terminal."""

from __future__ import annotations

import sys
from typing import TextIO

from wordveil.cli.common import say
from wordveil.cli.progress import paused
from wordveil.errors import NotConfirmedError

__all__ = ["confirm", "is_terminal"]


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is there, and a person is at it."""
    return stream is not None and stream.isatty()


def confirm(doubt: str, *, yes: bool, quiet: bool = False, source: str = "") -> None:
    """Say what is doubtful, and go on only where the owner wants it.

    Args:
        doubt: A whole sentence without text of the input.
        yes: Whether that was said on the command line.
        quiet: Say nothing of what was confirmed on the command line.
        source: The input; where it is typed at this terminal, an answer could not be told from it.

    Raises:
        NotConfirmedError: If the owner says no, or cannot be asked.
    """
    if yes and quiet:
        return
    with paused():
        say(f"warning: {doubt}")
        if yes:
            return
        if source == "-" or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
            raise NotConfirmedError("stopped before it was released; to go on, give the same command with --yes.")
        print("Release it? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise NotConfirmedError("stopped before it was released.")
