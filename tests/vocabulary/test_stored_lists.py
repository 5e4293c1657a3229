"""Lists of the nearest outputs, by exact rationals and float64, and as they lie beside a vocabulary."""

import pickle
import shutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dying import interrupt_after
from tests.installed_packages import tool

import seeds
import wordveil as wv
from wordveil.errors import ChecksumError, EmbeddingFormatError, ParameterError
from wordveil.kernels import nearest_outputs
from wordveil.kernels.compiled.library import available_engines
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis, Precomputed
from wordveil.metrics.table import DistanceTable
from wordveil.vocabulary import neighbour_lists as building
from wordveil.vocabulary import neighbour_lists as module
from wordveil.vocabulary.frequencies import most_frequent
from wordveil.vocabulary.neighbour_lists import NeighbourLists, build_lists, list_blocks
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


def interrupted(words: wv.Embeddings, blocks: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        store_lists(words, 7, progress=interrupt_after(blocks))  # first it says what is there


@pytest.mark.parametrize("torn", [0, 1, 4, 27, 28, 100])
def test_an_interrupted_build_goes_on_where_it_stopped(saved, torn):
    interrupted(saved, 4)
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
    interrupted(saved, 2)
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


def oracle(distances: np.ndarray, outputs: np.ndarray, k: int) -> list[list[int]]:
    """Sort every output by distance, then id, after the word itself: `distances` has shape (v, v)."""
    return [
        sorted(outputs.tolist(), key=lambda y, x=x: (y != x, float(distances[x, y]), y))[:k]
        for x in range(len(distances))
    ]


def squared(rows: np.ndarray) -> np.ndarray:
    return np.array([[float(((a - b) ** 2).sum()) for b in rows] for a in rows.astype(np.float64)])


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows at length 1, rows of zeros along an axis of their own."""
    wide = np.column_stack((rows, np.zeros(len(rows)))).astype(np.float64)
    wide[~rows.any(axis=1), -1] = 1.0
    return wide / np.sqrt((wide**2).sum(axis=1, keepdims=True))


def even_rows(generator: np.random.Generator, v: int, d: int) -> np.ndarray:
    """Rows with many equal cosines, twins and rows of zeros.

    Entries have one size and are 1, 4 or 16, so that norms are powers of two, float64 errs nowhere and ties are ties.
    """
    rows = generator.choice([-1.0, 1.0], (v, d)) * 2.0 ** generator.integers(-1, 2, (v, 1))
    rows[generator.random(v) < 0.2] = 0.0
    return rows[generator.integers(0, v, v)].astype(np.float32)


def some_outputs(generator: np.random.Generator, v: int) -> np.ndarray:
    return np.sort(generator.choice(v, generator.integers(1, v + 1), replace=False)).astype(np.int32)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([4, 16]), st.data())
def test_cosine_lists_agree_with_exact_rationals_where_many_scores_are_equal(seed, v, d, data):
    generator = seeds.rng(seed)
    rows = even_rows(generator, v, d)
    outputs = some_outputs(generator, v)
    k = data.draw(st.integers(1, min(len(outputs), 64)))
    exact = [[Fraction(float(e)) for e in row] for row in rows]

    def distance(x, y) -> float:
        dot, a, b = (sum(p * q for p, q in zip(s, t, strict=True)) for s, t in ((x, y), (x, x), (y, y)))
        if not a or not b:
            return 0.0 if a == b else 1.0
        cosine_squared = dot * dot / (a * b)
        return float(1 - (cosine_squared if dot > 0 else -cosine_squared))

    distances = np.array([[distance(x, y) for y in exact] for x in exact])
    found = build_lists(placed(rows), k, outputs=outputs)
    assert found.ids.tolist() == oracle(distances, outputs, k)
    found.verify()


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.integers(0, 10**6), st.integers(1, 60), st.sampled_from([1, 4, 16]), st.sampled_from(available_engines()),
    st.data(),
)  # fmt: skip
def test_lists_agree_with_the_float64_oracle_for_every_metric(seed, v, d, engine, data):
    generator = seeds.rng(seed)
    rows = even_rows(generator, v, d)
    outputs = some_outputs(generator, v)
    k = data.draw(st.integers(1, min(len(outputs), 64)))
    words = placed(rows)
    whitening = np.diag(2.0 ** np.arange(d))
    manhattan = np.abs(rows[:, None, :] - rows[None, :, :]).sum(axis=2).astype(np.float64)
    matrix = Precomputed(label="manhattan", vocabulary=words.header.checksum, table=DistanceTable(manhattan))
    cases = [
        (None, squared(unit(rows))),
        (Euclidean(), squared(rows)),
        (Mahalanobis(whitening=whitening), squared(rows @ whitening)),
        (matrix, manhattan),
    ]
    if rows.any(axis=1).all():
        cases.append((Angular(), squared(rows / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORDVEIL_ENGINE", engine)
        patch.setattr(nearest_outputs, "SPARE", data.draw(st.integers(0, 4)))
        patch.setattr(nearest_outputs, "MOST", data.draw(st.sampled_from([4, 16, 512])))
        patch.setattr(module, "BLOCK", data.draw(st.sampled_from([7, 1 << 13])))
        for metric, distances in cases:
            assert build_lists(words, k, outputs=outputs, metric=metric).ids.tolist() == oracle(distances, outputs, k)


@pytest.mark.slow
@pytest.mark.parametrize("engine", available_engines())
def test_near_ties_that_float32_cannot_tell_apart_are_decided_in_float64(engine, monkeypatch):
    monkeypatch.setenv("WORDVEIL_ENGINE", engine)
    generator = seeds.rng(0)
    base = generator.standard_normal((12, 24))
    # Thirty words a ten-millionth of a length apart around each of 12: the order is lost in float32 unit rows.
    rows = (base[:, None, :] + 1e-7 * generator.standard_normal((12, 30, 24))).reshape(-1, 24).astype(np.float32)
    words, k = placed(rows), 8
    found = build_lists(words, k)
    wanted = oracle(squared(unit(rows)), np.arange(len(rows)), k)
    assert found.ids.tolist() == wanted
    rough = unit(rows).astype(np.float32)  # the power of the test: what a float32 search would answer
    assert oracle(squared(rough), np.arange(len(rows)), k) != wanted


def test_the_answer_does_not_depend_on_threads():
    words = placed(seeds.rng(2).standard_normal((700, 9)))
    for threads in (1, 3):
        (lists,) = list_blocks(words, 5, words.candidates, None, threads=threads)
        assert np.array_equal(lists, build_lists(words, 5).ids)


def test_the_checksum_names_vocabulary_outputs_metric_and_k():
    rows = seeds.rng(3).standard_normal((30, 4))
    words = placed(rows)
    plain = build_lists(words, 3)
    others = [
        build_lists(placed(rows[::-1]), 3),
        build_lists(words, 3, outputs=range(29)),
        build_lists(words, 3, metric=Euclidean()),
        build_lists(words, 3, metric=Mahalanobis(whitening=np.eye(4))),
        build_lists(words, 2),
    ]
    assert len({lists.key.checksum for lists in [plain, *others]}) == 6
    assert len({plain, *others}) == 6
    assert plain == build_lists(words, 3, outputs=words.candidates)


@pytest.mark.parametrize(
    "damage", [lambda ids: ids[:, ::-1], lambda ids: ids[:, [0, 0, 2]], lambda ids: ids + 100, lambda ids: ids - 1]
)
def test_damaged_lists_are_refused(damage):
    lists = build_lists(placed(seeds.rng(4).standard_normal((9, 3))), 3)
    lists.verify()
    damaged = NeighbourLists(key=lists.key, outputs=lists.outputs, ids=np.ascontiguousarray(damage(lists.ids)))
    with pytest.raises(ChecksumError, match="words 0 to 8 is damaged"):
        damaged.verify()


@pytest.mark.parametrize("outputs", [[], [[0]], [0.5], [-1], [3], ["w0"]])
def test_outputs_outside_the_vocabulary_are_refused(outputs):
    with pytest.raises(ParameterError, match="outputs"):
        build_lists(placed(np.eye(3)), 1, outputs=outputs)


def test_words_that_may_not_be_output_have_lists_and_are_in_none():
    rows = seeds.rng(5).standard_normal((20, 3))
    words = placed(rows).without_outputs(["w3", "w4"])
    lists = build_lists(words, 18)
    assert not np.isin([3, 4], lists.ids).any()
    with pytest.raises(ParameterError, match="must be ids of words that may be output"):
        build_lists(words, 2, outputs=[3, 5])


@pytest.mark.parametrize("k", [0, 65, 2.0, True])
def test_k_outside_its_domain_is_refused(k):
    with pytest.raises(ParameterError, match=r"k=.* must be"):
        build_lists(placed(seeds.rng(6).standard_normal((80, 2))), k)
