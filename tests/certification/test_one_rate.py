"""One rate: what it costs, whether it keeps a promise, both promises, and work that dies and is continued."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from certification.small_vocabularies import SMALL, channel_losses, interrupt_after, small_embeddings
from wordveil.auditing.exact import verify_channel
from wordveil.auditing.score_channels import verify_scores
from wordveil.certification import certify, certify_rate, verify
from wordveil.certification.normalizer_lipschitz import LossComputation
from wordveil.certification.pairwise_loss import WordPairs
from wordveil.cli.app import build_app
from wordveil.errors import CertificateError, ParameterError, ResumeError
from wordveil.mechanisms.clipped_laplace import ClippedLaplace
from wordveil.mechanisms.santext import SanText
from wordveil.mechanisms.selection import LARGEST_LOSS
from wordveil.mechanisms.tem import TEM
from wordveil.metrics.distances import Euclidean, Precomputed
from wordveil.metrics.table import DistanceTable
from wordveil.promises.certificates import Certificate
from wordveil.promises.guarantees import LocalDP, Standing
from wordveil.promises.rounding import claimed
from worlds import distances, drawn, placed

DRIVER = Path(__file__).with_name("certify_driver.py")


def own(embeddings):
    """The matrix of Euclidean distances, which the library knows as no closed form."""
    table = DistanceTable(distances(Euclidean(), embeddings.vectors, embeddings.vectors))
    return Precomputed(label="own", vocabulary=embeddings.checksum_in_use, table=table, error=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "own"])
@pytest.mark.parametrize("kind", [SanText, TEM])
def test_a_rate_is_certified_for_exactly_what_it_costs(kind, metric):
    embeddings = small_embeddings("gaussian")
    mechanism = kind(epsilon=1.0) if metric == "euclidean" else kind(epsilon=1.0, metric=own(embeddings))
    certificate = certify_rate(mechanism, embeddings, 1.3, threads=1)
    promised = certificate.parameters["epsilon"]
    assert certificate.numbers["rate"] == 1.3
    assert 0 <= promised - certificate.numbers["epsilon"] <= 1e-5
    assert len(f"{promised}") <= 7, "a number that can be typed"
    costing = replace(mechanism, epsilon=promised, calibration="certified")
    fitted = costing.fit(embeddings, certificate)
    cap = fitted.guarantee().largest_distance
    s = np.minimum(distances(Euclidean(), embeddings.vectors, embeddings.vectors), cap)
    slopes = channel_losses(fitted)[s > 0] / s[s > 0]
    assert slopes.max() == pytest.approx(promised, rel=2e-5)
    assert verify_scores(fitted).holds
    assert verify(certificate, embeddings, mechanism=costing).numbers == certificate.numbers


def test_a_rate_is_certified_for_a_promise_that_it_keeps_and_refused_for_one_it_breaks(tmp_path):
    embeddings = small_embeddings("gaussian")
    cost = certify_rate(SanText(epsilon=1.0), embeddings, 1.3).numbers["epsilon"]
    generous = SanText(epsilon=cost * 1.01, calibration="certified")
    certificate = certify(generous, embeddings, rate=1.3)
    assert (certificate.numbers["epsilon"], certificate.parameters["epsilon"]) == (cost, generous.epsilon)
    assert generous.fit(embeddings, certificate).rows.rate == 1.3
    verify(certificate, embeddings)
    work = tmp_path / "work.npz"
    with pytest.raises(CertificateError, match=r"rate 1\.3 costs epsilon=.*lower the rate, or promise that much"):
        certify(replace(generous, epsilon=cost * 0.999), embeddings, rate=1.3, checkpoint=str(work))
    # The work is kept: the answer to a larger promise takes none.
    visits = []
    assert certify(generous, embeddings, rate=1.3, checkpoint=str(work), progress=visits.append) == certificate
    assert visits == []
    assert not work.exists()


@pytest.mark.parametrize("case", SMALL)
@pytest.mark.parametrize("mechanism", [SanText, TEM, "gamma"])
@pytest.mark.parametrize("epsilon", [1.0, 7.0])
def test_a_local_certificate_keeps_its_epsilon_between_any_two_words(case, mechanism, epsilon):
    embeddings = small_embeddings(case)
    parameters = {"epsilon": epsilon, "calibration": "certified-local"}
    chosen = TEM(**parameters, gamma=1.5) if mechanism == "gamma" else mechanism(**parameters)
    if case == "two words" and mechanism is TEM:
        chosen = replace(chosen, gamma=4.0)  # the formula has none for so few words
    certificate = certify(chosen, embeddings, threads=1)
    assert certificate.method == LARGEST_LOSS
    fitted = chosen.fit(embeddings, certificate)
    claim = fitted.guarantee()
    assert isinstance(claim, LocalDP)
    assert (claim.epsilon, claim.standing) == (claimed(certificate.numbers["epsilon"]), Standing.CERTIFIED)
    assert claim.epsilon <= epsilon
    worst = channel_losses(fitted).max()
    # Every input is an output here, so what is claimed is attained, up to the search's tolerance.
    assert 0.99 * epsilon <= worst <= epsilon + claim.slack
    assert verify_scores(fitted, local=True).holds
    assert verify(certificate, embeddings).numbers == certificate.numbers


def test_a_local_rate_beats_the_theorem_and_a_twin_without_the_normalizer_fails():
    embeddings = small_embeddings("gaussian")
    mechanism = SanText(epsilon=4.0, calibration="certified-local")
    certificate = certify(mechanism, embeddings)
    table = distances(mechanism.metric, embeddings.vectors, embeddings.vectors)
    by_theorem = mechanism.epsilon / (2 * table.max())
    assert 1.1 * by_theorem < certificate.numbers["rate"] < 2 * by_theorem
    # The broken twin counts the score alone: rate = epsilon / diameter.
    weights = np.exp(-2 * by_theorem * table)
    broken = weights / weights.sum(axis=1, keepdims=True)
    apart = 1.0 - np.eye(len(embeddings))
    assert not verify_channel(broken, apart, 4.0, slack=0.01).holds
    assert verify_channel(mechanism.fit(embeddings, certificate).channel(), apart, 4.0, slack=0.01).holds


def test_promises_are_not_mixed_up():
    embeddings = small_embeddings("gaussian")
    local, metric = (SanText(epsilon=3.0, calibration=c) for c in ("certified-local", "certified"))
    with pytest.raises(CertificateError, match="method="):
        metric.fit(embeddings, certify(local, embeddings))
    with pytest.raises(CertificateError, match="method="):
        local.fit(embeddings, certify(metric, embeddings))
    with pytest.raises(CertificateError, match="'certified-local' needs a certificate"):
        local.fit(embeddings)
    one = placed([[1.0], [1.0]])
    with pytest.raises(ParameterError, match="must hold two words apart"):
        certify(local, one)
    with pytest.raises(CertificateError, match="belong to selection mechanisms"):
        certify(ClippedLaplace(epsilon=1.0), embeddings, rate=2.0)


def test_losses_of_any_metric_are_resumed_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.setattr("wordveil.certification.normalizer_lipschitz._SECONDS", 0.0)
    embeddings = small_embeddings("gaussian", "some")
    pairs = WordPairs(embeddings, own(embeddings))
    total = len(embeddings) * (len(embeddings) + len(embeddings.candidates))
    for find in ("metric", "local"):
        expected = getattr(LossComputation(pairs, threads=1), find)(2.0, 3.0)
        path = str(tmp_path / f"{find}.npz")
        for limit in (1, 2, 5):
            stop = interrupt_after(limit)
            with pytest.raises(KeyboardInterrupt):
                getattr(LossComputation(pairs, threads=2, progress=stop, checkpoint=path), find)(2.0, 3.0)
        visits = []
        work = LossComputation(pairs, threads=1, progress=visits.append, checkpoint=path)
        assert getattr(work, find)(2.0, 3.0) == expected
        assert sum(visits) == total
        other = small_embeddings("gaussian")
        with pytest.raises(ResumeError, match="other inputs"):
            LossComputation(WordPairs(other, own(other)), checkpoint=path)


def test_a_word_without_any_output_is_an_error_for_any_metric():
    barred = small_embeddings("two words").without_outputs(["w1"])
    with pytest.raises(ParameterError, match="without any output"):
        LossComputation(WordPairs(barred, own(barred))).metric(200.0)


@pytest.fixture
def stored(tmp_path):
    return drawn(1500, seed=3).save(tmp_path / "vocabulary").directory


def drive(name, step, *arguments):
    command = [sys.executable, str(DRIVER), name, str(step), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_killed_certification_of_one_rate_is_continued_to_the_same_bytes(stored, tmp_path, name):
    common = ["--mechanism", "santext", "--rate", "2", "--vocabulary", stored, "--threads", "2"]
    whole, parts, work = tmp_path / "whole.json", tmp_path / "parts.json", tmp_path / "work.npz"
    assert drive("SIGKILL", -1, *common, "-o", whole).returncode == 0
    again = [*common, "-o", parts, "--checkpoint", work]
    progress = []
    for step in (2, 5, 3):
        died = drive(name, step, *again)
        assert died.returncode == (-signal.SIGKILL if name == "SIGKILL" else 130), died.stderr
        assert not parts.exists()
        progress.append(work.read_bytes())
    assert len(set(progress)) == 3, "each run went on from the one before"
    finished = drive(name, -1, *again)
    assert finished.returncode == 0, finished.stderr
    assert parts.read_bytes() == whole.read_bytes()
    assert not work.exists()
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def run(*arguments):
    return CliRunner().invoke(build_app(), ["certify", *map(str, arguments)])


def test_the_command_certifies_one_rate_and_a_local_promise(tmp_path):
    folder = drawn(20, 3, seed=1).save(tmp_path / "v").directory
    file = tmp_path / "c.json"
    common = ["-m", "santext", "--vocabulary", folder]
    made = run(*common, "--rate", 2, "-o", file)
    assert made.exit_code == 0, made.output
    epsilon = Certificate.load(file).parameters["epsilon"]
    assert f"--epsilon {epsilon!r} --calibration certified --vocabulary {folder} --certificate" in made.output
    assert run("--verify", file, "--vocabulary", folder).exit_code == 0
    assert run(*common, "--rate", 2, "--epsilon", 4.0).exit_code == 0
    refused = run(*common, "--rate", 2, "--epsilon", 2.0)
    assert (refused.exit_code, "costs epsilon" in str(refused.exception) + refused.output) == (1, True)
    local = run(*common, "--calibration", "certified-local", "--epsilon", 3)
    assert json.loads(local.stdout)["method"] == "largest-loss"
    assert run(*common, "--calibration", "certified-local").exit_code != 0
    noise = run("-m", "laplace", "--rate", 2, "--vocabulary", folder)
    assert "belongs to mechanisms that select words" in str(noise.exception) + noise.output
    tight = run("-m", "tight", "--epsilon", 2, "--vocabulary", folder, "-o", file)
    assert tight.exit_code == 0, tight.output
    assert run("--verify", file, "--vocabulary", folder).exit_code == 0
