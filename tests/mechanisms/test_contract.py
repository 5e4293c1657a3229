"""Every registered mechanism, as every one of its examples, keeps the contract: a new file is tested on arrival."""

import dataclasses

import contract
import numpy as np
import pytest
from contract import Example, contract_of

import wordveil as wv
from wordveil import names
from wordveil.sanitizing.assembly import answering
from wordveil.text.surrogates import Surrogates

ALL = {
    f"{name}{i}": one
    for name in names.MECHANISMS
    for i, one in enumerate(getattr(wv, names.MECHANISMS[name]).examples())
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wrapped(wv.WordMechanism):
    """A mechanism with what answers for unknown tokens, and for typed ones, around it."""

    mechanism: wv.WordMechanism
    typed: bool = False
    name = "wrapped"

    @property
    def epsilon(self):
        return self.mechanism.epsilon

    def with_epsilon(self, epsilon):
        return dataclasses.replace(self, mechanism=self.mechanism.with_epsilon(epsilon))

    def fit(self, embeddings):
        typed = Surrogates(first=len(embeddings), grids=GRIDS) if self.typed else None
        return answering(self.mechanism.fit(embeddings), wv.TextOptions(), typed)


GRIDS = (wv.NumberGrid.parse("number=0:50:5@0.3"), wv.NumberGrid.parse("money=1:900:3:log@1.2"))
WRAPPED = {
    "stand-ins": Wrapped(mechanism=wv.TEM(epsilon=4.0)),
    "typed": Wrapped(mechanism=wv.SanText(epsilon=2.0), typed=True),
    "typed-neighbours": Wrapped(mechanism=wv.NeighbourResponse(epsilon=3.0, k=2, outputs=None), typed=True),
}
AROUND = [
    pytest.param(mechanism, check, id=f"{label}-{check.__name__}")
    for label, mechanism in WRAPPED.items()
    for check in contract.around(typed=mechanism.typed)
]
CASES = AROUND + [
    pytest.param(mechanism, check, id=f"{label}-{check.__name__}")
    for label, mechanism in ALL.items()
    for check in contract_of(mechanism)
]


@pytest.mark.parametrize(("mechanism", "check"), CASES)
def test_it_keeps_the_contract(mechanism, check):
    check(Example.of(mechanism))


@pytest.mark.parametrize(
    "mechanism",
    [
        wv.Projection(epsilon=1.0, dimensions=1, directions="principal"),
        wv.TruncatedLaplace(epsilon=0.5, delta=0.3, calibration="published", allow_refuted=True),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_one_dimension_is_no_special_case_with_parameters_for_it(mechanism):
    contract.one_dimension_is_no_special_case(Example(mechanism, contract.table(70, 1), None))


@pytest.mark.parametrize("decoder", contract.DECODERS, ids=lambda decoder: decoder.name)
def test_decoder_parameters_are_frozen_and_rebuilt_by_repr(decoder):
    assert eval(repr(decoder), {type(decoder).__name__: type(decoder)}) == decoder
    assert decoder.name == type(decoder).name
    assert decoder.paper
    with pytest.raises(dataclasses.FrozenInstanceError):
        decoder.t = 1.0


def test_every_decoder_is_tried():
    assert {decoder.name for decoder in contract.DECODERS} == set(names.DECODERS)


WORDS = contract.table(70)
TEM, LAPLACE = wv.TEM(epsilon=4.0), wv.MultivariateLaplace(epsilon=2.0)
NEIGHBOURS = wv.NeighbourResponse(epsilon=2.0, k=2, outputs=None)


def broken(mechanism, method, function):
    """A fitted mechanism with another function in the place of a method, which is given the one that works first."""
    kept = contract.fitted(mechanism, WORDS)
    kept = kept.for_batch_job() if mechanism.releases == "words" else kept  # the same draws, in less time
    made = contract.twin(kept)
    body = {method: lambda self, *given, **named: function(kept, *given, **named)}
    object.__setattr__(made, "__class__", type("Broken", (type(kept),), body))
    return Example(mechanism, WORDS, made)


STAND_INS, TYPED = WRAPPED["stand-ins"], WRAPPED["typed"]


def unmoved(kept, ids, draws, **_):
    """Numbers of a grid are released as their own points."""
    released = kept.randomize(ids, draws)
    for span in kept.surrogates.spans:
        here = (ids <= span.codes[0]) & (ids >= span.codes[-1])
        released = np.where(here & (span.grid is not None), span.ids.start + span.codes[0] - ids, released)
    return released


def less_noise(mechanism, times):
    return contract.fitted(mechanism.with_epsilon(times * mechanism.epsilon), WORDS)


def of_the_whole_batch(kept, ids, draws, **named):
    return np.sort(kept.randomize(ids, draws, **named))


def one_stand_in(kept, ids, draws, **_):
    return kept.randomize(ids, (0 * draws[0], *draws[1:]))


def every_other_surrogate(kept, ids, draws, **_):
    return kept.randomize(ids, (draws[0] >> np.uint64(1), *draws[1:]))


def one_noise(kept, rows, draws):
    return rows + kept.randomize(0 * rows[:1], [x[:1] for x in draws])


LAW, KINDS, UNKNOWN = (
    contract.words_follow_the_law_that_is_stated,
    contract.kinds_of_tokens_follow_laws_of_their_own,
    contract.words_that_it_does_not_know_never_pass,
)
BROKEN = {
    "no noise at all": (LAW, TEM, "randomize", lambda kept, ids, draws, **_: ids),
    "a law that is not drawn": (LAW, TEM, "law", lambda kept, ids: less_noise(TEM, 1.1).law(ids)),
    "columns of another law": (LAW, TEM, "likelihoods", lambda kept, ids: less_noise(TEM, 1.1).likelihoods(ids)),
    "a stand-in that is always the same": (LAW, STAND_INS, "randomize", one_stand_in),
    "a word that may only be input": (
        LAW, TEM, "randomize", lambda kept, ids, draws, **_: np.full(len(ids), contract.BARRED[0], dtype=np.int32)),
    "unknown tokens that show": (
        LAW, NEIGHBOURS, "randomize",
        lambda kept, ids, draws, **_: np.where(ids < 0, kept.outputs[0], kept.randomize(ids, draws))),
    "numbers that stay where they are": (KINDS, TYPED, "randomize", unmoved),
    "a surrogate for every other token of a kind": (KINDS, TYPED, "randomize", every_other_surrogate),
    "unknown tokens passed on": (
        UNKNOWN, NEIGHBOURS, "randomize",
        lambda kept, ids, draws, **_: np.where(ids < 0, ids, kept.randomize(ids, draws))),
    "three times its loss": (
        contract.the_claim_holds_on_the_exact_channel, TEM, "law", lambda kept, ids: less_noise(TEM, 3).law(ids)),
    "a claim that speaks of nothing": (
        contract.an_audit_does_not_refute_it_and_refutes_three_times_its_loss, TEM, "related",
        lambda kept, claim=None: wv.promises.relations.NoPairs(claim=kept.guarantee())),
    "draws that depend on the cut": (
        contract.draws_do_not_depend_on_how_a_document_is_cut, TEM, "sample",
        lambda kept, stream, n: tuple(x + np.uint64(n) for x in kept.sample(stream, n))),
    "rows that depend on their batch": (
        contract.outputs_do_not_depend_on_batch_or_thread, TEM, "randomize", of_the_whole_batch),
    "a lane of decoders": (
        contract.it_leaves_the_lanes_of_decoders_alone, LAPLACE, "sample",
        lambda kept, stream, n: (stream.lane(200).random((n, 5)),)),
    "less noise in vectors": (
        contract.vectors_follow_the_density_that_is_stated, LAPLACE, "randomize",
        lambda kept, rows, draws: less_noise(LAPLACE, 1.2).randomize(rows, draws)),
    "one noise for all rows": (
        contract.rows_are_float64_with_noise_of_their_own, LAPLACE, "randomize", one_noise),
    "vectors that show in errors": (
        contract.unusable_vectors_are_refused_without_being_shown, LAPLACE, "release", lambda kept, rows, source: rows),
    "global randomness": (
        contract.global_randomness_is_not_touched, TEM, "release",
        lambda kept, ids, source: np.random.rand(len(ids))),  # noqa: NPY002
}  # fmt: skip
"""What is wrong -> the check that must notice, a mechanism, and what stands in the place of one of its methods."""


@pytest.mark.parametrize("name", BROKEN)
def test_the_contract_notices(name):
    check, *twin = BROKEN[name]
    example = broken(*twin)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(example)
