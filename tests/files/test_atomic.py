"""Files that are there whole or not at all, one writer at a time, and the one journal of what was done."""

import json
import os
import stat
import sys
from functools import partial
from pathlib import Path

import pytest
from tests.dying import Death, in_child

from wordveil.errors import ParameterError, ResumeError
from wordveil.files import atomic
from wordveil.files.atomic import Unfinished, is_replaceable, open_private, publish, stamp, standing, write_whole
from wordveil.files.journal import RUN_KEY, Journal, file_identity


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.parametrize("shared", [False, True])
def test_a_file_that_is_replaced_is_the_old_or_the_new_one_whenever_the_writer_dies(tmp_path, shared):
    path, seen = tmp_path / "file", set()

    def write(steps):
        death = Death(steps)
        death.around_the_disk()
        write_whole(path, b"new" * 1000, shared=shared)

    for steps in range(1, 50):
        path.write_bytes(b"old")
        status, _ = in_child(partial(write, steps))
        seen.add(path.read_bytes())
        assert seen <= {b"old", b"new" * 1000}
        if status == 0:
            break
    assert status == 0
    assert len(seen) == 2


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic, "sync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(tmp_path / "file", b"data")
    assert list(tmp_path.iterdir()) == []


def test_private_files_stay_private_and_others_take_the_usual_mode_or_that_of_the_file_replaced(tmp_path):
    mask = os.umask(0o022)
    try:
        write_whole(tmp_path / "key", b"k", private=True)
        write_whole(tmp_path / "usual", b"u")
        (tmp_path / "usual").chmod(0o640)
        write_whole(tmp_path / "usual", b"v")
        write_whole(tmp_path / "new", b"u")
    finally:
        os.umask(mask)
    assert [mode(tmp_path / name) for name in ("key", "usual", "new")] == [0o600, 0o640, 0o644]


def test_a_private_file_follows_no_link(tmp_path):
    (tmp_path / "theirs").write_bytes(b"theirs")
    (tmp_path / "link").symlink_to("theirs")
    with open_private(tmp_path / "link") as file:
        file.write(b"mine")
    assert (tmp_path / "theirs").read_bytes() == b"theirs"
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("theirs")
    with pytest.raises(OSError, match="symbolic links"):
        open_private(tmp_path / "link", start=2)


def test_what_is_complete_takes_its_place_and_can_do_so_again(tmp_path):
    target = tmp_path / "out.txt"
    (tmp_path / "link.txt").symlink_to("out.txt")
    held = Unfinished(tmp_path / "link.txt", [], keep=False)
    (held.folder / "whole").write_bytes(b"new")
    written = stamp(held.folder / "whole")
    for _ in range(2):  # the second time after a kill between the renaming and the end
        publish(tmp_path / "link.txt", "whole", written)
        assert target.read_bytes() == b"new"
    held.release()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.txt", "out.txt"]
    assert (tmp_path / "link.txt").is_symlink()
    with pytest.raises(ResumeError, match="gone"):
        publish(tmp_path / "other.txt", "whole", written)
    target.write_bytes(b"another's")
    with pytest.raises(ResumeError, match="not what the interrupted run wrote"):
        publish(target, "whole", written)


@pytest.mark.skipif(sys.platform == "win32", reason="two runs of one output are not noticed there")
def test_of_two_runs_that_begin_together_one_stops_and_harms_nothing(tmp_path, monkeypatch):
    target = tmp_path / "out.txt"
    before = standing(target)
    first = Unfinished(target, before, keep=False)
    (first.folder / "whole").write_bytes(b"first")
    with pytest.raises(ParameterError, match="by another run"):
        Unfinished(target, before, keep=False)
    publish(target, "whole", stamp(first.folder / "whole"))
    first.release()
    with pytest.raises(ParameterError, match="by another run"):  # which had looked before the first was done
        Unfinished(target, before, keep=False)
    lock = atomic.fcntl.flock

    def late(handle, how):
        (tmp_path / ".out.txt.partial").rmdir()  # as the first run does at its end
        lock(handle, how)

    monkeypatch.setattr(atomic.fcntl, "flock", late)
    with pytest.raises(ParameterError, match="by another run"):
        Unfinished(target, standing(target), keep=False)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out.txt", b"first")]


@pytest.mark.skipif(sys.platform == "win32", reason="two runs of one output are not noticed there")
def test_no_folder_is_removed_that_another_run_may_have_made_since(tmp_path, monkeypatch):
    target, looked, folder = tmp_path / "out.txt", atomic.Path.is_symlink, tmp_path / ".out.txt.partial"
    folder.mkdir(mode=0o755)
    held = Unfinished(target, [], keep=False)
    assert mode(folder) == 0o700
    held.remove()
    held.release()

    def made_since(path):
        found = looked(path)
        monkeypatch.setattr(atomic.Path, "is_symlink", looked)
        first.append(Unfinished(target, [], keep=False))
        return found

    first = []
    monkeypatch.setattr(atomic.Path, "is_symlink", made_since)
    with pytest.raises(ParameterError, match="by another run"):
        Unfinished(target, [], keep=False)
    assert folder.is_dir()
    first[0].release()


@pytest.mark.skipif(sys.platform == "win32", reason="two runs of one output are not noticed there")
def test_a_beginning_that_fails_lets_go_of_the_output(tmp_path, monkeypatch):
    target, left = tmp_path / "out.txt", tmp_path / ".out.txt.partial" / "whole"
    left.mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(atomic, "standing", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            Unfinished(target, [], keep=False)
    Unfinished(target, [], keep=False).release()
    assert not left.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="makes a pipe")
@pytest.mark.parametrize("kind", ["pipe", "file", "link"])
def test_what_is_no_folder_in_the_place_of_the_unfinished_one_is_left_alone_and_waited_for_by_nobody(tmp_path, kind):
    place = tmp_path / ".out.txt.partial"
    {"pipe": os.mkfifo, "file": Path.touch, "link": lambda path: path.symlink_to("elsewhere")}[kind](place)
    atomic.check_not_busy(tmp_path / "out.txt")
    with pytest.raises(ParameterError, match=r"has \.out\.txt\.partial beside it, which is no run's folder"):
        Unfinished(tmp_path / "out.txt", [], keep=False)
    assert os.path.lexists(place)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="makes a folder of another user")
def test_an_unfinished_folder_of_another_user_is_refused(tmp_path):
    folder = tmp_path / ".out.txt.partial"
    folder.mkdir()
    os.chown(folder, 12345, -1)
    with pytest.raises(ParameterError, match="another user's"):
        Unfinished(tmp_path / "out.txt", [], keep=False)
    assert folder.stat().st_uid == 12345


def test_devices_and_pipes_are_not_replaced(tmp_path):
    assert [is_replaceable(place) for place in ("-", os.devnull)] == [False, False]
    assert all(is_replaceable(place) for place in (tmp_path, tmp_path / "new", __file__))


@pytest.mark.parametrize("other", ["writes", "removes"])
def test_a_folder_goes_though_another_process_is_at_work_in_it(tmp_path, monkeypatch, other):
    place = tmp_path / "out" / "attempts" / "one"
    place.mkdir(parents=True)
    remove, times = os.rmdir, []

    def meanwhile(*given, **named):
        """What another process did just before this one removes a folder."""
        times.append(given)
        if len(times) == 1:
            if other == "writes":
                (place / "parts").mkdir()
            else:
                remove(place)
        remove(*given, **named)

    monkeypatch.setattr(os, "rmdir", meanwhile)
    atomic._remove(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def journal(path, **changes):
    return Journal(path, {"epsilon": 2.0, "options": {"casing": "shape", "per": "token"}, RUN_KEY: "ab", **changes})


def test_progress_is_taken_over_by_an_equal_identity_alone(tmp_path):
    path = tmp_path / "journal"
    assert not journal(path).load()
    one = journal(path)
    one.position, one.tally = {"file": 1, "output": 700}, {"counts": {"tokens": 3}}
    one.save()
    assert path.stat().st_mode & 0o777 == 0o600
    other = journal(path)
    assert other.load()
    assert (other.position, other.tally, other.product) == (one.position, one.tally, None)
    with pytest.raises(ResumeError, match=r"differs in: epsilon, options\.per\. .* or start without --resume\."):
        journal(path, epsilon=3.0, options={"casing": "shape", "per": "document"}).load()
    with pytest.raises(ResumeError, match=r"differs in: run key\. "):
        journal(path, **{RUN_KEY: "cd"}).load()
    other.remove()
    assert not journal(path).load()


def test_a_complete_output_needs_its_key_no_more(tmp_path):
    one = journal(tmp_path / "journal")
    one.product = "whole"
    one.save()
    other = journal(tmp_path / "journal", **{RUN_KEY: "cd"})
    assert other.load()
    assert other.product == "whole"


OLD = {"version": 2, "fingerprint": {}, "records": 4, "documents": 4, "position": 100, "tally": {}, "complete": False}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", json.dumps(OLD).encode(), b'{"version": 3}'])
def test_damaged_journals_and_those_of_other_versions_are_refused(tmp_path, content):
    (tmp_path / "journal").write_bytes(content)
    with pytest.raises(ResumeError, match=r"is damaged or of another version: name another file\.$"):
        Journal(tmp_path / "journal", {}, remedy="name another file").load()


def test_an_edit_anywhere_in_a_file_changes_its_identity(tmp_path):
    path, seen = tmp_path / "in.txt", set()
    content = bytearray(b"word " * 600_000)
    for place in (None, 0, len(content) // 2, len(content) - 1):
        if place is not None:
            content[place] ^= 1
        path.write_bytes(content)
        seen.add(json.dumps(file_identity(path)))
    assert len(seen) == 4
