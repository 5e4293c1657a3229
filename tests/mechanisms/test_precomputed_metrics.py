"""TEM and SanText in any metric: coordinates, matrices, neighbour ranks, and precomputed rows."""

import copy
import math
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from noise_checks import excess

import seeds
import wordveil as wv
from wordveil.auditing.score_channels import verify_scores
from wordveil.errors import CertificateError, ParameterError
from wordveil.mechanisms.precomputation import NearRows
from wordveil.metrics.distances import Mahalanobis as Stretched
from wordveil.metrics.table import DistanceTable
from wordveil.promises.composing import require_same_promise
from wordveil.promises.guarantees import PrivacyUnit
from wordveil.vocabulary.rank_metric import rank_distances, rank_graph
from worlds import distances, drawn, placed


def manhattan_table(embeddings):
    rows = embeddings.vectors.astype(np.float64)
    return np.abs(rows[:, None] - rows[None]).sum(axis=2)


def as_matrix(embeddings, table, **changes):
    return wv.Precomputed(
        label="manhattan", vocabulary=embeddings.header.checksum, table=DistanceTable(table), error=1e-12, **changes
    )


COORDINATES = {
    "euclidean": wv.Euclidean(),
    "angular": wv.Angular(),
    "mahalanobis": Stretched(whitening=np.diag([2, 1, 0.5])),
}


def metric_and_table(kind, embeddings):
    """Return a metric of each kind and its distances by the definition."""
    if kind == "matrix":
        return as_matrix(embeddings, manhattan_table(embeddings)), manhattan_table(embeddings)
    if kind == "rank":
        return wv.NeighbourRank(k=6), rank_distances(rank_graph(embeddings.vectors, 6))
    return COORDINATES[kind], distances(COORDINATES[kind], embeddings.vectors, embeddings.vectors)


KINDS = ["matrix", "rank"]


@pytest.mark.parametrize("kind", [*KINDS, *COORDINATES])
@pytest.mark.parametrize(("barred", "epsilon"), [(15, 0.3), (0, 2.0), (15, 6.0)])
@pytest.mark.parametrize("gamma", [None, 1.2, "santext"])
@pytest.mark.parametrize("form", ["as fitted", "precomputed"])
def test_every_triple_of_the_exact_channel_keeps_the_claim(kind, barred, epsilon, gamma, form):
    embeddings = drawn(50, 3, twins=4, barred=barred)
    metric, table = metric_and_table(kind, embeddings)
    santext = gamma == "santext"
    mechanism = (
        wv.SanText(epsilon=epsilon, metric=metric) if santext else wv.TEM(epsilon=epsilon, gamma=gamma, metric=metric)
    )
    fitted = mechanism.fit(embeddings)
    if form == "precomputed":
        fitted = wv.precompute(fitted)
    claim, cap = fitted.guarantee(), fitted.rows.cap
    assert isinstance(fitted.rows, NearRows) == (form == "precomputed")
    assert (claim.epsilon, claim.standing, claim.largest_distance) == (epsilon, wv.Standing.PROVED, cap)
    assert (claim.promise, claim.unit) == ("metric DP", PrivacyUnit.TOKEN)
    assert claim.slack < (1e-3 if kind in KINDS else 0.15 * epsilon)  # the angle's bound on rounding is the loosest
    s = np.minimum(table, cap)
    expected = np.exp(-epsilon / 2 * s[:, embeddings.candidates])
    channel = fitted.channel()
    rtol = 1e-10 if kind in KINDS else claim.slack + 1e-11
    np.testing.assert_allclose(channel, expected / expected.sum(axis=1, keepdims=True), rtol=rtol)
    assert excess(channel, s, claim) <= 1e-11  # the rounding of the table
    assert wv.verify_channel(channel, distances=s, epsilon=epsilon, slack=claim.slack + 1e-11).holds
    assert verify_scores(fitted).holds
    everyone = np.arange(len(embeddings), dtype=np.int32)
    law = fitted.law(everyone)
    # Its distances come from products, whose last bits may differ with their size.
    assert np.abs(np.log(channel) - np.log(law)).max() <= claim.slack + 1e-6
    np.testing.assert_allclose(fitted.law(everyone[[5, 40]]), law[[5, 40]], rtol=1e-12)
    for rows in (channel, law) if kind != "rank" else ():  # in which equal vectors are apart
        assert rows[-4:].tobytes() == rows[:4].tobytes()


def test_the_guarantee_names_the_metric_and_what_it_rests_on():
    embeddings, other = drawn(50, 3, twins=4), drawn(50, 3, twins=4, seed=1)
    checksum = embeddings.header.checksum[:12]
    ranks = wv.TEM(epsilon=1.0, metric=wv.NeighbourRank(k=6)).fit(embeddings).guarantee()
    matrix = wv.NeighbourRank(k=6).bind(embeddings.vectors, embeddings.header.checksum).table.checksum[:12]
    assert ranks.metric == f"neighbour-rank(k=6) of vocabulary {checksum}, matrix {matrix}"
    assert ranks.assumptions == ()
    capped = wv.TEM(epsilon=1.0, metric=wv.NeighbourRank(k=6, cap=3.0)).fit(embeddings).guarantee()
    assert capped.metric.startswith(f"neighbour-rank(k=6, cap=3) of vocabulary {checksum}, matrix ")
    table = manhattan_table(embeddings)
    matrix = as_matrix(embeddings, table)
    claim = wv.TEM(epsilon=1.0, metric=matrix).fit(embeddings).guarantee()
    assert claim.metric == f"manhattan of vocabulary {checksum}, matrix {DistanceTable(table).checksum[:12]}"
    assert (claim.standing, claim.assumptions) == (wv.Standing.PROVED, ())
    assert wv.TEM(epsilon=1.0).fit(embeddings).guarantee().assumptions == ()
    elsewhere = wv.TEM(epsilon=1.0, metric=wv.NeighbourRank(k=6)).fit(other).guarantee()
    with pytest.raises(Exception, match="vocabulary"):
        require_same_promise(ranks, elsewhere)


def test_a_matrix_serves_its_own_vocabulary_only():
    embeddings, other = drawn(50, 3, twins=4), drawn(50, 3, twins=4, seed=1)
    bound = wv.NeighbourRank(k=6).bind(embeddings.vectors, embeddings.header.checksum)
    direct = wv.TEM(epsilon=1.0, metric=bound).fit(embeddings)
    later = wv.TEM(epsilon=1.0, metric=wv.NeighbourRank(k=6)).fit(embeddings)
    assert direct.guarantee() == later.guarantee()
    assert direct.channel().tobytes() == later.channel().tobytes()
    with pytest.raises(ParameterError, match="does not belong to vocabulary"):
        wv.TEM(epsilon=1.0, metric=bound).fit(other)
    assert pickle.loads(pickle.dumps(direct)).channel().tobytes() == direct.channel().tobytes()


def test_a_matrix_stays_as_it_was_checked_whoever_owns_it():
    """A read-only array's owner can make it writeable again."""
    given = manhattan_table(drawn(50, 3, twins=4))
    given.flags.writeable = False
    table = DistanceTable(given)
    before = given.copy()
    given.flags.writeable = True
    given[0, 1] = given[1, 0] = 99.0
    np.testing.assert_array_equal(table.matrix, before)
    for copied in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert (copied, copied.checksum) == (table, table.checksum)
        with pytest.raises(ValueError, match="read-only"):
            copied.matrix[0, 1] = 0.0


def test_a_matrix_that_nobody_else_holds_is_taken_over():
    rows = np.zeros((3, 3))
    table = DistanceTable.taking(rows)
    assert table.matrix is rows
    assert not rows.flags.writeable
    assert table == DistanceTable(np.zeros((3, 3)))
    with pytest.raises(ParameterError, match="float64 matrix that owns its memory"):
        DistanceTable.taking(np.zeros((3, 4))[:, :3])


def plane(v=400):
    """Words in space, their distances, and two words that a sample of 128 leaves out."""
    rows = seeds.rng(0).normal(size=(v, 3))
    table = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    looked_at = set(np.unique(np.linspace(0, v - 1, 128).astype(int)).tolist())
    hidden = [i for i in range(v) if i not in looked_at][:2]
    return placed(rows), table, hidden


def test_one_wrong_entry_anywhere_refutes_a_matrix():
    # Of 398 third words, each lies with probability near 1/2 where the two distances differ by more than half.
    embeddings, table, wrong = plane()
    table[wrong, wrong[::-1]] /= 2
    with pytest.raises(ParameterError, match="breaks the triangle inequality at rows") as refused:
        as_matrix(embeddings, table)
    i, j = map(int, re.findall(r"\d+", str(refused.value)))
    assert {i, j} & set(wrong)  # of the broken triple, any two words may be named: they lack the same
    assert np.abs(table[i] - table[j]).max() > table[i, j] + 1e-9


def test_a_matrix_too_large_to_check_is_unverified(monkeypatch):
    """There one entry can break the claim hundreds of times, which is why nothing is called proved."""
    embeddings, table, (a, b) = plane()
    table[a, b] = table[b, a] = 1e-3
    monkeypatch.setattr("wordveil.metrics.distances.LARGEST_CHECKED", 300)
    fitted = wv.SanText(epsilon=8.0, metric=as_matrix(embeddings, table)).fit(embeddings)
    claim, channel = fitted.guarantee(), fitted.channel()
    assert np.abs(np.log(channel[a] / channel[b])).max() > 200 * claim.loss(1e-3)
    assert claim.standing is wv.Standing.PUBLISHED
    assert "checked on a sample of the vocabulary" in claim.assumptions[0]
    mechanism = wv.SanText(epsilon=8.0, metric=as_matrix(embeddings, table), calibration="certified")
    with pytest.raises(CertificateError, match="if that is refuted too, the distances are no metric"):
        mechanism.fit(embeddings, wv.certify(mechanism, embeddings))
    sound = replace(mechanism, metric=as_matrix(embeddings, plane()[1]))
    certified = sound.fit(embeddings, wv.certify(sound, embeddings)).guarantee()
    assert certified.standing is wv.Standing.PUBLISHED
    assert len([said for said in certified.assumptions if "triangle inequality" in said]) == 1


@pytest.mark.parametrize("v", [1, 2, 3, 255, 256, 257, 513])
def test_the_excess_of_a_matrix_is_that_of_all_triples(v):
    rows = seeds.rng(v).normal(size=(v, 2))
    table = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    table = table**1.3  # no metric
    exact = max(float((np.abs(table[:, [y]] - table[:, y][None]) - table).max()) for y in range(v))
    found, (i, j) = DistanceTable(table).triangle_excess
    assert exact <= found <= exact + 1e-13 * (1 + table.max())
    assert float(np.abs(table[i] - table[j]).max() - table[i, j]) == pytest.approx(exact, abs=1e-12)


def test_what_the_triangle_inequality_lacks_is_paid_for():
    """Entries rounded to three digits: the slack makes up for the triples that rounding broke."""
    embeddings, line = plane(60)[0], np.cumsum(0.01 + seeds.rng(1).exponential(0.05, 60))  # no two at one rounded place
    rounded = np.round(np.abs(line[:, None] - line), 3)
    lacking = DistanceTable(rounded).triangle_excess[0]
    assert 1e-4 < lacking < 1.5e-3
    metric = wv.Precomputed(label="r", vocabulary=embeddings.header.checksum, table=DistanceTable(rounded), error=5e-4)
    fitted = wv.SanText(epsilon=20.0, metric=metric).fit(embeddings)
    claim = fitted.guarantee()
    assert claim.slack >= 20.0 * lacking
    assert excess(fitted.channel(), np.minimum(rounded, fitted.rows.cap), claim) <= 0
    assert claim.standing is wv.Standing.PROVED


def test_nobody_proves_a_metric_by_saying_so():
    embeddings, table, _ = plane(60)

    class Convinced(wv.Precomputed):
        is_checked = True

    metric = Convinced(label="x", vocabulary=embeddings.header.checksum, table=DistanceTable(table))
    assert wv.SanText(epsilon=1.0, metric=metric).fit(embeddings).guarantee().standing is wv.Standing.PUBLISHED
    with pytest.raises(TypeError, match="by_construction"):
        as_matrix(embeddings, table, by_construction=True)
    for given, match in (({"table": table}, "must be a DistanceTable"), ({"error": -1.0}, "error=-1")):
        with pytest.raises(ParameterError, match=match):
            wv.Precomputed(**{"label": "x", "vocabulary": "", "table": DistanceTable(table)} | given)
    ranks = wv.NeighbourRank(k=5).bind(embeddings.vectors, embeddings.header.checksum)
    assert wv.SanText(epsilon=1.0, metric=ranks).fit(embeddings).guarantee().standing is wv.Standing.PROVED


def test_disconnected_and_small_and_large_vocabularies():
    apart = placed([[0.0, 0.0], [1.0, 0.0], [90.0, 0.0], [91.0, 0.0]])
    with pytest.raises(ParameterError, match="2 components"):
        wv.TEM(epsilon=1.0, gamma=2.0, metric=wv.NeighbourRank(k=1)).fit(apart)
    fitted = wv.TEM(epsilon=1.0, gamma=9.0, metric=wv.NeighbourRank(k=1, cap=2.0)).fit(apart)
    far = math.exp(-0.5 * 2.0)
    np.testing.assert_allclose(fitted.channel()[0, 2] / fitted.channel()[0, 0], far, rtol=1e-12)
    one = placed([[1.0, 2.0]])
    for metric in (wv.NeighbourRank(), as_matrix(one, np.zeros((1, 1))), wv.Euclidean()):
        fitted = wv.TEM(epsilon=1.0, gamma=1.0, metric=metric).fit(one)
        np.testing.assert_array_equal(fitted.channel(), [[1.0]])
        np.testing.assert_array_equal(wv.precompute(fitted).channel(), [[1.0]])
        source = seeds.source(0)
        assert wv.precompute(fitted).release(np.zeros(5, dtype=np.int32), source).tolist() == [0] * 5
    with pytest.raises(ParameterError, match="at most 20000 words, the vocabulary has 20001"):
        wv.NeighbourRank().bind(np.zeros((20_001, 1)), "")
    for bad, match in [({"k": 0}, "k=0"), ({"cap": 0.0}, "cap=0"), ({"cap": math.inf}, "cap=inf")]:
        with pytest.raises(ParameterError, match=match):
            wv.NeighbourRank(**bad)


def test_ranks_are_remembered_with_the_vectors_that_they_are_of():
    for seed in (11, 12):
        embeddings, metric = drawn(50, 3, twins=4, seed=seed), wv.NeighbourRank(k=5)
        bound = metric.bind(embeddings.vectors, embeddings.header.checksum)
        assert metric.bind(embeddings.vectors.copy(), embeddings.header.checksum) is bound
        np.testing.assert_array_equal(bound.table.matrix, rank_distances(rank_graph(embeddings.vectors, 5)))
    assert wv.NeighbourRank(k=4).bind(embeddings.vectors, embeddings.header.checksum) != bound
    other = wv.NeighbourRank(k=5).bind(drawn(50, 3, twins=4, seed=13).vectors, embeddings.header.checksum)
    assert other.table != bound.table


def test_precomputing_above_the_limit_is_refused_with_the_size():
    embeddings = drawn(50, 3, twins=4)
    fitted = wv.TEM(epsilon=1.0, metric=as_matrix(embeddings, manhattan_table(embeddings))).fit(embeddings)
    size = wv.precomputed_size(fitted)
    assert size.pairs == 46 * 50  # so small an epsilon reaches everywhere
    with pytest.raises(ParameterError, match=f"limit_bytes={size.bytes - 1} is less than {size.bytes}: 2,300 pairs"):
        wv.precompute(fitted, limit_bytes=size.bytes - 1)
    assert wv.precompute(fitted, limit_bytes=size.bytes).channel().shape == (50, 50)


@pytest.mark.parametrize("kind", KINDS)
def test_certificates_of_ranks_are_verified_as_they_are_and_those_of_a_matrix_with_the_mechanism(kind):
    embeddings = drawn(50, 3, twins=4, barred=15)
    mechanism = wv.TEM(epsilon=3.0, metric=metric_and_table(kind, embeddings)[0], calibration="certified")
    certificate = wv.certify(mechanism, embeddings)
    assert mechanism.fit(embeddings, certificate).guarantee().standing is wv.Standing.CERTIFIED
    repeated = wv.verify(certificate, embeddings, mechanism=None if kind == "rank" else mechanism)
    assert repeated.numbers == certificate.numbers
    if kind != "rank":
        with pytest.raises(CertificateError, match="pass the mechanism itself"):
            wv.verify(certificate, embeddings)
