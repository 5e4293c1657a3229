"""The text formats against a slow reader that handles one line at a time."""

import gzip
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.vocabulary.test_embeddings_binary_readers import same

from wordveil.errors import EmbeddingFormatError
from wordveil.vocabulary.readers import numbers, text_lines
from wordveil.vocabulary.readers.registry import format_of, read_table
from wordveil.vocabulary.table import load_embeddings
from worlds import told

# Everything a line-based format can hold: no newline inside words, none at their ends that look like separators.
WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1, max_size=8)
ODD = st.sampled_from(
    [". . .", "a\x85b", "\u2028", "\u00a0", "at name@host.org", "é", "🙏🏿", "catch 22", "0.5", "-", "\t"]
)
NUMBER = (
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr)
    | st.floats(-20, 20).map(lambda x: f"{x:.5g}")
    | st.floats(-20, 20).map(lambda x: f"{x:.6f}")
    | st.decimals(-10, 10, places=15, allow_nan=False).map(str)
    | st.sampled_from(
        ["0", "-0.0", "-0", "1.", ".5", "+1.5", "1e-3", "-1E+2", "9.999999999999999", "9.007199254740993"]
    )
    | st.sampled_from(["0.00066023", "-6.6023e-05", "0.1234567890123456789", "10.25", "007.5", "3.4028235e38", "1e-50"])
)


def slow_read(data: bytes, d: int, header: bool = False) -> tuple[list[str], list[list[float]]]:
    """One line at a time, split from the right by d; values are float32(float(text))."""
    lines = data.decode().split("\n")[1 if header else 0 :]
    words, rows = [], []
    for line in lines:
        if line.strip("\r"):
            pieces = line.rstrip("\r").rstrip(" ").rsplit(" ", d)
            words.append(pieces[0])
            rows.append([float(np.float32(float(piece))) for piece in pieces[1:]])
    return words, rows


@st.composite
def tables(draw):
    d = draw(st.integers(2, 5))
    words = draw(st.lists(WORD | ODD, unique=True, min_size=1, max_size=12))
    # A word ending in a space cannot be told from a double separator; one ending in " 1.5" is a column too many.
    words = [w for w in words if not w.endswith(" ") and not text_lines._DECIMAL.match(w.rpartition(" ")[2].encode())]
    rows = [[draw(NUMBER) for _ in range(d)] for _ in words]
    return d, words, rows


@given(
    tables(), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", " ", "  "]), st.integers(0, 2), st.integers(1, 64)
)
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=120)
@example((2, ["a\x85b"], [["0.5", "1"]]), "\n", "", 0, 1)
def test_text_with_header_is_read_like_the_slow_reader(tmp_path_factory, table, line_end, trailing, blank, chunk):
    d, words, rows = table
    if not words:
        return
    lines = [f"{len(words)} {d}", *(f"{w} {' '.join(r)}{trailing}" for w, r in zip(words, rows, strict=True))]
    data = (line_end.join(lines) + line_end * blank).encode()
    path = tmp_path_factory.mktemp("t") / "table.vec"
    path.write_bytes(data)
    expected_words, expected_rows = slow_read(data, d, header=True)
    assert expected_words == words
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_lines, "_CHUNK", chunk)
        patch.setattr(numbers, "_CHUNK", 3)
        for name in ("word2vec_text", "fasttext_vec"):
            same(read_table(path, format_name=name), expected_words, expected_rows)


def glove_lines(rows: int, d: int) -> bytes:
    values = np.linspace(-1.5, 1.5, rows * d).reshape(rows, d)
    return b"".join(f"word{i} {' '.join(f'{x:.5g}' for x in row)}\n".encode() for i, row in enumerate(values))


@pytest.mark.parametrize("chunk", [1, 17, 1 << 22])
def test_glove_text_finds_its_width_among_words_with_spaces(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(text_lines, "_CHUNK", chunk)
    data = glove_lines(5, 3) + ". . . 1 2 3\nat name@host.org 4 5 6\na\x85b 7 8 9\n\u2028 1e-3 -6.6023e-05 0\n".encode()
    path = tmp_path / "glove.txt"
    path.write_bytes(data)
    found = read_table(path)
    same(found, *slow_read(data, 3))
    assert list(found.words)[5:] == [". . .", "at name@host.org", "a\x85b", "\u2028"]
    assert format_of(path, None).name == "glove_text"


@given(st.lists(NUMBER, min_size=1, max_size=40), st.integers(1, 9))
@settings(max_examples=120)
def test_numbers_equal_pythons_float(texts, chunk):
    data = bytes(numbers.PADDING) + " ".join(texts).encode()
    ends = np.cumsum([len(text) + 1 for text in texts]) + numbers.PADDING - 1
    starts = ends - [len(text) for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbers, "_CHUNK", chunk)
        values, wrong = numbers.parse_numbers(data, starts, ends)
    assert wrong is None
    with np.errstate(over="ignore"):
        expected = np.array([np.float32(float(text)) for text in texts])
    assert values.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "text", ["x", "", "0.1x", "0.x1", "x.11", "0..1", "-", "1_0", "0x1", "0.1-", "--0.5", "1.5\x00", "0.1:2"]
)
def test_texts_that_are_no_numbers(text):
    data = bytes(numbers.PADDING) + b"0.5 " + text.encode() + b" 0.25"
    starts = np.array([0, 4, 5 + len(text)]) + numbers.PADDING
    ends = np.array([3, 4 + len(text), 9 + len(text)]) + numbers.PADDING
    assert numbers.parse_numbers(data, starts, ends)[1] == 1


ROWS = "one 0.1 0.2 0.3\ntwo 1.5 2.5 3.5\nthree -1 -2 -3\n"
MALFORMED = told(__file__, "malformed")
LINES = [
    *MALFORMED["lines"],
    ["ROWS\udcff 1 2 3\n", "line 4: the word is not valid UTF-8", "Convert the file to UTF-8"],
]
NO_TEXT = [
    [b"\x93NUMPY\x01\x00v\x00", "", "is an array without words"],
    [bytes(range(256)) * 9, "", "is in no format that can be recognized"],
    ["a 1 2\n".encode("utf-16"), "", "is in no format that can be recognized"],
]


def in_bytes(text):
    return text.replace("ROWS", ROWS).encode("utf-8", "surrogateescape") if isinstance(text, str) else text


@pytest.mark.parametrize(("text", "message", "remedy"), LINES)
@pytest.mark.parametrize("chunk", [40, 1 << 22])
@pytest.mark.parametrize("packed", [False, True])
def test_malformed_glove_names_the_line_and_the_remedy(tmp_path, monkeypatch, text, message, remedy, chunk, packed):
    monkeypatch.setattr(text_lines, "_CHUNK", chunk)
    data, path = in_bytes(text), tmp_path / "bad.txt"
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(EmbeddingFormatError, match=message) as caught:
        load_embeddings(path)
    assert str(caught.value).startswith(str(path))
    assert remedy in str(caught.value)
    if caught.value.line is not None:
        assert caught.value.line == 4


@pytest.mark.parametrize(("text", "name", "message"), MALFORMED["headers"] + NO_TEXT)
def test_headers_that_lie_and_what_is_no_table_of_vectors_are_told_as_what_they_are(tmp_path, text, name, message):
    path = tmp_path / "table.txt"
    path.write_bytes(in_bytes(text))
    with pytest.raises(EmbeddingFormatError, match=message):
        read_table(path, format_name=name or None)


def test_limit_takes_the_first_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(text_lines, "_CHUNK", 20)
    path = tmp_path / "table.txt"
    path.write_text("9 3\n" + ROWS)
    for limit in (1, 2, 3):
        found = read_table(path, limit=limit)
        assert list(found.words) == ["one", "two", "three"][:limit]
        assert found.vectors.shape == (limit, 3)


def test_zip_members(tmp_path):
    path = tmp_path / "glove.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("small.txt", ROWS)
    same(read_table(path), *slow_read(ROWS.encode(), 3))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/big.txt", glove_lines(4, 2))
    same(read_table(path / "small.txt"), *slow_read(ROWS.encode(), 3))
    same(read_table(path / "folder" / "big.txt"), *slow_read(glove_lines(4, 2), 2))
    with pytest.raises(EmbeddingFormatError, match=r"holds 2 files \(small.txt, folder/big.txt\)\. Name one"):
        read_table(path)
    with pytest.raises(EmbeddingFormatError, match="holds 2 files"):
        read_table(path / "other.txt")


def test_a_line_without_end_is_no_text_file(tmp_path, monkeypatch):
    monkeypatch.setattr(text_lines, "_MAX_LINE", 1000)
    monkeypatch.setattr(text_lines, "_CHUNK", 256)
    path = tmp_path / "table.txt"
    path.write_bytes(b"x" * 5000)
    with pytest.raises(EmbeddingFormatError, match="a line is longer than 1000 bytes"):
        read_table(path)


def test_binary_is_not_taken_for_text(tmp_path):
    path = tmp_path / "odd.txt"
    path.write_bytes(b"1 2\nword " + struct.pack("<2f", 1.0, 2.0))
    assert format_of(path, None).name == "word2vec_binary"
    (tmp_path / "c.txt").write_text("2 2\nпример слово 0.1 0.2\nb 1 2\n", encoding="utf-8")
    assert format_of(tmp_path / "c.txt", None).name == "word2vec_text"
