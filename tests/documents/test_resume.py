"""A run that dies at any moment is continued to the same bytes; another run is refused."""

import gzip
import os
import re
import shutil
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
from tests.documents.conftest import interrupted
from tests.dying import check_deaths
from tests.tables import write_rows

from wordveil.arrays import ReleasedText
from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.errors import ResumeError
from wordveil.files.atomic import check_not_busy
from wordveil.files.journal import is_resumable
from wordveil.files.run_key import load_run_key, remove_run_key, run_key_path, save_run_key
from wordveil.runs.documents import Callbacks, run_documents

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
def test_a_run_killed_anywhere_resumes_to_the_same_bytes(tmp_path, shout, kind):
    """Before and after each change on the disk, and inside the transform."""
    source, columns = prepare(tmp_path, kind)
    output = tmp_path / "out"
    output.mkdir()

    def run(death, *, resume):
        death.around_the_disk()
        if resume and (output / "in").is_dir() and not is_resumable(output / "in"):
            check_not_busy(output / "in")  # which removes the empty folder that a death at the very end leaves
            return None  # the folder is complete, and no run writes over it
        counts = Counter()

        def process(block):
            death.step()
            counts["characters"] += sum(len(text or "") for record in block for text in record.texts)
            return shout(block)

        settings = small(columns=tuple(columns), details=FormatDetails(section_documents=9, row_group_rows=7))
        how = {"settings": settings, "resume": resume, "counts": counts}
        summary = run_documents(source, output / source.name, process, **how)
        return summary.documents, counts["characters"], summary.resumed_documents

    first, *outcomes = check_deaths(run, output / source.name, every=2)
    assert all(each.said is None or each.said[:2] == first.said[:2] for each in outcomes)
    assert any(each.resumable and each.said[2] for each in outcomes[:-1])


@pytest.fixture
def pair(tmp_path) -> tuple[Path, Path]:
    """An input of 40 lines, and where its output goes."""
    (tmp_path / "in.jsonl").write_bytes(LINES)
    return tmp_path / "in.jsonl", tmp_path / "out.jsonl"


def small(**changes) -> DocumentSettings:
    values = {"columns": ("t",), "keep_others": True, "block_characters": 200}
    return DocumentSettings(**{**values, "details": FormatDetails(section_documents=9), **changes})


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
    how = {"settings": small(), "fingerprint": facts}
    interrupted(source, target, 3, shout, **how)
    for other, differs in (
        ({"fingerprint": facts | {"epsilon": 5.0}}, r"epsilon\. "),
        ({"fingerprint": {"vocabulary": "abc", "version": 1}}, r"epsilon, version\. "),
        ({"settings": small(keep=("n",), keep_others=False)}, r"documents\.keep, documents\.keep_others\. "),
    ):
        with pytest.raises(ResumeError, match=f"differs in: {differs}"):
            run_documents(source, target, shout, resume=True, **how | other)
    source.write_bytes(LINES.replace(b"line number 3", b"LINE number 3"))
    with pytest.raises(ResumeError, match=r"differs in: input\.sha256\. ") as caught:
        run_documents(source, target, shout, resume=True, **how)
    assert "line number" not in str(caught.value)
    source.write_bytes(LINES)
    assert run_documents(source, target, shout, resume=True, **how).documents == 40


@pytest.mark.parametrize("edited", ["a.txt", "b.txt", "c.txt"])
def test_resume_refuses_a_tree_with_a_file_edited_whether_it_was_read_or_not(tmp_path, shout, edited):
    root = tmp_path / "in"
    root.mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (root / name).write_bytes(b"".join(b"line number %08d\n" % n for n in range(60_000)))  # more than a megabyte
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


@pytest.mark.parametrize("kind", ["txt", "tree"])
def test_a_run_interrupted_before_anything_is_done_can_be_continued(tmp_path, shout, kind):
    source, columns = prepare(tmp_path, kind)
    settings = small(columns=tuple(columns) if columns else ())
    interrupted(source, tmp_path / "out", 0, shout, settings=settings)
    assert is_resumable(tmp_path / "out")
    run_documents(source, tmp_path / "out", shout, settings=settings, resume=True)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(("damage", "problem"), [
    (lambda left: os.truncate(left / ".out.jsonl.partial" / "whole", 50), "is cut off"),
    (lambda left: shutil.rmtree(left / ".out.jsonl.partial"), r"unfinished output .* is gone"),
    (lambda left: (left / ".out.jsonl.journal").write_bytes(b"{"), "is damaged or of another version"),
], ids=["shorter", "lost", "journal"])  # fmt: skip
def test_resume_refuses_what_was_damaged_and_a_new_run_does_not_mind(tmp_path, shout, pair, damage, problem):
    source, target = pair
    interrupted(source, target, 3, shout, settings=small())
    damage(tmp_path)
    with pytest.raises(ResumeError, match=problem):
        run_documents(source, target, shout, settings=small(), resume=True)
    assert run_documents(source, target, shout, settings=small()).resumed_documents == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
def test_a_pipe_with_a_name_is_read_once(tmp_path, shout):
    os.mkfifo(tmp_path / "in.txt")
    threading.Thread(target=(tmp_path / "in.txt").write_bytes, args=[b"one\ntwo\n"]).start()
    assert run_documents(tmp_path / "in.txt", tmp_path / "out.txt", shout).documents == 2


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
