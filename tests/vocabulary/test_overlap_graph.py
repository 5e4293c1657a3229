import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seeds
from wordveil.errors import ParameterError
from wordveil.vocabulary.nearest_lists import nearest_lists
from wordveil.vocabulary.overlap_graph import overlap_graph
from worlds import placed


def oracle_lists(rows: np.ndarray, k: int) -> list[list[int]]:
    lists = []
    for i, row in enumerate(rows.astype(np.float64)):
        distance = ((rows.astype(np.float64) - row) ** 2).sum(axis=1)
        others = sorted((j for j in range(len(rows)) if j != i), key=lambda j: (distance[j], j))
        lists.append([i, *others[: k - 1]])
    return lists


def oracle_edges(rows: np.ndarray, adjacent: int, overlap: int, tau: float) -> set[tuple[int, int]]:
    near, wide = oracle_lists(rows, adjacent), oracle_lists(rows, overlap)
    edges = set()
    for i, j in itertools.combinations(range(len(rows)), 2):
        shared = len(set(wide[i]) & set(wide[j])) / len(set(wide[i]) | set(wide[j]))
        twins = np.array_equal(rows[i], rows[j])
        if ((j in near[i] or i in near[j]) and shared >= tau) or twins:
            edges.add((i, j))
    return edges


def oracle_components(v: int, edges: set[tuple[int, int]]) -> list[frozenset[int]]:
    groups = [{i} for i in range(v)]
    for i, j in edges:
        left, right = next(g for g in groups if i in g), next(g for g in groups if j in g)
        if left is not right:
            groups.remove(right)
            left |= right
    return sorted((frozenset(g) for g in groups), key=min)


@settings(max_examples=40)
@given(
    st.integers(0, 10**6), st.integers(3, 30), st.integers(1, 3), st.integers(2, 3), st.integers(1, 3),
    st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1.0]),
)  # fmt: skip
def test_edges_components_and_reach_agree_with_the_definition(seed, v, d, adjacent, overlap, tau):
    rows = seeds.rng(seed).integers(0, 6, (v, d)).astype(np.float32)  # ties and twins on purpose
    graph = overlap_graph(placed(rows), adjacent=adjacent, overlap=overlap, tau=tau)
    edges = oracle_edges(rows, adjacent, overlap, tau)
    groups = oracle_components(v, edges)
    found = sorted((frozenset(np.flatnonzero(graph.component == c).tolist()) for c in set(graph.component)), key=min)
    assert found == groups
    twins = {(i, j) for i, j in edges if np.array_equal(rows[i], rows[j])}
    assert edges - twins == set(map(tuple, graph.edges.tolist())) - twins
    for group in groups:
        longest = max(
            (np.linalg.norm(rows[i].astype(np.float64) - rows[j]) for i, j in edges if i in group), default=0.0
        )
        reach = graph.reach[graph.component[min(group)]]
        assert longest <= reach <= longest * (1 + 1e-6)
        assert bool(graph.isolated[min(group)]) == (longest == 0)


def test_lists_start_with_the_word_itself_even_among_many_twins():
    rows = np.zeros((9, 2), dtype=np.float32)
    rows[8] = 1
    lists = nearest_lists(rows, 3)
    assert lists.tolist() == oracle_lists(rows, 3)
    assert nearest_lists(rows[:1], 1).tolist() == [[0]]
    with pytest.raises(ParameterError, match="k=10"):
        nearest_lists(rows, 10)
