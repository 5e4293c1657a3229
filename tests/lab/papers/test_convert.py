"""Every role's file from an original of the same inner form, made up here; then read as reproductions read it."""

import io
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from wordveil.errors import DataFormatError, ParameterError
from wordveil.vocabulary.table import load_embeddings
from wordveil_lab.package import told
from wordveil_lab.papers import convert as converting
from wordveil_lab.papers.convert import convert
from wordveil_lab.rows import file_digest, read_labelled, read_rows, scored_pairs

PAGE = Path(__file__).resolve().parents[3] / "docs/results/data.md"


def tarred(path, files):
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def folder(path, files):
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


REVIEWS = {
    f"aclImdb/{part}/{side}/{i}_7.txt": f"{side} {part} {i}\nend<br />".encode()
    for part in ("train", "test")
    for side in ("neg", "pos", "unsup")
    for i in range(2)
}
MADE = tomllib.loads(Path(__file__).with_name("originals.toml").read_text(encoding="utf-8"))


@pytest.fixture
def unchecked(monkeypatch):
    """Leave the known checksums out: what is made up here has others."""
    forms = {
        role: {k: v for k, v in form.items() if k != "checksum"} for role, form in told("papers/originals.toml").items()
    }
    monkeypatch.setattr(converting, "told", lambda name: forms)


def original(role, tmp_path):
    if role not in MADE:
        return tarred(tmp_path / "aclImdb_v1.tar.gz", REVIEWS)
    facts = MADE[role]
    pack = {"tarred": tarred, "zipped": zipped, "folder": folder}[facts["packed"]]
    files = {name: text.encode(facts.get("encoding", "utf-8")) for name, text in facts["files"].items()}
    return pack(tmp_path / facts["name"], files)


def test_every_role_has_an_original_here():
    assert set(MADE) | {"glove", "imdb-train", "imdb-test"} == set(told("papers/originals.toml"))


@pytest.mark.parametrize("role", MADE)
def test_a_table_of_a_role_holds_the_rows_of_its_original(role, tmp_path):
    out = tmp_path / "made.tsv"
    rows = list(map(tuple, MADE[MADE[role].get("same", role)]["rows"]))
    assert convert(role, original(role, tmp_path), out) == len(rows)
    columns = told("papers/originals.toml")[role]["columns"]
    assert [tuple(row[column] for column in columns) for row in read_rows(out, tuple(columns))] == rows
    assert out.read_text(encoding="utf-8").count("\n") == len(rows) + 1


@pytest.mark.parametrize("part", ["train", "test"])
def test_reviews_keep_their_lines_and_their_classes(part, tmp_path, unchecked):
    out = tmp_path / "imdb.jsonl.gz"
    assert convert(f"imdb-{part}", original(f"imdb-{part}", tmp_path), out) == 4
    found = [(item.label, item.text) for item in read_labelled(out)]
    assert found == [
        (str(n), f"{side} {part} {i}\nend<br />") for n, side in enumerate(("neg", "pos")) for i in range(2)
    ]


def test_what_is_made_is_read_as_reproductions_read_it(tmp_path):
    convert("simlex", original("simlex", tmp_path), tmp_path / "simlex.tsv")
    convert("stsb", original("stsb", tmp_path), tmp_path / "stsb.tsv")
    convert("agnews-test", original("agnews-test", tmp_path), tmp_path / "ag.jsonl")
    assert [pair.score for pair in scored_pairs(tmp_path / "simlex.tsv", ("word1", "word2"))] == [1.58]
    assert [pair.score for pair in scored_pairs(tmp_path / "stsb.tsv", ("sentence1", "sentence2"))] == [2.5]
    assert read_labelled(tmp_path / "ag.jsonl", text="title+description")[0].text == 'A "title" Some, text'


@pytest.mark.parametrize("name", ["glove.6B.50d.txt", "glove.6B.50d.txt.gz"])
def test_a_table_of_vectors_leaves_its_archive_as_it_is(name, tmp_path, unchecked):
    files = {"glove.6B.50d.txt": b"the 0.5 -1\nof 2 0.25\n", "glove.6B.100d.txt": b"the 1 2 3\n"}
    assert convert("glove", zipped(tmp_path / "glove.6B.zip", files), tmp_path / name) == 2
    table = load_embeddings(tmp_path / name)
    assert (list(table.words), table.vectors.tolist()) == (["the", "of"], [[0.5, -1.0], [2.0, 0.25]])


def test_another_download_than_the_known_one_is_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(DataFormatError, match=r"has not the md5 .*Download it again"):
        convert("imdb-train", original("imdb-train", tmp_path), tmp_path / "out.jsonl")
    with pytest.raises(DataFormatError, match=r"holds nothing of men: \*MEN_dataset"):
        convert("men", original("simlex", tmp_path), tmp_path / "out.tsv")
    with pytest.raises(DataFormatError, match=r"a record in .*SimVerb-3500\.txt with too few cells"):
        convert("simverb", folder(tmp_path / "short", {"SimVerb-3500.txt": b"take\tremove\n"}), tmp_path / "out.tsv")
    with pytest.raises(ParameterError, match=r"must end in \.tsv"):
        convert("men", original("men", tmp_path), tmp_path / "out.csv")
    with pytest.raises(ParameterError, match="must be one of glove, imdb-train"):
        convert("imdb", original("men", tmp_path), tmp_path / "out.tsv")
    assert not (tmp_path / "out.tsv").exists()


def test_the_command_prints_what_it_wrote_and_its_checksum(tmp_path):
    out = tmp_path / "men.tsv"
    program = [sys.executable, "-m", "wordveil_lab.papers.convert"]
    answer = subprocess.run([*program, "men", original("men", tmp_path), out], capture_output=True, text=True)
    assert answer.stdout == f"{out}: 1 records, sha256 {file_digest(out)}\n"
    refused = subprocess.run([*program, "nothing", out, out], capture_output=True, text=True)
    assert refused.returncode == 1
    assert "must be one of glove" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_page_names_the_command_of_every_role():
    named = set(re.findall(r"`convert ([a-z0-9-]+) ", PAGE.read_text(encoding="utf-8")))
    assert named == set(told("papers/originals.toml"))
