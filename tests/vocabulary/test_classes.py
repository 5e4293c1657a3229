"""Word classes: a partition by the stated rule, found the same on every machine, and what a mechanism shows of it."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seeds
from wordveil.errors import ChecksumError, EmbeddingFormatError, ParameterError
from wordveil.vocabulary import classes as module
from wordveil.vocabulary.classes import CENTRE, COMMON, READ, ROW, TOKENS, WordClasses, build_classes
from wordveil.vocabulary.frequencies import word_frequencies
from wordveil.vocabulary.stored_lists import word_classes
from wordveil.vocabulary.table import Embeddings, load_embeddings
from worlds import lettered, placed


def table(rows) -> Embeddings:
    return placed(rows, lettered(len(rows)))  # no English words: their frequencies would count


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 90), st.integers(1, 5), st.data())
def test_classes_are_a_partition_and_each_shows_a_word_of_its_own_that_may_be_output(seed, v, d, data):
    rows = seeds.rng(seed).integers(-2, 3, (v, d)).astype(np.float32)  # twins and zeros on purpose
    words = table(rows)
    barred = data.draw(st.lists(st.sampled_from(list(words.words)), unique=True, max_size=v - 2))
    words = words.without_outputs(barred) if barred else words
    found = build_classes(words, data.draw(st.integers(2, len(words.candidates))))
    assert np.array_equal(np.unique(found.face), found.outputs)
    assert np.array_equal(found.face[found.face], found.face)
    assert set(found.outputs) <= set(words.candidates.tolist())
    assert sorted(word for face in found.outputs.tolist() for word in found.of(face).tolist()) == list(range(v))


def exact(rows: np.ndarray, length: float) -> list[list[int]]:
    return [[round(x * length / (math.sqrt(sum(y * y for y in row)) or 1.0)) for x in row] for row in rows.tolist()]


def test_words_are_in_the_cell_whose_centre_is_nearest_and_faces_are_like_it_and_common():
    """By whole numbers of Python's own, over the embedded vocabulary's commonest words."""
    packaged = load_embeddings()
    some = most = 300
    words = placed(packaged.vectors[:some], [packaged.words[i] for i in range(most)])
    found = build_classes(words, 12)
    rows = exact(words.vectors.astype(np.float64), ROW)
    shares = word_frequencies(words)
    weights = [max(1, int(math.sqrt(share * TOKENS))) for share in shares.tolist()]
    centres = {}
    for face in found.outputs.tolist():
        members = found.of(face).tolist()
        total = [sum(weights[i] * rows[i][j] for i in members) for j in range(words.vectors.shape[1])]
        centres[face] = exact(np.array([total], dtype=np.float64), CENTRE)[0]
    products = [{face: sum(x * y for x, y in zip(row, c, strict=True)) for face, c in centres.items()} for row in rows]
    for word in range(some):
        assert products[word][int(found.face[word])] == max(products[word].values())
    for face, centre in centres.items():
        scores = {
            i: sum(x * y for x, y in zip(rows[i], centre, strict=True)) / (ROW * CENTRE)
            + COMMON * math.log1p(shares[i] * READ)
            for i in found.of(face).tolist()
        }
        assert scores[face] == pytest.approx(max(scores.values()), abs=1e-12)


def test_the_order_in_which_a_processor_adds_changes_nothing(monkeypatch):
    words = table(seeds.rng(1).standard_normal((200, 40)))
    found = build_classes(words, 9)

    def slowly(rows, centres):
        products = rows.astype(np.float64) @ centres.astype(np.float64).T
        return products.argmax(axis=1), products.max(axis=1).astype(np.float32)

    monkeypatch.setattr(module, "nearest_centres", slowly)
    assert build_classes(words, 9) == found
    assert pickle.loads(pickle.dumps(found)) == found


def test_the_embedded_classes_are_those_of_the_builder():
    words = load_embeddings()
    stored = word_classes(words, 128)
    assert stored == build_classes(words, 128)
    assert [len(word_classes(words, k).outputs) for k in (128, 256, 512, 1024)] == [128, 256, 512, 1024]


def test_a_vocabulary_keeps_its_classes_beside_it(tmp_path):
    words = table(seeds.rng(2).standard_normal((40, 6)))
    words.save(tmp_path / "words")
    saved = load_embeddings(tmp_path / "words")
    made = word_classes(saved, 5)
    (path,) = saved.directory.glob("classes-*.npy")
    assert word_classes(saved, 5) == made == build_classes(words, 5)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(EmbeddingFormatError, match="cannot be read"):
        word_classes(saved, 5)
    np.save(path, np.zeros(40, dtype=np.uint8))
    with pytest.raises(ChecksumError, match="classes differ from their checksum"):
        word_classes(saved, 5)


@pytest.mark.parametrize("k", [1, 6, 5000])
def test_a_number_of_classes_that_cannot_be_is_refused(k):
    with pytest.raises(ParameterError, match="must ask for 2 to 5 classes"):
        word_classes(table(np.eye(5)), k)


def test_a_face_that_is_not_its_own_is_found_out():
    made = build_classes(table(np.eye(4)), 2)
    face = made.face.copy()
    face[made.outputs[0]] = made.outputs[1]
    with pytest.raises(ChecksumError, match="damaged"):
        WordClasses(key=made.key, outputs=made.outputs, face=face).verify()
