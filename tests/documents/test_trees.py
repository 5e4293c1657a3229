"""Trees: what is taken and what is not, malformed files among good ones, names of any bytes."""

import os
import sys
from collections import Counter
from dataclasses import replace

import pytest

from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.documents.trees import tree_files
from wordveil.errors import DocumentFormatError
from wordveil.runs.documents import Callbacks, run_documents

SMALL = DocumentSettings(
    columns=("t",), keep_others=True, block_characters=30, details=FormatDetails(section_documents=1)
)
posix = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of any bytes, links and pipes of Linux")


def write(root, **files):
    root.mkdir()
    for name, content in files.items():
        (root / name.replace("_", ".")).write_bytes(content)
    return root


def run(root, target, process, **options):
    said: list[str] = []
    return run_documents(root, target, process, callbacks=Callbacks(notice=said.append), **options), said


@posix
def test_names_that_are_no_utf_8_are_kept(tmp_path):
    root = write(tmp_path / "in", a_txt=b"one\n")
    odd = os.fsdecode(b"bad\xff.txt")
    (root / odd).write_bytes(b"two\n")
    (root / "line\nend.txt").write_bytes(b"three\n")
    keys = []

    def look(block):
        keys.extend(record.key for record in block)
        return [record.texts for record in block]

    assert run(root, tmp_path / "out", look)[0].files == 3
    assert sorted(keys) == ["a.txt:0", f"{odd}:0", "line\nend.txt:0"]
    assert (tmp_path / "out" / odd).read_bytes() == b"two\n"
    assert sorted(os.listdir(tmp_path / "out")) == sorted(os.listdir(root))


@posix
@pytest.mark.parametrize("relative", [True, False])
def test_a_bad_file_is_told_in_one_line_with_the_path_as_it_was_given(tmp_path, shout, relative, monkeypatch):
    monkeypatch.chdir(tmp_path)
    root = write(tmp_path / "in", a_txt=b"one\n")
    (root / os.fsdecode(b"b\xfe\n.txt")).write_bytes(b"\xff\n")
    given = "in" if relative else str(root)
    summary, said = run(given, "out", shout)
    assert summary.bad_files == [rf"{given}/b\udcfe\n.txt, line 1, byte 0: not valid UTF-8. Name its encoding, "
                                 "for example --encoding windows-1252."]  # fmt: skip
    assert said == [f"left out: {summary.bad_files[0]}"]


@posix
def test_links_and_what_is_no_file_are_not_followed_but_told(tmp_path, shout):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_bytes(b"secret\n")
    root = write(tmp_path / "in", a_txt=b"one\n")
    (root / "sub").mkdir()
    (root / "sub" / "b.txt").write_bytes(b"one\n")
    (root / "sub" / "inside.txt").symlink_to("../a.txt")
    (root / "sub" / "to_hidden.txt").symlink_to("../.hidden.txt")
    os.link(root / "a.txt", root / "sub" / "same.txt")
    (root / "out.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (root / "up.txt").symlink_to("../outside/secret.txt")
    (root / "nothing.txt").symlink_to("absent.txt")
    (root / "self.txt").symlink_to("self.txt")
    (root / "folder").symlink_to(tmp_path / "outside")
    os.mkfifo(root / "pipe.txt")
    (root / ".hidden.txt").write_bytes(b"hidden\n")
    (root / ".git").mkdir()
    (root / ".git" / "c.txt").write_bytes(b"hidden\n")
    (root / "photo.jpg").write_bytes(b"\xff")
    found = tree_files(root, DocumentSettings())
    assert (found.taken, found.other) == (["a.txt", "sub/b.txt"], ["photo.jpg", "pipe.txt"])
    assert found.hidden == [".git/", ".hidden.txt"]
    inside = ["sub/inside.txt", "sub/same.txt", "sub/to_hidden.txt"]
    assert found.links == ["folder", "nothing.txt", "out.txt", "self.txt", *inside, "up.txt"]
    summary, said = run(root, tmp_path / "out", shout)
    assert sorted(os.listdir(tmp_path / "out")) == ["a.txt", "sub"]
    assert (tmp_path / "out" / "sub" / "b.txt").read_bytes() == b"ONE#sub/b.txt:0:0\n"
    assert summary.skipped_files == found.skipped
    assert said == [
        "not read (of another format): photo.jpg, pipe.txt",
        "not read (hidden): .git/, .hidden.txt",
        f"not read (links, and other names of a file that is read): {', '.join(found.links)}",
    ]


def test_what_hadoop_writes_beside_data_is_known(tmp_path):
    root = write(tmp_path / "in", part_txt=b"babaq\n")
    for name in (
        "_SUCCESS", "_metadata", "_common_metadata", "_committed_12", "_started_12", ".part.txt.crc", "a.crc", "_other",
    ):  # fmt: skip
        (root / name).write_bytes(b"\xff")
    found = tree_files(root, DocumentSettings())
    assert (found.taken, found.skipped, found.unreadable) == (["part.txt"], ["_other"], [])
    assert tree_files(root, DocumentSettings(format="text")).taken == ["_other", "a.crc", "part.txt"]


def test_of_many_files_that_are_not_read_some_are_named(tmp_path, shout):
    root = write(tmp_path / "in", a_txt=b"one\n")
    for number in range(25):
        (root / f"{number:02}.jpg").write_bytes(b"")
    summary, said = run(root, tmp_path / "out", shout)
    assert len(summary.skipped_files) == 25
    assert said[0].endswith(
        "00.jpg, 01.jpg, 02.jpg, 03.jpg, 04.jpg, 05.jpg, 06.jpg, 07.jpg, 08.jpg, 09.jpg and 15 more"
    )


def mixed(tmp_path):
    """A tree of good and bad files; the bad ones begin well."""
    good = b'{"t": "fine", "id": 1}\n'
    return write(
        tmp_path / "in", a_jsonl=good * 2, b_jsonl=good * 9 + b"{", c_jsonl=b'{"u": "zebra"}\n', d_jsonl=good,
        e_txt=b"fine\n" * 9 + b"\xff", f_csv=b"t,n\nx,1\nzebra\n", g_jsonl_gz=b"no gzip", h_parquet=b"no parquet",
        i_txt=b"fine\n",
    )  # fmt: skip


def test_malformed_files_are_left_out_and_told_and_the_others_are_done(tmp_path, shout):
    counts = Counter()

    def counting(block):
        counts["characters"] += sum(len(text) for record in block for text in record.texts)
        return shout(block)

    summary, said = run(mixed(tmp_path), tmp_path / "out", counting, settings=SMALL, counts=counts)
    assert sorted(os.listdir(tmp_path / "out")) == ["a.jsonl", "d.jsonl", "i.txt"]
    assert (summary.files, summary.documents, counts["characters"]) == (3, 4, 16)
    assert [message.split(": ")[0].removeprefix(f"{tmp_path}/in/") for message in summary.bad_files] == [
        "b.jsonl, line 10", "c.jsonl, line 1", "e.txt, line 10, byte 45", "f.csv, line 3", "g.jsonl.gz", "h.parquet",
    ]  # fmt: skip
    assert said.pop(0).startswith("every column besides the text is copied unchanged")
    assert said == [f"left out: {message}" for message in summary.bad_files]
    assert "zebra" not in "".join(said)
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]


def test_a_resumed_tree_remembers_the_malformed_files(tmp_path, shout):
    whole, _ = run(mixed(tmp_path), tmp_path / "whole", shout, settings=SMALL)

    def stopping(block):
        if block[0].source == "i.txt":
            raise KeyboardInterrupt
        return shout(block)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "in", tmp_path / "out", stopping, settings=SMALL)
    summary, _ = run(tmp_path / "in", tmp_path / "out", shout, settings=SMALL, resume=True)
    assert summary.bad_files == whole.bad_files
    assert (summary.documents, summary.files, summary.resumed_documents) == (whole.documents, whole.files, 3)
    for name in os.listdir(tmp_path / "whole"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_tree_without_any_good_file_fails_and_leaves_nothing(tmp_path, shout):
    root = write(tmp_path / "in", a_txt=b"\xff", b_txt=b"\xff")
    with pytest.raises(
        DocumentFormatError, match=r"in: none of its 2 files can be read. The first: .*in/a\.txt, line 1"
    ):
        run(root, tmp_path / "out", shout)
    assert os.listdir(tmp_path) == ["in"]


def test_records_without_text_are_counted_over_all_files(tmp_path, shout):
    line = b'{"t": "a"}\n{"u": 1}\n{"t": 7}\n'
    root = write(tmp_path / "in", a_jsonl=line, b_jsonl=line * 2)
    summary, _ = run(root, tmp_path / "out", shout, settings=replace(SMALL, missing="keep"))
    assert summary.gaps == {"missing": 3, "not_text": 3}
