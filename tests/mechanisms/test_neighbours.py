"""Neighbour response: the integer law to the last integer, the claim, and twins that break it.

The oracle walks over all 2^64 draws: the output is constant between a few breakpoints, whose distances are counted in
whole numbers. It knows nothing of how the mechanism computes its weights.
"""

import math
from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.mechanisms.neighbours import TOTAL, FittedNeighbourResponse, IntegerLaw, NeighbourResponse
from wordveil.promises.pair_loss import channel_pair
from worlds import drawn, placed

EXACT = Context(prec=80)


def counted(fitted: FittedNeighbourResponse, word: int) -> dict[int, int]:
    """Return how many of the 2^64 draws release each output, by walking over the places where the output changes."""
    law = fitted.integers
    size = len(fitted.lists[word]) if word >= 0 else 0
    steps = [i * (law.floor if word >= 0 else law.unknown) for i in range(law.outputs + 1)]
    steps += [law.anywhere + i * law.share for i in range(size + 1)] if size else []
    edges = [*sorted({step for step in steps if step < TOTAL} | {0}), TOTAL]
    starts = np.array(edges[:-1], dtype=np.uint64)
    ends = np.array([edge - 1 for edge in edges[1:]], dtype=np.uint64)
    ids = np.full(len(starts), word, dtype=np.int32)
    first, last = (fitted.randomize(ids, (bits,)).tolist() for bits in (starts, ends))
    assert first == last, "the output changes between two breakpoints"
    found: Counter[int] = Counter()
    for output, (low, high) in zip(first, pairwise(edges), strict=True):
        found[output] += high - low
    return dict(found)


def largest_loss(weights: list[dict[int, int]], outputs: list[int]) -> Decimal:
    """Return ln of the largest ratio of two inputs' weights of one output, to 80 digits; infinite where one is 0."""
    worst = Fraction(1)
    for output in outputs:
        column = [row.get(output, 0) for row in weights]
        if min(column) == 0:
            return Decimal("Infinity")
        worst = max(worst, Fraction(max(column), min(column)))
    return EXACT.ln(EXACT.divide(worst.numerator, worst.denominator))


def held_to_the_last_integer(fitted: FittedNeighbourResponse, epsilon: float) -> list[dict[int, int]]:
    """Hold the stated weights and the claim against counts of all draws, and return these, unknown tokens first."""
    inputs = np.arange(-1, len(fitted.embeddings), dtype=np.int32)
    weights = [counted(fitted, int(word)) for word in inputs]
    assert all(sum(row.values()) == TOTAL for row in weights)
    assert [[row.get(int(y), 0) for y in fitted.outputs] for row in weights] == fitted.weights(inputs).tolist()
    assert largest_loss(weights, fitted.outputs.tolist()) <= Decimal(fitted.guarantee().epsilon) <= Decimal(epsilon)
    return weights


@given(
    v=st.integers(4, 30),
    k=st.integers(1, 6),
    epsilon=st.floats(0.01, 45),
    outputs=st.none() | st.integers(3, 20),
    twins=st.integers(0, 2),
    input_only=st.integers(0, 2),
)
def test_the_law_keeps_its_claim_to_the_last_integer(
    v: int, k: int, epsilon: float, outputs: int | None, twins: int, input_only: int
) -> None:
    table = drawn(v, 3, twins=min(twins, v // 3), barred=input_only if v > 8 else 0).with_header(order="frequency")
    most = len(table.candidates)
    outputs = outputs and min(outputs, most)
    mechanism = NeighbourResponse(epsilon=epsilon, k=k, outputs=outputs)
    if k >= (outputs or most):
        with pytest.raises(ParameterError, match="k"):
            mechanism.fit(table)
        return
    fitted = mechanism.fit(table)
    held_to_the_last_integer(fitted, epsilon)
    claim = fitted.guarantee()
    assert isinstance(claim, wv.LocalDP)
    assert (claim.standing, claim.slack, claim.delta) == (wv.Standing.PROVED, 0, 0)


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 8.0, 12.0])
def test_no_smaller_floor_keeps_epsilon(epsilon: float) -> None:
    law = IntegerLaw(epsilon=epsilon, outputs=4000, k=16)
    less = law.floor - 1
    share, rest = divmod(TOTAL - law.outputs * less, 16)
    assert EXACT.ln(EXACT.divide(less + share + rest, less)) > Decimal(epsilon) >= Decimal(law.claim)
    assert epsilon - law.claim < 1e-9, "next to nothing of epsilon is left unused"
    p = math.exp(epsilon) / (16 * math.exp(epsilon) + 4000 - 16)
    assert law.largest(law.floor) / TOTAL == pytest.approx(p, rel=1e-9)


def test_epsilon_below_what_64_bits_can_tell_is_refused() -> None:
    for outputs in (100_000, 4096):
        with pytest.raises(ParameterError, match="too small for 64-bit weights"):
            IntegerLaw(epsilon=1e-18, outputs=outputs, k=4)


def test_broken_twins_break_the_claim() -> None:
    """The comparison above notices each way in which such mechanisms have gone wrong."""
    fitted = NeighbourResponse(epsilon=3.0, k=3, outputs=None).fit(drawn(20, 3))
    claim, outputs = Decimal(fitted.integers.claim), fitted.outputs.tolist()
    unknown, *honest = (counted(fitted, word) for word in range(-1, 20))
    assert largest_loss([unknown, *honest], outputs) <= claim
    far = next(y for y in outputs if y not in fitted.lists[0])
    pairs = zip(honest, fitted.lists, strict=True)
    halved = [{y: w if y in own else w // 2 for y, w in row.items()} for row, own in pairs]
    twins = {
        "a list without a floor": [{int(y): 1 for y in own} for own in fitted.lists],
        "half the floor": [unknown, *halved],
        "unknown tokens passed on": [{outputs[0]: TOTAL}, *honest],
        "a longer list for one": [unknown, {**honest[0], far: honest[0][far] * 40}, *honest[1:]],
    }
    for name, weights in twins.items():
        assert largest_loss(weights, outputs) > claim, name


@pytest.mark.parametrize("k", [2, 7, 9, 15])
def test_the_loss_profile_is_that_of_the_exact_channel(k: int) -> None:
    fitted = NeighbourResponse(epsilon=4.0, k=k, outputs=None).fit(drawn(16, 3))
    ids = np.arange(-1, 16, dtype=np.int32)
    rows = fitted.law(ids)
    own, exact = fitted.loss_profile(), channel_pair(rows)
    for epsilon in np.linspace(0, 4, 41).tolist():
        true = max(float(np.maximum(row - math.exp(epsilon) * rows, 0).sum(axis=1).max()) for row in rows)
        assert own.deltas[min(int(epsilon / own.interval), len(own.deltas) - 1)] >= true - 1e-15
    text = wv.compose_many([(own, 50)], delta=1e-6)
    assert text.epsilon <= wv.compose_many([(exact, 50)], delta=1e-6).epsilon + 0.1
    assert text.epsilon < 50 * 4.0


@pytest.mark.slow
def test_any_two_ranks_meet_in_the_embedded_vocabulary_so_that_the_proof_of_flat_lists_holds() -> None:
    table = wv.load_embeddings()
    outputs = NeighbourResponse(outputs=4000).fit(table).outputs
    rows = table.vectors / np.maximum(np.linalg.norm(table.vectors, axis=1, keepdims=True), 1e-9)
    has = np.zeros((len(outputs), len(outputs)), np.float32)  # whether an output has a rank for some input
    for some in np.array_split(rows, 16):
        has[np.argsort(some @ -rows[outputs].T, axis=1), np.arange(len(outputs))] = 1
    assert len(outputs) == 4000
    assert (has.T @ has).min() > 3700


@given(
    v=st.integers(6, 40),
    k=st.integers(3, 6),
    epsilon=st.floats(0.1, 20),
    twins=st.integers(0, 2),
    input_only=st.integers(0, 2),
)
def test_classes_keep_their_claim_and_hide_a_word_among_all_of_its_class(
    v: int, k: int, epsilon: float, twins: int, input_only: int
) -> None:
    embeddings = drawn(v, 3, twins=twins, barred=input_only)
    if k > len(embeddings.candidates):
        return
    fitted = NeighbourResponse(epsilon=epsilon, outputs=f"classes:{k}").fit(embeddings)
    weights = held_to_the_last_integer(fitted, epsilon)
    for word in range(v):
        (face,) = fitted.lists[word].tolist()
        assert fitted.lists[face].tolist() == [face]
        assert weights[face + 1] == weights[word + 1], "however often it is released"
        assert fitted.pair_loss(word, face) == 0
    assert "the face of its public class" in fitted.procedure()
    assert "shows its class" in fitted.advice()


@pytest.mark.parametrize(("given", "problem"), [
    ({"outputs": "classes:0"}, "must be a number of words"),
    ({"outputs": "classes:256 "}, "must be a number of words"),
    ({"outputs": "words.txt"}, "must be a number of words"),
    ({"outputs": "classes:256", "k": 2}, "must be 1 where words are released as faces"),
    ({"k": -1}, "must be"),
])  # fmt: skip
def test_outputs_that_cannot_be_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        NeighbourResponse(**given)


def test_the_usual_length_of_lists_is_16_and_1_for_classes() -> None:
    assert (NeighbourResponse(outputs=4000).k, NeighbourResponse(outputs=None).k) == (16, 16)
    assert NeighbourResponse() == NeighbourResponse(k=1, outputs="classes:256")
    assert (NeighbourResponse(k=1).outputs, NeighbourResponse(k=8).outputs) == (4000, 4000)
    assert NeighbourResponse(outputs="classes:256").with_epsilon(3.0).k == 1


def test_a_word_that_is_no_output_never_stays() -> None:
    fitted = NeighbourResponse(epsilon=2.0, outputs="classes:3").fit(drawn(9, 3))
    every = np.arange(9, dtype=np.int32)
    kept = [float(dict(zip(fitted.outputs, row, strict=True)).get(i, 0.0)) for i, row in enumerate(fitted.law(every))]
    assert fitted.keep_probabilities(every) == pytest.approx(kept, abs=1e-12)


def test_what_is_said_of_a_draw_is_its_law() -> None:
    fitted = NeighbourResponse(epsilon=3.0, k=4, outputs=None).fit(drawn(20, 3))
    law = fitted.law(np.arange(20, dtype=np.int32))
    assert f"with probability {law.min() * 20:.2g} any of 20 words, else one of its 4 public" in fitted.procedure()
    exact = np.abs(np.log(law[:, None] / law[None])).max(axis=2)
    losses = [[fitted.pair_loss(one, other) for other in range(20)] for one in range(20)]
    assert np.array(losses) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("k", [3, 4, 5, 7])
def test_lists_of_equal_members_lose_nothing_to_the_last_integer(k):
    """Words on a line, two by two close together: their lists hold the same words in another order."""
    places = np.array([10.0 * (i // (k + 1)) + 0.1 * (i % (k + 1)) ** 2 for i in range(4 * (k + 1))])
    rows = np.stack([np.cos(places / 60), np.sin(places / 60)], axis=1).astype(np.float32)
    made = placed(rows)
    fitted = NeighbourResponse(epsilon=3.0, k=k, outputs=None).fit(made)
    assert ((TOTAL - fitted.integers.anywhere) % k > 0) == (k != 4), "with a remainder and without"
    pairs = [(a, b) for a in range(len(rows)) for b in range(a) if set(fitted.lists[a]) == set(fitted.lists[b])]
    assert len(pairs) > 3
    for a, b in pairs:
        assert counted(fitted, a) == counted(fitted, b)
        assert fitted.pair_loss(a, b) == 0
