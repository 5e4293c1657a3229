"""Attacks on the private layer: low bits, gradients, and whatever makes two passes share their noise."""

import copy
import pickle
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import seeds
from worlds import placed

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")

from small_models import small_table  # noqa: E402

import wordveil as wv  # noqa: E402
from wordveil.errors import ParameterError, WordveilError  # noqa: E402
from wordveil.mechanisms.rows import clip_to_ball  # noqa: E402
from wordveil_lab.neural.private_embedding import PADDING, UNKNOWN, PrivateEmbedding  # noqa: E402

TABLE = small_table()
GAUSSIAN = wv.ClippedGaussian(epsilon=1.0)
CLIPPED = [wv.ClippedGaussian(epsilon=8.0), wv.ClippedLaplace(epsilon=8.0), wv.TruncatedLaplace(epsilon=8.0)]
IDS = torch.tensor([[0, 0, 3], [0, 5, PADDING]])


def wide_table():
    return placed(seeds.rng(3).standard_normal((2000, 40)) / 4)


def words_left(released, rows, step):
    """Words that may lie behind one released row: those that explain the coordinates off the grid by a float32 sum."""
    grid = (np.rint(released.astype(np.float64) / step) * step).astype(np.float32)
    odd = released != grid
    return int(((rows + (grid - rows))[:, odd] == released[odd]).all(axis=1).sum())


def test_the_attack_finds_words_where_the_gradient_passes_by_a_sum():
    rows = np.asarray(wide_table().vectors, dtype=np.float32)
    step = 2.0**-16
    grid = (np.rint((rows[:50] + np.float32(0.7)) / step) * step).astype(np.float32)
    assert np.median([words_left(rows[i] + (grid[i] - rows[i]), rows, step) for i in range(50)]) < 500


@pytest.mark.parametrize("mechanism", CLIPPED, ids=lambda m: m.name)
def test_a_table_that_learns_releases_values_of_the_grid_and_leaves_all_words(mechanism):
    layer = PrivateEmbedding(wide_table(), mechanism, trainable=True, text_is_public=True)
    released = layer(torch.arange(200)).detach().cpu().numpy()
    rows = np.asarray(wide_table().vectors, dtype=np.float32)
    assert [words_left(row, rows, layer.step) for row in released] == [2000] * 200
    on_grid = (np.rint(released.astype(np.float64) / layer.step) * layer.step + 0.0).astype(np.float32)
    assert released.tobytes() == on_grid.tobytes()


def test_a_table_that_learns_releases_what_a_frozen_one_does():
    options = {"text_is_public": True}
    both = [
        PrivateEmbedding(TABLE, GAUSSIAN, source=seeds.source(1), trainable=learns, **options)(IDS)
        for learns in (True, False)
    ]
    assert both[0].detach().numpy().tobytes() == both[1].numpy().tobytes()


def test_zero_has_no_sign():
    layer = PrivateEmbedding(TABLE, None)
    released = layer.vectors(np.full((1, 6), -layer.step / 4))
    assert not released.any()
    assert not np.signbit(released).any()


def test_a_table_never_learns_from_private_text():
    with pytest.raises(ParameterError, match=r"trainable=True needs text_is_public=True.*name the private words"):
        PrivateEmbedding(TABLE, GAUSSIAN, trainable=True)
    layer = PrivateEmbedding(TABLE, GAUSSIAN)
    for parameter in layer.parameters():
        parameter.requires_grad_(True)  # as trainings do that thaw a model
    with pytest.raises(ParameterError, match="needs text_is_public=True"):
        layer(IDS)
    turned = PrivateEmbedding(TABLE, GAUSSIAN, trainable=True, text_is_public=True)
    turned.text_is_public = False
    with pytest.raises(ParameterError, match="needs text_is_public=True"):
        turned(IDS)


def test_a_step_over_private_text_leaves_no_trace_of_its_words():
    layer, head = PrivateEmbedding(TABLE, GAUSSIAN), torch.nn.Linear(6, 2)
    optimizer = torch.optim.AdamW([*layer.parameters(), *head.parameters()], lr=0.1, weight_decay=0.5)
    before = layer.table.clone()
    torch.nn.functional.cross_entropy(head(layer(IDS)).mean(1), torch.tensor([0, 1])).backward()
    optimizer.step()
    assert torch.equal(layer.table, before)
    assert layer.table.grad is None
    assert layer.table not in optimizer.state


def test_a_promise_for_the_words_of_a_vocabulary_does_not_follow_a_loaded_table():
    # The stretch of this projection is that of the vocabulary's pairs: another table would need other noise.
    layers = [
        PrivateEmbedding(TABLE, wv.Projection(epsilon=2.0, dimensions=3), source=seeds.source(1)) for _ in range(2)
    ]
    state = layers[0].state_dict()
    layers[1].load_state_dict({**state, "table": state["table"] * 10})
    assert torch.equal(layers[0](IDS), layers[1](IDS))


def replica(layer):
    """What `nn.DataParallel` makes for each device and each forward pass, by PyTorch's own method."""
    made = layer._replicate_for_data_parallel()
    made._parameters = {}
    made.table = layer.table
    return made


def test_replicas_draw_fresh_noise_in_every_pass_and_count_together():
    layer = PrivateEmbedding(TABLE, GAUSSIAN)
    passes = [made(IDS) for _ in range(2) for made in (replica(layer), replica(layer))] + [layer(IDS)]
    rows = torch.cat([p[0] for p in passes])
    assert len(torch.unique(rows, dim=0)) == len(rows) == 15
    assert layer.passes.largest == 5


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_layer_is_neither_copied_nor_pickled(way):
    with pytest.raises(WordveilError, match="PrivateEmbedding holds its run's key and cannot be copied or pickled"):
        way(PrivateEmbedding(TABLE, GAUSSIAN))


def slowly(frame, event, argument):
    """Rest between any two lines of the layer, so that every thread sees the others' half-done work."""
    if event == "line":
        time.sleep(2e-5)
    return slowly if frame.f_code.co_filename.endswith("private_embedding.py") else None


def test_threads_draw_fresh_noise_in_every_pass():
    layer = PrivateEmbedding(TABLE, GAUSSIAN)
    made = [[] for _ in range(4)]

    def work(mine):
        sys.settrace(slowly)  # of this thread alone
        mine += [layer(IDS).numpy().tobytes() for _ in range(25)]

    threads = [threading.Thread(target=work, args=(mine,)) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set().union(*made)) == 4 * 25
    assert layer.passes.largest == 4 * 25


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_model_draws_afresh_with_our_own_arithmetic(backend):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the compiler's own
        source = seeds.source(2)
        compiled = torch.compile(PrivateEmbedding(TABLE, GAUSSIAN, source=source), backend=backend)
        passes = [compiled(IDS) for _ in range(3)]
    plain = PrivateEmbedding(TABLE, GAUSSIAN, source=source)
    assert all(torch.equal(got, plain(IDS)) for got in passes)
    assert not torch.equal(passes[0], passes[1])


def test_a_trace_which_would_keep_the_noise_is_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(WordveilError, match="trace would keep the noise"):
            torch.jit.trace(PrivateEmbedding(TABLE, GAUSSIAN), (IDS,), check_trace=False)


def changed_by_loading(layer):
    state = layer.state_dict()
    layer.load_state_dict({**state, "table": state["table"].flip(0)})


def changed_by_hand(layer):
    layer.table.data.mul_(-1)  # no version of the tensor counts this


def changed_in_its_memory(layer):
    layer.table.detach().numpy()[:] = 0.5  # nor this


def changed_for_another(layer):
    layer.table = torch.nn.Parameter(layer.table.detach() * 2, requires_grad=False)


@pytest.mark.parametrize("change", [changed_by_loading, changed_by_hand, changed_in_its_memory, changed_for_another])
@pytest.mark.parametrize("mechanism", CLIPPED, ids=lambda m: m.name)
def test_no_two_tables_share_noise(mechanism, change):
    # One noise on two tables: the difference of two passes is that of two public rows, and names the word.
    layer = PrivateEmbedding(TABLE, mechanism, text_is_public=True)
    sentence = torch.tensor([[3, 3, 4, UNKNOWN]])
    first, before = layer(sentence), layer.table.detach().clone()
    change(layer)
    second = layer(sentence)
    told = [clip_to_ball(np.asarray(rows, np.float64), 1.0) for rows in (before, layer.table.detach())]
    left = (first - second).numpy()[0][:, None] - (told[0] - told[1])  # of each token, for each word it may be
    assert np.abs(left).max(axis=2).min() > 3 * layer.step


@pytest.mark.parametrize("ids", [torch.tensor([2**32 + 5]), torch.tensor([0.5]), torch.tensor([float("nan")])])
def test_ids_that_only_a_cast_makes_valid_are_refused(ids):
    with pytest.raises(ParameterError, match="ids='<hidden>' must be integers"):
        PrivateEmbedding(TABLE, GAUSSIAN)(ids)
