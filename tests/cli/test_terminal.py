"""At a terminal of one's own (a pseudo-terminal): questions, the keyboard as input, and a bar that spoils no text."""

import os
import pty
import re
import select
import subprocess
import time

import pytest
from tests.cli.conftest import PROGRAM

pytestmark = pytest.mark.slow

GERMAN = (
    "Frau Müller klagt seit drei Wochen über starke Kopfschmerzen und nimmt täglich ein Schmerzmittel.\n"
    "Sie wurde gestern in der Klinik untersucht, aber die Ärzte fanden nichts Auffälliges.\n"
)
ENGLISH = "She has had bad headaches for three weeks and takes a painkiller every day.\n" * 3
DOUBT = "this does not look like English text"
QUESTION = "Release it? [y/N] "
KEYBOARD = "reading the keyboard"
BARS = "━╸╺"


class Terminal:
    """A command with a terminal for some of its streams; what it prints there is `seen`."""

    def __init__(self, *arguments, terminal=("stdin", "stdout", "stderr")):
        self.here, there = pty.openpty()
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | dict.fromkeys(terminal, there)
        self.process = subprocess.Popen(
            [*PROGRAM, *map(str, arguments)], **streams, env={**os.environ, "TERM": "xterm"}
        )
        os.close(there)
        self.seen = ""

    def read(self, until=None, seconds=60.0):
        """Read until the text was seen, or the command has ended."""
        end = time.monotonic() + seconds
        while until is None or until not in self.seen:
            assert time.monotonic() < end, self.seen
            if not select.select([self.here], [], [], 1.0)[0]:
                continue
            try:
                data = os.read(self.here, 4096)
            except OSError:  # nobody is at the other side any more
                data = b""
            if not data:
                assert until is None, self.seen
                break
            self.seen += data.decode(errors="replace")
        return self.seen

    def type(self, text):
        os.write(self.here, text.encode())

    def end(self):
        """Return the exit status after everything was read."""
        self.read()
        os.close(self.here)
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture
def german(tmp_path):
    path = tmp_path / "german.txt"
    path.write_text(GERMAN)
    return path


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("yes\n", 0), ("n\n", 2), ("\n", 2), ("\x04", 2)])
def test_a_person_at_the_terminal_decides_on_text_of_another_language(german, tmp_path, answer, status):
    terminal = Terminal("sanitize", german, "-o", tmp_path / "out.txt")
    assert DOUBT in terminal.read(QUESTION)
    assert not (tmp_path / "out.txt").exists()
    terminal.type(answer)
    assert terminal.end() == status
    assert (tmp_path / "out.txt").exists() == (status == 0)
    assert ("stopped before it was released" in terminal.seen) == (status == 2)
    left = {path.name for path in tmp_path.iterdir()} - {"german.txt", "out.txt", ".out.txt.release"}
    assert not left  # no key, no journal, nothing unfinished
    after = terminal.seen.partition(QUESTION)[2]
    assert "Kopfschmerzen" not in after
    assert terminal.seen.count(QUESTION) == 1


def test_a_person_at_the_terminal_decides_on_a_promise_that_hides_nothing(tmp_path):
    (tmp_path / "in.txt").write_text(ENGLISH)
    terminal = Terminal("sanitize", tmp_path / "in.txt", "-o", tmp_path / "out.txt", "-e", 50)
    assert "this promise hides nothing" in terminal.read(QUESTION)
    terminal.type("y\n")
    assert terminal.end() == 0
    assert (tmp_path / "out.txt").read_text().count("\n") == 3


def test_an_answer_before_which_ctrl_c_is_pressed_releases_nothing_and_is_asked_for_again(german, tmp_path):
    arguments = ["sanitize", german, "-o", tmp_path / "out.txt"]
    terminal = Terminal(*arguments)
    terminal.read(QUESTION)
    terminal.process.send_signal(2)
    assert terminal.end() == 130
    assert not (tmp_path / "out.txt").exists()
    again = Terminal(*arguments, "--resume")
    again.read(QUESTION)
    again.type("n\n")
    assert again.end() == 2


@pytest.mark.parametrize("terminal", [("stdin",), ("stderr",), ()])
def test_nobody_is_asked_where_nobody_can_answer(german, tmp_path, terminal):
    command = ["sanitize", german, "-o", tmp_path / "out.txt"]
    asked = Terminal(*command, terminal=terminal)
    seen = asked.process.communicate(timeout=60)[1]
    seen = (seen or b"").decode() + (asked.read() if "stderr" in terminal else "")
    assert asked.process.returncode == 2
    assert DOUBT in seen
    assert "--yes" in seen
    assert QUESTION not in seen
    assert not (tmp_path / "out.txt").exists()


def test_what_is_typed_is_no_answer(tmp_path):
    terminal = Terminal("sanitize", "-o", tmp_path / "out.txt")
    assert KEYBOARD in terminal.read(KEYBOARD)
    terminal.type(GERMAN + "y\n\x04")
    assert terminal.end() == 2
    assert DOUBT in terminal.seen
    assert QUESTION not in terminal.seen
    assert not (tmp_path / "out.txt").exists()


def test_the_keyboard_is_named_where_it_is_read_and_no_bar_is_drawn(tmp_path):
    terminal = Terminal("sanitize")
    told = terminal.read(KEYBOARD + ", a document a line; end with Ctrl-D at the start of a line, or give a file")
    terminal.type(ENGLISH + "\x04")
    assert terminal.end() == 0
    assert "guarantee: local DP" in terminal.seen
    assert not set(BARS) & set(terminal.seen), told
    (tmp_path / "in.txt").write_text(ENGLISH)
    quiet = Terminal("sanitize", "-q")
    quiet.type(ENGLISH + "\x04")
    assert quiet.end() == 0
    assert KEYBOARD not in quiet.seen
    piped = Terminal("sanitize", terminal=("stdout", "stderr"))
    piped.process.stdin.write(ENGLISH.encode())
    piped.process.stdin.close()
    piped.process.stdin = None
    assert piped.end() == 0
    assert KEYBOARD not in piped.seen


def test_no_bar_is_drawn_where_the_text_goes_to_the_terminal(tmp_path):
    (tmp_path / "in.txt").write_text(ENGLISH)
    terminal = Terminal("sanitize", tmp_path / "in.txt")
    assert terminal.end() == 0
    assert "guarantee: local DP" in terminal.seen
    assert not set(BARS) & set(terminal.seen)
    assert set(re.findall(r"\x1b\[[\d;]*[A-Za-z]", terminal.seen)) <= {"\x1b[1;33m", "\x1b[0m"}  # of a warning
    elsewhere = Terminal("rephrase", tmp_path / "in.txt", "-o", tmp_path / "out.txt")
    assert elsewhere.end() == 0
    assert set(BARS) & set(elsewhere.seen)


def test_a_bar_gives_way_to_a_question(tmp_path):
    """The files of a tree are judged together: the bar stands there when the question comes."""
    (tmp_path / "in").mkdir()
    words = GERMAN.split()
    for i in range(len(words) // 2):
        (tmp_path / "in" / f"{i:02}.txt").write_text(" ".join(words[2 * i : 2 * i + 2]) + "\n")
    terminal = Terminal("sanitize", tmp_path / "in", "-o", tmp_path / "out")
    terminal.read(QUESTION)
    assert not select.select([terminal.here], [], [], 1.0)[0]  # a bar is drawn ten times a second
    terminal.type("y\n")
    assert terminal.end() == 0
    assert terminal.seen.count(QUESTION) == 1
    assert len(list((tmp_path / "out").iterdir())) == len(words) // 2


def test_an_audit_says_at_a_terminal_what_it_does_and_its_result_stands_alone():
    few = ["audit", "-m", "neighbours", "--words", 100, "--samples", 200]
    terminal = Terminal(*few, terminal=("stderr",))
    terminal.read()
    result = terminal.process.stdout.read().decode()
    assert terminal.end() == 0
    assert result.startswith("NOT REFUTED: neighbours(), over 100 words\n")
    for step in ("fitting, and checking", "noise is fresh", "pair 6 of 6: 200 samples", "192 of 200 words attacked"):
        assert (step in terminal.seen, step in result) == (True, False)
