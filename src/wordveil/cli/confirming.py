"""Asks the owner of the input whether to go on after a warning: `--yes`, or y at a terminal."""

from __future__ import annotations

import sys
from typing import TextIO

from wordveil.cli.common import say
from wordveil.cli.progress import paused
from wordveil.errors import NotConfirmedError


def confirm(doubt: str, source: str, *, yes: bool, quiet: bool) -> None:
    """Say what is doubtful, in a whole sentence without text of the input, and go on only where that is wanted."""
    if yes and quiet:
        return
    with paused():
        say(f"warning: {doubt}")
        if yes:
            return
        if source == "-" or not (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
            raise NotConfirmedError("stopped before it was released; to go on, give the same command with --yes.")
        print("Release it? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise NotConfirmedError("stopped before it was released.")


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()
