"""A run that dies at any moment is continued to the same bytes; another run is refused."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wordveil.arrays import ReleasedText
from wordveil.documents import (
    DocumentSettings,
    FormatDetails,
    is_resumable,
    load_run_key,
    remove_run_key,
    run_documents,
    run_key_path,
    save_run_key,
)
from wordveil.errors import ParameterError, ResumeError

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
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table({"t": [f"row {n}" for n in range(22)], "n": list(range(22))})
        pyarrow.parquet.write_table(table, path)
        return path, "t"
    path.write_bytes(gzip.compress(FEW_LINES) if kind.endswith("gz") else FEW_LINES)
    return path, "" if kind == "txt" else "t"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["txt", "jsonl.gz", "parquet", "tree"])
def test_a_run_killed_anywhere_resumes_to_the_same_bytes(tmp_path, kind):
    source, columns = prepare(tmp_path, kind)
    output = tmp_path / "out"
    output.mkdir()
    arguments = [source, output / source.name, columns, "300", "200"]
    command = [sys.executable, *DRIVER, *arguments]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=120)
    assert answer.returncode == 0, answer.stderr.decode()
    outcomes = json.loads(answer.stdout)
    killed = outcomes[:-1]
    assert [o["killed"] for o in outcomes] == [-9] * len(killed) + [0]
    assert len(killed) > 20
    for step, outcome in enumerate(outcomes, 1):
        assert outcome["resumed"] == 0, step
        assert outcome["same"], step
        assert not outcome["early_and_wrong"], step
        assert outcome["counts_equal"], step
        assert outcome["left"] == [], step
    assert any(o["half"] and o["taken_over"] for o in killed)


def interrupted(source: Path, target: Path, calls: int, process, **options) -> None:
    """Run, and stop by an interrupt from the keyboard after some calls."""
    left = iter(range(calls))

    def stopping(block):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return process(block)

    with pytest.raises(KeyboardInterrupt):
        run_documents(source, target, stopping, **options)


def small(**changes) -> DocumentSettings:
    values = {"columns": ("t",), "details": FormatDetails(section_bytes=300), "block_characters": 200}
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


def test_resume_refuses_another_fingerprint_settings_or_input(tmp_path, shout):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(LINES)
    facts = {"epsilon": 4.0, "vocabulary": "abc"}
    interrupted(source, target, 3, shout, settings=small(), fingerprint=facts)
    with pytest.raises(ResumeError, match=r"differs in: epsilon\. "):
        run_documents(source, target, shout, settings=small(), fingerprint=facts | {"epsilon": 5.0}, resume=True)
    with pytest.raises(ResumeError, match=r"differs in: epsilon, version\. "):
        run_documents(
            source, target, shout, settings=small(), fingerprint={"vocabulary": "abc", "version": 1}, resume=True
        )
    with pytest.raises(ResumeError, match=r"differs in: documents\.keep\. "):
        run_documents(source, target, shout, settings=small(keep=("n",)), fingerprint=facts, resume=True)
    source.write_bytes(LINES.replace(b"line number 3", b"LINE number 3"))
    with pytest.raises(ResumeError, match=r"differs in: input\.sha256\. ") as caught:
        run_documents(source, target, shout, settings=small(), fingerprint=facts, resume=True)
    assert "line number" not in str(caught.value)
    source.write_bytes(LINES)
    assert run_documents(source, target, shout, settings=small(), fingerprint=facts, resume=True).documents == 40


def test_resume_refuses_a_lost_output_and_a_damaged_journal(tmp_path, shout):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(LINES)
    interrupted(source, target, 3, shout, settings=small())
    (tmp_path / ".out.jsonl.partial").unlink()
    with pytest.raises(ResumeError, match=r"unfinished output .* is gone"):
        run_documents(source, target, shout, settings=small(), resume=True)
    (tmp_path / ".out.jsonl.journal").write_bytes(b"{")
    with pytest.raises(ResumeError, match="is damaged or of another version"):
        run_documents(source, target, shout, settings=small(), resume=True)
    # Without resume the leftovers do not matter.
    assert run_documents(source, target, shout, settings=small()).resumed_documents == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_journal_and_output_are_for_the_owner_only_and_hold_no_text(tmp_path, shout):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(LINES)
    interrupted(source, target, 3, shout, settings=small())
    for path in (tmp_path / ".out.jsonl.partial", tmp_path / ".out.jsonl.journal"):
        assert path.stat().st_mode & 0o777 == 0o600
    assert b"line number" not in (tmp_path / ".out.jsonl.journal").read_bytes()


def test_resume_starts_anew_where_nothing_was_interrupted(tmp_path, shout):
    (tmp_path / "in.jsonl").write_bytes(LINES)
    summary = run_documents(tmp_path / "in.jsonl", tmp_path / "out.jsonl", shout, settings=small(), resume=True)
    assert (summary.documents, summary.resumed_documents) == (40, 0)


def test_two_runs_never_write_one_output(tmp_path, shout):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(LINES)

    def nested(block):
        for resume in (False, True):
            with pytest.raises(ParameterError, match="is being written by another run"):
                run_documents(source, target, shout, settings=small(), resume=resume)
        return shout(block)

    run_documents(source, target, nested, settings=small(block_characters=10**9))
    run_documents(source, tmp_path / "other.jsonl", shout, settings=small())
    # Ids hold the input's name, not the output's.
    assert target.read_bytes() == (tmp_path / "other.jsonl").read_bytes()


def test_run_key_is_kept_for_the_owner_until_it_is_removed(tmp_path):
    path = run_key_path(tmp_path / "out.txt")
    with pytest.raises(ResumeError, match="does not exist"):
        load_run_key(path)
    save_run_key(path, b"k" * 32)
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_run_key(path) == b"k" * 32
    os.chmod(path, 0o644)
    with pytest.raises(ResumeError, match="can be read by others"):
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
