"""Embeddings in memory and on disk: the same answers, all or nothing, and tampering is noticed."""

import errno
import hashlib
import json
import os
import pickle
import shutil
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import wordveil as wv
from wordveil.errors import ChecksumError, EmbeddingFormatError, GuaranteeError, ParameterError
from wordveil.mechanisms.common import UNCHECKED
from wordveil.vocabulary import storage
from wordveil.vocabulary import table as table_module
from wordveil.vocabulary.checksums import table_checksum
from worlds import drawn

WORDS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
    | st.sampled_from([" ", ". . .", "a\x85b", "\u2028x", "new\nline", "\x00", "tab\t", "good", "don't"]),
    unique=True,
    min_size=1,
    max_size=20,
)
FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


@pytest.fixture
def small() -> wv.Embeddings:
    words = ["good", "bad", "<unk>", "don't", "a b", "twin", "fine"]
    vectors = np.arange(21, dtype=np.float32).reshape(7, 3)
    vectors[5] = vectors[1]
    return wv.Embeddings.from_arrays(words, vectors, name="small", source="tests", licence="CC0")


def test_what_a_table_answers(small):
    assert len(small) == 7
    assert small.dimensions == 3
    assert small.ids(["bad", "Bad", "a b", "good", "bad"]).tolist() == [1, -1, 4, 0, 1]
    assert small.ids([]).shape == (0,)
    assert small.id("fine") == 6
    assert small.id("ugly") is None
    assert "good" in small
    assert "Good" not in small
    assert 3 not in small
    assert small.candidates.tolist() == [0, 1, 3, 5, 6]
    assert small.canonical.tolist() == [0, 1, 2, 3, 4, 1, 6]
    assert repr(small) == "<Embeddings 'small': 7 words x 3 dimensions>"


def test_nothing_can_be_changed(small):
    for array in (small.vectors, small.candidates, small.canonical):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError, match="no setter"):
        small.vectors = np.zeros((7, 3), dtype=np.float32)


def test_the_callers_matrix_is_copied():
    given_rows = np.ones((2, 2), dtype=np.float32)
    table = wv.Embeddings.from_arrays(["a", "b"], given_rows)
    given_rows[:] = 5.0
    assert table.vectors.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    table.verify()


@given(WORDS, st.data())
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
def test_save_and_load_give_the_same_table(tmp_path_factory, words, data):
    d = data.draw(st.integers(1, 4))
    vectors = data.draw(hnp.arrays(np.float32, (len(words), d), elements=FINITE))
    table = wv.Embeddings.from_arrays(words, vectors, candidate_rule="all")
    folder = tmp_path_factory.mktemp("voc") / "table"
    saved = table.save(folder)
    loaded = wv.load_embeddings(folder)
    for other in (saved, loaded, pickle.loads(pickle.dumps(loaded)), pickle.loads(pickle.dumps(table))):
        assert list(other.words) == words
        assert other.vectors.tobytes() == vectors.tobytes()
        assert other.ids(words).tolist() == list(range(len(words)))
        assert other.canonical.tolist() == table.canonical.tolist()
        assert other.candidates.tolist() == table.candidates.tolist()
        assert other.header.checksum == table.header.checksum
        other.verify()


def test_mapped_table_is_mapped_and_travels_as_its_path(small, tmp_path):
    mapped = small.save(tmp_path / "voc")
    base = mapped.vectors
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert mapped.vectors.flags.c_contiguous
    assert mapped.directory == (tmp_path / "voc").absolute()
    big = wv.Embeddings.from_arrays([f"w{chr(97 + i % 26)}{i}" for i in range(3000)] + ["w"], np.ones((3001, 30)))
    assert len(pickle.dumps(big.save(tmp_path / "big"))) < 2000


def test_checksum_is_the_documented_one(small):
    words, matrix = list(small.words), small.vectors
    encoded = [word.encode() for word in words]
    offsets = [0]
    for word in encoded:
        offsets.append(offsets[-1] + len(word) + 1)
    word_digest = hashlib.sha256(struct.pack(f"<{len(offsets)}q", *offsets) + b"".join(w + b"\n" for w in encoded))
    matrix_digest = hashlib.sha256(struct.pack(f"<{matrix.size}f", *matrix.ravel().tolist()))
    shape = struct.pack("<2q", *matrix.shape)
    expected = hashlib.sha256(b"wordveil-table-1\n" + shape + word_digest.digest() + matrix_digest.digest()).hexdigest()
    assert small.header.checksum == expected
    assert table_checksum(words, matrix) == expected


def test_without_outputs(small, tmp_path):
    mapped = small.save(tmp_path / "voc")
    for table in (small, mapped):
        narrowed = table.without_outputs(["bad", "nowhere", "<unk>", "bad"])
        assert narrowed.candidates.tolist() == [0, 3, 5, 6]
        assert table.candidates.tolist() == [0, 1, 3, 5, 6]
        assert narrowed.candidates_checksum != table.candidates_checksum
        assert narrowed.header.checksum == table.header.checksum
        assert pickle.loads(pickle.dumps(narrowed)).candidates.tolist() == [0, 3, 5, 6]
        narrowed.verify()
        assert table.without_outputs([]).candidates.tolist() == table.candidates.tolist()
        with pytest.raises(ParameterError, match="bar every entry from output; leave at least one"):
            table.without_outputs(["good", "bad", "don't", "twin", "fine"])
    kept = mapped.without_outputs(["bad"]).save(tmp_path / "narrow")
    assert kept.candidates.tolist() == [0, 3, 5, 6]
    kept.verify()


def test_header_facts_can_be_added_and_recorded(small, tmp_path):
    changed = small.with_header(source="elsewhere", licence="MIT")
    assert (changed.header.source, small.header.source) == ("elsewhere", "tests")
    mapped = changed.save(tmp_path / "voc")
    recorded = mapped.record(licence="CC0")
    assert recorded.header == wv.load_embeddings(tmp_path / "voc").header
    assert recorded.header.licence == "CC0"
    assert pickle.loads(pickle.dumps(mapped.with_header(name="other"))).header.name == "other"
    wv.load_embeddings(tmp_path / "voc").verify()
    with pytest.raises(ParameterError, match="changes='rows' must be one of casing"):
        small.with_header(rows=9)
    with pytest.raises(ParameterError, match="must be a saved vocabulary"):
        small.record(name="x")
    with pytest.raises(ParameterError, match="must be a saved vocabulary"):
        mapped.without_outputs(["bad"]).record(name="x")


@pytest.mark.parametrize(("words", "vectors", "message"), [
    ([], np.zeros((0, 2)), r"shape \(v, d\), v, d >= 1"),
    (["a"], np.zeros((1, 0)), r"shape \(v, d\), v, d >= 1"),
    (["a"], np.zeros(3), r"shape \(v, d\), v, d >= 1"),
    (["a"], np.array([["x"]]), r"must be numbers of shape"),
    (["a", "b"], np.zeros((1, 2)), "words='2 words' must be as many as vectors has rows, 1"),
    (["a", "b"], np.array([[0.0], [np.nan]]), "vectors='row 1' holds NaN or a value outside float32"),
    (["a", "b"], np.array([[np.inf], [0.0]]), "vectors='row 0' holds NaN or a value outside float32"),
    (["a", "b"], np.array([[0.0], [1e39]]), "vectors='row 1' holds NaN or a value outside float32"),
    (["a", "b", "a"], np.zeros((3, 1)), r"words='a' is given twice, at rows \(0, 2\); keep one"),
    (["a", "\ud800"], np.zeros((2, 1)), "words='row 1' must be a string of valid Unicode"),
    (["a", ""], np.zeros((2, 1)), "words='row 1' must not be empty; remove the row"),
    (["a", 3], np.zeros((2, 1)), "words='row 1' must be a string of valid Unicode"),
    (["3", "4"], np.zeros((2, 1)), "leaves no entry that may be output"),
])  # fmt: skip
def test_arrays_that_are_no_table(words, vectors, message):
    with pytest.raises(ParameterError, match=message):
        wv.Embeddings.from_arrays(words, vectors)


@pytest.mark.parametrize(("words", "casing"), [
    (["Paris", "good"], "cased"),
    (["paris", "good"], "lower"),
    (["東京", "🙏"], "lower"),
    ([f"w{'x' * i}" for i in range(1000)] + ["<B>"], "lower"),
    ([f"w{'x' * i}" for i in range(1000)] + ["<B>", "Paris"], "cased"),
])  # fmt: skip
def test_casing_is_found_out(words, casing):
    table = wv.Embeddings.from_arrays(words, np.zeros((len(words), 1)), candidate_rule="all")
    assert table.header.casing == casing


def test_a_taken_destination_is_left_alone(small, tmp_path):
    small.save(tmp_path / "voc")
    before = {path.name: path.read_bytes() for path in (tmp_path / "voc").iterdir()}
    with pytest.raises(ParameterError, match="already exists; remove it or choose another name"):
        small.save(tmp_path / "voc")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ParameterError, match="already exists"):
        small.save(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"
    assert {path.name: path.read_bytes() for path in (tmp_path / "voc").iterdir()} == before
    (tmp_path / "empty").mkdir()
    small.save(tmp_path / "empty").verify()


@pytest.mark.parametrize("failing", range(1, 11))
def test_a_failed_write_leaves_nothing(small, tmp_path, monkeypatch, failing):
    calls = 0

    def full_disk(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        small.save(tmp_path / "voc")
    assert os.listdir(tmp_path) == []


def test_a_save_syncs_all_files_before_the_name_appears(small, tmp_path, monkeypatch):
    seen: dict[int, bool] = {}  # by inode: whether the name was there when the file was synced
    monkeypatch.setattr(storage.os, "fsync", lambda h: seen.update({os.fstat(h).st_ino: (tmp_path / "voc").exists()}))
    small.save(tmp_path / "voc")
    assert not any(seen.values())
    assert {path.stat().st_ino for path in (tmp_path / "voc").iterdir()} <= seen.keys()


FILES = [
    "vectors.npy", "words.txt", "offsets.npy", "index_hashes.npy", "index_ids.npy", "candidates.npy", "canonical.npy",
]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_one_changed_bit_is_noticed(small, tmp_path, name):
    small.save(tmp_path / "voc").verify()
    target = tmp_path / "voc" / name
    # The 2nd value of every array: the first and last offsets and candidates are checked when opening.
    at = {"words.txt": 1, "vectors.npy": 128 + 4, "offsets.npy": 128 + 8, "index_hashes.npy": 128 + 8}.get(
        name, 128 + 4
    )
    data = bytearray(target.read_bytes())
    data[at] ^= 1
    target.write_bytes(data)
    with pytest.raises(ChecksumError, match=r"voc: .*(Import the source again, or fetch an unchanged copy)"):
        wv.load_embeddings(tmp_path / "voc").verify()


def test_candidates_against_the_rule_are_noticed(small):
    everything = wv.Embeddings.from_arrays(list(small.words), small.vectors, candidate_rule="all")
    header = replace(everything.header, candidate_rule="words")
    smuggled = wv.Embeddings(replace(everything._table, header=header))
    with pytest.raises(ChecksumError, match="a candidate breaks the candidate rule 'words'"):
        smuggled.verify()


@pytest.mark.parametrize("name", [*FILES, "header.json"])
@pytest.mark.parametrize("damage", ["missing", "empty", "half"])
def test_damaged_directories_do_not_open(small, tmp_path, name, damage):
    small.save(tmp_path / "voc")
    target = tmp_path / "voc" / name
    data = target.read_bytes()
    target.unlink()
    if damage != "missing":
        target.write_bytes(data[: len(data) // 2] if damage == "half" else b"")
    with pytest.raises(EmbeddingFormatError, match=r"Import the source again|is a folder without a known model"):
        wv.load_embeddings(tmp_path / "voc")


@pytest.mark.parametrize(("name", "array", "message"), [
    ("vectors.npy", np.zeros((7, 4), np.float32), r"holds float32 \(7, 4\), expected float32 \(7, 3\)"),
    ("vectors.npy", np.zeros((7, 3), np.float64), "holds float64"),
    ("vectors.npy", np.zeros((7, 3), np.float32, order="F"), r"holds float32 \(7, 3\) by columns"),
    ("candidates.npy", np.zeros(0, np.int32), "must hold 1 to 7 ids"),
    ("candidates.npy", np.array([0, 9], np.int32), "must hold 1 to 7 ids"),
    ("offsets.npy", np.arange(8, dtype=np.int64), "ends at 7, words.txt has"),
    ("vectors.npy", np.array([[None] * 3] * 7), "cannot be read"),
])  # fmt: skip
def test_arrays_that_do_not_fit_the_header(small, tmp_path, name, array, message):
    small.save(tmp_path / "voc")
    np.save(tmp_path / "voc" / name, array, allow_pickle=True)
    with pytest.raises(EmbeddingFormatError, match=message):
        wv.load_embeddings(tmp_path / "voc")


def test_nothing_at_the_path(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such embedding file"):
        wv.load_embeddings(tmp_path / "nowhere.txt")


def test_relative_paths_survive_a_change_of_directory(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mapped = small.save("voc")
    packed = pickle.dumps(mapped)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert pickle.loads(packed).id("bad") == 1
    assert isinstance(mapped.directory, Path)


def made_of(seed, directory):
    return drawn(8, 2, seed=seed).save(directory)


@pytest.mark.parametrize("is_checked", [True, False])
def test_a_vocabulary_that_travels_opens_no_other_one_under_its_path(tmp_path, is_checked):
    saved = made_of(0, tmp_path / "v")
    if is_checked:
        saved.verify()
    for sent in (saved, saved.without_outputs(["w0"]), saved.with_header(name="renamed")):
        packed = pickle.dumps(sent)
        assert pickle.loads(packed).is_checked is is_checked
        (tmp_path / "v").rename(tmp_path / "away")
        made_of(1, tmp_path / "v")
        with pytest.raises(ChecksumError, match=r"holds another vocabulary here, checksum .* Put the same one under"):
            pickle.loads(packed)
        shutil.rmtree(tmp_path / "v")
        (tmp_path / "away").rename(tmp_path / "v")


def test_a_checked_vocabulary_is_checked_again_where_it_arrives_once_a_process(tmp_path, monkeypatch):
    saved = made_of(0, tmp_path / "v")
    unchecked = pickle.dumps(saved)
    saved.verify()
    packed, readings = pickle.dumps(saved), []
    whole = table_module.verify_table
    monkeypatch.setattr(table_module, "verify_table", lambda *given: readings.append(given[1]) or whole(*given))
    assert pickle.loads(packed).is_checked
    assert pickle.loads(packed).is_checked
    assert readings == [saved.directory]
    array = np.load(tmp_path / "v" / "vectors.npy", mmap_mode="r+")
    array[3] += 1.0  # the header still says what it said
    array.flush()
    os.utime(tmp_path / "v" / "vectors.npy", ns=(1, 1))  # a copy that was damaged on its way
    with pytest.raises(ChecksumError, match="words and matrix have checksum"):
        pickle.loads(packed)
    arrived = pickle.loads(unchecked)
    assert not arrived.is_checked
    assert arrived.header.checksum == saved.header.checksum != arrived.checksum_in_use


def test_what_is_in_use_and_not_what_a_header_says_tells_vocabularies_apart(tmp_path):
    saved, other = made_of(0, tmp_path / "v"), made_of(1, tmp_path / "w")
    facts = json.loads((tmp_path / "w" / "header.json").read_text())
    facts["checksum"] = saved.header.checksum
    (tmp_path / "w" / "header.json").write_text(json.dumps(facts))
    liar = wv.load_embeddings(tmp_path / "w")
    assert liar.header.checksum == saved.header.checksum
    assert liar.checksum_in_use == liar.without_outputs(["w0"]).checksum_in_use == other.checksum_in_use
    made = [wv.Sanitizer(table, wv.SanText(epsilon=1.0)) for table in (saved, liar)]
    assert made[0].parts.domain != made[1].parts.domain
    assert made[1].provenance.checksum == other.checksum_in_use
    claims = [each.guarantee for each in made]
    with pytest.raises(GuaranteeError, match="vocabulary"):
        wv.compose_releases(claims)


def test_a_promise_says_what_it_takes_for_granted_of_a_directory(tmp_path):
    saved = made_of(0, tmp_path / "v")
    assert not saved.is_checked
    for claimed in (
        wv.Sanitizer(saved, wv.SanText(epsilon=1.0)).guarantee,
        wv.SanText(epsilon=1.0).fit(saved).guarantee(),
        wv.Decoded(mechanism=wv.MultivariateLaplace(epsilon=1.0)).fit(saved).guarantee(),
        wv.NADP(epsilon=1.0, overlap=2).fit(saved).guarantee(),
        wv.release_vectors(saved.vectors[:3], wv.MultivariateLaplace(epsilon=1.0), vocabulary=saved).guarantee,
    ):
        assert [assumption for assumption in claimed.assumptions if "--verify" in assumption] == [UNCHECKED]
        assert any(saved.header.checksum in part for part in claimed.scope)
    saved.verify()
    for table in (saved, saved.with_header(name="other"), saved.without_outputs(["w0"])):
        assert table.is_checked
        claimed = wv.Sanitizer(table, wv.SanText(epsilon=1.0)).guarantee
        assert not any("--verify" in assumption for assumption in claimed.assumptions)
