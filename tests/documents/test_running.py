"""Runs over files, trees and pipes: blocks, sections, atomic output, ids, progress."""

import gzip
import json
import os
import select
import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.beside import names
from tests.times import assert_proportional

from wordveil.documents import DocumentSettings, FormatDetails, Record
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.runs.documents import Callbacks, run_documents
from worlds import told

TOLD = told(__file__)

LINES = b"".join(b'{"t": "line number %d", "n": %d}\n' % (n, n) for n in range(200))
PIPE = TOLD["pipe"]
MEMORY = TOLD["memory"]


@pytest.mark.parametrize("name", ["in.txt", "in.jsonl.gz", "in.jsonl.zst"])
def test_output_bytes_do_not_depend_on_the_block(tmp_path, shout, name):
    import zstandard

    packed = {"txt": LINES, "gz": gzip.compress(LINES), "zst": zstandard.compress(LINES)}[name.rsplit(".", 1)[1]]
    (tmp_path / name).write_bytes(packed)
    columns = () if name == "in.txt" else ("t",)
    written, calls = set(), []
    for block in (1, 50, 999, 1000, 5000, 10**9):
        count = []

        def counted(records, count=count):
            count.append(len(records))
            return shout(records)

        details = FormatDetails(section_documents=30)
        settings = DocumentSettings(columns=columns, keep_others=True, block_characters=block, details=details)
        run_documents(tmp_path / name, tmp_path / ("out-" + name), counted, settings=settings)
        written.add((tmp_path / ("out-" + name)).read_bytes())
        calls.append(len(count))
    assert len(written) == 1
    assert (calls[0], calls) == (200, sorted(calls, reverse=True))
    assert calls[-1] == 1


@given(st.lists(st.integers(1, 30), max_size=60), st.integers(1, 20), st.integers(1, 100))
def test_blocks_keep_all_records_and_end_at_sections_or_inside_one(sizes, section, budget):
    settings = DocumentSettings(block_characters=budget)
    records = [
        Record(ordinal, [], None, size=size, closes_section=(ordinal + 1) % section == 0)
        for ordinal, size in enumerate(sizes)
    ]
    cut = list(settings.blocks(iter(records)))
    assert [record for block in cut for record in block] == records
    for block in cut:
        ends = [record.closes_section for record in block]
        # A block covers whole sections, or lies inside one: then a run can resume at every section's end.
        assert not any(ends) or ends[-1] or block is cut[-1]
        assert sum(r.size for r in block) <= budget + budget // 2 + 30


def test_harmful_destinations_are_refused(tmp_path, identity):
    (tmp_path / "in.txt").write_bytes(b"a")
    (tmp_path / "same.txt").symlink_to("in.txt")
    (tmp_path / "folder").mkdir()
    for target, message in (
        ("in.txt", "must differ from the input"),
        ("same.txt", "must differ from the input"),
        ("out.csv", "stands for csv, but the output is text"),
        ("no/out.txt", "existing directory"),
        ("folder", "must be a file, as the input is"),
    ):
        with pytest.raises(ParameterError, match=message):
            run_documents(tmp_path / "in.txt", tmp_path / target, identity)
    with pytest.raises(DocumentFormatError, match="no such file"):
        run_documents(tmp_path / "none.txt", tmp_path / "out.txt", identity)
    with pytest.raises(ParameterError, match="resume=True needs an input file and an output file"):
        run_documents(tmp_path / "in.txt", "-", identity, resume=True)


def test_progress_reaches_the_size_of_the_file(tmp_path, identity):
    packed = gzip.compress(LINES)
    (tmp_path / "in.jsonl.gz").write_bytes(packed)
    seen = []
    settings = DocumentSettings(columns=("t",), keep_others=True, block_characters=500)
    run_documents(
        tmp_path / "in.jsonl.gz", tmp_path / "out.jsonl", identity, settings=settings,
        callbacks=Callbacks(progress=lambda *a: seen.append(a)),
    )  # fmt: skip
    assert seen == sorted(seen)
    assert seen[-1] == (len(packed), len(packed), 200)
    assert len(seen) > 3


def test_memory_is_bounded_by_the_block(tmp_path):
    with open(tmp_path / "in.txt", "wb") as file:
        for _ in range(3000):
            file.write(b"word " * 2000 + b"\n")
    # in a process of its own: what other tests left to the garbage collector is no memory of this run
    ran = subprocess.run([sys.executable, "-c", MEMORY], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (tmp_path / "out.txt").stat().st_size > 30_000_000
    assert int(ran.stdout) < 6_000_000


@pytest.mark.parametrize(("name", "record", "kept"), [
    ("in.jsonl", lambda n: json.dumps({"t": "a", "l": [{"x": 1, "z": 2}] * n}), ["l.x"]),
    ("in.csv", lambda n: ",".join(["t", *(f"k{i}" for i in range(n))]) + "\na" + ",1" * n, None),
])  # fmt: skip
def test_a_wide_record_takes_time_in_proportion_to_its_width(tmp_path, name, record, kept):
    """A piece of it was copied for each part that was added."""
    chosen = {"keep": kept} if kept else {"keep_others": True}
    settings, file = DocumentSettings(columns=("t",), **chosen), tmp_path / name

    def work(size):
        file.write_text(record(size))
        with settings.open(file) as reader:
            return list(reader)

    assert_proportional(work, 2_000)


def test_tree_keeps_paths_and_names_documents_by_them(tmp_path, shout):
    root = tmp_path / "in"
    (root / "sub").mkdir(parents=True)
    (root / "b.txt").write_bytes(b"x\n")
    (root / "sub" / "a.jsonl").write_bytes(b'{"t": "y", "n": 1}\n')
    settings = DocumentSettings(columns=("t",), keep_others=True)
    summary = run_documents(root, tmp_path / "out", shout, settings=settings)
    assert (tmp_path / "out" / "b.txt").read_bytes() == b"X#b.txt:0:0\n"
    assert (tmp_path / "out" / "sub" / "a.jsonl").read_bytes() == b'{"t": "Y#sub/a.jsonl:0:0", "n": 1}\n'
    assert (summary.documents, summary.files, summary.copied_columns) == (2, 2, ["n"])
    assert names(tmp_path) == ["in", "out"]
    only = DocumentSettings(pattern="*.txt")
    assert run_documents(root, tmp_path / "texts", shout, settings=only).files == 1


def test_tree_is_published_whole_or_not_at_all(tmp_path, shout):
    root = tmp_path / "in"
    root.mkdir()
    (root / "a.txt").write_bytes(b"x\n")
    (root / "b.txt").write_bytes(b"y\n")

    def fail(block):
        if block[0].source == "b.txt":
            raise RuntimeError("no")
        return shout(block)

    with pytest.raises(RuntimeError, match="no"):
        run_documents(root, tmp_path / "out", fail)
    assert not (tmp_path / "out").exists()
    assert run_documents(root, tmp_path / "out", shout, resume=True).resumed_documents == 1
    assert names(tmp_path) == ["in", "out"]
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "old").write_bytes(b"")
    for target, message in (
        (tmp_path / "full", "new or empty"),
        (root / "out", "outside the input"),
        ("-", "must be a directory"),
    ):
        with pytest.raises(ParameterError, match=message):
            run_documents(root, target, shout)
    with pytest.raises(ParameterError, match="no file of a known format"):
        run_documents(root, tmp_path / "out", shout, settings=DocumentSettings(pattern="*.csv"))


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "lines", "expected"), [
    (["text", "utf-8"], [b"one\n", b"\n", b"two"], [b"ONE\n", b"\n", b"TWO"]),
    (["jsonl", "utf-8", "t"], [b'{"t": "a"}\n', b'{"t": null}\n'], [b'{"t": "A"}\n', b'{"t": null}\n']),
    (["csv", "utf-8", "t"], [b"t,n\n", b'"a\nb",1\n'], [b"t,n\n", b'"A\nB",1\n']),
    (["text", "windows-1252"], [b"na\xefve\n", b"\xfcber\n"], ["NAÏVE\n".encode(), "ÜBER\n".encode()]),
])  # fmt: skip
def test_pipes_answer_each_record_at_once(arguments, lines, expected):
    with subprocess.Popen(
        [sys.executable, "-c", PIPE, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as child:
        for line, answer in zip(lines, expected, strict=True):
            child.stdin.write(line)
            if line is lines[-1]:
                child.stdin.close()
            # The answer comes before more input is given.
            assert select.select([child.stdout], [], [], 20)[0]
            assert os.read(child.stdout.fileno(), 1000) == answer
        assert child.stdout.read() == b""
    assert child.returncode == 0
