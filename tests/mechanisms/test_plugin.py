"""A mechanism of another package is one file and one line: installed, explained, audited, kept to the contract."""

import itertools
import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from contract import Example, contract_of

import seeds
import wordveil as wv
from wordveil import plugins
from wordveil.errors import GuaranteeError, ParameterError, WordveilError
from wordveil.mechanisms.common import OWN_CODE
from wordveil.mechanisms.multivariate_laplace import FittedMultivariateLaplace, MultivariateLaplace
from worlds import placed

PLUGIN = Path(__file__).parents[2] / "examples" / "plugin"
PACKAGES = {  # entry points of packages that cannot be used
    "broken": "no_such_module_at_all:Thing",
    "number": "math:pi",
    "elsewhere": "wordveil.mechanisms.tem:TEM",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The example, installed by the tools of this environment, so that no network is needed."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation", "--quiet"]
    subprocess.run([*command, "--target", folder, PLUGIN], check=True, capture_output=True)
    return folder


@pytest.fixture
def installed(site, monkeypatch):
    monkeypatch.syspath_prepend(str(site))
    yield plugins.mechanism_class("cluster-response")
    sys.modules.pop("cluster_response", None)


def wordveil(site, command, cwd=None):
    environment = {**os.environ, "PYTHONPATH": str(site)}
    program = [sys.executable, "-c", "from wordveil.cli.main import main; main()", *command.split()]
    return subprocess.run(program, env=environment, capture_output=True, text=True, cwd=cwd)


def test_it_is_one_file_and_one_line():
    assert sorted(path.name for path in PLUGIN.iterdir() if path.is_file()) == ["cluster_response.py", "pyproject.toml"]
    named = [
        line for line in (PLUGIN / "pyproject.toml").read_text().splitlines() if line.startswith("cluster-response")
    ]
    assert named == ['cluster-response = "cluster_response:ClusterResponse"']


@pytest.mark.slow
def test_every_command_knows_it(site, tmp_path):
    found = wordveil(site, "mechanisms --json")
    rows = {row["name"]: row for row in json.loads(found.stdout)}
    told = rows["cluster-response"]
    assert (told["promise"], told["standing"], "tem" in rows) == ("neighbour DP", "proved", True)
    explained = wordveil(site, "explain --mechanism cluster-response --epsilon 2")
    assert explained.returncode == 0, explained.stderr
    assert "public clusters of 8 words" in " ".join(explained.stdout.split())
    text = tmp_path / "text.txt"
    text.write_text("the doctor was late\n" * 20)
    run = "sanitize text.txt --output out.txt --mechanism cluster-response --epsilon 2 --set k=5 --report report.json"
    released = wordveil(site, run, cwd=tmp_path)
    assert released.returncode == 0, released.stderr
    assert (tmp_path / "out.txt").read_text() != text.read_text()
    assert wordveil(site, "report out.txt --verify report.json", cwd=tmp_path).returncode == 0
    refused = wordveil(site, "sanitize text.txt --mechanism cluster-response --epsilon 20", cwd=tmp_path)
    assert refused.returncode == 2
    assert "must be at most 12" in refused.stderr


@pytest.mark.slow
def test_it_keeps_the_contract_as_a_stranger_would_run_it(installed):
    for example in installed.examples():
        for check in contract_of(example):
            check(Example.of(example))


def test_its_promises_over_two_vocabularies_are_not_added(installed):
    """It names no vocabulary: words of one cluster in the first lie in two of the second, at any loss."""
    rows = seeds.rng(0).normal(size=(2, 16, 4))
    tables = [placed(table) for table in rows]
    tables.append(placed(rows[0], barred=4))  # other clusters again
    fitted = [installed(k=4).fit(table) for table in tables]
    same = fitted[0].cluster[:, None] == fitted[0].cluster
    assert (same & (fitted[1].cluster[:, None] != fitted[1].cluster)).any()
    claims = [one.guarantee() for one in fitted]
    assert wv.compose_releases([claims[0], claims[0]]).epsilon == 2 * claims[0].epsilon
    for other in claims[1:]:
        with pytest.raises(GuaranteeError, match="differ in their scope"):
            wv.compose_releases([claims[0], other])


def test_its_promise_assumes_that_its_code_stays_the_same(installed):
    table = placed(np.arange(8.0).reshape(4, 2))
    assert OWN_CODE in installed(epsilon=1.0, k=2).fit(table).guarantee().assumptions
    assert OWN_CODE in wv.Sanitizer(table, installed(epsilon=1.0, k=2)).guarantee.assumptions
    assert OWN_CODE not in wv.Sanitizer(table, wv.SanText(epsilon=1.0)).guarantee.assumptions


def test_its_promises_of_two_fits_are_not_added(installed):
    """The graph is what `fit` makes of the mechanism's own fields, of which the fitted class shows nothing."""

    @dataclass(frozen=True, kw_only=True)
    class Shuffled(installed):
        seed: int = 0
        unshown: object = None

        def fit(self, embeddings):
            order = np.random.default_rng(self.seed).permutation(len(embeddings)).astype(np.int32)  # fixed
            return replace(super().fit(embeddings), mechanism=self, order=order, cluster=np.argsort(order) // self.k)

    table = placed(np.eye(8))
    made = [installed(k=4), Shuffled(k=4), Shuffled(k=4, seed=1), Shuffled(k=4, unshown=object())]
    claims = [one.fit(table).guarantee() for one in made]
    assert len({claim.graph for claim in claims}) == 1
    again = [replace(mechanism).fit(table).guarantee() for mechanism in made]
    assert wv.compose_releases([claims[0], again[0]]).epsilon == 2 * claims[0].epsilon
    # A class that no package brings has no name by which it could be known again.
    for pair in [*itertools.combinations(claims, 2), *zip(claims[1:], again[1:], strict=True)]:
        with pytest.raises(GuaranteeError, match="differ in their scope"):
            wv.compose_releases(pair)


def test_vectors_of_a_third_partys_metric_are_not_added():
    """Rows as they come need no vocabulary; what a distance is they need."""

    @dataclass(frozen=True, kw_only=True)
    class Weighted(MultivariateLaplace):
        weights: tuple[float, float]

        def for_dimensions(self, dimensions):
            return FittedWeighted(mechanism=self, dimensions=dimensions)

    @dataclass(frozen=True, kw_only=True)
    class FittedWeighted(FittedMultivariateLaplace):
        def guarantee(self):
            return replace(super().guarantee(), metric="weighted")

    claims = [Weighted(epsilon=1.0, weights=weights).for_dimensions(2).guarantee() for weights in ((1, 1), (9, 1))]
    with pytest.raises(GuaranteeError, match="differ in their scope"):
        wv.compose_releases(claims)


@pytest.fixture
def careless(tmp_path, monkeypatch):
    """Packages whose entry points lead nowhere, to a number, to another name, and to names that are taken."""
    for package, points in {
        "careless": PACKAGES,
        "one": {"twice": "wordveil.mechanisms.tem:TEM", "tem": "wordveil.mechanisms.santext:SanText"},
        "two": {"twice": "wordveil.mechanisms.santext:SanText"},
    }.items():
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {value}\n" for name, value in points.items()]
        (folder / "entry_points.txt").write_text("[wordveil.mechanisms]\n" + "".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.slow
def test_what_cannot_be_used_is_said_with_its_package_and_stops_nothing_else(careless):
    for name, match in {
        "broken": r"'broken' of the package careless cannot be loaded \(ModuleNotFoundError",
        "number": "is no Mechanism that can be used",
        "elsewhere": "calls itself 'tem'; the names must agree",
        "twice": "'twice' is offered by one and two; uninstall one of them",
    }.items():
        with pytest.raises(WordveilError, match=match):
            plugins.mechanism_class(name)
    assert plugins.mechanism_class("tem").__name__ == "TEM", "names of wordveil's own cannot be taken"
    assert plugins.mechanism_names().count("tem") == 1
    with pytest.raises(ParameterError, match="truncated-laplace, broken, elsewhere, number, twice"):
        plugins.mechanism_class("no-such")
    with pytest.raises(ParameterError, match="must be one of nearest, rank-softmax, vickrey"):
        plugins.decoder_class("no-such")
    listed = wordveil(careless, "mechanisms")
    assert listed.returncode == 0
    assert "truncated-laplace" in listed.stdout
    assert "package careless cannot be loaded" in listed.stderr
    refused = wordveil(careless, "explain --mechanism broken --epsilon 1")
    assert refused.returncode == 2
    assert "package careless" in refused.stderr
    assert "Traceback" not in refused.stderr
