"""Importing: the same table as reading, in blocks, all or nothing; headers, and the packaged layout written here."""

import json
import os
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dying import interrupt_after

import seeds
import wordveil as wv
from wordveil.errors import ChecksumError, EmbeddingFormatError, ParameterError
from wordveil.vocabulary import importing, storage
from wordveil.vocabulary.checksums import table_checksum
from wordveil.vocabulary.header import VocabularyHeader
from wordveil.vocabulary.packaged import read_packaged
from wordveil.vocabulary.readers import text_lines
from worlds import told


def lines(rows: int, d: int = 4) -> str:
    letters = "abcdefghij"
    words = ["".join(letters[int(c)] for c in str(i)) for i in range(rows - 2)] + ["<unk>", "3"]
    values = seeds.rng(1).normal(size=(rows, d))
    return "".join(f"{w} {' '.join(f'{x:.6f}' for x in row)}\n" for w, row in zip(words, values, strict=True))


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setattr(text_lines, "_CHUNK", 500)
    path = tmp_path / "in" / "glove.tiny.txt"
    path.parent.mkdir()
    path.write_text(lines(60))
    return path


def test_import_equals_reading_into_memory(source, tmp_path):
    seen: list[tuple[int, float]] = []
    imported = wv.import_embeddings(
        source, tmp_path / "out" / "voc", progress=lambda rows, share: seen.append((rows, share))
    )
    read = wv.load_embeddings(source)
    imported.verify()
    read.verify()
    assert list(imported.words) == list(read.words)
    assert imported.vectors.tobytes() == read.vectors.tobytes()
    assert imported.header.checksum == read.header.checksum
    assert imported.candidates.tolist() == read.candidates.tolist() == list(range(58))
    assert imported.canonical.tolist() == read.canonical.tolist()
    assert imported.header.name == read.header.name == "glove.tiny"
    assert imported.header.source == "glove.tiny.txt (glove_text)"
    assert imported.header.casing == "lower"
    assert imported.header.candidates_checksum == imported.candidates_checksum
    assert len(seen) > 3
    assert seen == sorted(seen)
    assert seen[-1] == (60, 1.0)
    assert wv.load_embeddings(tmp_path / "out" / "voc").header == imported.header


def test_parameters_reach_the_header(source, tmp_path):
    table = wv.import_embeddings(
        source, tmp_path / "voc", format="glove_text", name="mine", casing="cased", candidate_rule="all", limit=7
    )
    header = table.header
    assert (header.name, header.casing, header.candidate_rule, header.rows) == ("mine", "cased", "all", 7)
    assert table.candidates.tolist() == list(range(7))


@pytest.mark.parametrize(("bad", "message"), [
    ("aa 1 2 3 4\n", "line 61: the word 'aa' occurred before, at line 1"),
    ("zz 1 2 nan 4\n", "line 61: value 3 is nan"),
    ("zz 1 2 3\n", "line 61: has 3 values, expected 4"),
    ("zz 1 2 3 4", None),
])  # fmt: skip
def test_a_malformed_source_leaves_nothing(source, tmp_path, bad, message):
    text = source.read_text()
    source.write_text(text.replace("a ", "aa ", 1) + bad)
    if message is None:
        assert len(wv.import_embeddings(source, tmp_path / "voc")) == 61
        return
    with pytest.raises(EmbeddingFormatError, match=message):
        wv.import_embeddings(source, tmp_path / "voc")
    assert os.listdir(tmp_path) == ["in"]


@pytest.mark.parametrize(("changes", "message"), [
    ({"candidate_rule": "some"}, "candidate_rule='some' must be one of words, all"),
    ({"casing": "upper"}, "casing='upper' must be one of lower, cased, or None"),
    ({"limit": 0}, "limit=0 must be at least 1"),
    ({"format": "glove"}, "format='glove' must be one of"),
])  # fmt: skip
def test_parameters_outside_their_domain(source, tmp_path, changes, message):
    with pytest.raises(ParameterError, match=message):
        wv.import_embeddings(source, tmp_path / "voc", **changes)
    assert os.listdir(tmp_path) == ["in"]


def test_a_destination_that_appears_meanwhile_is_kept(source, tmp_path):
    def appear(rows: int, share: float) -> None:
        (tmp_path / "voc").mkdir(exist_ok=True)
        (tmp_path / "voc" / "theirs").write_text("x")

    with pytest.raises(ParameterError, match="already exists"):
        wv.import_embeddings(source, tmp_path / "voc", progress=appear)
    assert os.listdir(tmp_path / "voc") == ["theirs"]
    assert sorted(os.listdir(tmp_path)) == ["in", "voc"]


def test_an_interrupt_leaves_nothing(source, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        wv.import_embeddings(source, tmp_path / "voc", progress=interrupt_after(1))
    assert os.listdir(tmp_path) == ["in"]


def test_a_disk_that_changes_bytes_is_noticed(source, tmp_path, monkeypatch):
    finish = storage.VocabularyWriter.finish_matrix

    def finish_on_a_bad_disk(writer):
        matrix, digest = finish(writer)
        with (writer.directory / "vectors.npy").open("r+b") as stream:
            stream.seek(200)
            stream.write(b"\x00\x00\x80\x3f")
        return matrix, digest

    monkeypatch.setattr(importing.VocabularyWriter, "finish_matrix", finish_on_a_bad_disk)
    with pytest.raises(ChecksumError, match="the matrix on disk differs from the one read"):
        wv.import_embeddings(source, tmp_path / "voc")
    assert os.listdir(tmp_path) == ["in"]


MALFORMED = told(__file__, "malformed")
FACTS = {"name": "tiny", "source": "tests", "rows": 2, "dimensions": 3, "checksum": "ab"}


@given(
    name=st.text(st.characters(exclude_categories=["Cs"])).filter(str.isprintable),
    casing=st.sampled_from(["lower", "cased"]),
    rows=st.integers(1, 2**40),
)
def test_json_round_trip(name, casing, rows):
    header = VocabularyHeader(**{**FACTS, "name": name, "rows": rows}, casing=casing)
    assert VocabularyHeader.from_json(header.to_json()) == header
    assert pickle.loads(pickle.dumps(header)) == header


@pytest.mark.parametrize(("field", "value", "message"), MALFORMED["facts"])
def test_domain(field, value, message):
    with pytest.raises(ParameterError, match=message):
        VocabularyHeader(**{**FACTS, field: value})


@pytest.mark.parametrize(("text", "message"), [
    ("{", "the header is not JSON"),
    ("[]", "must be a JSON object"),
    (json.dumps({**FACTS, "rows": "2"}), "rows='2' must be a positive integer"),
    (json.dumps({"name": "tiny"}), "missing 4 required keyword-only arguments"),
])  # fmt: skip
def test_damaged_json_names_the_file(text, message):
    with pytest.raises(EmbeddingFormatError, match=message) as caught:
        VocabularyHeader.from_json(text, path="voc/header.json")
    assert str(caught.value).startswith("voc/header.json: ")
    assert "Import the source again" in str(caught.value)


def test_unknown_keys_are_left_to_later_versions():
    text = json.dumps({**FACTS, "colour": "blue"})
    assert VocabularyHeader.from_json(text) == VocabularyHeader(**FACTS)


WORDS = ["good", "a\x85b", "don't"]
CODES = np.array([[-127, 0], [1, 127], [5, -3]], dtype=np.int8)
SCALES = np.array([0.5, 0.1], dtype=np.float32)


@pytest.fixture
def folder(tmp_path):
    matrix = CODES.astype(np.float32) * SCALES
    header = VocabularyHeader(
        name="tiny", source="tests", rows=3, dimensions=2, checksum=table_checksum(WORDS, matrix), casing="lower"
    )
    (tmp_path / "header.json").write_text(header.to_json(), encoding="utf-8")
    (tmp_path / "words.txt").write_bytes("\n".join(WORDS).encode())
    np.save(tmp_path / "vectors.npy", CODES)
    np.save(tmp_path / "scales.npy", SCALES)
    return tmp_path


@pytest.mark.parametrize("final_newline", [False, True])
def test_rows_are_codes_times_scales(folder, final_newline):
    if final_newline:
        (folder / "words.txt").write_bytes("\n".join([*WORDS, ""]).encode())
    header, words, vectors = read_packaged(folder)
    assert list(words) == WORDS
    expected = [[np.float32(int(c)) * s for c, s in zip(row, SCALES, strict=True)] for row in CODES]
    assert vectors.dtype == np.float32
    assert vectors.tolist() == np.array(expected).tolist()
    assert table_checksum(words, vectors) == header.checksum


@pytest.mark.parametrize(("name", "content", "message"), [
    ("words.txt", b"good\nbad", "words.txt: has 2 words, the header says 3"),
    ("words.txt", None, "cannot be read"),
    ("header.json", b"{}", "header.json: the header is not valid"),
    ("vectors.npy", CODES[:2], r"vectors.npy: holds int8 \(2, 2\), expected int8 \(3, 2\)"),
    ("vectors.npy", CODES.astype(np.float32), r"holds float32 \(3, 2\), expected int8"),
    ("scales.npy", SCALES[:1], r"scales.npy: holds float32 \(1,\), expected float32 \(2,\)"),
    ("scales.npy", None, "scales.npy: cannot be read"),
])  # fmt: skip
def test_parts_that_do_not_fit(folder, name, content, message):
    target = folder / name
    target.unlink()
    if isinstance(content, bytes):
        target.write_bytes(content)
    elif content is not None:
        np.save(target, content)
    with pytest.raises(EmbeddingFormatError, match=message) as caught:
        read_packaged(folder)
    assert str(caught.value).endswith(("Reinstall wordveil.", "Import the source again, or restore the file."))
