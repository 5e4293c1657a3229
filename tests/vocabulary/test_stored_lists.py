import pickle
import shutil
from dataclasses import replace

import numpy as np
import pytest
from tests.installed_packages import tool

import wordveil as wv
from wordveil.errors import ChecksumError, EmbeddingFormatError, ParameterError
from wordveil.vocabulary import neighbour_lists as building
from wordveil.vocabulary.frequencies import most_frequent
from wordveil.vocabulary.neighbour_lists import build_lists
from wordveil.vocabulary.stored_lists import (
    find_lists,
    neighbour_lists,
    save_classes,
    store_lists,
    word_classes,
    write_note,
)
from worlds import drawn, placed


@pytest.fixture
def saved(tmp_path, monkeypatch) -> wv.Embeddings:
    monkeypatch.setattr(building, "BLOCK", 10)
    return drawn(95, 6).save(tmp_path / "table")


def test_stored_lists_are_found_mapped_and_equal(saved):
    assert find_lists(saved, 5) is None
    built = build_lists(saved, 8)
    stored = store_lists(saved, 8)
    found = find_lists(saved, 8)
    assert built == stored == found
    assert found.path is not None
    assert not found.ids.flags.writeable
    for k in (1, 5, 8):
        assert find_lists(saved, k) == built.first(k) == neighbour_lists(saved, k)
    assert find_lists(saved, 9) is None
    assert find_lists(saved, 8, metric=wv.Euclidean()) is None
    assert find_lists(saved, 8, outputs=range(90)) is None
    assert find_lists(saved.without_outputs(["w3"]), 8) is None
    saved.verify()


def test_lists_of_several_metrics_and_outputs_lie_side_by_side(saved):
    ordered = saved.record(order="frequency")
    cases = [{}, {"metric": wv.Euclidean()}, {"outputs": 30}, {"outputs": [1, 5, 9, 11]}]
    for case in cases:
        store_lists(ordered, 4, **case)
    assert find_lists(ordered, 4, outputs=30).outputs.tolist() == list(range(30))
    for case in cases:
        outputs = range(30) if case.get("outputs") == 30 else case.get("outputs")
        assert find_lists(ordered, 4, **case) == build_lists(saved, 4, outputs=outputs, metric=case.get("metric"))


def test_storing_again_changes_nothing(saved):
    stored = store_lists(saved, 6)
    before = {path: path.stat().st_mtime_ns for path in saved.directory.iterdir()}
    assert store_lists(saved, 6) == stored
    assert store_lists(saved, 3) == stored.first(3)
    assert {path: path.stat().st_mtime_ns for path in saved.directory.iterdir()} == before


def test_workers_map_the_file_too(saved):
    stored = store_lists(saved, 6)
    pickled = pickle.dumps(stored)
    assert len(pickled) < stored.ids.nbytes
    assert pickle.loads(pickled) == stored
    shorter = stored.first(2)
    assert pickle.loads(pickle.dumps(shorter)) == shorter
    built = build_lists(saved, 6)
    assert pickle.loads(pickle.dumps(built)) == built


class StoppedError(Exception):
    pass


def interrupted(words: wv.Embeddings, after: int) -> None:
    done = [0]

    def progress(count):
        done[0] += count
        if done[0] >= after:
            raise StoppedError

    with pytest.raises(StoppedError):
        store_lists(words, 7, progress=progress)


@pytest.mark.parametrize("torn", [0, 1, 4, 27, 28, 100])
def test_an_interrupted_build_goes_on_where_it_stopped(saved, torn):
    interrupted(saved, 40)
    assert find_lists(saved, 7) is None
    (partial,) = saved.directory.glob(".neighbours-*")
    whole = partial.stat().st_size
    with partial.open("r+b") as stream:
        stream.truncate(whole - torn)
    steps: list[int] = []
    assert store_lists(saved, 7, progress=steps.append) == build_lists(saved, 7)
    assert steps[0] == 40 - -(-torn // 28)
    assert sum(steps) == 95
    assert not list(saved.directory.glob(".neighbours-*"))


@pytest.mark.parametrize("size", [1, 100, 200, 127 + 28 * 60, 128 + 28 * 60, 128 + 28 * 95, 10_000])
def test_a_partial_file_that_holds_other_bytes_is_refused_and_removed(saved, size):
    interrupted(saved, 20)
    (partial,) = saved.directory.glob(".neighbours-*")
    partial.write_bytes(bytes(size))
    if size > 128:
        with pytest.raises((ChecksumError, EmbeddingFormatError), match="again"):
            store_lists(saved, 7)
    assert store_lists(saved, 7) == build_lists(saved, 7)


def test_lists_that_were_changed_on_disk_are_refused(saved):
    stored = store_lists(saved, 6)
    content = bytearray(stored.path.read_bytes())
    for place in (128, len(content) - 4):
        changed = content.copy()
        changed[place] ^= 1
        stored.path.write_bytes(changed)
        with pytest.raises(ChecksumError, match="differ from their checksum"):
            find_lists(saved, 6)
    for cut in (len(content) - 1, 60, 0):
        stored.path.write_bytes(content[:cut])
        with pytest.raises(EmbeddingFormatError, match="build the lists again"):
            find_lists(saved, 6)
    stored.path.write_bytes(content)
    assert find_lists(saved, 6) == stored


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"checksum": 1}', '{"checksum": "", "k": 3, "x": 1}'])
def test_a_damaged_note_is_refused(saved, text):
    stored = store_lists(saved, 6)
    stored.path.with_suffix(".json").write_text(text)
    with pytest.raises(EmbeddingFormatError, match="is no note"):
        find_lists(saved, 6)


def forged(saved, tmp_path):
    """A copy whose lists are other valid lists, with a note that fits them."""
    stored = store_lists(saved, 6)
    place = tmp_path / "forged"
    shutil.copytree(saved.directory, place)
    path = place / stored.path.name
    ids = stored.ids.copy()
    ids[:, 1:] = (ids[:, :1] + np.arange(1, 6)) % 95
    np.save(path, ids)
    write_note(path.with_suffix(".json"), replace(stored, ids=ids))
    return wv.load_embeddings(place)


def test_lists_that_are_not_the_nearest_are_found_out_after_a_check(saved, tmp_path):
    other = forged(saved, tmp_path)
    assert find_lists(other, 6) != find_lists(saved, 6), "nothing else tells them apart"
    for table in (saved, other):
        table.verify()
    assert find_lists(saved, 6) == build_lists(saved, 6)
    with pytest.raises(ChecksumError, match="not the nearest outputs"):
        find_lists(other, 6)
    with pytest.raises(ChecksumError, match="not the nearest outputs"):
        wv.NeighbourResponse(epsilon=2.0, k=6, outputs=None).fit(other)
    for case in ({"metric": wv.Euclidean()}, {"outputs": [1, 5, 9, 11]}):
        stored = store_lists(saved, 4, **case)
        assert find_lists(saved, 4, **case) == stored


def test_other_lists_beside_equal_words_share_no_noise(saved, tmp_path):
    other = forged(saved, tmp_path)
    mechanism = wv.NeighbourResponse(epsilon=2.0, k=6, outputs=None)
    one, two, again = (wv.Sanitizer(table, mechanism) for table in (saved, other, wv.load_embeddings(saved.directory)))
    assert one.provenance == again.provenance != two.provenance
    assert one.parts.domain == again.parts.domain != two.parts.domain
    assert one.provenance.checksum == two.provenance.checksum
    in_memory = placed(saved.vectors)
    assert wv.Sanitizer(in_memory, mechanism).provenance.public_data == "", "these follow from the words"


def test_other_classes_beside_equal_words_share_no_noise(saved):
    mechanism = wv.NeighbourResponse(epsilon=2.0, outputs="classes:4")
    built, stored = wv.Sanitizer(saved, mechanism), wv.Sanitizer(saved, mechanism)
    assert built.parts.domain == stored.parts.domain, "a retry finds the classes that the first run stored"
    (path,) = saved.directory.glob("classes-*.npy")
    made = word_classes(saved, 4)
    face = made.face.copy()
    moved = next(word for word in range(len(face)) if word not in made.outputs)
    face[moved] = next(other for other in made.outputs if other != face[moved])
    save_classes(replace(made, face=face), path)
    assert wv.Sanitizer(saved, mechanism).parts.domain != built.parts.domain


def test_only_a_saved_vocabulary_can_keep_lists(saved):
    with pytest.raises(ParameterError, match="save this one first"):
        store_lists(placed(np.eye(2)), 1)


def test_the_embedded_lists_are_exact():
    words = wv.load_embeddings()
    frequent = most_frequent(words, 4000)
    found = find_lists(words, 16, outputs=4000)
    assert found == build_lists(words, 16, outputs=frequent)
    assert found.outputs.tolist() == frequent.tolist()
    assert find_lists(words, 8, outputs=4000) == found.first(8)
    assert find_lists(words, 16) is None
    assert find_lists(wv.load_embeddings(every_output=True), 16, outputs=4000) is None


def test_packing_refuses_what_12_bits_cannot_hold(saved, tmp_path):
    many = drawn(4098, 2, seed=2)
    with pytest.raises(ParameterError, match="at most 4096"):
        tool("build_neighbour_lists").pack_lists(build_lists(many, 1), tmp_path)
    with pytest.raises(ParameterError, match="even"):
        tool("build_neighbour_lists").pack_lists(build_lists(saved, 1), tmp_path)
