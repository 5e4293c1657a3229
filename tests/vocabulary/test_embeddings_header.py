"""The header, its domain and what a damaged one says; and the packaged layout, on a small folder written here."""

import json
import pickle
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordveil.errors import EmbeddingFormatError, ParameterError
from wordveil.vocabulary.checksums import table_checksum
from wordveil.vocabulary.header import VocabularyHeader
from wordveil.vocabulary.packaged import read_packaged

MALFORMED = tomllib.loads(Path(__file__).with_name("malformed.toml").read_text(encoding="utf-8"))
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
