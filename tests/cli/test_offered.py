"""Commands of other packages: listed and run where they are installed, named where they are not."""

import re
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from wordveil import plugins
from wordveil.cli.app import COMMANDS, LABORATORY, command_examples, offered_commands


@pytest.fixture
def entry_points(monkeypatch):
    """Install packages that offer these commands, name -> "MODULE:ATTRIBUTE", and no others."""

    def offered(**commands):
        points = [EntryPoint(name, value, "wordveil.commands") for name, value in commands.items()]
        monkeypatch.setattr(plugins, "_entry_points", lambda group: points if group == "commands" else [])

    return offered


def test_the_laboratory_brings_the_commands_that_a_mistake_names():
    commands = offered_commands(COMMANDS)
    assert set(commands) >= set(LABORATORY)
    assert {name: command.function for name, command in commands.items() if name in LABORATORY} == {
        name: f"wordveil_lab.commands.{name}:{name}" for name in LABORATORY
    }
    assert all(len(command_examples()[name]) == 2 for name in LABORATORY)


@pytest.mark.parametrize("name", LABORATORY)
def test_without_the_laboratory_its_commands_say_how_to_get_them(wordveil, entry_points, name):
    entry_points()
    for words in ([name], [name, "--help"], [name, "--json"]):
        answer = wordveil(*words)
        assert answer.status == 2
        assert answer.out == ""
        assert answer.err == (
            f"wordveil: wordveil {name} comes with the laboratory; install it with: "
            "pip install wordveil-lab (in a clone: pip install ./lab)\n"
        )
    assert f"  {name}  " not in wordveil("--help").out


def test_help_shows_what_is_offered_and_loads_none_of_it():
    program = "import sys; from wordveil.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    program += "print('LOADED', sorted(name for name in sys.modules if name.startswith(('wordveil_lab.', 'numpy'))))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "  evaluate  " in shown
    assert shown.endswith("LOADED ['wordveil_lab.offers']\n")


def test_a_command_of_wordveil_looks_for_no_other_package(wordveil, monkeypatch):
    def asked(group):
        raise AssertionError(group)

    monkeypatch.setattr(plugins, "_entry_points", asked)
    assert wordveil("demo", "--help").status == 0
    assert wordveil("sanitize", "no-such-file.txt").status == 2


def test_a_package_that_cannot_be_used_is_named(wordveil, entry_points):
    entry_points(broken="no_such_module:command", number="math:pi")
    assert "'broken' of the package an unnamed package cannot be loaded" in wordveil.refused("broken")
    assert "is no OfferedCommand of wordveil.api" in wordveil("number").err
    overview = wordveil.done("--help")
    assert re.findall(r"^  (\w+) +Cannot be used here", overview.out, flags=re.MULTILINE) == ["broken", "number"]


def test_no_package_takes_the_name_of_a_command_of_wordveil(entry_points):
    entry_points(sanitize="wordveil_lab.offers:bench", quick="wordveil_lab.offers:bench")
    assert set(offered_commands(COMMANDS)) == {"quick"}
