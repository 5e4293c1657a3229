"""Graphs of neighbours, by overlapping lists and by ranks, against their definitions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seeds
from wordveil.errors import ParameterError
from wordveil.vocabulary.nearest_lists import nearest_lists, overlap_graph
from wordveil.vocabulary.rank_metric import LARGEST_VOCABULARY, PARTS, rank_distances, rank_graph
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


def oracle_graph(rows: np.ndarray, k: int) -> np.ndarray:
    """Weights by the definition, inf where there is no edge."""
    v = len(rows)
    squared = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    rank = np.zeros((v, v), dtype=int)
    for x in range(v):
        for place, y in enumerate(sorted((j for j in range(v) if j != x), key=lambda j: (squared[x, j], j)), start=1):
            rank[x, y] = place
    near = (rank <= k) & ~np.eye(v, dtype=bool)
    return np.where(near | near.T, np.log(1 + np.maximum(rank, rank.T)), np.inf)


def oracle_distances(weights: np.ndarray) -> np.ndarray:
    """Floyd and Warshall."""
    paths = weights.copy()
    np.fill_diagonal(paths, 0.0)
    for middle in range(len(paths)):
        paths = np.minimum(paths, paths[:, middle][:, None] + paths[middle][None, :])
    return paths


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(3, 25), st.integers(1, 3), st.integers(1, 6))
def test_edges_and_distances_agree_with_the_definition(seed, v, d, k):
    rows = seeds.rng(seed).integers(0, 5, (v, d)).astype(np.float64)  # ties and twins on purpose
    k = min(k, v - 1)
    graph = rank_graph(rows, k)
    weights = oracle_graph(rows, k)
    i, j = np.nonzero(np.isfinite(np.triu(weights, 1)) & (np.triu(weights, 1) > 0))
    assert graph.edges.tolist() == np.stack((i, j), axis=1).tolist()
    assert np.allclose(graph.weights, weights[i, j], rtol=1e-14)
    expected = oracle_distances(weights)
    assert graph.connected == bool(np.isfinite(expected).all())
    assert np.allclose(rank_distances(graph, cap=2.5), np.minimum(expected, 2.5), rtol=1e-14)
    if graph.connected:
        found = rank_distances(graph)
        assert np.allclose(found, expected, rtol=1e-14)
        assert np.array_equal(found, found.T)
        assert np.all(np.diagonal(found) == 0)
        assert found[~np.eye(v, dtype=bool)].min() >= math.log(2) * (1 - 1e-15)


def test_several_blocks_and_threads_give_the_same_bits():
    rows = seeds.rng(0).standard_normal((300, 3))
    graphs = [rank_graph(rows, 5, threads=n) for n in (1, 2)]
    assert np.array_equal(graphs[0].weights, graphs[1].weights)
    tables = [rank_distances(graphs[0], threads=n, cap=9.0) for n in (1, 2)]
    assert np.array_equal(*tables)
    assert np.allclose(tables[0], np.minimum(oracle_distances(oracle_graph(rows, 5)), 9.0), rtol=1e-14)


def test_sums_along_the_longest_path_that_there_can_be_are_exact():
    """A path visits a word once, its edges weigh at most ln(1 + v), and float64 holds all sums of whole parts."""
    longest = LARGEST_VOCABULARY * (math.log(1 + LARGEST_VOCABULARY) + 1 / PARTS)
    assert longest * PARTS < 2**53
    chain = rank_graph(np.append(np.arange(60.0), 60 + 0.01 * np.arange(9))[:, None].astype(np.float32), 2)
    parts = rank_distances(chain, cap=math.inf) * PARTS
    assert np.array_equal(parts, np.rint(parts))
