"""A full disk: the path is named, and what is left can be continued or is nothing."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.dying import in_child
from tests.tables import write_rows

from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.files.journal import is_resumable
from wordveil.runs.documents import run_documents

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of file sizes and tmpfs of Linux"),
]


def shout(block):
    return [[text and text.upper() for text in record.texts] for record in block]


def settings_of(columns, block=24_000_000):
    details = FormatDetails(section_documents=50, row_group_rows=50)
    chosen = {"columns": tuple(columns.split()), "keep_others": True, "details": details}
    return DocumentSettings(block_characters=block, **chosen)


def run(source, target, columns, limit, block):
    """Run in a process that may write no larger file; returns the path and the advice of its error, if there is one."""

    def limited():
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            run_documents(source, target, shout, settings=settings_of(columns, block))
        except OSError as error:
            return error.filename, error.strerror
        return None

    return in_child(limited)[1]


def prepare(folder: Path, kind: str) -> tuple[Path, str]:
    """Write some 2 MB that do not compress well."""
    words = [os.urandom(500).hex() for _ in range(2000)]
    if kind == "tree":
        (folder / "in").mkdir()
        for name, part in (("a.txt", words[:5]), ("b.txt", words)):
            (folder / "in" / name).write_text("\n".join(part))
        return folder / "in", ""
    source = folder / f"in.{kind}"
    if kind == "parquet":
        write_rows(source, {"t": words})
        return source, "t"
    source.write_text("\n".join(words))
    return source, ""


@pytest.mark.parametrize("kind", ["txt", "parquet", "tree"])
def test_with_something_done_the_run_can_be_continued(tmp_path, kind):
    source, columns = prepare(tmp_path, kind)
    target = tmp_path / ("out" if kind == "tree" else source.name.replace("in", "out"))
    named, told = run(source, target, columns, 700_000 if kind != "parquet" else 1_500_000, 50_000)
    assert named == str(target)
    assert told == "File too large: make room and add --resume"
    assert is_resumable(target)
    assert not target.exists()
    summary = run_documents(source, target, shout, settings=settings_of(columns), resume=True)
    assert summary.resumed_documents > 0
    run(source, tmp_path / f"whole{target.suffix}", columns, 0, 50_000)
    whole = tmp_path / f"whole{target.suffix}"
    for path in sorted(whole.iterdir()) if kind == "tree" else [whole]:
        mine = target / path.name if kind == "tree" else target
        assert mine.read_bytes() == path.read_bytes()
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("kind", ["txt", "parquet"])
def test_with_nothing_done_nothing_is_left(tmp_path, kind):
    source, columns = prepare(tmp_path, kind)
    target = tmp_path / source.name.replace("in", "out")
    named, told = run(source, target, columns, 20_000, 10_000_000)
    assert named == str(target)
    assert told == "File too large: nothing is left of the run; make room and start it again"
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 1 MB in memory."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False
    )
    if not made or made.returncode:
        pytest.skip("a tmpfs cannot be mounted here (it takes root)")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize(("block", "kept"), [(50_000, True), (10_000_000, False)])
def test_a_disk_that_is_really_full(tmp_path, small_disk, block, kept):
    source, columns = prepare(tmp_path, "txt")
    named, told = run(source, small_disk / "out.txt", columns, 0, block)
    assert named == str(small_disk / "out.txt")
    assert told.startswith("No space left on device: ")
    left = sorted(path.name for path in small_disk.iterdir())
    assert left == ([".out.txt.journal", ".out.txt.partial"] if kept else [])
    if kept:
        assert "add --resume" in told
        subprocess.run(["mount", "-o", "remount,size=9m", small_disk], check=True)
        summary = run_documents(source, small_disk / "out.txt", shout, resume=True, settings=settings_of(columns))
        assert 0 < summary.resumed_documents < summary.documents == 2000
