"""Compressed inputs are read ahead by a thread of their own, which ends with them."""

import gzip
import threading

import pytest

from wordveil.documents.streams import InputStream


@pytest.mark.parametrize("encoding", [None, "utf-16-le"])
def test_the_thread_that_reads_ahead_ends_when_the_input_is_closed(tmp_path, encoding):
    path = tmp_path / "in.txt.gz"
    path.write_bytes(gzip.compress("nine of ten\n".encode(encoding or "utf-8") * 1_000_000, 1))
    before = set(threading.enumerate())
    given = InputStream(str(path), encoding)
    assert given.stream.readline() == b"nine of ten\n"
    ahead = set(threading.enumerate()) - before
    assert [thread.name for thread in ahead] == ["wordveil-decompress_0"]
    assert given.bytes_done > 0
    given.close()
    assert not any(thread.is_alive() for thread in ahead)
