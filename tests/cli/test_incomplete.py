"""What ends a run that left files out, and what a retry of the command does."""

import json
import os
import sys

import pytest
from tests.beside import stamped
from tests.tables import write_rows

from wordveil.cli.exit_codes import INCOMPLETE, NO


@pytest.fixture
def partitions(tmp_path):
    """Four partitions: one is cut off, one has its column renamed."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number, column in enumerate(["body", "body", "text", "body"]):
        write_rows(folder / f"part-{number}.parquet", {column: [f"babaq dadaq {n}" for n in range(20)]})
    whole = (folder / "part-1.parquet").read_bytes()
    (folder / "part-1.parquet").write_bytes(whole[: len(whole) // 2])


LEFT_OUT = (
    "wordveil: incomplete, as 2 files or folders could not be read (exit code 3; --allow-bad-files accepts that).\n"
)


@pytest.mark.usefixtures("partitions")
def test_files_left_out_are_an_exit_code_and_a_line_that_quiet_does_not_hide(wordveil, vocabulary, tmp_path):
    out, run = tmp_path / "out", f"sanitize in --yes -c body --drop-others --vocabulary {vocabulary} -o out"
    answer = wordveil(f"{run} -q --report r.json")
    assert (answer.status, answer.out, answer.err) == (INCOMPLETE, "", LEFT_OUT)
    assert sorted(path.name for path in out.iterdir()) == ["part-0.parquet", "part-3.parquet"]
    assert json.loads((tmp_path / "r.json").read_text())["bad_files"] == 2
    before = stamped(out)
    retried = wordveil(f"{run} -q --resume")
    assert (retried.status, retried.err) == (INCOMPLETE, LEFT_OUT)
    accepted = wordveil.done(f"{run} --resume --allow-bad-files")
    assert "complete already" in accepted.err
    assert "malformed files: 2" in accepted.err
    assert "exit code 3" not in accepted.err
    assert stamped(out) == before
    assert wordveil.done(f"{run} --again --allow-bad-files -q --report r.json").err == ""
    check = f"report out --verify r.json --vocabulary {vocabulary}"
    missing = "2 of the files of the input could not be read and are left out of the release"
    assert f"{missing}\n" in wordveil.done(check).out
    assert json.loads(wordveil(f"{check} --json").out)["missing"] == [missing]
    (out / "part-0.parquet").rename(out / "part-9.parquet")
    lost = wordveil(check)
    assert lost.status == NO
    assert "part-0.parquet: is missing" in lost.err


def test_other_commands_end_so_too(wordveil, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("She waited for the doctor.\n")
    (tmp_path / "in" / "b.txt").write_bytes(b"\xff\xfe\xff")
    run = "rephrase in -q -o out"
    assert wordveil(run).err == LEFT_OUT.replace("2 files or folders", "1 file or folder")
    assert wordveil(f"{run} --resume").status == INCOMPLETE
    wordveil.done(f"{run} --resume --allow-bad-files")


@pytest.mark.skipif(sys.platform != "linux", reason="a path longer than the system reads")
def test_a_folder_that_cannot_be_read_counts_as_left_out(wordveil, vocabulary, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("babaq\n")
    here = os.open(folder, os.O_RDONLY)
    for _ in range(20):  # 5 000 characters deep: not even the owner of the machine can list it by its path
        os.mkdir("d" * 250, dir_fd=here)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    answer = wordveil("sanitize", folder, "-o", tmp_path / "out", "--vocabulary", vocabulary)
    assert answer.status == INCOMPLETE
    assert "cannot be read: File name too long" in answer.err
    assert answer.err.endswith("(exit code 3; --allow-bad-files accepts that).\n")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.txt"]
