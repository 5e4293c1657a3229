from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seeds
from wordveil.errors import ChecksumError, ParameterError
from wordveil.kernels import nearest_outputs
from wordveil.kernels.compiled.library import available_engines
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis, Precomputed
from wordveil.metrics.table import DistanceTable
from wordveil.vocabulary import neighbour_lists as module
from wordveil.vocabulary.neighbour_lists import NeighbourLists, build_lists, list_blocks
from worlds import placed


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
