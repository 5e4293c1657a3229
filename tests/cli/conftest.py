"""Running the command: in this process for speed, in one of its own where a whole process matters."""

import shlex
import subprocess
import sys
from dataclasses import dataclass

import pytest
from tests.cli.forging import facts_of

from wordveil.cli.main import main
from wordveil.runs.report import write_sealed
from wordveil.runs.report_schema import sealed
from worlds import made_up

PROGRAM = [sys.executable, "-c", "from wordveil.cli.main import main; main()"]


@dataclass(frozen=True)
class Answer:
    """What a command left: exit status, standard output and standard error."""

    status: int
    out: str
    err: str


@pytest.fixture
def wordveil(capfd, tmp_path, monkeypatch):
    """Run a command in this process, as typed in the test's folder: its words may stand in one string.

    One that must succeed is run by `done`; what a mistake is told is given by `refused`.
    """
    monkeypatch.chdir(tmp_path)

    def run(command: str = "", *arguments: object) -> Answer:
        with pytest.raises(SystemExit) as ended:
            main([*shlex.split(command), *map(str, arguments)])
        out, err = capfd.readouterr()
        return Answer(int(ended.value.code or 0), out, err)

    def done(*arguments: object) -> Answer:
        answer = run(*arguments)
        assert answer.status == 0, answer.err
        return answer

    def refused(*arguments: object) -> str:
        answer = run(*arguments)
        assert answer.status == 2, answer.err
        return answer.err

    run.done, run.refused = done, refused
    return run


@pytest.fixture(scope="session")
def process():
    """Run a command in a process of its own; input and output are bytes."""

    def run(*arguments: object, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = [*PROGRAM, *map(str, arguments)]
        return subprocess.run(command, input=data, capture_output=True, check=False, timeout=600)

    return run


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory):
    """A small vocabulary directory."""
    return made_up(200).save(tmp_path_factory.mktemp("vocabulary") / "small").directory


@pytest.fixture(scope="session")
def stock(tmp_path_factory):
    """A folder with a small stock of sentences built by the command, and the file that it was built from."""
    folder = tmp_path_factory.mktemp("built")
    lines = [f"The {who} {did} a {what}." for who in ("cook", "nurse", "boy", "queen", "clerk", "judge")
             for did in ("sold", "found", "lost") for what in ("boat", "hat", "letter", "horse")]  # fmt: skip
    (folder / "public.txt").write_text("\n".join([*lines, "Anna gave it to Bob on 4 May 2020.", "XYZ is a firm."]))
    with pytest.raises(SystemExit) as ended:
        main(
            f"sentences build {folder}/public.txt -o {folder}/stock --prototypes 4,16 --name small "
            "--licence CC0-1.0".split()
        )
    assert not ended.value.code
    return folder


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("babaq dabaq, Zzyzx.\nbabaq\n")
    return path


@pytest.fixture
def released(wordveil, vocabulary, tmp_path):
    """A release with its report in both forms, of one run each, and the command that checks them."""
    notes = tmp_path / "notes.txt"
    notes.write_text("babaq dabaq, Zzyzx.\nbabaq dabaq fabaq gabaq 3.\nbabaq\n")
    for ending in ("json", "html"):
        wordveil.done(
            f"sanitize {notes} -o {ending}.txt --vocabulary {vocabulary} --report r.{ending} -e 8 -m neighbours"
        )

    def check(ending="json", *more, report=None, vocabulary=vocabulary):
        named = tmp_path / f"r.{ending}" if report is None else report
        return wordveil("report", tmp_path / f"{ending}.txt", "--verify", named, "--vocabulary", vocabulary, *more)

    def told(facts, *more):
        """Check a report of other facts, under a checksum that fits them."""
        write_sealed(sealed(facts), tmp_path / "told.json")
        return check("json", *more, report=tmp_path / "told.json")

    check.folder, check.facts, check.told = tmp_path, facts_of(tmp_path / "r.json"), told
    return check
