import numpy as np
import pytest

import seeds
import wordveil as wv
from wordveil.errors import RefutedClaimError
from wordveil.mechanisms.gaussian_scale import classical_scale
from wordveil.mechanisms.jaccard import Jaccard, class_delta, class_errors
from worlds import placed


def vocabulary(d: int = 2) -> wv.Embeddings:
    rng = seeds.rng(0)
    rows = np.concatenate((rng.standard_normal((20, d)), 30 + 5 * rng.standard_normal((20, d))))
    return placed(rows)


def test_the_errors_and_the_delta_agree_with_simulated_likelihood_ratios():
    d, ratio, epsilon = 6, 1.5, 0.7
    rng = seeds.rng(0)
    squared = rng.chisquare(d, 400_000)
    log_ratio = lambda s: -d * np.log(ratio) + s / 2 * (1 - ratio**-2)  # noqa: E731
    wide, narrow = class_errors(d, ratio)
    assert np.mean(log_ratio(ratio**2 * squared) < 0) == pytest.approx(wide, abs=0.005)
    assert np.mean(log_ratio(squared) >= 0) == pytest.approx(narrow, abs=0.005)
    hockey = np.maximum(0, 1 - np.exp(epsilon - log_ratio(ratio**2 * squared))).mean()
    assert class_delta(d, ratio, epsilon) == pytest.approx(hockey, abs=0.005)
    assert class_errors(d, 1 / ratio) == (wide, narrow)


def test_sigmas_follow_the_classes_and_the_average_reach():
    table = vocabulary()
    fitted = Jaccard(epsilon=2.0, neighbours=4, allow_refuted=True).fit(table)
    rows = table.vectors.astype(np.float64)
    lengths = np.sort(np.linalg.norm(rows[:, None] - rows[None], axis=2), axis=1)[:, :4]
    unit = lengths[:, -1].mean() * classical_scale(2.0, 1e-5)
    dense = lengths.mean(axis=1) < np.median(lengths.mean(axis=1))
    assert dense.sum() == 20
    assert fitted.sigmas == pytest.approx(unit * np.where(dense, 1.835, 1.276), rel=1e-12)


def test_it_promises_nothing_and_prints_the_counter_example():
    claim = Jaccard(epsilon=1.0, allow_refuted=True).fit(vocabulary(d=300)).guarantee()
    assert isinstance(claim, wv.NoGuarantee)
    assert claim.standing is wv.Standing.REFUTED
    assert "5.3e-06 and 4.1e-06" in claim.reason
    assert class_delta(300, 1.835 / 1.276, 1.0) > 0.9999
    with pytest.raises(RefutedClaimError, match="dense from sparse"):
        Jaccard(epsilon=1.0)
