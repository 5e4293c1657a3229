"""Who wrote a report: a signature holds every fact, and its key stays with its owner."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys

import pytest
from tests.cli.forging import forged, named, places

from wordveil.cli import report as report_command
from wordveil.runs.report import form, write_sealed
from wordveil.runs.report_schema import sealed

# Who wrote it.


@pytest.fixture
def key(wordveil, tmp_path):
    mask = os.umask(0)
    try:
        answer = wordveil("report", "--new-key", tmp_path / "sender.key")
    finally:
        os.umask(mask)
    assert answer.status == 0, answer.err
    secret = (tmp_path / "sender.key").read_text()
    assert not set(secret.splitlines()) & set((answer.out + answer.err).splitlines())
    assert stat.S_IMODE((tmp_path / "sender.key").stat().st_mode) == 0o600
    return tmp_path / "sender.key"


@pytest.mark.parametrize("ending", ["json", "html"])
def test_a_signature_holds_every_fact(released, key, ending):
    public = ["--public-key", key.with_suffix(".pub")]
    assert "is not signed" in released(ending, *public).err
    assert released(ending, *public).status == 1
    signing = released(ending, "--sign", key)
    assert signing.status == 0, signing.err
    report = released.folder / f"r.{ending}"
    assert key.read_text().splitlines()[1] not in report.read_text() + signing.out + signing.err
    answer = released(ending, *public)
    assert (answer.status, "signed with the private key" in answer.out) == (0, True)
    assert "by whom is not checked" in released(ending).out
    text = report.read_text(encoding="utf-8")
    facts = json.loads(text if ending == "json" else re.search(r'id="wordveil-report">(.*?)</script>', text)[1])
    target = released.folder / f"forged.{ending}"
    for path in places(facts):
        if path[0] in ("checksum", "schema", "inputs", "budget", "denoised"):  # the last ones make no page
            continue
        other = forged(facts, path)
        kept = {"signature": other["signature"]}
        target.write_text(form({**sealed(other), **kept}, html=ending == "html"), encoding="utf-8")
        assert released(ending, *public, report=target).status == 1, named(path)
    write_sealed(sealed(facts), target)  # its signature left out
    assert released(ending, *public, report=target).status == 1


def test_another_key_and_other_files_are_refused(wordveil, released, key, tmp_path):
    released("json", "--sign", key)
    wordveil("report", "--new-key", tmp_path / "other.key")
    assert "signed with another key" in released("json", "--public-key", tmp_path / "other.pub").err
    for wrong in (tmp_path / "notes.txt", key):
        answer = released("json", "--public-key", wrong)
        assert answer.status == 2
        assert "is no public key in PEM" in answer.err
    assert "is no private key in PEM" in released("json", "--sign", tmp_path / "other.pub").err
    again = wordveil("report", "--new-key", key)
    assert (again.status, "must be a new file" in again.err) == (2, True)
    (tmp_path / "html.txt").write_text("other")
    before = (tmp_path / "r.html").read_bytes()
    assert released("html", "--sign", key).status == 1
    assert (tmp_path / "r.html").read_bytes() == before, "what does not hold is not signed"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl")
def test_a_key_of_openssl_signs_too(released, tmp_path):
    private, public = tmp_path / "o.pem", tmp_path / "o.pub"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    assert released("json", "--sign", private).status == 0
    assert released("json", "--public-key", public).status == 0


def test_without_the_extra_a_signature_says_how_to_install_it(released, monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    answer = released("json", "--sign", released.folder / "k.key")
    assert answer.status == 2
    assert "pip install 'wordveil[sign]'" in answer.err
    assert released("json").status == 0


def test_a_key_is_made_alone_and_a_check_needs_both_names(wordveil, released, tmp_path):
    assert "must be given alone" in wordveil("report", tmp_path, "--new-key", tmp_path / "k").err
    assert "must name a report" in wordveil("report", tmp_path).err
    assert report_command.UNSIGNED in released().out
