"""A plain use of a command is read without typer, to the same values; everything else is left to typer."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.main import get_command

from wordveil.cli.app import build_app
from wordveil.cli.options import declared, plain_use
from wordveil.cli.sanitize import sanitize

PLAIN = [
    [],
    ["in.txt"],
    ["-"],
    ["in.jsonl", "-o", "out.jsonl", "-c", "a", "--column", "b.c", "-q"],
    ["--epsilon", "3.5", "--threads=2", "in.txt", "--no-header", "--output=-"],
    ["--set", "k=4", "--set=lists=crowds", "--report", "r.html", "--block-tokens", "1000"],
]
ODD = [
    ["--help"],
    ["in.txt", "--no-such-option"],
    ["in.txt", "--epsilon"],
    ["in.txt", "--epsilon", "much"],
    ["in.txt", "--epsilon", "-3"],
    ["in.txt", "--quiet=yes"],
    ["in.txt", "--quiet", "--quiet"],
    ["in.txt", "-e", "1", "--epsilon", "2"],
    ["one.txt", "two.txt"],
    ["--", "in.txt"],
    ["-qe", "3"],
]


def by_typer(arguments):
    """What typer calls the function with."""
    command = get_command(build_app(["sanitize"])).commands["sanitize"]
    return command.make_context("sanitize", list(arguments)).params


@pytest.mark.parametrize("arguments", PLAIN, ids=" ".join)
def test_a_plain_use_means_what_it_means_to_typer(arguments):
    defaults = {name: own.default for name, own in declared(sanitize).items()}
    taken = defaults | plain_use(sanitize, arguments)
    called = {name: list(own) or None if isinstance(own, tuple) else own for name, own in by_typer(arguments).items()}
    assert taken == called
    assert isinstance(taken["report"], Path | None)


@pytest.mark.parametrize("arguments", ODD, ids=" ".join)
def test_every_other_use_is_left_to_typer(arguments):
    assert plain_use(sanitize, arguments) is None
