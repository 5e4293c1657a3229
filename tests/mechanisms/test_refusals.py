"""What no mechanism, decoder or metric takes: over every exported one, so that a new one cannot be forgotten."""

import dataclasses
import math

import numpy as np
import pytest
from contract import with_value

import seeds
import wordveil as wv
from wordveil import names
from wordveil.errors import ParameterError, RefutedClaimError
from wordveil.metrics import distances as metrics
from worlds import drawn, placed, told

V, D = 30, 4
CLASSES = {name: getattr(wv, name) for name in (*names.MECHANISMS.values(), *names.DECODERS.values())}
DECODERS = {"Nearest": {}, "RankSoftmax": {"epsilon": 2.0}, "Vickrey": {}}
FIRST = {name: CLASSES[name].examples()[0] for name in names.MECHANISMS.values()}
LEAST = {  # what each exported mechanism and decoder can be made from
    name: {entry.name: getattr(example, entry.name) for entry in dataclasses.fields(example)}
    for name, example in FIRST.items()
} | DECODERS
VECTORS = [name for name, kind in CLASSES.items() if issubclass(kind, wv.VectorMechanism)]
NUMBERS = [
    (name, entry.name)
    for name, kind in CLASSES.items()
    for entry in dataclasses.fields(kind)
    if str(entry.type).split(" |")[0] in ("float", "int")
]
CHOICES = [
    (name, entry.name)
    for name, kind in CLASSES.items()
    for entry in dataclasses.fields(kind)
    if str(entry.type).startswith(("str", "Literal", "Sizing"))
]
OPTIONAL = {
    ("TEM", "gamma"),
    ("Jaccard", "threshold"),
    ("NeighbourResponse", "outputs"),
    ("TruncatedLaplace", "padded_dimensions"),
}
NO_NUMBERS = ["9", True, False, math.nan, math.inf, -math.inf, -1.0, [1.0], 1j, b"1", np.bool_(True)]


def test_every_exported_mechanism_and_decoder_is_here():
    assert set(LEAST) == set(CLASSES)


@pytest.mark.parametrize(("name", "parameter"), NUMBERS)
def test_a_parameter_is_a_number_in_its_domain(name, parameter):
    bad = NO_NUMBERS if (name, parameter) in OPTIONAL else [*NO_NUMBERS, None]
    for value in bad:
        with pytest.raises(ParameterError, match=rf"^{parameter}="):
            CLASSES[name](**{**LEAST[name], parameter: value})


TOLD = told(__file__, "outside")
OUTSIDE = {(name, "epsilon"): [0.0] for name in names.MECHANISMS.values()} | {
    (name, parameter): values for name, of_one in TOLD.items() for parameter, values in of_one.items()
}
"""Numbers that are outside the domain of one parameter only."""


@pytest.mark.parametrize(("name", "parameter"), OUTSIDE)
def test_the_ends_of_a_domain_are_its_own(name, parameter):
    for value in OUTSIDE[name, parameter]:
        with pytest.raises(ParameterError, match=rf"^{parameter}="):
            CLASSES[name](**{**LEAST[name], parameter: value})


@pytest.mark.parametrize(("name", "parameter"), CHOICES)
def test_a_choice_is_one_of_those_there_are(name, parameter):
    for value in ("better", "", 1, None, ["exact"]):
        with pytest.raises(ParameterError, match=rf"^{parameter}="):
            CLASSES[name](**{**LEAST[name], parameter: value})


@pytest.mark.parametrize("name", ["SanText", "TEM", "TightConstraints"])
def test_a_metric_is_an_object_of_a_metric(name):
    for value in ("euclidean", metrics.Euclidean, None, np.linalg.norm):
        with pytest.raises((ParameterError), match="metric"):
            CLASSES[name](**{**LEAST[name], "metric": value})


@pytest.mark.parametrize("name", ["ClippedGaussian", "Jaccard", "TruncatedLaplace"])
def test_what_is_refuted_is_allowed_by_true_alone(name):
    published = (
        {"calibration": "classical", "epsilon": 20.0} if name == "ClippedGaussian" else {"calibration": "published"}
    )
    parameters = {**LEAST[name], **({} if name == "Jaccard" else published)}
    if name == "TruncatedLaplace":
        parameters |= {"epsilon": 0.1, "delta": 1e-3}
    CLASSES[name](**{**parameters, "allow_refuted": True})
    for value in (False, "no", "false", 1, None):
        with pytest.raises(RefutedClaimError):
            CLASSES[name](**{**parameters, "allow_refuted": value})


@pytest.fixture(scope="module")
def table():
    return drawn(V, D)


@pytest.fixture(scope="module")
def fitted(table):
    return {name: CLASSES[name](**LEAST[name]).fit(table) for name in VECTORS}


@pytest.mark.parametrize("name", VECTORS)
def test_a_row_has_a_draw_of_its_own(fitted, table, name):
    """A draw that is stretched over several rows would give them the same noise."""
    randomizer, source = fitted[name], seeds.source(0)
    rows = table.vectors[:3].astype(np.float64)
    draws = randomizer.sample(source.fresh_stream(), 3)
    for wrong in (
        tuple(draw[:1] for draw in draws),
        tuple(draw[:2] for draw in draws),
        tuple(np.concatenate([draw, draw]) for draw in draws),
        tuple(draw[..., None] for draw in draws),
        (*draws, draws[0]),
        draws[:-1],
    ):
        with pytest.raises(ParameterError, match="one draw a row"):
            randomizer.randomize(rows, wrong)
    randomizer.randomize(rows, draws)


NOISE = wv.MultivariateLaplace(epsilon=2.0)
WORDS = {
    "SanText": wv.SanText(epsilon=2.0).fit,
    "TEM": wv.TEM(epsilon=2.0).fit,
    "precomputed": lambda table: wv.precompute(wv.TEM(epsilon=6.0).fit(table)),
    "a matrix": wv.SanText(epsilon=2.0, metric=wv.NeighbourRank(k=5)).fit,
    **{f"laplace+{name}": wv.Decoded(mechanism=NOISE, decoder=CLASSES[name](**LEAST[name])).fit
       for name in names.DECODERS.values()},
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_ids_are_those_of_words_and_each_has_its_draw(table, name):
    randomizer, source = WORDS[name](table), seeds.source(0)
    ids = np.array([0, 5, V - 1], dtype=np.int32)
    draws = randomizer.sample(source.fresh_stream(), 3)
    assert randomizer.randomize(ids, draws).dtype == np.int32
    assert np.array_equal(randomizer.randomize(ids.astype(np.int64), draws), randomizer.randomize(ids, draws))
    for wrong in ([0, -1, 2], [0, V, 1], [0.0, 1.0, 2.0], [True, False, True], ["w0", "w1", "w2"], [[0, 1, 2]], 1):
        with pytest.raises(ParameterError, match="ids="):
            randomizer.randomize(np.array(wrong), draws)
    for wrong in (tuple(draw[:1] for draw in draws), (*draws, draws[0])):
        with pytest.raises(ParameterError, match="draw"):
            randomizer.randomize(ids, wrong)


@pytest.mark.parametrize("name", names.DECODERS.values())
def test_decoders_take_finite_rows_of_the_right_shape(table, name):
    decoder = CLASSES[name](**LEAST[name]).fit(table)
    rows = table.vectors[:3].astype(np.float64)
    draws = decoder.sample(seeds.source(0).stream("x"), 3)
    decoder.decode(rows, draws)
    wrong = [with_value(rows, value) for value in (math.nan, math.inf, -math.inf)]
    wrong += [
        rows[:, :3], rows[:, :1], rows[0], rows[None], rows.astype(complex), rows.astype(str), rows.astype(object),
    ]  # fmt: skip
    for vectors in wrong:
        with pytest.raises(ParameterError, match=r"shape|hidden|draws"):
            decoder.decode(vectors, draws)
    if draws:
        for few in (tuple(draw[:1] for draw in draws), ()):
            with pytest.raises(ParameterError, match="one draw a row"):
                decoder.decode(rows, few)


def test_a_given_projection_is_a_matrix_of_numbers():
    for matrix in ("abc", [["a"]], [[1.0], [1.0, 2.0]], [[math.nan]], [[0.0]], [], 3.0, [[1j]]):
        with pytest.raises(ParameterError, match="matrix="):
            wv.Projection(epsilon=1.0, matrix=matrix)


ONE, TWINS, SOME = [[1.0, 2.0]], [[1.0], [1.0]], drawn(80, 6).vectors
UNFIT = [
    (wv.NADP(epsilon=1.0), ONE, "adjacent"),
    (wv.NADP(epsilon=1.0, overlap=2), TWINS, "no two adjacent"),
    (wv.Jaccard(epsilon=1.0, allow_refuted=True), ONE, "no neighbour"),
    (wv.ClippedL2(epsilon=1.0, diameter="vocabulary"), TWINS, "no two words apart"),
    (wv.Mahalanobis(epsilon=1.0, lam=0.5), ONE, "no spread"),
    (wv.Mahalanobis(epsilon=1.0, lam=1.0), SOME * [1, 1, 1, 1, 1, 0], "singular"),
    (wv.Projection(epsilon=1.0, dimensions=1), ONE, "no pair"),
    (wv.Projection(epsilon=1.0, sensitivity="union-bound"), ONE, "2 words"),
    (wv.Projection(epsilon=1.0, dimensions=7, directions="principal"), SOME, "at most 6"),
    (wv.Projection(epsilon=1.0, dimensions=3, sensitivity="union-bound"), SOME, "must be at least"),
    (wv.Projection(epsilon=1.0, dimensions=3, sensitivity="published"), SOME, "must be at least"),
    (wv.Projection(epsilon=1.0, matrix=[[1.0, 2.0]]), SOME, "6 columns"),
    (wv.TEM(epsilon=1.0), ONE, "pass gamma explicitly"),
    (wv.TEM(epsilon=10.0, gamma=200.0), SOME, "too small for 64-bit sampling"),
    (wv.TEM(epsilon=1.0, gamma=1.0, metric=wv.Angular()), [[0.0, 0.0], [1.0, 0.0]], "zero vector"),
]


@pytest.mark.parametrize(("mechanism", "rows", "match"), UNFIT)
def test_a_vocabulary_that_a_mechanism_cannot_serve_is_refused(mechanism, rows, match):
    with pytest.raises(ParameterError, match=match):
        mechanism.fit(placed(rows))


def test_what_needs_a_vocabulary_takes_no_dimensions_alone_and_nothing_takes_none():
    for mechanism, match in (
        (wv.Projection(epsilon=1.0, dimensions=1), "vocabulary"),
        (wv.ClippedL2(epsilon=1.0, diameter="vocabulary"), "for any vectors use 'ball'"),
    ):
        with pytest.raises(ParameterError, match=match):
            mechanism.for_dimensions(3)
    with pytest.raises(ParameterError, match="dimensions=0 must be a whole number, at least 1"):
        NOISE.for_dimensions(0)
