"""A run that dies at any moment is continued to the same bytes; another run is refused."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.documents.conftest import interrupted
from tests.dying import check_deaths
from tests.tables import write_rows

from wordveil.arrays import ReleasedText
from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.errors import ResumeError
from wordveil.files.journal import is_resumable
from wordveil.files.run_key import load_run_key, remove_run_key, run_key_path, save_run_key
from wordveil.runs.documents import Callbacks, run_documents

ROOT = Path(__file__).parents[2]
DRIVER = ["-m", "tests.documents.kill_driver"]
LINES = b"".join(b'{"t": "line number %d", "n": %d}\n' % (n, n) for n in range(40))


FEW_LINES = b"".join(LINES.splitlines(keepends=True)[:20])


def prepare(folder: Path, kind: str) -> tuple[Path, str]:
    """Write an input of a kind; returns it and its columns."""
    if kind == "tree":
        (folder / "in" / "sub").mkdir(parents=True)
        (folder / "in" / "b.txt.gz").write_bytes(gzip.compress(b"one\ntwo\n" * 10))
        (folder / "in" / "sub" / "a.jsonl").write_bytes(FEW_LINES)
        return folder / "in", "t"
    path = folder / f"in.{kind}"
    if kind == "parquet":
        write_rows(path, {"t": [f"row {n}" for n in range(22)], "n": list(range(22))})
        return path, "t"
    path.write_bytes(gzip.compress(FEW_LINES) if kind.endswith("gz") else FEW_LINES)
    return path, "" if kind == "txt" else "t"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["txt", "jsonl.gz", "parquet", "tree"])
def test_a_run_killed_anywhere_resumes_to_the_same_bytes(tmp_path, kind):
    source, columns = prepare(tmp_path, kind)
    output = tmp_path / "out"
    output.mkdir()
    arguments = [source, output / source.name, columns, "9", "200"]
    command = [sys.executable, *DRIVER, *arguments]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=120)
    assert answer.returncode == 0, answer.stderr.decode()
    outcomes = check_deaths(json.loads(answer.stdout))
    assert all(outcome["counts_equal"] for outcome in outcomes)
    assert any(outcome["half"] and outcome["taken_over"] for outcome in outcomes[:-1])


@pytest.fixture
def pair(tmp_path) -> tuple[Path, Path]:
    """An input of 40 lines, and where its output goes."""
    (tmp_path / "in.jsonl").write_bytes(LINES)
    return tmp_path / "in.jsonl", tmp_path / "out.jsonl"


def small(**changes) -> DocumentSettings:
    values = {
        "columns": ("t",),
        "keep_others": True,
        "details": FormatDetails(section_documents=9),
        "block_characters": 200,
    }
    return DocumentSettings(**(values | changes))


@pytest.mark.parametrize("name", ["in.jsonl", "in.jsonl.gz"])
@pytest.mark.parametrize("resumed_block", [1, 200, 500, 10**9])
def test_resume_with_another_block_size_gives_the_same_bytes(tmp_path, shout, name, resumed_block):
    source = tmp_path / name
    source.write_bytes(gzip.compress(LINES) if name.endswith("gz") else LINES)
    run_documents(source, tmp_path / ("whole-" + name), shout, settings=small())
    target = tmp_path / ("out-" + name)
    interrupted(source, target, 3, shout, settings=small())
    assert is_resumable(target)
    assert not target.exists()
    summary = run_documents(source, target, shout, settings=small(block_characters=resumed_block), resume=True)
    assert 0 < summary.resumed_documents < summary.documents == 40
    assert summary.copied_columns == ["n"]
    assert target.read_bytes() == (tmp_path / ("whole-" + name)).read_bytes()
    assert not is_resumable(target)
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


def test_resume_refuses_another_fingerprint_settings_or_input(tmp_path, shout, pair):
    source, target = pair
    facts = {"epsilon": 4.0, "vocabulary": "abc"}
    interrupted(source, target, 3, shout, settings=small(), fingerprint=facts)
    with pytest.raises(ResumeError, match=r"differs in: epsilon\. "):
        run_documents(source, target, shout, settings=small(), fingerprint=facts | {"epsilon": 5.0}, resume=True)
    with pytest.raises(ResumeError, match=r"differs in: epsilon, version\. "):
        run_documents(
            source, target, shout, settings=small(), fingerprint={"vocabulary": "abc", "version": 1}, resume=True
        )
    named = small(keep=("n",), keep_others=False)
    with pytest.raises(ResumeError, match=r"differs in: documents\.keep, documents\.keep_others\. "):
        run_documents(source, target, shout, settings=named, fingerprint=facts, resume=True)
    source.write_bytes(LINES.replace(b"line number 3", b"LINE number 3"))
    with pytest.raises(ResumeError, match=r"differs in: input\.sha256\. ") as caught:
        run_documents(source, target, shout, settings=small(), fingerprint=facts, resume=True)
    assert "line number" not in str(caught.value)
    source.write_bytes(LINES)
    assert run_documents(source, target, shout, settings=small(), fingerprint=facts, resume=True).documents == 40


def hidden(folder: Path) -> dict[Path, bytes]:
    """What a run has left to be continued."""
    return {path: path.read_bytes() for path in [*folder.glob(".*"), *folder.glob(".*/**/*")] if path.is_file()}


def large(kind: str) -> bytes:
    """More than 1 MiB of records of equal length, so that a moved one changes no size."""
    lines = [b'{"t": "line number %06d"}\n' % n for n in range(40_000)]
    return b"[" + b",".join(lines) + b"]" if kind == "json" else b"".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "place"), [("jsonl", "start"), ("json", "middle"), ("txt", "middle"), ("jsonl", "end")]
)
def test_resume_refuses_an_input_with_a_line_moved_anywhere(tmp_path, shout, kind, place):
    source, target = tmp_path / f"in.{kind}", tmp_path / f"out.{kind}"
    whole = large(kind)
    source.write_bytes(whole)
    settings = small(columns=() if kind == "txt" else ("t",), block_characters=1 << 17)
    interrupted(source, target, 4, shout, settings=settings)
    left = hidden(tmp_path)
    lines = whole.splitlines(keepends=True)
    at = {"start": 3, "middle": 20_000, "end": 39_990}[place]
    moved = b"".join(lines[:at] + lines[at + 5 : at + 6] + lines[at : at + 5] + lines[at + 6 :])
    assert len(moved) == len(whole)
    source.write_bytes(moved)
    with pytest.raises(ResumeError, match=r"differs in: input\.sha256\. "):
        run_documents(source, target, shout, settings=settings, resume=True)
    assert hidden(tmp_path) == left
    assert not target.exists()
    source.write_bytes(whole)
    run_documents(source, tmp_path / f"whole.{kind}", shout, settings=settings)
    assert run_documents(source, target, shout, settings=settings, resume=True).resumed_documents > 0
    assert target.read_bytes() == (tmp_path / f"whole.{kind}").read_bytes()


@pytest.mark.parametrize("edited", ["a.txt", "b.txt", "c.txt"])
def test_resume_refuses_a_tree_with_a_file_edited_whether_it_was_read_or_not(tmp_path, shout, edited):
    root = tmp_path / "in"
    root.mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (root / name).write_bytes(large("txt"))
    interrupted(root, tmp_path / "out", 12, shout, settings=small(columns=(), block_characters=1 << 17))
    whole = (root / edited).read_bytes()
    (root / edited).write_bytes(whole[:500_000] + b"X" + whole[500_001:])
    with pytest.raises(ResumeError, match=r"differs in: input\.sha256\. "):
        run_documents(root, tmp_path / "out", shout, settings=small(columns=()), resume=True)
    assert is_resumable(tmp_path / "out")


def test_resume_refuses_a_table_whose_copied_column_was_edited(tmp_path, shout):
    columns = {"t": [f"row {n}" for n in range(50)], "n": list(range(50))}
    write_rows(tmp_path / "in.parquet", columns)
    settings = small(details=FormatDetails(row_group_rows=7))
    interrupted(tmp_path / "in.parquet", tmp_path / "out.parquet", 3, shout, settings=settings)
    write_rows(tmp_path / "in.parquet", columns | {"n": [*range(49), 7]})
    with pytest.raises(ResumeError, match=r"differs in: input\."):
        run_documents(tmp_path / "in.parquet", tmp_path / "out.parquet", shout, settings=settings, resume=True)


@pytest.mark.parametrize("name", ["in.jsonl", "in.jsonl.gz"])
def test_an_output_is_of_one_gzip_library(tmp_path, shout, name, monkeypatch):
    source, target = tmp_path / name, tmp_path / f"out-{name}"
    source.write_bytes(gzip.compress(LINES) if name.endswith("gz") else LINES)
    interrupted(source, target, 3, shout, settings=small())
    with monkeypatch.context() as patch:
        patch.setattr("wordveil.runs.documents.gzip_library", lambda: "another")
        if name.endswith("gz"):
            with pytest.raises(ResumeError, match=r"differs in: gzip\. "):
                run_documents(source, target, shout, settings=small(), resume=True)
        else:
            run_documents(source, target, shout, settings=small(), resume=True)
    assert run_documents(source, target, shout, settings=small(), resume=True).documents == 40


def test_a_run_says_what_becomes_of_an_interrupted_one(tmp_path, shout, pair):
    source, target = pair
    said: list[str] = []
    others = {"keep": ("n",), "keep_others": False}  # told of nothing else
    told = {"settings": small(**others), "callbacks": Callbacks(notice=said.append)}
    run_documents(source, target, shout, **told)
    assert said == []
    run_documents(source, target, shout, resume=True, **told)
    assert said.pop() == "there is no interrupted run to resume: this one starts from the beginning."
    interrupted(source, target, 3, shout, settings=small(**others))
    run_documents(source, target, shout, resume=True, **told)
    assert re.fullmatch(r"going on with the interrupted run: [1-9]\d* documents are taken over\.", said.pop())
    interrupted(source, target, 3, shout, settings=small(**others))
    run_documents(source, target, shout, **told)
    assert said == ["an interrupted run of this output was discarded; --resume would have gone on with it."]


def test_a_run_says_that_its_output_is_a_link(tmp_path, shout):
    (tmp_path / "in.jsonl").write_bytes(LINES)
    theirs, link, said = tmp_path / "theirs.jsonl", tmp_path / "link.jsonl", []
    theirs.write_text("what somebody had")
    link.symlink_to("theirs.jsonl")
    for target in (link, theirs):
        told = {"settings": small(), "callbacks": Callbacks(notice=said.append)}
        run_documents(tmp_path / "in.jsonl", target, shout, **told)
    assert [line for line in said if "link" in line] == [
        f"the output is a link: what it leads to is written, {theirs}."
    ]
    assert link.is_symlink()


@pytest.mark.parametrize("kind", ["txt", "jsonl.gz", "parquet", "tree"])
def test_a_run_interrupted_before_anything_is_done_can_be_continued(tmp_path, shout, kind):
    source, columns = prepare(tmp_path, kind)
    settings = small(columns=tuple(columns) if columns else ())
    interrupted(source, tmp_path / "out", 0, shout, settings=settings)
    assert is_resumable(tmp_path / "out")
    run_documents(source, tmp_path / "out", shout, settings=settings, resume=True)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_resume_refuses_an_unfinished_output_that_is_shorter_than_it_was(tmp_path, shout, pair):
    source, target = pair
    interrupted(source, target, 3, shout, settings=small())
    os.truncate(tmp_path / ".out.jsonl.partial" / "whole", 50)
    with pytest.raises(ResumeError, match="is cut off"):
        run_documents(source, target, shout, settings=small(), resume=True)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
def test_a_pipe_with_a_name_is_read_once(tmp_path, shout):
    os.mkfifo(tmp_path / "in.txt")
    threading.Thread(target=(tmp_path / "in.txt").write_bytes, args=[b"one\ntwo\n"]).start()
    assert run_documents(tmp_path / "in.txt", tmp_path / "out.txt", shout).documents == 2


def test_resume_refuses_a_lost_output_and_a_damaged_journal(tmp_path, shout, pair):
    source, target = pair
    interrupted(source, target, 3, shout, settings=small())
    shutil.rmtree(tmp_path / ".out.jsonl.partial")
    with pytest.raises(ResumeError, match=r"unfinished output .* is gone"):
        run_documents(source, target, shout, settings=small(), resume=True)
    (tmp_path / ".out.jsonl.journal").write_bytes(b"{")
    with pytest.raises(ResumeError, match="is damaged or of another version"):
        run_documents(source, target, shout, settings=small(), resume=True)
    # Without resume the leftovers do not matter.
    assert run_documents(source, target, shout, settings=small()).resumed_documents == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_journal_and_output_are_for_the_owner_only_and_hold_no_text(tmp_path, shout, pair):
    source, target = pair
    interrupted(source, target, 3, shout, settings=small())
    partial, journal = tmp_path / ".out.jsonl.partial", tmp_path / ".out.jsonl.journal"
    assert [path.stat().st_mode & 0o777 for path in (partial, partial / "whole", journal)] == [0o700, 0o600, 0o600]
    assert b"line number" not in (tmp_path / ".out.jsonl.journal").read_bytes()


def test_run_key_is_kept_for_the_owner_until_it_is_removed(tmp_path):
    path = run_key_path(tmp_path / "out.txt")
    with pytest.raises(ResumeError, match="does not exist"):
        load_run_key(path)
    save_run_key(path, b"k" * 32)
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_run_key(path) == b"k" * 32
    for mode in (0o640, 0o604, 0o660, 0o610, 0o601, 0o622):
        os.chmod(path, mode)
        with pytest.raises(ResumeError, match=f"can be read by others .mode 0{mode:o}"):
            load_run_key(path)
    remove_run_key(path)
    remove_run_key(path)
    assert list(tmp_path.iterdir()) == []


def test_wrong_answers_of_the_transform_are_refused(tmp_path):
    (tmp_path / "in.txt").write_bytes(b"a\nb\n")
    for answer in ([[ReleasedText("x")]], [[None], [None]], [[], []]):
        with pytest.raises(ValueError, match="process"):
            run_documents(tmp_path / "in.txt", tmp_path / "out.txt", lambda _, answer=answer: answer)
    assert [p.name for p in tmp_path.iterdir()] == ["in.txt"]
