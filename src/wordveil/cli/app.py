"""The commands as typer knows them: help, mistakes and every use.

Loads only the module of the command that is used. A parameter whose type is a dataclass stands for a group of options:
its fields. Other packages bring commands, each under one line of its `pyproject.toml`:

    [project.entry-points."wordveil.commands"]
    evaluate = "wordveil_lab.offers:evaluate"

What stands there is an `OfferedCommand`. The overview shows its line without importing the function.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer
from typer import Option
from typer.core import TyperCommand

from wordveil import __version__
from wordveil.cli.common import told_of_commands
from wordveil.cli.exit_codes import DONE, INTERRUPTED, MISTAKE, READER_GONE
from wordveil.errors import WordveilError
from wordveil.plugins import foreign_points, load_foreign

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def declared(command: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return what a command takes, or a group of options, by name and each with its type: groups are taken apart."""
    hints = get_type_hints(command, include_extras=True)
    found: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        own = parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name])
        found |= declared(hints[name]) if is_dataclass(hints[name]) else {name: own}
    return found


def call(command: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Call a command with values by the names that are `declared`, put together into its groups."""
    hints = get_type_hints(command)
    taken = {}
    for name in inspect.signature(command).parameters:
        if is_dataclass(hints[name]):
            taken[name] = call(hints[name], values)
        elif name in values:
            taken[name] = values[name]
    return command(**taken)


def own_commands() -> dict[str, str]:
    """Return the line of each of wordveil's own commands in the overview."""
    return {name: said["line"] for name, said in told_of_commands().items() if "line" in said}


CONFIG = "WORDVEIL_CONFIG"
"""The variable that names a file of options where --config does not. There is none for a single option: such a variable
would change a release unseen, where a file is told of with what it says."""

USAGE_ERROR: Any = typer.BadParameter.__mro__[1]  # typer names only this one of the errors it raises
COMPLETION = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
"""Variables in which a shell that completes a command line says what was typed so far."""


class Command(TyperCommand):
    """A command that refuses an option given twice instead of taking the last, and whose help ends with examples."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples as they are typed: a wrapped command cannot be copied."""
        with formatter.section("Examples"):
            name = ctx.command_path.removeprefix("wordveil ")
            for example in told_of_commands().get(name, {}).get("examples") or command_examples().get(name, ()):
                formatter.write(f"  {example}\n")

    def _by_config(self, ctx: Any, name: str, value: Any) -> tuple[str, Any]:
        """Return an option of a file under its name in Python: named as it is typed, one value of several or a list."""
        if name == "again":
            raise USAGE_ERROR("The file of options cannot say again: a second release is asked for each time.", ctx)
        for param in self.params:
            if f"--{name}" in param.opts:
                several, flag = getattr(param, "multiple", False), getattr(param, "is_flag", False)
                values = value if several and isinstance(value, list) else [value]
                whole = param.type.name.startswith("int")  # such as 30, to which 30.9 would be cut
                allowed = (bool, str) if flag else (int, str) if whole else (int, float, str)
                if any(type(each) not in allowed for each in values):
                    wanted = "true or false" if flag else f"a {'whole ' if whole else ''}number or text"
                    raise USAGE_ERROR(f"The file of options gives {name} no value: it takes {wanted}.", ctx)
                return str(param.name), values if several else value
        known = [word[2:] for param in self.params for word in param.opts if word.startswith("--")]
        meant = "".join(f" Did you mean {each}?" for each in get_close_matches(name.replace("_", "-"), known, 1))
        raise USAGE_ERROR(f"The file of options names no option of this command: {name}.{meant}", ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as always, having told what a file of options says, and counted how often each option was given."""
        tables, others = ctx.parent.default_map or {}, getattr(ctx.parent.command, "commands", {})
        if unknown := [name for name in tables if name not in others]:
            raise USAGE_ERROR(f"The file of options names no command of {ctx.parent.command_path}: {unknown[0]}.", ctx)
        if not isinstance(named := ctx.default_map or {}, dict):
            raise USAGE_ERROR(f"The file of options gives {ctx.command_path} a value, and no table of options.", ctx)
        if named:
            ctx.default_map = dict(self._by_config(ctx, name, value) for name, value in named.items())
            if not {"-q", "--quiet"}.intersection(args):
                typer.echo(f"options by a file: {', '.join(named)}", err=True)
        parser = self.make_parser(ctx)
        _, _, order = parser.parse_args(args=list(args))
        single = (param for param in order if not getattr(param, "multiple", False) and param.nargs == 1)
        for param, times in Counter(single).items():
            if times > 1 and not getattr(param, "is_flag", False) and param.param_type_name == "option":
                raise USAGE_ERROR(f"{max(param.opts, key=len)} is given {times} times; give it once.", ctx)
        for param in order:  # neither list may take the place of the other: what is on it never leaves
            if getattr(param, "multiple", False) and param.name in (ctx.default_map or {}):
                raise USAGE_ERROR(f"{max(param.opts, key=len)} is given by --config, too; give it in one place.", ctx)
        rest: list[str] = super().parse_args(ctx, args)
        return rest


def command_lines() -> dict[str, str]:
    """Return the line of every command in the overview, wordveil's own first."""
    return own_commands() | {name: offer.line for name, offer in offered_commands(own_commands()).items()}


def command_examples() -> dict[str, Sequence[str]]:
    """Return the examples of every command."""
    own = {name: said["examples"] for name, said in told_of_commands().items() if "examples" in said}
    return own | {name: offer.examples for name, offer in offered_commands(own_commands()).items()}


def build_app(wanted: Sequence[str] | None = None) -> typer.Typer:
    """Return the command line with the wanted commands loaded, None for all, and the others present by name only."""
    own = own_commands()
    offers = {} if wanted and set(wanted) <= own.keys() else offered_commands(own)
    if missing := [name for name in LABORATORY if name in (wanted or ()) and name not in offers]:
        raise WordveilError(
            f"wordveil {missing[0]} comes with the laboratory; install it with: pip install wordveil-lab "
            "(in a clone: pip install ./lab)"
        )
    app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(_root)
    for name, line in (own | {name: offer.line for name, offer in offers.items()}).items():
        if wanted is not None and name not in wanted:
            app.command(name, help=line)(_not_loaded)
            continue
        if name in offers:
            app.command(name, cls=Command)(_declared(offers[name].load()))
            continue
        module = importlib.import_module(f"wordveil.cli.{name.replace('-', '_')}")
        if hasattr(module, "app"):
            app.add_typer(_group(module.app), name=name, help=line)
        else:
            app.command(name, cls=Command)(_declared(getattr(module, name.replace("-", "_"))))
    return app


def _wanted(words: Sequence[str]) -> list[str]:
    """Return the commands among the words of a command line; all words where the first is none of wordveil's own."""
    command = next((word for word in words if not word.startswith("-")), "")
    own = own_commands()
    return [word for word in words if word in own or command not in own]


def _not_loaded() -> None:
    raise AssertionError("the command's module was not loaded")  # main() loads every command that is named


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"wordveil {__version__}")
        raise typer.Exit


def _options_of(path: Path) -> dict[str, Any]:
    """Return the options that a file gives by command."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # no TOML, not even UTF-8, or nested without end
        raise WordveilError(f"{path} is no file of options, which is TOML with a table for each command.") from error
    for name, table in tables.items():
        if name not in command_lines() or not isinstance(table, dict):
            raise WordveilError(f"{path}: [{name}] must be a table of options, named by a command such as [redact].")
    return tables


def _root(
    ctx: typer.Context,
    config: Annotated[
        list[Path] | None,
        Option(metavar="FILE", help=f"Options by command, in TOML: epsilon = 7 under [sanitize]. Or {CONFIG}."),
    ] = None,
    version: bool = Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
    debug: bool = Option(False, "--debug", help="Show the log of the run, and a traceback of an error."),
) -> None:
    """Release text with a stated, checkable privacy guarantee."""
    if config and len(config) > 1:
        raise USAGE_ERROR(f"--config is given {len(config)} times; give it once.", ctx)
    if files := config or [Path(name) for name in [os.environ.get(CONFIG)] if name]:
        ctx.default_map = _options_of(files[0])


def _declared(command: Callable[..., int | None]) -> Callable[..., int | None]:
    def run(**values: Any) -> int | None:
        status: int | None = call(command, values)
        return status

    options = list(declared(command).values())
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {own.name: own.annotation for own in options}
    vars(run)["__signature__"] = inspect.Signature(options)
    return run


def _group(app: typer.Typer) -> typer.Typer:
    for command in app.registered_commands:
        command.callback = _declared(cast(Callable[..., int | None], command.callback))
    for group in app.registered_groups:
        _group(cast(typer.Typer, group.typer_instance))
    return app


def option_names(given: Sequence[str]) -> dict[str, str]:
    """Return, of the command that was called, the name of every option by its name in Python; none of an absent one."""
    try:
        command: Any = typer.main.get_command(build_app(_wanted(given)))
    except WordveilError:
        return {}
    for word in given:
        if word in getattr(command, "commands", {}):
            command = command.commands[word]
    shown = {param.name: max(param.opts, key=len) for param in command.params if param.param_type_name == "option"}
    return {name.rstrip("_").removeprefix("no_"): option for name, option in shown.items()}


def run(given: list[str]) -> None:
    """Run the commands; a wrong use of the command line is told in one line, like any other error."""
    typed = [word for name in COMPLETION for word in os.environ.get(name, "").split()]
    app = build_app(_wanted((*given, *typed)))
    try:
        status = app(args=given, prog_name="wordveil", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as ended:  # 0 after a completion; else its answer to a broken pipe
        sys.exit(READER_GONE if ended.code else DONE)
    except USAGE_ERROR as error:
        # Some versions of typer ask twice whether another command was meant.
        message = re.sub(r"(Did you mean [^?]*\?)(?: \1)+", r"\1", error.format_message())
        asked_for_help = "\n" in message  # a group without a command answers with its help
        command = "wordveil" if error.ctx is None else error.ctx.command_path
        stop = "" if message.endswith((".", "?")) else "."
        typer.echo(message if asked_for_help else f"wordveil: {message}{stop} See: {command} --help", err=True)
        sys.exit(MISTAKE)
    if status == INTERRUPTED:  # newer typer versions answer an interrupt with a status, older ones abort
        raise KeyboardInterrupt
    sys.exit(status if isinstance(status, int) else DONE)


LABORATORY = ("bench", "evaluate", "reproduce", "score")
"""Commands of the package wordveil-lab, which a mistake names where it is not installed."""

UNUSABLE = "Cannot be used here; calling it says why."


@dataclass(frozen=True, kw_only=True)
class OfferedCommand:
    """A command of another package, under the name of its entry point.

    Attributes:
        function: "MODULE:NAME" of what runs, declared like wordveil's own commands (`wordveil.cli.app`).
        line: What the overview says of it, at most 55 characters.
        examples: Two commands as they are typed, for the end of its help.
        problem: Why it cannot be used; the others can.
    """

    function: str
    line: str
    examples: tuple[str, ...] = ()
    problem: str = ""

    def load(self) -> Callable[..., int | None]:
        if self.problem:
            raise WordveilError(self.problem)
        module, _, name = self.function.partition(":")
        function: Callable[..., int | None] = getattr(importlib.import_module(module), name)
        return function


def offered_commands(own: Collection[str]) -> dict[str, OfferedCommand]:
    """Return the commands of other packages by name, none one of wordveil's own; reads every installed package."""
    return {name: _offered(points) for name, points in foreign_points("commands", own).items()}


def _offered(points: Sequence[EntryPoint]) -> OfferedCommand:
    try:
        command, where = load_foreign(points)
    except WordveilError as error:
        return OfferedCommand(function="", line=UNUSABLE, problem=str(error))
    if isinstance(command, OfferedCommand):
        return command
    return OfferedCommand(function="", line=UNUSABLE, problem=f"{where} is no OfferedCommand of wordveil.api.")
