"""The private layer: fresh noise, its audit and a broken twin, counted passes, gradients, state."""

import copy
from dataclasses import dataclass

import numpy as np
import pytest

import seeds
from worlds import drawn

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")

from small_models import needs_cuda, small_table  # noqa: E402
from tests.dying import in_fork  # noqa: E402
from tests.neural.gaussian_passes import epsilon_of  # noqa: E402

import wordveil as wv  # noqa: E402
from wordveil.auditing import AuditOptions  # noqa: E402
from wordveil.errors import GuaranteeError, ParameterError  # noqa: E402
from wordveil.mechanisms.common import UNCHECKED  # noqa: E402
from wordveil.mechanisms.rows import clip_to_ball  # noqa: E402
from wordveil.promises.guarantees import PrivacyUnit  # noqa: E402
from wordveil_lab.neural.passes import PassCounter, promise_text  # noqa: E402
from wordveil_lab.neural.private_embedding import PADDING, UNKNOWN, PrivateEmbedding  # noqa: E402

TABLE = small_table()
GAUSSIAN = wv.ClippedGaussian(epsilon=1.0)
CLIPPED = [GAUSSIAN, wv.ClippedLaplace(epsilon=2.0), wv.TruncatedLaplace(epsilon=2.0)]
IDS = torch.tensor([[0, 0, 3], [0, 5, PADDING]])


def test_two_layers_of_one_secret_source_do_not_share_noise():
    source = wv.RandomSource()
    one, two = (PrivateEmbedding(TABLE, GAUSSIAN, source=source) for _ in range(2))
    assert not torch.equal(one(IDS), two(IDS))


def test_a_seeded_source_repeats_and_goes_on_where_it_stood():
    one, two = (PrivateEmbedding(TABLE, GAUSSIAN, source=seeds.source(1)) for _ in range(2))
    first, second = one(IDS), one(IDS)
    assert torch.equal(two(IDS), first)
    three = PrivateEmbedding(TABLE, GAUSSIAN, source=seeds.source(1))
    three.load_state_dict(two.state_dict())
    assert torch.equal(three(IDS), second)


def test_going_back_to_earlier_weights_does_not_draw_the_same_noise_again():
    layer = PrivateEmbedding(TABLE, GAUSSIAN, source=seeds.source(1))
    before = copy.copy(layer.state_dict())
    first = layer(IDS)
    layer.load_state_dict(before)
    assert not torch.equal(layer(IDS), first)
    assert layer.passes.largest == 2


@pytest.mark.parametrize("mechanism", [*CLIPPED, wv.MultivariateLaplace(epsilon=2.0)], ids=lambda m: m.name)
def test_the_output_is_the_mechanisms_rounded_to_the_grid(mechanism):
    layer = PrivateEmbedding(TABLE, mechanism, source=seeds.source(1))
    got = layer(IDS).numpy().astype(np.float64)
    assert np.array_equal(got[1, 2], np.zeros(6))
    ids = np.array([0, 0, 3, 0, 5])
    fitted = mechanism.fit(TABLE)
    stream = seeds.source(1).stream("private embedding", "1")
    stream.lane(255).integers(0, 2**64 - 1, 5, dtype=np.uint64, endpoint=True)  # the stand-ins of unknown tokens
    rows = np.asarray(TABLE.vectors[ids], dtype=np.float64)
    expected = fitted.points(rows, fitted.sample(stream, 5), layer.step)
    rows = np.concatenate((got[0], got[1, :2]))
    assert np.array_equal(rows, expected)
    assert np.array_equal(np.rint(rows / layer.step), rows / layer.step)
    assert layer.step < 1e-4 * layer.released_size


def test_without_a_mechanism_vectors_pass_and_nothing_is_promised():
    layer = PrivateEmbedding(TABLE, None)
    assert np.array_equal(layer(torch.tensor([2, 4])).numpy(), TABLE.vectors[[2, 4]])
    assert isinstance(layer.guarantee(), wv.NoGuarantee)


def test_unknown_tokens_become_uniform_public_words_afresh():
    layer = PrivateEmbedding(TABLE, None, source=seeds.source(1))
    got = layer(torch.full((2000,), UNKNOWN)).numpy()
    places = [int(np.flatnonzero((TABLE.vectors == row).all(axis=1))[0]) for row in got]
    counts = np.bincount(places, minlength=len(TABLE))
    expected = len(places) / len(TABLE)
    # chi-squared with 13 degrees of freedom exceeds 80 with probability below 1e-9
    assert ((counts - expected) ** 2 / expected).sum() < 80


def test_ids_outside_the_vocabulary_raise_without_being_shown():
    layer = PrivateEmbedding(TABLE, GAUSSIAN)
    for bad in (len(TABLE), UNKNOWN - 1):
        with pytest.raises(ParameterError, match=r"ids='<hidden>' must be integers in \[0, 14\)"):
            layer(torch.tensor([0, bad]))


@needs_cuda
def test_a_layer_runs_on_a_gpu():
    """Its noise is drawn on the processor, and the result lies where the table does."""
    layer = PrivateEmbedding(TABLE, wv.ClippedGaussian(epsilon=20.0)).to("cuda")
    released = layer(torch.zeros((1, 3), dtype=torch.int64))
    assert released.device.type == "cuda"
    assert len(torch.unique(released[0], dim=0)) == 3


def test_an_empty_batch_is_empty():
    assert PrivateEmbedding(TABLE, GAUSSIAN)(torch.empty((0, 4), dtype=torch.int64)).shape == (0, 4, 6)


def test_a_projection_releases_its_own_dimensions():
    layer = PrivateEmbedding(TABLE, wv.Projection(epsilon=2.0, dimensions=3))
    assert layer(IDS).shape == (2, 3, layer.dimensions)
    assert layer.dimensions == 3
    assert isinstance(layer.guarantee(), wv.MetricDP)


def test_given_rows_are_released_as_those_of_the_table():
    layer = PrivateEmbedding(TABLE, wv.ClippedGaussian(epsilon=1e6))
    rows = np.asarray(TABLE.vectors, dtype=np.float64)
    got = layer.vectors(rows)
    assert np.abs(got - clip_to_ball(rows, 1.0)).max() < 0.02
    assert np.array_equal(np.rint(got / layer.step), got / layer.step)
    assert not np.array_equal(layer.vectors(rows), got)
    assert layer.passes.largest == 2


def test_the_gradient_passes_straight_to_a_public_table():
    layer = PrivateEmbedding(TABLE, GAUSSIAN, trainable=True, text_is_public=True)
    layer(torch.tensor([[1, 1, PADDING, 4]])).sum().backward()
    expected = torch.zeros_like(layer.table)
    expected[1], expected[4] = 2.0, 1.0
    assert torch.equal(layer.table.grad, expected)


@pytest.mark.parametrize(
    "mechanism",
    [wv.Projection(epsilon=1.0, dimensions=3), wv.MultivariateLaplace(epsilon=1.0)],
    ids=lambda one: one.name,
)
def test_a_table_learns_behind_clipped_mechanisms_alone(mechanism):
    with pytest.raises(ParameterError, match="needs one of the clipped"):
        PrivateEmbedding(TABLE, mechanism, trainable=True, text_is_public=True)


def test_the_guarantee_is_the_mechanisms_per_token():
    claim = PrivateEmbedding(TABLE, GAUSSIAN).guarantee()
    grounds = {"slack": 0.0, "unit": PrivacyUnit.TOKEN, "standing": wv.Standing.PROVED}
    assert claim == wv.LocalDP(epsilon=1.0, delta=1e-5, scope=claim.scope, **grounds)
    assert [part for part in claim.scope if TABLE.header.checksum in part] == list(claim.scope)
    assert isinstance(PrivateEmbedding(TABLE, GAUSSIAN, source=seeds.source(1)).guarantee(), wv.NoGuarantee)


def test_passes_over_a_private_sentence_compose():
    layer = PrivateEmbedding(TABLE, GAUSSIAN)
    assert layer.composed_guarantee() == layer.guarantee()
    layer(IDS, ["a", "b"])
    layer(IDS[:1], ["a"])
    assert layer.passes.largest == 2
    layer(IDS)  # unnamed: it may have been any sentence
    composed = layer.composed_guarantee()
    assert (composed.epsilon, composed.delta) == (pytest.approx(epsilon_of(3, epsilon=1.0)), pytest.approx(3e-5))
    with pytest.raises(ParameterError, match="must be one per sentence, 2"):
        layer(IDS, ["a"])


def test_passes_over_public_text_cost_nothing():
    layer = PrivateEmbedding(TABLE, GAUSSIAN, text_is_public=True)
    layer(IDS)
    assert layer.passes.largest == 0


def test_a_counter_takes_a_repeated_key_twice():
    counter = PassCounter()
    counter.count(["a", "a", "b"], promise="p")
    assert counter.largest == 2


def test_a_counter_of_two_layers_is_priced_by_none_but_the_one_that_counted():
    costly, cheap = PrivateEmbedding(TABLE, wv.ClippedGaussian(epsilon=50.0)), PrivateEmbedding(TABLE, GAUSSIAN)
    cheap.passes = costly.passes = PassCounter()
    costly(IDS, ["a", "b"])
    with pytest.raises(GuaranteeError, match="another promise"):
        cheap.composed_guarantee()


def test_passes_in_the_metric_of_two_tables_are_not_added():
    rows = seeds.rng(0).normal(size=(len(TABLE), 4))
    other = wv.Embeddings.from_arrays(list(TABLE.words), rows)
    layers = [PrivateEmbedding(table, wv.MultivariateLaplace(epsilon=3.0)) for table in (TABLE, other)]
    layers[0](IDS, ["a", "b"])
    with pytest.raises(GuaranteeError, match="another promise"):
        layers[1].passes = layers[0].passes
    with pytest.raises(GuaranteeError):
        wv.compose_releases([layer.guarantee() for layer in layers])


@pytest.mark.parametrize("mechanism", [GAUSSIAN, wv.MultivariateLaplace(epsilon=3.0)], ids=lambda one: one.name)
def test_a_layer_says_that_its_vocabulary_was_not_checked(mechanism, tmp_path):
    """Two directories of one header: what is promised is a promise over the rows in use."""
    honest = TABLE.save(tmp_path / "honest")
    TABLE.save(tmp_path / "forged")
    rows = np.load(tmp_path / "forged" / "vectors.npy")
    rows[0] *= 50
    np.save(tmp_path / "forged" / "vectors.npy", rows)
    forged = wv.load_embeddings(tmp_path / "forged")
    assert forged.header.checksum == honest.header.checksum
    one, two = (PrivateEmbedding(table, mechanism) for table in (honest, forged))
    assert one.guarantee().scope != two.guarantee().scope
    for claim in (one.guarantee(), one.composed_guarantee()):
        assert UNCHECKED in claim.assumptions
    honest.verify()
    assert UNCHECKED not in one.guarantee().assumptions


@pytest.mark.parametrize("make", [torch.tensor, np.array, list, lambda keys: [torch.tensor(key) for key in keys]])
def test_keys_count_by_value_however_a_loader_gives_them(make):
    layer = PrivateEmbedding(TABLE, GAUSSIAN)
    for _ in range(10):
        layer(IDS, make([3, 4]))
    assert layer.passes.largest == 10
    assert layer.composed_guarantee().epsilon == pytest.approx(epsilon_of(10, epsilon=1.0))


def test_keys_that_are_equal_to_nothing_else_are_refused():
    with pytest.raises(ParameterError, match="must be keys"):
        PrivateEmbedding(TABLE, GAUSSIAN)(IDS, [object(), object()])


@pytest.mark.parametrize("other", [wv.ClippedGaussian(epsilon=50.0), None])
def test_passes_of_another_promise_are_not_multiplied_by_this_one(other):
    costly, cheap = PrivateEmbedding(TABLE, other), PrivateEmbedding(TABLE, GAUSSIAN)
    costly(IDS, ["a", "b"])
    with pytest.raises(GuaranteeError, match="another promise"):
        cheap.load_state_dict(costly.state_dict())
    with pytest.raises(GuaranteeError, match="another promise"):
        cheap.passes = costly.passes
    with pytest.raises(GuaranteeError, match="another promise"):
        costly.passes.count(["a"], promise=promise_text(cheap.guarantee()))


def test_passes_without_noise_are_counted_and_promise_nothing():
    layer = PrivateEmbedding(TABLE, None)
    layer(IDS, ["a", "b"])
    assert layer.passes.largest == 1
    assert isinstance(layer.composed_guarantee(), wv.NoGuarantee)


def test_the_state_holds_no_key():
    layer = PrivateEmbedding(TABLE, GAUSSIAN)
    layer(IDS, ["a", "b"])
    assert set(layer.state_dict()) == {"table", "_extra_state"}
    state = layer.state_dict()["_extra_state"]
    assert (state["pass"], list(state["passes"].values())) == (0, [1])


def test_counts_of_a_loaded_state_are_added_and_no_state_is_added_twice():
    first, second, third = (PrivateEmbedding(TABLE, GAUSSIAN) for _ in range(3))
    for layer, passes in ((first, 3), (second, 2)):
        for _ in range(passes):
            layer(IDS, ["a", "b"])
    best = copy.deepcopy(second.state_dict())
    second.load_state_dict(first.state_dict())
    assert second.passes.largest == 5
    second(IDS, ["a", "b"])
    second.load_state_dict(best)  # as a training goes back to its best epoch
    second.load_state_dict(first.state_dict())
    assert second.passes.largest == 6
    assert second.composed_guarantee().epsilon == pytest.approx(epsilon_of(6, epsilon=1.0))
    third.load_state_dict(second.state_dict())  # as a training resumes in another process
    third(IDS)
    third.load_state_dict(best)
    first(IDS)
    third.load_state_dict(first.state_dict())
    assert third.passes.largest == 8


def in_a_fork(work):
    """Run it in a forked child; return what it says there."""

    def answer():
        try:
            return str(work()).encode()
        except wv.WordveilError as error:
            return f"{type(error).__name__}: {error}".encode()

    return in_fork(answer).decode()


def test_a_forked_child_passes_no_private_text_that_its_parent_would_not_count():
    layer = PrivateEmbedding(TABLE, GAUSSIAN)
    layer(IDS, ["a", "b"])
    assert in_a_fork(lambda: layer(IDS, ["a", "b"]).shape).startswith("WordveilError: A forked process cannot count")
    assert layer.passes.largest == 1

    def counted_by_itself():
        layer.passes = PassCounter()
        layer(IDS, ["a", "b"])
        return layer.passes.largest

    assert in_a_fork(counted_by_itself) == "1"


def test_a_forked_child_passes_public_text():
    layer = PrivateEmbedding(TABLE, GAUSSIAN, text_is_public=True)
    here = layer(IDS)[0]
    assert in_a_fork(lambda: (layer(IDS)[0] == here).any().item()) == "False"


@dataclass
class ForwardPass:
    """Vectors of public words in, what `forward` makes of their ids out: the whole layer under audit, with a fault."""

    layer: PrivateEmbedding
    fault: str = ""

    def __post_init__(self):
        self.place = {row.tobytes(): i for i, row in enumerate(np.asarray(self.layer.vocabulary.vectors, np.float64))}
        self.guarantee = self.layer.guarantee()

    def vectors(self, rows):
        ids = torch.tensor([self.place[np.asarray(row, dtype=np.float64).tobytes()] for row in rows])[:, None]
        asked = ids[:1] if self.fault == "one noise vector for a batch" else ids
        released = self.layer(asked).numpy()[:, 0].astype(np.float64)
        clean = clip_to_ball(np.asarray(rows, dtype=np.float64), 1.0)
        noise = released - clean[: len(asked)]
        broken = {
            "one noise vector for a batch": clean + noise,  # of the code published with the paper, like the last one
            "half of the noise": clean + noise / 2,
            "vectors that were never clipped": rows + noise,
        }
        return broken.get(self.fault, released)


AUDITABLE = drawn(1000, seed=1)
OPTIONS = AuditOptions(samples=20_000, pairs=2, curve_points=0, seed=seeds.seed(3))
AUDITED = wv.ClippedGaussian(epsilon=1.0, delta=0.05)


@pytest.mark.slow
def test_the_audit_of_the_layer_passes():
    report = wv.audit_mechanism(
        ForwardPass(PrivateEmbedding(AUDITABLE, AUDITED)), options=OPTIONS, embeddings=AUDITABLE
    )
    assert not report.refuted
    assert len(report.pairs) == 2
    assert {f.check for f in report.findings} >= {"noise shared within a batch", "noise repeated between calls"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", ["one noise vector for a batch", "half of the noise", "vectors that were never clipped"]
)
def test_the_audit_refutes_broken_twins(fault):
    broken = ForwardPass(PrivateEmbedding(AUDITABLE, AUDITED), fault)
    report = wv.audit_mechanism(broken, options=OPTIONS, embeddings=AUDITABLE)
    assert report.refuted
    shared = any(f.refuted and f.check == "noise shared within a batch" for f in report.findings)
    assert shared == (fault == "one noise vector for a batch")
