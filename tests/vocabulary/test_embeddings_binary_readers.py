"""word2vec binary, .npz and model2vec files: written here byte by byte, read back; damage to any format."""

import gzip
import io
import json
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wordveil.errors import EmbeddingFormatError
from wordveil.vocabulary.readers import word2vec_binary
from wordveil.vocabulary.readers.registry import FORMATS, format_of, read_table
from worlds import told

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
BINARY_WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \n"), min_size=1, max_size=8)
WORDS = ["good", "Bad", "a\x85b", "🙏🏿"]
ROWS = np.array([[1.5, -2.0, 0.25], [3e38, 1e-40, -0.0], [0.1, 0.2, 0.3], [7.0, 8.0, 9.0]], dtype=np.float32)


def binary(words: list[str], rows: np.ndarray, between: bytes, counts: str | None = None) -> bytes:
    head = counts if counts is not None else f"{len(words)} {rows.shape[1]}"
    body = [w.encode() + b" " + struct.pack(f"<{len(r)}f", *r) + between for w, r in zip(words, rows, strict=True)]
    return f"{head}\n".encode() + b"".join(body)


def same(found, words=WORDS, rows=ROWS) -> None:
    assert list(found.words) == list(words)
    assert found.vectors.tobytes() == np.asarray(rows, dtype=np.float32).tobytes()


@given(st.lists(BINARY_WORD, unique=True, min_size=1, max_size=12), st.data())
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=100)
def test_word2vec_binary_with_and_without_newlines(tmp_path_factory, words, data):
    d = data.draw(st.integers(1, 4))
    rows = data.draw(hnp.arrays(np.float32, (len(words), d), elements=FINITE))
    between = data.draw(st.sampled_from([b"", b"\n"]))
    chunk = data.draw(st.integers(1, 60))
    path = tmp_path_factory.mktemp("b") / "table.bin"
    raw = binary(words, rows, between)
    path.write_bytes(gzip.compress(raw) if data.draw(st.booleans()) else raw)
    with pytest.MonkeyPatch.context() as patch:
        # The header must fit into the first read; chunks of one byte come after it.
        patch.setattr(word2vec_binary, "_CHUNK", max(chunk, raw.index(b"\n") + 1))
        same(read_table(path, format_name="word2vec_binary"), words, rows)


BIN = binary(WORDS, ROWS, b"\n")


@pytest.mark.parametrize(("data", "message", "offset"), [
    (BIN[:-3], r"ends within row 3; the header says 4 rows of 3 values", len(BIN) - 3),
    (binary(WORDS, ROWS, b"", "5 3"), "ends within row 4; the header says 5 rows", None),
    (binary(WORDS, ROWS, b"", "4 4"), "ends within row 3|no space|not valid UTF-8|not a finite", None),
    (binary(WORDS, ROWS, b"", "3 3"), "goes on after the 3 rows that the header announces", None),
    (binary(WORDS, ROWS, b"\n", "3 3"), "goes on after the 3 rows that the header announces", None),
    (binary(WORDS, ROWS, b"", "0 3"), "two positive integers", 0),
    (binary(WORDS, ROWS, b"", "4 0"), "two positive integers", 0),
    (binary(WORDS, ROWS, b"", "four 3"), "two positive integers", 0),
    (binary(WORDS, ROWS, b"", "4 999999999"), "ends within row 0; the header says 4 rows of 999999999", None),
    (b"1 1\n" + b"x" * 40000, "no space follows within 16384 bytes", 4),
    (b"4 3\n", "ends within row 0", 4),
    (binary(["a", "b", "a", "c"], ROWS, b""), "byte 32: the word 'a' occurred before, at offset 4", 32),
    (binary(WORDS, np.where(ROWS == 8, np.nan, ROWS), b""), "value 2 is nan, not a finite float32", None),
    (binary(WORDS, np.where(ROWS == 8, np.inf, ROWS), b"\n"), "value 2 is inf, not a finite float32", None),
    (BIN.replace(b"good", b"g\xff\xfed"), "byte 4: the word is not valid UTF-8", 4),
])  # fmt: skip
@pytest.mark.parametrize("chunk", [64, 1 << 22])
def test_malformed_binary_names_the_offset(tmp_path, monkeypatch, data, message, offset, chunk):
    monkeypatch.setattr(word2vec_binary, "_CHUNK", chunk)
    path = tmp_path / "bad.bin"
    path.write_bytes(data)
    with pytest.raises(EmbeddingFormatError, match=message) as caught:
        read_table(path, format_name="word2vec_binary")
    assert caught.value.offset is not None
    if offset is not None:
        assert caught.value.offset == offset


def test_binary_limit_does_not_read_on(tmp_path):
    path = tmp_path / "table.bin"
    path.write_bytes(BIN[:-3])
    same(read_table(path, limit=3), WORDS[:3], ROWS[:3])
    assert format_of(path, None).name == "word2vec_binary"


@pytest.mark.parametrize("members", [
    {"words": np.array(WORDS), "vectors": ROWS},
    {"words": np.array("\n".join(WORDS)), "vectors": ROWS},
    {"words": np.array("\n".join(WORDS).encode()), "vectors": ROWS},
    {"words": np.array([w.encode() for w in WORDS]), "vectors": ROWS},
    {"vocab": np.array(WORDS), "embeddings": ROWS.astype(np.float64)},
    {"keys": np.array(WORDS), "matrix": np.asfortranarray(ROWS), "other": np.zeros(3)},
])  # fmt: skip
@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_npz_layouts(tmp_path, members, write):
    write(tmp_path / "table.npz", **members)
    assert format_of(tmp_path / "table.npz", None).name == "npz"
    same(read_table(tmp_path / "table.npz"))
    same(read_table(tmp_path / "table.npz", limit=2), WORDS[:2], ROWS[:2])


@pytest.mark.parametrize(("members", "message"), [
    ({"a": ROWS}, "holds a, but none of words, vocab, vocabulary, keys"),
    ({"words": np.array(WORDS)}, "holds words, but none of vectors, embeddings, matrix"),
    ({"words": np.array(WORDS[:3]), "vectors": ROWS}, "holds 3 words and 4 rows"),
    ({"words": np.array(WORDS), "vectors": ROWS[0]}, r"the matrix is float32 with shape \(3,\)"),
    ({"words": np.array(WORDS), "vectors": ROWS[:, :0]}, r"the matrix is float32 with shape \(4, 0\)"),
    ({"words": np.arange(4), "vectors": ROWS}, "the words are int64, expected strings"),
    ({"words": np.array(WORDS, dtype=object), "vectors": ROWS}, "cannot be read as .npz .*allow_pickle=False"),
    ({"words": np.array(["a", "b", "a", "c"]), "vectors": ROWS}, "row 2: the word 'a' occurred before, at row 0"),
    ({"words": np.array(WORDS), "vectors": np.where(ROWS == 8, np.nan, ROWS)}, "row 3: value 2 is nan"),
    ({"words": np.array(WORDS), "vectors": np.where(ROWS == 8, 1e39, ROWS.astype(float))}, "row 3: value 2 is inf"),
    ({"words": np.array([b"a", b"\xff", b"c", b"d"]), "vectors": ROWS}, "row 1: the word is not valid UTF-8"),
])  # fmt: skip
def test_malformed_npz(tmp_path, members, message):
    np.savez(tmp_path / "bad.npz", **members)
    with pytest.raises(EmbeddingFormatError, match=message):
        read_table(tmp_path / "bad.npz")


class Hostile:
    """A pickle that would create a file when loaded."""

    def __init__(self, call: object, *arguments: object) -> None:
        self.call, self.arguments = call, arguments

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call, self.arguments


@pytest.mark.parametrize("protocol", range(2, 6))
def test_a_pickle_is_refused_and_not_loaded(tmp_path, protocol):
    trap, path = tmp_path / "trap", tmp_path / "table.kv"
    path.write_bytes(pickle.dumps(Hostile(os.mkdir, str(trap)), protocol=protocol))
    with pytest.raises(EmbeddingFormatError, match=r"is a pickle.*not loaded.*save_word2vec_format"):
        read_table(path)
    assert not trap.exists()
    pickle.loads(path.read_bytes())  # the twin shows that the trap works
    assert trap.exists()


def test_what_gensim_writes_is_read(tmp_path):
    keyedvectors = pytest.importorskip("gensim.models.keyedvectors", reason="gensim is not installed")
    table = keyedvectors.KeyedVectors(3)
    table.add_vectors(["good", "bad", "東京"], ROWS[1:])
    table.save_word2vec_format(str(tmp_path / "table.bin"), binary=True)
    table.save_word2vec_format(str(tmp_path / "table.txt"), binary=False)
    for name in ("table.bin", "table.txt"):
        same(read_table(tmp_path / name), ["good", "bad", "東京"], ROWS[1:])


def model2vec(folder, tensors: dict[str, np.ndarray], vocab: object) -> None:
    safetensors = pytest.importorskip("safetensors.numpy", reason="needs the extra safetensors to write the file")
    folder.mkdir(exist_ok=True)
    safetensors.save_file(tensors, folder / "model.safetensors")
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocab}}), encoding="utf-8")


def ids_of(words: list[str]) -> dict[str, int]:
    # In another order than the ids, as tokenizer files may be.
    return {word: i for i, word in reversed(list(enumerate(words)))}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_model2vec_folders(tmp_path, dtype):
    rows = np.clip(ROWS, -100, 100).astype(dtype)
    tensors = {"other": np.arange(5), "embeddings": rows, "weights": np.full(4, 0.5)}
    model2vec(tmp_path / "model", tensors, ids_of(WORDS))
    assert format_of(tmp_path / "model", None).name == "safetensors_model2vec"
    same(read_table(tmp_path / "model"), rows=rows.astype(np.float32))
    same(read_table(tmp_path / "model" / "model.safetensors"), rows=rows.astype(np.float32))


def test_model2vec_mapping_and_unigram_marks(tmp_path):
    model2vec(tmp_path / "a", {"embeddings": ROWS, "mapping": np.array([3, 0, 0, 1])}, ids_of(WORDS))
    same(read_table(tmp_path / "a"), rows=ROWS[[3, 0, 0, 1]])
    model2vec(
        tmp_path / "b", {"embeddings": ROWS}, [["\u2581good", -1.0], ["good", -2.0], ["\u2581bad", -3.0], ["ly", -4.0]]
    )
    same(read_table(tmp_path / "b"), ["good", "##good", "bad", "##ly"])


def test_bfloat16_is_the_upper_half_of_float32(tmp_path):
    halves = (ROWS[2:].view(np.uint32) >> 16).astype("<u2")
    header = json.dumps({"embeddings": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + halves.tobytes())
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {"a": 0, "b": 1}}}))
    same(read_table(tmp_path), ["a", "b"], (ROWS[2:].view(np.uint32) & 0xFFFF0000).view(np.float32))


def raw_safetensors(entry: object, data: bytes = bytes(48), length: int | None = None) -> bytes:
    header = json.dumps({"embeddings": entry}).encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + data


WORDED = json.dumps({"model": {"vocab": ids_of(WORDS)}})
MALFORMED = told(__file__, "malformed")
GOOD_ENTRY = {"dtype": "F32", "shape": [4, 3], "data_offsets": [0, 48]}


@pytest.mark.parametrize(("data", "tokenizer", "message"), [
    *((raw_safetensors({**GOOD_ENTRY, **change}), WORDED, message) for change, message in MALFORMED["entries"]),
    *((raw_safetensors(GOOD_ENTRY), tokenizer, message) for tokenizer, message in MALFORMED["tokenizers"]),
    (raw_safetensors(GOOD_ENTRY)[:-1], WORDED, "the header is malformed"),
    (raw_safetensors(7), WORDED, "the header is malformed"),
    (raw_safetensors(GOOD_ENTRY, length=2**62), WORDED, "the header does not fit the file"),
    (raw_safetensors(GOOD_ENTRY, length=20), WORDED, "the header is malformed"),
    (b"\x01", WORDED, "the header does not fit the file"),
    (struct.pack("<Q", 2) + b"{}", WORDED, "has no matrix named embeddings"),
    (raw_safetensors(GOOD_ENTRY), None, "tokenizer.json: is missing; it holds the words"),
])  # fmt: skip
def test_malformed_folders_of_model2vec(tmp_path, data, tokenizer, message):
    (tmp_path / "model.safetensors").write_bytes(data)
    if tokenizer is not None:
        (tmp_path / "tokenizer.json").write_text(tokenizer)
    with pytest.raises(EmbeddingFormatError, match=message):
        read_table(tmp_path)


def text(header: bool) -> bytes:
    lines = [f"{w} {' '.join(map(str, r))}\n" for w, r in zip(WORDS, ROWS.tolist(), strict=True)]
    return (("4 3\n" if header else "") + "".join(lines)).encode()


def npz() -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, words=np.array(WORDS), vectors=ROWS)
    return stream.getvalue()


def zipped() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.txt", text(header=False))
    return stream.getvalue()


FILES = {
    "glove_text": text(header=False),
    "word2vec_text": text(header=True),
    "fasttext_vec": text(header=True).replace(b"\n", b" \n"),
    "word2vec_binary": binary(WORDS, ROWS, b""),
    "npz": npz(),
    "safetensors_model2vec": raw_safetensors(GOOD_ENTRY, ROWS.tobytes()),
}
PACKED = {"glove_text": [gzip.compress(FILES["glove_text"], mtime=0), zipped()]}
CASES = [(name, data) for name, data in FILES.items()] + [(n, d) for n, many in PACKED.items() for d in many]


def test_every_format_is_here():
    assert FILES.keys() == FORMATS.keys()


@pytest.mark.parametrize(("name", "data"), CASES, ids=range(len(CASES)))  # an archive holds the time of day
@pytest.mark.parametrize("guessed", [False, True])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(damage=st.data())
def test_damage_is_told_or_harmless(tmp_path, name, data, guessed, damage):
    path = tmp_path / "model.safetensors"
    if guessed:
        path = tmp_path / "table"
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": ids_of(WORDS)}}))
    broken = bytearray(data)
    for _ in range(damage.draw(st.integers(0, 3))):
        at = damage.draw(st.integers(0, len(broken) - 1))
        broken[at] = damage.draw(st.sampled_from([0, 10, 32, 45, 46, 48, 57, 101, 255]) | st.integers(0, 255))
    broken = broken[: damage.draw(st.integers(0, len(broken)) | st.just(len(broken)))]
    path.write_bytes(broken)
    told = ""
    try:
        table = read_table(path, format_name=None if guessed else name)
    except EmbeddingFormatError as error:
        told = str(error)
    if told:
        assert told.startswith(str(tmp_path))
        return
    assert len(table.words) == len(set(table.words)) == len(table.vectors) > 0
    assert np.isfinite(table.vectors).all()
    if bytes(broken) == data:
        assert list(table.words) == WORDS
        assert table.vectors.tobytes() == ROWS.tobytes()
