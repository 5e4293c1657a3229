"""Benchmarks on toy sizes: what is counted, compared and written; never how long anything took."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from wordveil.cli.app import build_app
from wordveil.errors import MissingExtraError, ParameterError
from wordveil.kernels.compiled.library import kernel_engine
from wordveil_lab.benchmarks import machine, peers
from wordveil_lab.benchmarks.machine import Machine, Timing, Workload, best_timing, generated_words, measure_machine
from wordveil_lab.benchmarks.measuring import (
    AXES,
    SIZES,
    TASKS,
    Measurement,
    as_json,
    growth_curve,
    measure,
    save_plot,
    table,
)

TINY = Workload(vocabulary=300, dimensions=8, tokens=40, repeats=1)
NAMES = dict.fromkeys(("processor", "blas", "numpy", "python", "engine"), "of tests")
MACHINE = Machine(cores=2, float32_rate=100.0, float64_rate=50.0, float32_all=200.0, float64_all=100.0, **NAMES)


@given(st.integers(0, 2000))
def test_generated_words_are_distinct_words_of_letters(count):
    words = generated_words(count)
    assert len(set(words)) == count
    assert all(word.isalpha() and word.islower() for word in words)


def test_the_workload_is_the_same_every_time_and_has_the_sizes_asked_for():
    again = Workload(vocabulary=300, dimensions=8, tokens=40, repeats=1)
    assert np.array_equal(TINY.vectors, again.vectors)
    assert np.array_equal(TINY.queries, again.queries)
    assert TINY.queries.shape == (40, 8)
    assert TINY.flops_per_token == 2 * 300 * 8
    assert sum(len(text.split()) for text in TINY.texts) == 40
    encoded = [word.strip(".") for text in TINY.texts for word in text.split()]
    assert TINY.embeddings.ids(encoded).tolist() == TINY.ids.tolist()


def test_queries_come_in_blocks_whose_content_does_not_depend_on_their_number(monkeypatch):
    monkeypatch.setattr(machine, "BLOCK", 16)
    short, long = replace(TINY, tokens=40), replace(TINY, tokens=100)
    blocks = list(long.query_blocks())
    assert [len(block) for block in blocks] == [16] * 6 + [4]
    assert np.array_equal(np.concatenate(blocks), long.queries)
    assert np.array_equal(short.queries[:32], long.queries[:32])
    away = np.linalg.norm(long.queries - long.vectors[long.ids], axis=1)
    # The squared length of the noise is chi-squared with 8 degrees of freedom, of mean (4.4 * 0.6)**2.
    assert 0.8 < np.sqrt(np.mean(away**2)) / (4.4 * machine.NOISE) < 1.2


@pytest.mark.parametrize(("name", "value"), [("vocabulary", 15), ("dimensions", 0), ("tokens", 0), ("repeats", 0)])
def test_sizes_out_of_range_are_refused(name, value):
    with pytest.raises(ParameterError, match=rf"{name}={value} must be a whole number, at least"):
        replace(TINY, **{name: value})


def test_the_limit_is_the_product_rate_over_the_operations_of_a_token():
    assert MACHINE.limit("float32", 1e6) == 100e9 / 1e6
    assert MACHINE.limit("float64", 1e6) == 50e9 / 1e6


def test_the_best_run_of_each_clock_counts(monkeypatch):
    walls, cpus, calls = iter([0.0, 5.0, 10.0, 12.0, 20.0, 23.0]), iter([0.0, 1.0, 2.0, 5.0, 6.0, 8.0]), []
    monkeypatch.setattr("time.perf_counter", lambda: next(walls))
    monkeypatch.setattr("time.process_time", lambda: next(cpus))
    assert best_timing(lambda: calls.append(0), 3) == Timing(wall=2.0, cpu=1.0)
    assert len(calls) == 3


def test_times_of_parts_add_up():
    assert Timing(wall=1.0, cpu=2.0) + Timing(wall=0.5, cpu=0.25) == Timing(wall=1.5, cpu=2.25)


@pytest.mark.parametrize("name", [name for name in peers.DECODERS if "gensim" not in name])
def test_peers_find_the_nearest_words(name):
    prepare, module, _ = peers.DECODERS[name]
    if not peers.available(module):
        pytest.skip(f"{module} is not installed")
    difference = TINY.queries[:, None] - TINY.vectors[None].astype(np.float64)
    expected = np.einsum("ijk,ijk->ij", difference, difference).argmin(axis=1)
    assert np.array_equal(prepare(TINY.vectors)(TINY.queries), expected)


@pytest.mark.parametrize("name", peers.SELECTORS)
def test_peers_that_select_follow_the_exponential_law(name):
    select, _, _ = peers.SELECTORS[name]
    vectors = np.array([[0.0], [1.0], [3.0]], dtype=np.float32)
    n, law = 20_000, np.exp(-np.array([0.0, 1.0, 3.0]))
    law /= law.sum()
    shares = np.bincount(select(vectors, np.zeros(n, dtype=np.int32), 1.0), minlength=3) / n
    # Seven standard deviations: below 3e-12 each.
    assert np.all(np.abs(shares - law) < 7 * np.sqrt(law * (1 - law) / n))


def test_a_missing_peer_says_how_to_install_it():
    with pytest.raises(MissingExtraError, match=r"needs the package no_such_peer.*wordveil-lab\[bench\]"):
        peers._module("no_such_peer")


def test_every_task_is_measured_and_the_lines_hold_together():
    lines = measure(TINY, MACHINE)
    assert {line.task for line in lines} == set(TASKS)
    for line in lines:
        assert line.rate == line.tokens / line.cpu_seconds
        assert line.limit == MACHINE.limit(line.limit_type, TINY.flops_per_token)
        assert (line.vocabulary, line.dimensions, line.threads) == (300, 8, 1)
        assert line.engine.startswith("wordveil") or line.tokens <= TINY.tokens
        assert line.agreement in (None, 1.0) or "gensim" in line.engine
    decoders = {line.engine for line in lines if line.task == "decode"}
    assert decoders >= {f"wordveil, {kernel_engine('nearest.c')}", "NumPy per token"}


def test_growth_takes_the_steps_below_the_largest():
    small = replace(TINY, tokens=4)
    steps = list(growth_curve("dimensions", small, MACHINE, tasks=("decode",), most=100))
    assert [[line.dimensions for line in step] for step in steps] == [[50], [100]]
    assert [step[0].threads for step in growth_curve("threads", small, MACHINE, tasks=("decode",), most=1)] == [1]
    with pytest.raises(ParameterError, match="axis='colour' must be one of tokens, vocabulary, dimensions, threads"):
        next(growth_curve("colour", small, MACHINE))


def line(task="decode", tokens=100) -> Measurement:
    sizes = {"vocabulary": 300, "dimensions": 8, "threads": 1, "tokens": tokens, "peak_bytes": 3 << 20}
    speed = {"wall_seconds": 2.0, "cpu_seconds": 1.0, "rate": 100.0, "wall_rate": 50.0, "limit": 400.0}
    return Measurement(task=task, engine="wordveil", limit_type="float32", agreement=1.0, **sizes, **speed)


def test_the_table_shows_ratio_first_and_json_everything():
    text = table(MACHINE, [line()]).split("\n")
    assert text[2].split()[:2] == ["of", "limit"]
    assert text[3].split() == ["0.25", "32", "100", "50", "100%", "decode", "300", "x", "8", "1", "100", "wordveil"]
    assert text[-1] == "peak memory 3 MiB"
    found = json.loads(json.dumps(as_json(MACHINE, [line()])))
    assert found["machine"]["float32_rate"] == 100.0
    assert found["measurements"][0]["limit_ratio"] == 0.25


@pytest.mark.parametrize("axis", [None, "tokens"])
def test_plots_are_saved(tmp_path, axis):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    path = tmp_path / "plot.svg"
    save_plot(path, [line(tokens=10), line(tokens=100), line(task="select", tokens=10)], axis=axis)
    assert "</svg>" in path.read_text(encoding="utf-8")


@pytest.fixture
def small_products(monkeypatch):
    """The machine is measured with products that take no time."""
    monkeypatch.setattr(machine, "measure_machine", lambda: measure_machine(side=128, repeats=1))


@pytest.mark.usefixtures("small_products")
def test_the_command_prints_a_table_or_json():
    app, sizes = build_app(["bench"]), ["--vocabulary", "300", "--dimensions", "8", "--tokens", "20", "--repeats", "1"]
    printed = CliRunner().invoke(app, ["bench", *sizes, "--no-peers"], catch_exceptions=False)
    assert printed.exit_code == 0
    assert "text to text" in printed.output
    as_data = CliRunner().invoke(app, ["bench", *sizes, "--no-peers", "--json"], catch_exceptions=False)
    assert {m["task"] for m in json.loads(as_data.stdout)["measurements"]} == set(TASKS)


@pytest.mark.usefixtures("small_products")
@pytest.mark.parametrize("growth", AXES)
def test_every_size_can_grow_from_the_command_line(tmp_path, growth):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    sizes = {"vocabulary": "300", "dimensions": "8", "tokens": "20"}
    options = [part for name, size in sizes.items() if name != growth for part in (f"--{name}", size)]
    most = str(AXES[growth][0])
    command = ["bench", "--growth", growth, "--most", most, *options, "--repeats", "1", "--json"]
    found = CliRunner().invoke(
        build_app(["bench"]), [*command, "--plot", str(tmp_path / "p.svg")], catch_exceptions=False
    )
    assert found.exit_code == 0
    measured = json.loads(found.stdout)["measurements"]
    assert {line["task"] for line in measured} == {"decode", "select"}
    assert {str(line[growth]) for line in measured if "once" not in line["engine"]} == {most}
    assert (tmp_path / "p.svg").stat().st_size > 0


def test_growth_sets_every_size_that_a_workload_needs():
    assert set(SIZES) == {None, *AXES}
    for sizes in SIZES.values():
        assert Workload(**sizes).vocabulary == sizes["vocabulary"]
