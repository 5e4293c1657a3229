"""Trees of files: the bytes of one process, whatever happens to executors and driver on the way."""

import gzip
import os
import re
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.beside import content
from tests.spark.spark_sessions import JSONL, MARKS, speculative

import wordveil as wv
from wordveil import spark as veil
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.files.atomic import sibling

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

pytestmark = MARKS


def undisturbed(root, out, make, key):
    wv.sanitize_documents(root, out, make(wv.RandomSource(key)), settings=JSONL)
    return content(out)


def executors():
    """Process ids of the executors of this machine's Spark, youngest last."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in place.read_bytes().split(b"\0"):
                found.append(int(place.parent.name))
    return sorted(found)


def receipts(destination):
    return len(list((sibling(destination, "partial") / "receipts").glob("*.json")))


def test_bytes_are_those_of_one_process(spark, tree, sanitizer, tmp_path):
    root, key, told, seen = tree(), os.urandom(16), [], []
    report = veil.sanitize_files(
        spark, root, tmp_path / "out", sanitizer(wv.RandomSource(key)), settings=JSONL, notice=told.append,
        progress=lambda *done: seen.append(done),
    )  # fmt: skip
    assert content(tmp_path / "out") == undisturbed(root, tmp_path / "one", sanitizer, key)
    assert (report.documents, report.files, report.bad_files) == (600, 12, 1)
    assert report.tokens == wv.sanitize_documents(root, tmp_path / "two", sanitizer(), settings=JSONL).tokens
    assert any("broken.jsonl.gz" in line for line in told)
    assert seen == sorted(seen)
    assert not sibling(tmp_path / "out", "key").exists()
    assert not sibling(tmp_path / "out", "partial").exists()


def test_a_bad_file_stops_where_that_is_asked_for(spark, tree, sanitizer, tmp_path):
    with pytest.raises(DocumentFormatError, match=r"holds what cannot be read: .*broken\.jsonl\.gz"):
        veil.sanitize_files(spark, tree(), tmp_path / "out", sanitizer(), settings=JSONL, stop_at_bad_files=True)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    with pytest.raises(ParameterError, match="must be a directory"):
        veil.sanitize_files(spark, tmp_path / "in" / "broken.jsonl.gz", tmp_path / "out", sanitizer())


ROW = b'{"id": 1, "text": "good film"}\n'
MANY = b"".join(b'{"id": %d, "text": "good film"}\n' % n for n in range(100_000))
BAD = {
    "cut.jsonl.gz": (gzip.compress(MANY, mtime=0)[:-60], r"line \d\d\d+: the compressed data is truncated or damaged"),
    "flipped.csv.gz": (b"\x1f\x8b" + os.urandom(50), "truncated or damaged"),
    "lacking.jsonl": (ROW * 6 + b'{"id": 1, "words": "secret"}\n' + ROW, "line 7: no column 'text' among its 2"),
    "number.jsonl": (ROW * 2 + b'{"id": 1, "text": 4711}\n', "line 3: column 'text' holds a number"),
    "wide.csv": (b"id,text\n1,good\n2,good,secret\n", "line 3: 3 fields, but the header has 2"),
    "long.jsonl": (ROW + b'{"text": "' + b"a " * 50_000_000 + b'"}\n', "line 2: the line is longer than 100000000"),
    "word.jsonl": (ROW + b'{"text": "' + b"a" * 10_000_000 + b'"}\n', "line 2: the text of 10000000 characters"),
    "bytes.jsonl": (ROW + b'{"text": "secret \xff"}\n', "line 2, byte 48: not valid UTF-8"),
    "none.parquet": (b"PAR1 secret", "not a readable Parquet file"),
}
"""What cannot be read -> where and why not."""


def test_each_bad_file_is_named_with_its_place_and_nothing_else_is_lost(spark, tree, sanitizer, tmp_path):
    root, key, told = tree(files=2), os.urandom(16), []
    pq.write_table(pa.table({"text": ["good film", None]}), root / "nulls.parquet")
    (root / "nulls.jsonl").write_text('{"id": 1, "text": null}\n{"id": 2, "text": "good film"}\n')
    good = undisturbed(root, tmp_path / "one", sanitizer, key)
    pq.write_table(pa.table({"text": [1, 2]}), root / "numbers.parquet")
    for name, (data, _) in BAD.items():
        (root / name).write_bytes(data)
    made = sanitizer(wv.RandomSource(key))
    report = veil.sanitize_files(spark, root, tmp_path / "out", made, settings=JSONL, notice=told.append)
    assert content(tmp_path / "out") == good
    assert len(good) == 4
    expected = {
        **{name: problem for name, (_, problem) in BAD.items()},
        "numbers.parquet": "row 1: column 'text' holds",
    }
    assert report.bad_files == len(expected) + 1  # and the one of the tree
    for name, problem in expected.items():
        assert [line for line in told if re.search(rf"left out: .*{re.escape(name)}.*{problem}", line)], (name, told)
    assert "secret" not in str(told)


def run_while(spark, tree, sanitizer, tmp_path, disturb):
    """Run with a disturbance once the first files are done; returns both outputs."""
    root, key, out = tree(lines=2000), os.urandom(16), tmp_path / "out"
    done = []

    def watch():
        while receipts(out) < 2:
            time.sleep(0.02)
        done.append(disturb())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    veil.sanitize_files(spark, root, out, sanitizer(wv.RandomSource(key)), settings=JSONL)
    thread.join()
    return content(out), undisturbed(root, tmp_path / "one", sanitizer, key), done[0]


def test_a_killed_executor_changes_nothing(spark, tree, sanitizer, tmp_path):
    def kill():
        victim = executors()[-1]
        os.kill(victim, signal.SIGKILL)
        return victim

    out, expected, victim = run_while(spark, tree, sanitizer, tmp_path, kill)
    assert out == expected
    assert victim not in executors()


def test_speculation_changes_nothing(spark, tree, sanitizer, tmp_path):
    """An executor is stopped, so that the other runs its task too; then it goes on with the attempt that lost."""

    def stop():
        victim = executors()[-1]
        os.kill(victim, signal.SIGSTOP)
        return victim

    before = speculative(spark)
    out, expected, victim = run_while(spark, tree, sanitizer, tmp_path, stop)
    assert speculative(spark) > before
    os.kill(victim, signal.SIGCONT)
    time.sleep(2)
    assert out == expected == content(tmp_path / "out")
    assert not sibling(tmp_path / "out", "partial").exists()
