"""Exact verification: oracles by loops, known tight channels, zeros, delta, resume."""

import json
import math
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dying import interrupt_after

import seeds
import wordveil as wv
from wordveil.auditing.exact import BLOCK, verify_channel
from wordveil.auditing.laws import verify_law
from wordveil.auditing.score_channels import verify_scores
from wordveil.errors import ParameterError, ResumeError
from wordveil.mechanisms.neighbours import FittedNeighbourResponse, NeighbourResponse
from worlds import distances, drawn


def random_channel(seed: int, v: int, outputs: int, zeros: bool = False) -> np.ndarray:
    rng = seeds.rng(seed)
    channel = rng.dirichlet(np.ones(outputs), v)
    if zeros:
        channel[rng.random(channel.shape) < 0.05] = 0.0
        channel[:, 0] += 1e-3
        channel /= channel.sum(axis=1, keepdims=True)
    return channel


def slow_losses(channel: np.ndarray) -> np.ndarray:
    v = len(channel)
    out = np.zeros((v, v))
    for i in range(v):
        for j in range(v):
            out[i, j] = max(
                (-math.inf if p == 0 else math.inf if q == 0 else math.log(p) - math.log(q))
                for p, q in zip(channel[i], channel[j], strict=True)
            )
    return out


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), v=st.integers(2, 2 * BLOCK + 3), outputs=st.integers(1, 9), zeros=st.booleans())
def test_equals_the_loop_over_all_triples(seed, v, outputs, zeros):
    channel = random_channel(seed, v, outputs, zeros)
    rng = seeds.rng(seed)
    table = distances(wv.Euclidean(), *[rng.normal(size=(v, 2))] * 2)
    verdict = verify_channel(channel, table, 0.7, slack=0.1, threads=1)
    losses = slow_losses(channel)
    off = ~np.eye(v, dtype=bool)
    expected = np.maximum((losses[off] - 0.1) / table[off], 0).max()
    assert verdict.tight_epsilon == pytest.approx(expected, rel=1e-12)
    assert verdict.tight_slack == pytest.approx(max(0.0, (losses - 0.7 * table)[off].max()), rel=1e-9, abs=1e-12)
    if expected > 0:
        x, other = verdict.worst_pair
        assert verdict.worst_loss == pytest.approx(losses[x, other], rel=1e-12)


def test_an_impossible_output_has_infinite_loss_and_names_the_pair():
    channel = np.array([[0.5, 0.5, 0.0], [0.4, 0.4, 0.2], [0.5, 0.5, 0.0]])
    verdict = verify_channel(channel, 1.0, 50.0)
    assert verdict.tight_epsilon == math.inf
    assert verdict.worst_pair[0] == 1
    assert verdict.worst_output == 2
    assert not verdict.holds


def test_equal_inputs_at_distance_zero_need_equal_rows():
    table = np.zeros((2, 2))
    same = np.array([[0.3, 0.7], [0.3, 0.7]])
    assert verify_channel(same, table, 1.0).tight_epsilon == 0.0
    other = np.array([[0.3, 0.7], [0.31, 0.69]])
    assert verify_channel(other, table, 1.0).tight_epsilon == math.inf


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_pairs_of_which_nothing_is_claimed_count_for_nothing(delta):
    v = 2 * BLOCK + 5
    channel = random_channel(8, v, 6, zeros=True)
    spoken = seeds.rng(1).random((v, v)) < 0.2
    table = np.where(spoken | spoken.T, 1.0, math.inf)
    losses, spoken = slow_losses(channel), np.isfinite(table) & ~np.eye(v, dtype=bool)
    spoken &= np.isfinite(losses) & np.isfinite(losses.T)  # leave the impossible to the next test
    table = np.where(spoken, 1.0, math.inf)
    verdict = verify_channel(channel, table, 0.5, delta=delta)
    assert verdict.tight_epsilon == pytest.approx(losses[spoken].max(), rel=1e-12)
    assert verdict.tight_slack == pytest.approx(losses[spoken].max() - 0.5, rel=1e-9)
    assert verdict.triples == spoken.sum() * 6
    assert spoken[verdict.worst_pair]
    if delta:
        slow = [
            np.maximum(channel[i] - math.exp(0.5) * channel[j], 0).sum()
            for i, j in zip(*np.nonzero(spoken), strict=True)
        ]
        assert verdict.tight_delta == pytest.approx(max(slow), rel=1e-12)
    assert verify_channel(channel, table, 1.001 * losses[spoken].max(), delta=delta).holds
    assert not verify_channel(channel, table, 0.5, delta=delta).holds
    nothing = verify_channel(channel, np.full((v, v), math.inf), 0.5, delta=delta)
    assert (nothing.triples, nothing.tight_epsilon, nothing.tight_delta) == (0, 0.0, 0.0 if delta else None)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_extremes_of_every_output_decide_local_claims(epsilon):
    table = drawn(60, 4).without_outputs(["w7", "w9"])
    fitted = NeighbourResponse(epsilon=epsilon, k=3, outputs=None).fit(table)
    everyone = np.append(np.arange(60, dtype=np.int32), np.int32(-1))
    claim = fitted.guarantee()
    whole, quick = verify_channel(fitted.law(everyone), 1.0, claim.epsilon), verify_law(fitted)
    assert quick.holds
    assert quick.worst_loss == pytest.approx(whole.worst_loss, rel=1e-12)
    assert quick.triples == whole.triples == 61 * 60 * 58
    for scale in (0.999, 1.001):
        scaled = replace(claim, epsilon=scale * quick.tight_epsilon)
        assert verify_law(fitted, scaled).holds == (scale > 1)


def stating(change):
    """A neighbour response whose law is changed in place: change(rows, ids)."""
    fitted = NeighbourResponse(epsilon=1.0, k=3, outputs=None).fit(drawn(60, 4))

    @dataclass(frozen=True, kw_only=True, eq=False)
    class Careless(FittedNeighbourResponse):
        def law(self, ids):
            rows = super().law(ids)
            change(rows, ids)
            return rows

    return Careless(**{field.name: getattr(fitted, field.name) for field in fields(fitted)})


def test_a_law_that_says_too_much_of_unknown_tokens_is_refuted():
    def sure(rows, ids):
        rows[ids < 0] = np.eye(rows.shape[1])[0]

    verdict = verify_law(stating(sure))
    assert not verdict.holds
    assert verdict.tight_epsilon == math.inf
    assert -1 in verdict.worst_pair


@pytest.mark.parametrize(
    "mechanism", [wv.SanText(epsilon=2.0), wv.TEM(epsilon=3.0, beta=0.1), wv.SanText(epsilon=5.0, metric=wv.Angular())]
)
@pytest.mark.parametrize("outputs", ["all", "some"])
def test_closed_form_equals_the_whole_channel_and_the_claims_hold(mechanism, outputs):
    words = drawn(60, 4)
    fitted = mechanism.fit(words if outputs == "all" else words.without_outputs(words.words[1::3]))
    vectors = fitted.embeddings.vectors
    table = np.minimum(distances(fitted.rows.metric, vectors, vectors), fitted.rows.cap)
    claim = fitted.guarantee()
    whole = verify_channel(fitted.channel(), table, claim.epsilon, slack=claim.slack)
    closed = verify_scores(fitted)
    assert whole.holds
    assert closed.holds
    assert abs(closed.tight_epsilon - whole.tight_epsilon) * closed.worst_distance <= max(1e-9, claim.slack)
    tight = verify_channel(fitted.channel(), table, claim.epsilon).tight_epsilon
    for scale in (1 - 1e-8, 1 + 1e-8):  # a claim as tight as this is neither refuted nor let through
        assert verify_channel(fitted.channel(), table, tight * scale).holds == (scale > 1)
        assert verify_scores(fitted, tight * scale, slack=0.0).holds == (scale > 1)


def test_a_stopped_run_goes_on_and_gives_the_same_answer(tmp_path):
    channel = random_channel(1, 5 * BLOCK, 7)
    journal = tmp_path / "journal.json"
    with pytest.raises(KeyboardInterrupt):
        verify_channel(channel, 1.0, 1.0, threads=1, journal=journal, progress=interrupt_after(1))
    rest: list[int] = []
    verdict = verify_channel(channel, 1.0, 1.0, threads=1, journal=journal, progress=rest.append)
    assert sum(rest) == 3 * BLOCK
    assert verdict == verify_channel(channel, 1.0, 1.0)
    assert sorted(json.loads(journal.read_text())["tally"]) == ["0", "1", "2", "3", "4"]
    with pytest.raises(ResumeError, match=r"differs in: claim\. .* give a new journal file"):
        verify_channel(channel, 1.0, 2.0, journal=journal)


@pytest.mark.parametrize(
    ("channel", "match"),
    [(np.array([[0.5, 0.6]]), "row 0"), (np.array([[1.0], [np.nan]]), "row 1"), (np.array([[1.5, -0.5]]), "row 0")],
)
def test_what_is_no_channel_is_refused(channel, match):
    with pytest.raises(ParameterError, match=match):
        verify_channel(channel, 1.0, 1.0)


def careless_root(x: np.ndarray) -> np.ndarray:
    """Distances as one writes them: the root of a rounded -1e-16 is NaN."""
    squares = (x**2).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.sqrt(squares[:, None] + squares[None] - 2 * x @ x.T)


def with_entry(table: np.ndarray, entries: dict[tuple[int, int], float]) -> np.ndarray:
    changed = table.copy()
    for place, value in entries.items():
        changed[place] = value
    return changed


PLANE = seeds.rng(0).normal(size=(2 * BLOCK + 6, 3))
APART = distances(wv.Euclidean(), PLANE, PLANE)


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize(("table", "match"), [
    (careless_root(seeds.rng(0).normal(size=(20, 6))), "NaN or less than 0"),
    (with_entry(APART, {(50, 3): np.nan, (3, 50): np.nan}), "NaN or less than 0"),
    (with_entry(APART, {(2, 3): -1.0, (3, 2): -1.0}), "NaN or less than 0"),
    (with_entry(APART, {(3, 50): 50.0}), "not symmetric"),
    (with_entry(APART, {(50, 3): 50.0}), "not symmetric"),
    (with_entry(APART, {(50, 3): np.inf}), "not symmetric"),
])  # fmt: skip
def test_distances_that_are_none_are_refused_however_they_are_given(table, match, delta):
    v = len(table)
    for form in (table, lambda first, second: table[np.ix_(first, second)]):
        with pytest.raises(ParameterError, match=match):
            verify_channel(np.eye(v), form, 1.0, delta=delta)
    whole = distances(wv.Euclidean(), *[seeds.rng(0).normal(size=(v, 6))] * 2)
    assert not verify_channel(np.eye(v), whole, 1.0, delta=delta).holds


def test_of_two_orders_that_rounding_parts_the_smaller_counts():
    channel = np.array([[0.9, 0.1], [0.1, 0.9]])
    near, far = 1.0, 1.0 + 1e-7
    for table in ([[0.0, near], [far, 0.0]], [[0.0, far], [near, 0.0]]):
        assert not verify_channel(channel, np.array(table), math.log(9) * (1 - 5e-8)).holds
        assert verify_channel(channel, np.array(table), math.log(9)).holds


def test_logarithms_of_a_float32_channel_are_taken_in_float64():
    channel = np.array([[0.75, 0.25], [0.25, 0.75]], dtype=np.float32)
    assert not verify_channel(channel, 1.0, 1.09861228).holds  # ln 3 = 1.098612288...
    assert verify_channel(channel, 1.0, 1.09861229).holds


@pytest.mark.parametrize("wrong", [lambda share: np.nan, lambda share: 1.1 * share, lambda share: -share])
def test_what_a_mechanism_states_is_held_to_be_a_law(wrong):
    def no_law(rows, ids):
        rows[ids == 37, 0] = wrong(rows[ids == 37, 0])

    with pytest.raises(ParameterError, match=r"channel='row 37'.*sum to 1"):
        verify_law(stating(no_law))
