"""Any damage to a file of any format ends in a table or in EmbeddingFormatError, and in nothing else."""

import gzip
import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.vocabulary.test_embeddings_binary_readers import GOOD_ENTRY, ROWS, WORDS, binary, ids_of, raw_safetensors

from wordveil.errors import EmbeddingFormatError
from wordveil.vocabulary.readers.registry import FORMATS, read_table


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
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
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
