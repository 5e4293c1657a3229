import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seeds
from wordveil.errors import ChecksumError, EmbeddingFormatError, ParameterError
from wordveil.vocabulary.crowds import SCALE, Crowds, build_crowds
from wordveil.vocabulary.frequencies import most_frequent
from wordveil.vocabulary.neighbour_lists import build_lists
from wordveil.vocabulary.stored_lists import crowds
from wordveil.vocabulary.table import Embeddings, load_embeddings
from worlds import lettered, placed


def table(rows) -> Embeddings:
    return placed(rows, lettered(len(rows)))  # no English words: their frequencies would count


def cohesion(words: Embeddings, block: np.ndarray) -> float:
    """Sum of the cosines of all pairs of words in one block, by the definition."""
    rows = words.vectors.astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return float(sum(np.triu(rows[block == b] @ rows[block == b].T, 1).sum() for b in np.unique(block)))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 90), st.integers(1, 5), st.data())
def test_crowds_are_a_partition_into_blocks_of_k_to_2k_less_1_outputs(seed, v, d, data):
    generator = seeds.rng(seed)
    rows = generator.integers(-2, 3, (v, d)).astype(np.float32)  # twins and zeros on purpose
    outputs = np.sort(generator.choice(v, generator.integers(1, v + 1), replace=False))
    k = data.draw(st.integers(1, min(len(outputs), 64)))
    found = build_crowds(table(rows), k, outputs=outputs)
    blocks = [set(found.of(x).tolist()) for x in range(v)]
    assert {len(block) for block in blocks} <= set(range(k, max(2 * k, k + 1)))
    assert set().union(*blocks) == set(outputs.tolist())
    assert all(x in blocks[x] for x in outputs.tolist())
    distinct = {frozenset(block) for block in blocks}
    assert sum(map(len, distinct)) == len(outputs)
    assert len(distinct) == len(found.sizes)
    firsts = [min(found.members[a:b]) for a, b in zip(found.starts[:-1], found.starts[1:], strict=True)]
    assert firsts == sorted(firsts)


def test_words_of_clear_groups_share_a_block():
    generator = seeds.rng(0)
    centres = generator.standard_normal((20, 12))
    group = generator.permutation(np.repeat(np.arange(20), 6))
    rows = centres[group] + 0.05 * generator.standard_normal((120, 12))
    found = build_crowds(table(rows), 6)
    for x in range(120):
        assert set(group[found.of(x)]) == {group[x]}
    outputs = np.concatenate([np.flatnonzero(group == g)[:4] for g in range(20)])
    fewer = build_crowds(table(rows), 4, outputs=outputs)
    for x in range(120):  # a word that may not be output joins the block that is like it
        assert set(group[fewer.of(x)]) == {group[x]}


def test_no_exchange_of_two_words_gains():
    words = table(seeds.rng(1).standard_normal((24, 3)))
    found = build_crowds(words, 4)
    best = cohesion(words, found.block)
    rows = words.vectors.astype(np.float64)
    whole = np.rint(rows * (SCALE / np.linalg.norm(rows, axis=1, keepdims=True)))

    def gain(x, y):
        block = found.block.copy()
        block[[x, y]] = block[[y, x]]
        after = [whole[block == b] @ whole[block == b].T for b in range(6)]
        now = [whole[found.block == b] @ whole[found.block == b].T for b in range(6)]
        return sum(np.triu(a, 1).sum() - np.triu(b, 1).sum() for a, b in zip(after, now, strict=True))

    assert max(gain(x, y) for x in range(24) for y in range(x)) <= 0
    generator = seeds.rng(2)
    assert best > max(cohesion(words, generator.permutation(found.block)) for _ in range(200))


def test_common_words_choose_before_rare_ones():
    generator = seeds.rng(3)
    rows = generator.standard_normal((80, 4))
    rare = table(rows)
    near, plain = build_lists(rare, 8), build_crowds(rare, 8)
    as_common = as_rare = 0
    for word in range(0, 80, 8):
        names = list(rare.words)
        names[word] = "the"
        crowd = build_crowds(placed(rows, names), 8)
        as_common += len(np.intersect1d(near.ids[word], crowd.of(word)))
        as_rare += len(np.intersect1d(near.ids[word], plain.of(word)))
    assert as_common > as_rare


def test_sizes_that_no_proof_allows_are_refused():
    words = table(seeds.rng(4).standard_normal((40, 4)))
    found = build_crowds(words, 4)
    found.verify()
    for block in (found.block % 5, np.where(found.block == 0, 1, found.block), found.block - 1):
        damaged = Crowds(key=found.key, outputs=found.outputs, block=block.astype(np.int32))
        with pytest.raises(ChecksumError, match="wrong size"):
            damaged.verify()
    for k in (0, 41, 65):
        with pytest.raises(ParameterError, match="k="):
            build_crowds(words, k)


def test_crowds_of_a_saved_vocabulary_are_made_once(tmp_path, monkeypatch):
    words = table(seeds.rng(5).standard_normal((60, 4))).save(tmp_path / "table")
    made = crowds(words, 5)
    monkeypatch.setattr("wordveil.vocabulary.stored_lists.build_crowds", None)
    again = crowds(words, 5)
    assert made == again == pickle.loads(pickle.dumps(again))
    assert np.array_equal(made.block, again.block)
    with pytest.raises(TypeError):  # other outputs are other crowds
        crowds(words, 5, outputs=range(50))
    (path,) = words.directory.glob("crowds-*.npy")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ChecksumError, match="differ from their checksum"):
        crowds(words, 5)
    path.write_bytes(content[:60])
    with pytest.raises(EmbeddingFormatError, match="again"):
        crowds(words, 5)


@pytest.mark.slow
def test_the_embedded_crowds_are_those_that_every_machine_finds():
    words = load_embeddings()
    found = crowds(words, 16, outputs=4000)
    assert found == build_crowds(words, 16, outputs=most_frequent(words, 4000))
    assert set(found.sizes) == {16}
