"""What every vector mechanism owes, alone and decoded: one suite over all of them."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
import pytest

from wordveil.decoding.base import DECODER_LANE
from wordveil.decoding.decoded import Decoded
from wordveil.decoding.nearest import Nearest
from wordveil.decoding.rank_softmax import RankSoftmax
from wordveil.decoding.vickrey import Vickrey
from wordveil.errors import ParameterError
from wordveil.mechanisms.clipped_gaussian import ClippedGaussian
from wordveil.mechanisms.clipped_laplace import ClippedLaplace
from wordveil.mechanisms.jaccard import Jaccard
from wordveil.mechanisms.mahalanobis import Mahalanobis
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace
from wordveil.mechanisms.nadp import NADP
from wordveil.mechanisms.projection import Projection
from wordveil.mechanisms.truncated_laplace import TruncatedLaplace
from wordveil.promises.guarantees import Guarantee, LocalDP, MetricDP, NeighbourDP, NoGuarantee, PrivacyUnit
from wordveil.randomness import RandomSource, Stream
from wordveil.vocabulary.table import Embeddings

V, D = 70, 5
PUBLISHED = {"calibration": "published", "allow_refuted": True}
MECHANISMS = [
    (MultivariateLaplace(epsilon=3.0), MetricDP),
    (Mahalanobis(epsilon=3.0, lam=0.7), MetricDP),
    (ClippedLaplace(epsilon=30.0, clip_norm=2.0), LocalDP),
    (ClippedGaussian(epsilon=30.0, delta=1e-4), LocalDP),
    (ClippedGaussian(epsilon=0.5, calibration="classical"), LocalDP),
    (ClippedGaussian(epsilon=60.0, calibration="classical", allow_refuted=True), NoGuarantee),
    (TruncatedLaplace(epsilon=30.0), LocalDP),
    (TruncatedLaplace(epsilon=30.0, calibration="exact"), LocalDP),
    (TruncatedLaplace(epsilon=0.1, delta=1e-3, **PUBLISHED), NoGuarantee),
    (TruncatedLaplace(epsilon=0.1, delta=1e-3, padded_dimensions=9, **PUBLISHED), NoGuarantee),
    (Projection(epsilon=3.0, dimensions=3), MetricDP),
    (Projection(epsilon=3.0, dimensions=3, directions="principal", sensitivity="spectral"), MetricDP),
    (Projection(epsilon=3.0, sensitivity="union-bound", beta=2.0), MetricDP),
    (Projection(epsilon=3.0, sensitivity="published", beta=2.0), MetricDP),
    (NADP(epsilon=3.0), NeighbourDP),
    (NADP(epsilon=3.0, isolated="verbatim", overlap=2), NeighbourDP),
    (Jaccard(epsilon=3.0, allow_refuted=True), NoGuarantee),
]
DECODERS = [Nearest(), RankSoftmax(epsilon=3.0, c=0.1), Vickrey(t=0.4)]
every_mechanism = pytest.mark.parametrize(("mechanism", "promise"), MECHANISMS, ids=lambda m: repr(m)[:60])


@pytest.fixture(scope="module")
def table() -> Embeddings:
    rows = np.random.default_rng(0).standard_normal((V, D)) * np.arange(1, D + 1)
    return Embeddings.from_arrays([f"w{i}" for i in range(V)], rows, candidate_rule="all")


@pytest.fixture(scope="module")
def fitted(table):
    return {mechanism: mechanism.fit(table) for mechanism, _ in MECHANISMS}


def drawn(randomizer, total, size, engine="aes"):
    """Draw for three documents one after the other, `size` rows at a time."""
    source = RandomSource.seeded_for_tests(1, engine=engine)
    streams = source.documents(source.nonces("abc", "abc"), [23, 0, total - 23])
    parts = list(streams.chunks(randomizer.sample, size))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


@every_mechanism
def test_the_guarantee_is_typed_and_a_sentence(fitted, mechanism, promise):
    claim = fitted[mechanism].guarantee()
    assert type(claim) is promise
    assert isinstance(claim, Guarantee)
    assert claim.unit is PrivacyUnit.VECTOR
    assert claim.sentence()
    assert claim.as_dict()["promise"] == claim.promise


@every_mechanism
def test_parameters_are_frozen_hashable_and_rebuilt_by_repr(mechanism, promise):
    assert eval(repr(mechanism), {type(mechanism).__name__: type(mechanism)}) == mechanism
    assert len({mechanism, dataclasses.replace(mechanism)}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.epsilon = 1.0
    assert mechanism.name == type(mechanism).name
    assert mechanism.paper


@every_mechanism
@pytest.mark.parametrize("engine", ["aes", "shake"])
def test_draws_do_not_depend_on_how_a_document_is_cut(fitted, mechanism, promise, engine):
    whole = drawn(fitted[mechanism], 60, 60, engine)
    for size in (1, 7, 30):
        pieces = drawn(fitted[mechanism], 60, size, engine)
        assert len(whole) == len(pieces)
        for a, b in zip(whole, pieces, strict=True):
            assert len(a) == 60
            assert np.array_equal(a, b)


@every_mechanism
def test_lanes_stay_below_those_of_decoders(fitted, mechanism, promise):
    class Watched(Stream):
        seen: ClassVar[list[int]] = []

        def lane(self, index):
            self.seen.append(index)
            return super().lane(index)

    Watched.seen.clear()
    fitted[mechanism].sample(Watched(bytes(16), "aes").seat(0), 3)
    assert Watched.seen
    assert len(set(Watched.seen)) == len(Watched.seen)
    assert max(Watched.seen) < DECODER_LANE


@every_mechanism
def test_rows_do_not_depend_on_their_batch_and_come_out_as_float64(fitted, table, mechanism, promise):
    randomizer = fitted[mechanism]
    rows = np.concatenate((table.vectors, table.vectors))
    draws = randomizer.sample(RandomSource.seeded_for_tests(2).stream("x"), len(rows))
    whole = randomizer.randomize(rows, draws)
    assert whole.dtype == np.float64
    assert whole.shape == (2 * V, randomizer.dimensions)
    assert np.array_equal(whole, randomizer.randomize(rows.astype(np.float64), draws))
    for low, high in ((0, 1), (3, 70), (139, 140)):
        part = randomizer.randomize(rows[low:high], tuple(column[low:high] for column in draws))
        assert np.array_equal(part, whole[low:high])


@every_mechanism
def test_no_rows_give_no_rows(fitted, table, mechanism, promise):
    randomizer = fitted[mechanism]
    released = randomizer.release(table.vectors[:0], RandomSource.seeded_for_tests(0))
    assert released.shape == (0, randomizer.dimensions)


@every_mechanism
def test_inputs_are_left_alone_and_each_row_has_its_own_noise(fitted, table, mechanism, promise):
    randomizer = fitted[mechanism]
    noisy = np.flatnonzero(getattr(randomizer, "sigmas", np.ones(V)) > 0)[0]
    rows = np.repeat(table.vectors[[noisy]], 6, axis=0).astype(np.float64)
    before = rows.copy()
    released = randomizer.release(rows, RandomSource.seeded_for_tests(0))
    assert np.array_equal(rows, before)
    assert len(np.unique(released, axis=0)) == 6


@every_mechanism
def test_unusable_vectors_are_refused_without_being_shown(fitted, table, mechanism, promise):
    randomizer, source = fitted[mechanism], RandomSource.seeded_for_tests(0)
    for value in (np.nan, np.inf):
        rows = table.vectors[:2].copy()
        rows[1, 2] = value
        with pytest.raises(ParameterError, match="<hidden>"):
            randomizer.release(rows, source)
    with pytest.raises(ParameterError, match="shape"):
        randomizer.release(table.vectors[:2, :3], source)


@every_mechanism
def test_global_randomness_is_not_touched(fitted, table, mechanism, promise):
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - the global state must not move
    fitted[mechanism].release(table.vectors, RandomSource.seeded_for_tests(0))
    mechanism.fit(table)
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


@every_mechanism
def test_one_dimension_is_no_special_case(mechanism, promise):
    if isinstance(mechanism, Projection):
        mechanism = Projection(epsilon=1.0, dimensions=1, directions="principal")
    if isinstance(mechanism, TruncatedLaplace):
        mechanism = dataclasses.replace(mechanism, padded_dimensions=None, delta=0.3)
    rows = np.random.default_rng(1).standard_normal((30, 1))
    table = Embeddings.from_arrays([f"w{i}" for i in range(30)], rows, candidate_rule="all")
    released = mechanism.fit(table).release(table.vectors, RandomSource.seeded_for_tests(0))
    assert released.shape == (30, 1)
    assert np.isfinite(released).all()


@every_mechanism
def test_duplicates_in_the_vocabulary_are_randomized_alike(mechanism, promise):
    rows = np.random.default_rng(1).standard_normal((30, D))
    rows[10:20] = rows[:10]
    table = Embeddings.from_arrays([f"w{i}" for i in range(30)], rows, candidate_rule="all")
    randomizer = mechanism.fit(table)
    draws = randomizer.sample(RandomSource.seeded_for_tests(0).stream("x"), 1)
    for i in range(10):
        a = randomizer.randomize(table.vectors[[i]], draws)
        assert np.array_equal(a, randomizer.randomize(table.vectors[[i + 10]], draws))


@every_mechanism
@pytest.mark.parametrize("decoder", DECODERS, ids=lambda d: d.name)
def test_decoded_it_is_a_word_mechanism(table, mechanism, promise, decoder):
    vocabulary = table.without_outputs(["w3", "w40"])
    decoded = Decoded(mechanism=mechanism, decoder=decoder).fit(vocabulary)
    ids = np.tile(np.arange(V, dtype=np.int32), 2)
    draws = drawn(decoded, 2 * V, 2 * V)
    released = decoded.randomize(ids, draws)
    assert released.dtype == np.int32
    assert not set(released.tolist()) & {3, 40}
    assert decoded.guarantee().unit is PrivacyUnit.TOKEN
    for a, b in zip(draws, drawn(decoded, 2 * V, 20), strict=True):
        assert np.array_equal(a, b)
    parts = [
        decoded.randomize(ids[low : low + 35], tuple(c[low : low + 35] for c in draws), threads=1)
        for low in range(0, 2 * V, 35)
    ]
    assert np.array_equal(np.concatenate(parts), released)
    assert decoded.randomize(ids[:0], tuple(column[:0] for column in draws)).shape == (0,)


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda d: d.name)
def test_decoder_parameters_are_frozen_and_rebuilt_by_repr(decoder):
    assert eval(repr(decoder), {type(decoder).__name__: type(decoder)}) == decoder
    assert decoder.name == type(decoder).name
    assert decoder.paper
