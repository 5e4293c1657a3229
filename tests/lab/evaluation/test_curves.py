"""Reading curves at equal attack: against a plain computation, and errors against many noisy curves."""

import numpy as np
import pytest

import seeds
from wordveil_lab.evaluation.curves import LEVELS, equal_attack, read_at

POINTS = ((0.1, 0.0, 0.2, 0.0), (0.5, 0.0, 0.4, 0.0), (0.9, 0.0, 0.5, 0.0))


@pytest.mark.parametrize(("level", "value"), [(0.1, 0.2), (0.3, 0.3), (0.5, 0.4), (0.7, 0.45), (0.9, 0.5)])
def test_a_curve_is_straight_between_its_points(level, value):
    assert read_at(POINTS, level) == (pytest.approx(value), 0.0)


def test_nothing_is_read_beyond_the_ends():
    assert read_at(POINTS, 0.05) is None
    assert read_at(POINTS, 0.95) is None
    assert read_at(POINTS[:1], 0.1) is None
    assert read_at(((0.5, 0.0, 0.1, 0.0), (0.5, 0.0, 0.2, 0.0)), 0.5) is None


def test_the_error_is_that_of_curves_with_noisy_points():
    """20 000 noisy curves: their standard deviation is known to a relative 1/sqrt(40 000); six of those."""
    generator = seeds.rng(0)
    points = ((0.2, 0.01, 0.1, 0.02), (0.6, 0.02, 0.7, 0.01))
    noisy = [
        read_at(tuple((x + dx * a, 0, y + dy * b, 0) for (x, dx, y, dy), (a, b) in zip(points, pair, strict=True)), 0.5)
        for pair in generator.standard_normal((20_000, 2, 2))
    ]
    spread = np.std([found[0] for found in noisy])
    assert read_at(points, 0.5)[1] == pytest.approx(spread, rel=0.04)  # 0.03 of chance, 0.01 of curvature


def report(epsilons):
    def score(mean):
        return {"mean": mean, "standard_error": 0.01}

    def row(name, epsilon, attack):
        cells = {
            "inversion-reviews": {"scores": {"best": score(attack), "best-content": score(attack / 2)}},
            "centroid-classification": {"scores": {"accuracy": score(0.5 + attack / 4)}},
        }
        return {"name": name, "group": "metric", "epsilon": epsilon, "cells": cells}

    rows = [row(name, e, shift + e / 10) for name, shift in (("a", 0.0), ("b", 0.1)) for e in epsilons]
    return {"groups": {"metric": "text"}, "rows": rows[::-1]}


def test_mechanisms_are_compared_where_their_attackers_are_equally_good():
    found = {one.attack: one for one in equal_attack(report((1, 4, 8)))}
    assert set(found) == {"inversion-reviews: best", "inversion-reviews: best-content"}
    for values in found["inversion-reviews: best"].rows.values():
        assert [reading[0] for reading in values] == pytest.approx([0.5 + level / 4 for level in LEVELS])
    content = found["inversion-reviews: best-content"].rows
    assert [reading and round(reading[0], 6) for reading in content["a"]] == [0.6, 0.7, None, None]
    assert equal_attack(report((1, 8))) == []  # two epsilons are no curve
