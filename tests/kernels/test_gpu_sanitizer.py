"""Where a user asks for a card: the same words come out, what cannot use one says so, what is missing is named."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.lab.benchmarks.test_bench import MACHINE

import seeds
import wordveil as wv
from wordveil.errors import MissingExtraError, ParameterError
from wordveil.kernels.gpu.backend import card_name
from wordveil.sanitizing.fitting import fit_words
from wordveil_lab.benchmarks.machine import Workload
from wordveil_lab.benchmarks.measuring import measure
from worlds import drawn

ROOT = Path(__file__).parent.parent.parent
MECHANISMS = {
    "tem": wv.TEM(epsilon=6.0),
    "santext": wv.SanText(epsilon=6.0),
    "laplace": wv.MultivariateLaplace(epsilon=8.0),
    "projection": wv.Projection(epsilon=8.0, dimensions=8),  # decoded in a space of its own
    "vickrey": wv.Decoded(mechanism=wv.MultivariateLaplace(epsilon=8.0), decoder=wv.Vickrey(t=0.5)),
}


@pytest.fixture
def vocabulary():
    return drawn(676, 12)


@pytest.fixture
def cpu_tensors(monkeypatch):
    """Let the name "cuda" stand for CPU tensors, so that the way to the card is walked without one."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra gpu)")
    from wordveil.kernels.gpu import backend, nearest, selection

    for module in (backend, nearest, selection):
        monkeypatch.setattr(module, "open_device", lambda name: torch.device("cpu"))


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_sanitizer_on_a_card_releases_the_same_words_or_states_a_slack(vocabulary, cpu_tensors, name):
    ids = np.arange(0, 600, 7, dtype=np.int32)
    released = []
    for device in ("cpu", "cuda"):
        source = seeds.source(3)
        sanitizer = wv.Sanitizer(vocabulary, MECHANISMS[name], source=source, device=device)
        # One place for both: by itself, each engine's selection has noise of its own.
        words = sanitizer.for_batch_job().release_ids(ids, np.array([len(ids)]), [7])
        assert (sanitizer.provenance.engine == "cuda") == (device == "cuda")
        card = card_name(device) if sanitizer.parts.randomizer.draws_by_arithmetic else ""
        assert device == "cpu" or sanitizer.provenance.arithmetic == card
        released.append(words.tolist())
    if not sanitizer.parts.randomizer.draws_by_arithmetic:
        assert released[0] == released[1]
    else:  # the processor draws by ideal weights, the card by rounded ones, and says so
        assert sanitizer.parts.randomizer.guarantee().slack > 0
        again = wv.Sanitizer(vocabulary, MECHANISMS[name], source=seeds.source(3), device="cuda").for_batch_job()
        assert again.release_ids(ids, np.array([len(ids)]), [7]).tolist() == released[1]


def test_the_benchmark_counts_wall_time_on_a_card(cpu_tensors):
    workload = Workload(vocabulary=64, dimensions=4, tokens=40, repeats=1, device="cuda")
    lines = measure(workload, MACHINE, with_peers=False)
    assert [line.task for line in lines] == ["decode", "select", "select", "sanitize"]
    assert lines[0].engine == "wordveil, torch-cpu"
    assert all(line.rate == line.wall_rate for line in lines)


def test_rows_that_only_the_processor_has_are_refused(vocabulary):
    pytest.importorskip("torch", reason="PyTorch is not installed (extra gpu)")
    fitted = fit_words(wv.TEM(epsilon=6.0, metric=wv.NeighbourRank(k=3, cap=9.0)), vocabulary)
    with pytest.raises(ParameterError, match="device='cuda' is not supported for this mechanism"):
        fitted.on("cuda")


def test_without_pytorch_the_extra_is_named(vocabulary, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("wordveil.kernels.gpu")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError) as refused:
        wv.Sanitizer(vocabulary, wv.SanText(epsilon=1.0), device="cuda")
    assert str(refused.value) == str(MissingExtraError("Work on a graphics card", "torch", "gpu"))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed (extra gpu)")
def test_the_measuring_script_checks_and_prints_its_table_on_cpu_tensors():
    command = [sys.executable, "-m", "wordveil_lab.timing.gpu", "--device", "cpu", "--small", "--rounds", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("answers equal") == 1
    table = [line for line in done.stdout.splitlines() if line.startswith("| 1")]
    assert len(table) == 5
    assert all(line.count("|") == 5 for line in table)
