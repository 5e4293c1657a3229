"""A terminal shows lines wrapped at words, a warning in colour, and tables as they are; elsewhere every line is one."""

import io

import pytest

from wordveil.cli.printing import aligned, for_screen

LINE = "warning: " + "an observer may become 99 % sure of a word (exp(8)), or more; " * 3
TABLE = "name               promise    a long line of a table whose columns stand two blanks apart, left alone"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_a_terminal_gets_whole_words_and_a_warning_in_colour(narrow, monkeypatch):
    shown = for_screen(LINE, Terminal())
    assert shown.startswith("\033[1;33mwarning: \033[0m")
    monkeypatch.setenv("NO_COLOR", "1")
    plain = for_screen(LINE, Terminal())
    assert "\033" not in plain
    assert shown.replace("\033[1;33m", "").replace("\033[0m", "") == plain
    assert max(map(len, plain.splitlines())) <= 60
    assert plain.split() == LINE.split()


def test_whoever_reads_no_terminal_gets_each_line_on_one(narrow):
    assert (for_screen(LINE, io.StringIO()), for_screen(TABLE, Terminal())) == (LINE, TABLE)


def test_a_table_wraps_its_last_column():
    rows = [{"name": "tem", "paper": "Carvalho, Vasiloudis and Feyisetan 2021, Algorithm 2, and more " * 2}] * 2
    lines = aligned(rows, 50)
    assert max(map(len, lines)) <= 50
    assert " ".join(" ".join(lines).split()).count("Algorithm 2, and more") == 4
    assert aligned([{"a": "1", "b": ""}]) == ["a  b", "1"]
