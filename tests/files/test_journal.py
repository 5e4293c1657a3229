"""The one journal: what it takes over, and what it refuses by name."""

import json

import pytest

from wordveil.errors import ResumeError
from wordveil.files.journal import RUN_KEY, Journal, file_identity


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
