"""Asks the owner of the input whether to go on after a warning: `--yes`, or y at a terminal."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from wordveil.cli.common import say
from wordveil.cli.progress import paused
from wordveil.errors import ForeignTextWarning, NotConfirmedError

if TYPE_CHECKING:
    import os

    from wordveil.errors import InputWarning
    from wordveil.sanitizing.input_watch import InputWatch
    from wordveil.sanitizing.sanitizer import Sanitizer


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Who owns the input, at a terminal or not."""

    source: str
    yes: bool
    quiet: bool

    def confirm(self, doubt: str) -> None:
        """Say what is doubtful, in a whole sentence without text of the input, and go on only where that is wanted."""
        if self.yes and self.quiet:
            return
        with paused():
            say(f"warning: {doubt}")
            if self.yes:
                return
            if self.source == "-" or not (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
                raise NotConfirmedError("stopped before it was released; to go on, give the same command with --yes.")
            print("Release it? [y/N] ", end="", file=sys.stderr, flush=True)
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                raise NotConfirmedError("stopped before it was released.")

    def check_strength(self, sanitizer: Sanitizer, output: str | os.PathLike[str], *, resume: bool) -> None:
        """Ask about a promise that hides nothing, but not where a run is resumed: that was decided on.

        With `--yes` nothing is said here, because the summary says it.
        """
        from wordveil.files.journal import is_resumable
        from wordveil.runs.warnings import HIDES_NOTHING

        words = sanitizer.in_words
        if words.hides_nothing and not self.yes and not (resume and is_resumable(output)):
            self.confirm(f"{HIDES_NOTHING} ({words.sentence}).")

    def watch(self, sanitizer: Sanitizer) -> InputWatch:
        """Return what looks at texts before they are released, and asks about those that look like another language."""

        def warn(warning: InputWarning) -> None:
            if isinstance(warning, ForeignTextWarning):
                self.confirm(str(warning))
            else:
                say(f"warning: {warning}")

        return sanitizer.watch(warn)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()
