"""The loader of the packaged layout, on a small folder written here and on the one that ships."""

import numpy as np
import pytest

from wordveil.errors import EmbeddingFormatError
from wordveil.vocabulary.checksums import table_checksum
from wordveil.vocabulary.header import VocabularyHeader
from wordveil.vocabulary.packaged import read_packaged

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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("words.txt", b"good\nbad", "words.txt: has 2 words, the header says 3"),
        ("words.txt", None, "cannot be read"),
        ("header.json", b"{}", "header.json: the header is not valid"),
        ("vectors.npy", CODES[:2], r"vectors.npy: holds int8 \(2, 2\), expected int8 \(3, 2\)"),
        ("vectors.npy", CODES.astype(np.float32), r"holds float32 \(3, 2\), expected int8"),
        ("scales.npy", SCALES[:1], r"scales.npy: holds float32 \(1,\), expected float32 \(2,\)"),
        ("scales.npy", None, "scales.npy: cannot be read"),
    ],
)
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
