"""Rank softmax and Vickrey by their formulas: every rank, the odds, and how c is tuned."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import seeds
from wordveil.decoding import rank_softmax
from wordveil.decoding.rank_softmax import RankSoftmax, truncated_geometric
from wordveil.decoding.rank_tuning import tune_rank_softmax
from wordveil.decoding.vickrey import Vickrey, first_probability
from wordveil.errors import ParameterError
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace
from wordveil.mechanisms.projection import Projection
from worlds import drawn, placed


def law(decay: float, v: int) -> np.ndarray:
    weights = np.exp(-decay * np.arange(v))
    return weights / weights.sum()


@settings(max_examples=60, deadline=None)
@given(st.floats(0.0, 5.0), st.integers(1, 400))
def test_a_quantile_grid_reproduces_the_law_exactly(decay, v):
    n = 20_000
    ranks = truncated_geometric((np.arange(n) + 0.5) / n, decay, v)
    assert np.all(np.diff(ranks) >= 0)
    assert ranks.min() >= 0
    assert ranks.max() < v
    cumulative = np.searchsorted(ranks, np.arange(v), side="right") / n
    assert np.allclose(cumulative, np.cumsum(law(decay, v)), atol=1 / n)


def test_extreme_decays():
    edge = np.array([0.0, 0.5, 1 - 2.0**-53])
    assert truncated_geometric(edge, 0.0, 10).tolist() == [0, 5, 9]
    assert truncated_geometric(edge, 1e-300, 10).tolist() == [0, 5, 9]
    assert truncated_geometric(edge, 1e6, 10).tolist() == [0, 0, 0]
    assert truncated_geometric(edge, 1.0, 1).tolist() == [0, 0, 0]


@pytest.mark.parametrize("twins", [0, 7])
def test_every_rank_is_the_oracles_on_both_paths(monkeypatch, twins):
    monkeypatch.setattr(rank_softmax, "NEAR", 20)
    embeddings = drawn(60, 3, twins=twins).without_outputs(["w5", "w6"])
    fitted = RankSoftmax(epsilon=1.0).fit(embeddings)
    candidates = embeddings.candidates
    first = candidates[embeddings.canonical[candidates] == candidates]
    centres = np.repeat(first, len(candidates))
    ranks = np.tile(np.arange(len(candidates)), len(first))
    rows = embeddings.vectors.astype(np.float64)
    expected = []
    for centre in first:
        distance = ((rows[candidates] - rows[centre]) ** 2).sum(axis=1)
        expected += [int(candidates[i]) for i in sorted(range(len(candidates)), key=lambda i: (distance[i], i))]
    assert fitted.neighbours(centres, ranks).tolist() == expected


def test_a_steep_law_is_nearest_decoding_and_nothing_decodes_to_nothing():
    embeddings = drawn(30, 3)
    fitted = RankSoftmax(epsilon=1.0, c=1e4).fit(embeddings)
    draws = fitted.sample(seeds.source(0).stream("x"), 30)
    assert fitted.decode(embeddings.vectors.astype(np.float64), draws).tolist() == list(range(30))
    assert fitted.decode(np.empty((0, 3)), (np.empty(0),)).shape == (0,)


@pytest.mark.parametrize(
    "mechanism",
    [lambda e: MultivariateLaplace(epsilon=e), lambda e: Projection(epsilon=e, dimensions=2, sensitivity="spectral")],
)
def test_tuned_shares_equal_what_decoding_draws(mechanism):
    embeddings = drawn(40, 3)
    epsilons, c = (3.0, 8.0), 0.2
    tuned = tune_rank_softmax(mechanism, embeddings, epsilons, grid=[c], sample=40, neighbours=5, seed=seeds.seed(0))
    repeats = 400
    for column, epsilon in enumerate(epsilons):
        randomizer = mechanism(epsilon).fit(embeddings)
        stream = seeds.source(0).stream(f"{epsilon}")
        noisy = randomizer.randomize(embeddings.vectors, randomizer.sample(stream, 40))
        decoder = RankSoftmax(epsilon=epsilon, c=c).fit(randomizer.decoding_space(embeddings))
        uniforms = np.repeat((np.arange(repeats) + 0.5) / repeats, 40)
        ids = decoder.decode(np.tile(noisy, (repeats, 1)), (uniforms,)).reshape(repeats, 40)
        distance = np.linalg.norm(embeddings.vectors[:, None].astype(float) - embeddings.vectors[None], axis=2)
        near = np.argsort(distance, axis=1)[:, 1:6]
        assert (ids == np.arange(40)).mean() == pytest.approx(tuned.original[0][column], abs=2 / repeats)
        assert (ids[:, :, None] == near[None]).any(axis=2).mean() == pytest.approx(
            tuned.near[0][column], abs=6 / repeats
        )


def test_tuning_picks_the_best_of_the_grid():
    tuned = tune_rank_softmax(
        lambda e: MultivariateLaplace(epsilon=e), drawn(200, 3), [20.0], grid=[1e-4, 0.02, 5.0], neighbours=20
    )
    assert tuned.c == 0.02
    assert tuned.near[1][0] == max(row[0] for row in tuned.near)
    with pytest.raises(ParameterError, match="grid"):
        tune_rank_softmax(lambda e: MultivariateLaplace(epsilon=e), drawn(9, 3), [1.0], grid=[])


LINE = placed([[0.0], [4.0], [50.0]])


def test_the_odds_by_hand():
    nearer, farther = np.array([1.0, 0.0, 0.0, 2.0]), np.array([3.0, 5.0, 0.0, 2.0])
    assert first_probability(nearer, farther, 0.5) == pytest.approx([0.75, 1.0, 1.0, 0.5])
    assert first_probability(nearer, farther, 0.75) == pytest.approx([0.5, 1.0, 1.0, 0.25])
    assert first_probability(nearer, farther, 0.0).tolist() == [1.0, 1.0, 1.0, 1.0]
    assert first_probability(nearer, farther, 1.0).tolist() == [0.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("t", [0.3, 0.75])
def test_the_frequencies_follow_the_formula_and_nothing_else(t):
    n = 8_000
    fitted = Vickrey(t=t).fit(LINE)
    released = np.full((n, 1), 1.0)  # 1 from a, 3 from b
    ids = fitted.decode(released, fitted.sample(seeds.source(0).stream("x"), n))
    chance = (1 - t) * 3 / (t * 1 + (1 - t) * 3)
    assert set(ids.tolist()) <= {0, 1}
    count = int((ids == 0).sum())
    assert stats.binomtest(count, n, chance).pvalue >= 1e-9
    for scale in (0.9, 1.1):
        assert stats.binomtest(count, n, chance * scale).pvalue < 1e-9


def test_only_candidates_come_out_and_one_candidate_always():
    barred = LINE.without_outputs(["w1"])
    uniforms = (np.array([0.0, 0.999999]),)
    assert set(Vickrey(t=1.0).fit(barred).decode(np.array([[3.9], [3.9]]), uniforms).tolist()) == {2}
    single = LINE.without_outputs(["w1", "w2"])
    assert Vickrey(t=1.0).fit(single).decode(np.array([[3.9], [99.0]]), uniforms).tolist() == [0, 0]


def test_twins_on_the_spot_give_the_first():
    table = placed([[1.0], [1.0], [9.0]])
    fitted = Vickrey(t=0.5).fit(table)
    assert fitted.decode(np.array([[1.0]]), (np.array([0.999]),)).tolist() == [0]
    assert fitted.decode(np.empty((0, 1)), (np.empty(0),)).shape == (0,)
