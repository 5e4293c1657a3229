import numpy as np
import pytest
from scipy import stats

import seeds
from wordveil.decoding.vickrey import Vickrey, first_probability
from worlds import placed

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


def test_t_0_gives_the_nearest_and_t_1_the_second():
    released, draws = np.full((50, 1), 1.0), (np.arange(50) / 50,)
    assert set(Vickrey(t=0.0).fit(LINE).decode(released, draws).tolist()) == {0}
    assert set(Vickrey(t=1.0).fit(LINE).decode(released, draws).tolist()) == {1}


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
