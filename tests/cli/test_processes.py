"""Whole processes: pipes, signals, resume after a kill, and files that other programs made."""

import re
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest
from tests.beside import names
from tests.cli.conftest import PROGRAM

import wordveil as wv
from wordveil.files.journal import journal_path
from wordveil.files.run_key import run_key_path

pytestmark = pytest.mark.slow


def test_a_first_sentence_needs_no_scipy_and_waits_for_no_whole_garbage_collection(tmp_path):
    (tmp_path / "note.txt").write_text("Maria lives here.")
    program = (
        "import atexit, gc, sys\nfrom wordveil.cli.main import main\n"
        "atexit.register(lambda: print(\n"
        "    sorted({'scipy', 'wordveil.certification', 'sklearn', 'rich'} & set(sys.modules)),\n"
        "    gc.get_stats()[2]['collections'], gc.get_freeze_count() > 10_000))\n"
        "main(sys.argv[1:])"
    )
    arguments = ["sanitize", str(tmp_path / "note.txt"), "-o", str(tmp_path / "out.txt"), "--quiet"]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[] 0 True"


def test_a_pipe_gives_one_line_for_each_line(process):
    done = process("sanitize", "--epsilon", 4, data=b"Maria lives here, at 12 Elm St.\n\nMail m.k@clinic.de\n")
    assert done.returncode == 0
    lines = done.stdout.decode().split("\n")
    assert len(lines) == 4
    assert lines[1] == lines[3] == ""
    assert b"clinic" not in done.stdout
    assert re.search(rb"@\S+\.(com|net|org)\n$", done.stdout)
    assert b"guarantee: local DP" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("closed", "command"), [("2>&-", "redact note.txt -o out.txt"), (">&-", "mechanisms")])
def test_a_stream_that_is_closed_is_no_internal_error(closed, command, tmp_path):
    (tmp_path / "note.txt").write_text("The house is old.")
    line = f'exec "$@" {command} {closed}'
    assert subprocess.run(["sh", "-c", line, "sh", *PROGRAM], cwd=tmp_path).returncode == 0


def test_a_night_without_its_key_makes_no_other(tmp_path):
    (tmp_path / "nights").mkdir()
    (tmp_path / "nights" / "2026-03-05.csv").write_text("released")
    script = Path(__file__).parents[2] / "examples" / "nightly.sh"
    done = subprocess.run(["bash", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, "Restore it" in done.stderr) == (2, True)
    assert not (tmp_path / "own.key").exists()


def test_a_reader_that_stops_early_is_no_error():
    feed = "import sys\nfor _ in range(400000): sys.stdout.write('hello there my friend\\n')"
    for extra in ([], ["--line-buffered"]):
        with (
            subprocess.Popen([sys.executable, "-c", feed], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as feeder,
            subprocess.Popen(
                [*PROGRAM, "sanitize", "-q", "-e", "4", "--block-tokens", "20000", *extra],
                stdin=feeder.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            ) as tool,
        ):  # fmt: skip
            feeder.stdout.close()
            first = tool.stdout.readline()
            tool.stdout.close()
            complaint = tool.stderr.read()
            feeder.kill()
        assert first.endswith(b"\n")
        assert complaint == b""
        assert tool.returncode in (0, 141)


def test_line_buffered_answers_before_the_input_ends():
    with subprocess.Popen(
        [*PROGRAM, "sanitize", "-q", "-e", "4", "--line-buffered"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as tool:
        for _ in range(3):
            tool.stdin.write(b"hello there\n")
            tool.stdin.flush()
            assert len(tool.stdout.readline().split()) == 2
        tool.stdin.close()
    assert tool.returncode == 0


@pytest.fixture(scope="module")
def long_input(tmp_path_factory, vocabulary):
    """20 000 documents over the small vocabulary."""
    path = tmp_path_factory.mktemp("long") / "long.txt"
    entries = list(wv.load_embeddings(vocabulary).words)
    lines = (" ".join(entries[(i * 7 + j * j) % 200] for j in range(10)) + f" {i}." for i in range(20_000))
    path.write_text("\n".join(lines) + "\n")
    return path


def command(source, output, vocabulary, *extra):
    arguments = [source, "-o", output, "--vocabulary", vocabulary, "-e", 3, "-q", *extra]
    return [*PROGRAM, "sanitize", *map(str, arguments)]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupt_says_how_to_go_on(vocabulary, long_input, tmp_path):
    output = tmp_path / "out.txt"
    arguments = command(long_input, output, vocabulary, "--block-tokens", 300)
    with subprocess.Popen(arguments, stderr=subprocess.PIPE) as tool:
        while tool.poll() is None and not journal_path(output).exists():
            time.sleep(0.002)
        tool.send_signal(signal.SIGINT)
        complaint = tool.stderr.read()
    assert tool.returncode == 130
    assert (
        complaint
        == b"wordveil: interrupted: where input and output are files, the same command with --resume continues.\n"
    )
    assert run_key_path(output).exists()
    larger_blocks = command(long_input, output, vocabulary, "--block-tokens", 100_000, "--resume")
    assert subprocess.run(larger_blocks, check=False).returncode == 0
    assert output.read_text().count("\n") == 20_000
    assert names(tmp_path) == ["out.txt"]


def test_an_interrupt_while_modules_are_loaded_is_one_line():
    loading = (
        "import sys\nfrom wordveil.__main__ import main\nclass Pressed:\n"
        "    def find_spec(self, name, *_):\n        if name == 'wordveil.cli.common': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Pressed())\nmain()"
    )
    ended = subprocess.run([sys.executable, "-c", loading], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr == "wordveil: interrupted before anything was read or written.\n"


def test_an_interrupt_in_a_weak_reference_callback_still_ends_the_run(monkeypatch, capsys):
    from wordveil.cli import app
    from wordveil.cli import main as entry

    class Held:
        pass

    def press_ctrl_c(_: object) -> None:
        raise KeyboardInterrupt  # where a signal that arrives in the callback raises it

    def run(*_: object) -> None:
        held = Held()
        reference = weakref.ref(held, press_ctrl_c)
        del held
        assert reference() is None
        for _ in range(500):
            time.sleep(0.01)
        raise AssertionError("the interrupt was lost")

    monkeypatch.setattr(app, "run", run)
    before = sys.unraisablehook
    with pytest.raises(SystemExit) as ended:
        entry.main(["sanitize"])
    assert ended.value.code == 130
    assert "--resume continues" in capsys.readouterr().err
    assert sys.unraisablehook is before
