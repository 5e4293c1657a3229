"""Entry point: loads only the module of the command that is used, and turns errors into one line and an exit code.

2 is a mistake of the user or of the file, 70 one of wordveil itself, 130 Ctrl-C, 141 a reader that has gone. None is 1,
by which `wordveil audit` says that a claim is refuted.
"""

from __future__ import annotations

import _thread
import atexit
import gc
import importlib
import re
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from wordveil import __version__
from wordveil.cli.usage import USAGE_ERROR, Command
from wordveil.cli.wording import told
from wordveil.errors import WordveilError

__all__ = ["build_app", "main"]

COMMANDS: dict[str, str] = {
    "sanitize": "Sanitize text files, tables, a directory or standard input.",
    "report": "Check that a file is what a report of sanitize speaks of.",
    "release": "Release an array of vectors, rounded to a public grid.",
    "vocabulary": "Import, inspect and query vocabularies.",
    "mechanisms": "List mechanisms with promise, standing and paper.",
    "explain": "Explain a guarantee in plain words, with worked word pairs.",
    "calibrate": "Find the epsilon at which a typical word stays with a given probability.",
    "certify": "Certify a rate on a vocabulary, or repeat a certificate.",
    "audit": "Find out what a mechanism really promises; exit code 1 where refuted.",
    "evaluate": "Compare mechanisms at equal promise: utility, attacks and measures in one table.",
    "reproduce": "Repeat a paper's results beside its own numbers.",
    "train": "Train a rewriter or a classifier behind the noise (extra: torch).",
    "rewrite": "Rewrite private text with a trained rewriter (extra: torch).",
    "bench": "Measure tokens per second against this machine's own product rate.",
}
"""Command -> its line in the overview; `wordveil.cli.NAME` holds a function NAME, or `app` for a group."""


INTERNAL_ERROR = 70
INTERRUPTED = 130
READER_GONE = 141
SOON = 0.01  # seconds
OBJECTS_BETWEEN_COLLECTIONS = 10_000  # Python's own 700 or 2 000 are for programs that load fewer modules
RUN = "where input and output are files, the same command with --resume continues"
AFTER_INTERRUPTION = {
    "sanitize": RUN,
    "release": RUN,
    "rewrite": RUN,
    "certify": "with --checkpoint FILE, the same command continues from what FILE holds",
    "evaluate": "the same command continues; finished cells are kept",
    "vocabulary": "no vocabulary was written",
}
"""Command -> what became of its work, where there is something to say."""


def build_app(wanted: Sequence[str] = tuple(COMMANDS)) -> typer.Typer:
    """Return the command line with the wanted commands loaded and the others present by name only."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(_root)
    for name, line in COMMANDS.items():
        if name not in wanted:
            app.command(name, help=line)(_not_loaded)
            continue
        module = importlib.import_module(f"wordveil.cli.{name}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name, help=line)
        else:
            app.command(name, cls=Command)(getattr(module, name))
    return app


def _not_loaded() -> None:
    raise AssertionError("the command's module was not loaded")  # main() loads every command that is named


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"wordveil {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
    debug: bool = typer.Option(False, "--debug", help="Show a traceback instead of a one-line error."),
) -> None:
    """Release text with a stated, checkable privacy guarantee."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors print one line, unless --debug is given."""
    given = sys.argv[1:] if arguments is None else arguments
    _collect_less()
    app = build_app([word for word in given if word in COMMANDS])
    try:
        with _no_interrupt_lost():
            _run(app, given)
    except KeyboardInterrupt:
        kept = next((f": {AFTER_INTERRUPTION[word]}" for word in given if word in AFTER_INTERRUPTION), "")
        typer.echo(f"wordveil: interrupted{kept}.", err=True)
        sys.exit(INTERRUPTED)
    except Exception as error:
        if "--debug" in given:
            raise
        expected = isinstance(error, WordveilError | OSError)
        line = told(error, _options(app, given), given) if expected else _internal(error)
        typer.echo(f"wordveil: {line}", err=True)
        sys.exit(2 if expected else INTERNAL_ERROR)


def _collect_less() -> None:
    """Collect garbage less often and not at exit; this saves about 12 % of the time of a first sentence."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)


def _options(app: typer.Typer, given: Sequence[str]) -> dict[str, str]:
    """Return, of the command that was called, the name of every option by its name in Python."""
    command: Any = typer.main.get_command(app)
    for word in given:
        if word in getattr(command, "commands", {}):
            command = command.commands[word]
    shown = {param.name: max(param.opts, key=len) for param in command.params if param.param_type_name == "option"}
    return {name.rstrip("_"): option for name, option in shown.items()}


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


def _run(app: typer.Typer, given: list[str]) -> None:
    """Run the commands; a wrong use of the command line is told in one line, like any other error."""
    try:
        status = app(args=given, prog_name="wordveil", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit:  # its answer to a broken pipe, and to nothing else outside its standalone mode
        sys.exit(READER_GONE)
    except USAGE_ERROR as error:
        # Some versions of typer ask twice whether another command was meant.
        message = re.sub(r"(Did you mean [^?]*\?)(?: \1)+", r"\1", error.format_message())
        asked_for_help = "\n" in message  # a group without a command answers with its help
        command = "wordveil" if error.ctx is None else error.ctx.command_path
        stop = "" if message.endswith((".", "?")) else "."
        typer.echo(message if asked_for_help else f"wordveil: {message}{stop} See: {command} --help", err=True)
        sys.exit(2)
    if status == INTERRUPTED:  # newer typer versions answer an interrupt with a status, older ones abort
        raise KeyboardInterrupt
    sys.exit(status if isinstance(status, int) else 0)
