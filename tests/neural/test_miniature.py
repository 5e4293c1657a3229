"""Both trainings and the rewriting in miniature, by the commands a user types: models that learn, within seconds."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")

from small_models import WORDS, sentences, write_texts, write_vectors  # noqa: E402
from tests.beside import hidden  # noqa: E402
from tests.neural.gaussian_passes import epsilon_of  # noqa: E402

from wordveil.cli.main import main  # noqa: E402

WEAK = ("-e", "2000", "--set", "clip_norm=4.0")  # so little noise that a miniature can learn
LEARNING = ("--batch", "10", "--hidden", "12", "--dropout", "0.1", "--learning-rate", "0.03")
LONG = ("--epochs", "10")


def command(capsys, *arguments, code=0):
    try:
        main([str(argument) for argument in arguments])
        status = 0
    except SystemExit as end:
        status = end.code or 0
    out = capsys.readouterr()
    assert status == code, out.err
    return out


@pytest.fixture
def data(tmp_path):
    vectors = write_vectors(tmp_path / "vectors.txt")
    texts = write_texts(tmp_path / "public.tsv", 240)
    return ["--train", texts, "--embeddings", "glove", "--vectors", vectors, "--targets-are-public", *LEARNING]


# 40 private sentences of 168 words: a rewriter that had learnt nothing writes at most the two words right that are the
# same everywhere, one noun of three and one adjective of eight, less than .62; it is above .9 with probability below
# 1e-9. A classifier at chance is right on more than 60 of 72 held-out texts with probability below 1e-9.
def test_a_rewriter_is_trained_and_rewrites_private_text(data, tmp_path, capsys):
    told = command(capsys, "train", "rewrite", *data, *LONG, *WEAK, "-o", tmp_path / "m")
    assert "holds: A rewrite of a private text is post-processing" in told.err
    assert "epoch 1: loss" in told.err
    private = tmp_path / "private.jsonl"
    given = [text for text, _ in sentences(40)]
    private.write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(given)), encoding="utf-8")
    rewrite = ["rewrite", private, "--model", tmp_path / "m", "-c", "text", "--keep", "id"]
    out = command(capsys, *rewrite, "-o", tmp_path / "out.jsonl")
    assert "40 documents, 168 tokens" in out.err
    assert "guarantee: local DP (proved)" in out.err
    assert "passes: some text went through the noise" in out.err  # sentences(40) repeats itself
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [record["id"] for record in records] == list(range(40))
    pairs = [(a, b) for t, r in zip(given, records, strict=True) for a, b in words_of(t, r["text"])]
    assert np.mean([a == b for a, b in pairs]) > 0.9
    assert {b for _, b in pairs} <= set(WORDS)
    assert hidden(tmp_path) == []


def test_what_a_guarantee_assumes_is_printed_where_it_is(data, tmp_path, capsys):
    told = command(
        capsys, "train", "rewrite", *data, "-m", "mahalanobis", "-e", "2", "--epochs", "1", "-o", tmp_path / "m"
    )
    assert "holds: It assumes: in Euclidean terms" in told.err
    (tmp_path / "private.txt").write_text("the film was sad\n", encoding="utf-8")
    told = command(capsys, "rewrite", tmp_path / "private.txt", "--model", tmp_path / "m", "-o", tmp_path / "out.txt")
    assert "assumes: in Euclidean terms" in told.err
    assert "assumes: both texts agree in the number and positions of tokens, punctuation and layout" in told.err


def words_of(given, rewritten):
    return zip(given.split(), rewritten.lower().split(), strict=True)


def test_a_classifier_is_trained_on_private_text(data, tmp_path, capsys):
    told = command(capsys, "train", "classify", *data, *LONG, *WEAK, "--private-text", "-o", tmp_path / "c")
    card = json.loads((tmp_path / "c" / "card.json").read_text(encoding="utf-8"))
    assert card["scores"]["accuracy"] > 0.9
    log = [json.loads(line) for line in (tmp_path / "c" / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    passes = len(log) * max(Counter(text for text, _ in sentences(240)).values())  # an epoch passes every row once
    assert card["passes_over_private_text"] == passes
    assert card["composed_guarantee"]["epsilon"] == pytest.approx(epsilon_of(passes, epsilon=2000.0))
    assert f"went through the noise {passes} times" in told.err
    assert "not covered: Mitigation, measured: released values are multiples of 2^" in told.err
    assert "not covered: The weights expose the training labels" in told.err
    refused = command(capsys, "rewrite", "-", "--model", tmp_path / "c", code=2)
    assert "classifiers write no text" in refused.err


@pytest.mark.parametrize("task", ["rewrite", "classify"])
def test_private_targets_are_refused_before_anything_is_written(task, data, tmp_path, capsys):
    kept = [value for value in data if value != "--targets-are-public"]
    refused = command(capsys, "train", task, *kept, *WEAK, "-o", tmp_path / "m", code=2)
    assert "say so with --targets-are-public" in refused.err
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("bake", (), "must be one of rewrite, classify"),
        ("rewrite", ("--label", "label"), "is for classify"),
        ("rewrite", ("--private-text", *WEAK), "cannot be private"),
        ("rewrite", (), "must be given with a mechanism"),
        ("rewrite", ("-e", "1", "-m", "santext"), "releases words, not vectors"),
        ("rewrite", ("-e", "1", "--device", "tpu"), "must be cpu, cuda, or cuda:N"),
        ("rewrite", ("-e", "1", "-m", "truncated-laplace", "--set", "calibration=published"), "is refuted"),
    ],
)
def test_what_a_training_refuses(task, options, message, data, tmp_path, capsys):
    refused = command(capsys, "train", task, *data, *options, "-o", tmp_path / "m", code=2)
    assert message in refused.err
    assert not (tmp_path / "m").exists()


def test_a_refuted_calibration_trains_when_it_is_allowed_and_promises_nothing(data, tmp_path, capsys):
    published = ("-m", "truncated-laplace", "--set", "calibration=published", "--set", "delta=1e-4", "-e", "0.1")
    quick = ("--epochs", "1", "--allow-refuted", "-o", tmp_path / "m")
    told = command(capsys, "train", "rewrite", *data, *published, *quick)
    assert "Nothing is promised" in told.err
