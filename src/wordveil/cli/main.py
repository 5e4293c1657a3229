"""Entry point: turns errors into one line and an exit code; `exit_codes` says what each means."""

from __future__ import annotations

import _thread
import atexit
import gc
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wordveil.cli.common import say, told_of_commands
from wordveil.cli.exit_codes import INTERNAL_ERROR, INTERRUPTED, MISTAKE, READER_GONE
from wordveil.errors import WordveilError

SOON = 0.01  # seconds
OBJECTS_BETWEEN_COLLECTIONS = 10_000  # Python's own 700 or 2 000 are for programs that load fewer modules


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors print one line, unless --debug is given."""
    given = sys.argv[1:] if arguments is None else arguments
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started it: no other file may take its number
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
    # Garbage is collected less often, and not at exit: about 12 % of the time of a first sentence.
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)
    try:
        with _no_interrupt_lost(), _log_shown(asked="--debug" in given):
            from wordveil.cli.app import run

            run(given)
    except KeyboardInterrupt:
        said = (told_of_commands().get(word, {}).get("interrupted") for word in given)
        kept = next((f": {words}" for words in said if words), "")
        say(f"wordveil: interrupted{kept}.")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # What is left in the buffer of standard output has nobody to go to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(READER_GONE)
    except Exception as error:
        if "--debug" in given:
            raise
        if not isinstance(error, WordveilError | OSError):
            say(f"wordveil: {_internal(error)}")
            sys.exit(INTERNAL_ERROR)
        from wordveil.cli.app import option_names
        from wordveil.cli.wording import told

        say(f"wordveil: {told(error, option_names(given), given)}")
        sys.exit(MISTAKE)


@contextmanager
def _log_shown(*, asked: bool) -> Iterator[None]:
    """Show wordveil's own log on standard error: those of the libraries it uses might hold anything."""
    if not asked:
        yield
        return
    import logging

    shown = logging.StreamHandler()
    shown.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    log = logging.getLogger("wordveil")
    before = log.level
    log.addHandler(shown)
    log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        log.removeHandler(shown)
        log.setLevel(before)


def _internal(error: Exception) -> str:
    """Return the kind and place of an error nobody expected: its message may hold private text."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"internal error: {type(error).__name__} in {Path(place.filename).name}, line {place.lineno}. Its message is "
        "not shown because it may hold private text; `wordveil --debug ...` shows it."
    )


@contextmanager
def _no_interrupt_lost() -> Iterator[None]:
    """Deliver Ctrl-C again where Python raised it in a destructor or a weak-reference callback: these swallow it."""
    previous = sys.unraisablehook

    def repeat(lost: sys.UnraisableHookArgs) -> None:
        if lost.exc_type is KeyboardInterrupt:
            # Not at once: it would be raised, and be lost, in here.
            threading.Timer(SOON, _thread.interrupt_main).start()
        else:
            previous(lost)

    sys.unraisablehook = repeat
    try:
        yield
    finally:
        sys.unraisablehook = previous
