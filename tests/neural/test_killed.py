"""A process killed at any moment leaves what can be resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")

from small_models import write_texts, write_vectors  # noqa: E402

from wordveil.cli.main import main  # noqa: E402
from wordveil.errors import ParameterError, ResumeError  # noqa: E402
from wordveil_lab.neural.corpora import TextFile  # noqa: E402
from wordveil_lab.neural.jobs import TrainingJob, load_model, run_job  # noqa: E402
from wordveil_lab.neural.training import REWRITE, Training  # noqa: E402

EPOCHS = 40
PROGRAM = "from wordveil.cli.main import main; main()"


def command(tmp_path, output):
    return [
        *("train", "rewrite", "--train", str(tmp_path / "public.tsv"), "-o", str(output), "-e", "50"),
        *("--embeddings", "glove", "--vectors", str(tmp_path / "vectors.txt"), "--targets-are-public"),
        *("--epochs", str(EPOCHS), "--patience", str(EPOCHS), "--batch", "40", "--hidden", "8", "--quiet"),
    ]


def epochs(place):
    log = place / "log.jsonl"
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


@pytest.mark.slow
def test_a_training_killed_in_the_middle_goes_on_to_a_whole_model(tmp_path):
    write_texts(tmp_path / "public.tsv", 120)
    write_vectors(tmp_path / "vectors.txt")
    place = tmp_path / "m"
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, *command(tmp_path, place)], env=one_thread)
    deadline = time.monotonic() + 120
    while len(epochs(place)) < 2 and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = epochs(place)
    assert 2 <= len(before) < EPOCHS
    assert not (place / "card.json").exists()
    with pytest.raises(SystemExit):
        main([*command(tmp_path, place), "--resume"])
    after = epochs(place)
    # The checkpoint comes before the log: a kill between them leaves a log that is one epoch behind.
    assert after[: len(before)] == before
    assert [epoch["epoch"] for epoch in after] == list(range(1, EPOCHS + 1))
    card = json.loads((place / "card.json").read_text(encoding="utf-8"))
    assert card["scores"]["loss"] == min(epoch["loss"] for epoch in after)
    assert load_model(place).embedding.guarantee().epsilon == 50.0
    assert not (place / "checkpoint.pt").exists()


@pytest.fixture
def job(tmp_path):
    return TrainingJob(
        task="rewrite",
        data=TextFile(path=str(write_texts(tmp_path / "public.tsv"))),
        mechanism=None,
        training=Training(**{**vars(REWRITE), "epochs": 2, "hidden": 4}),
        table="glove",
        vectors=write_vectors(tmp_path / "vectors.txt"),
        targets_are_public=True,
    )


def test_a_training_killed_before_it_had_begun_starts_anew(job, tmp_path):
    run_job(job, tmp_path / "whole")
    place = tmp_path / "m"
    place.mkdir()
    (tmp_path / "whole" / "vocabulary").rename(place / "vocabulary")
    (place / ".vocabulary.partial-0a1b").mkdir()
    with pytest.raises(ParameterError, match="--resume continues"):
        run_job(job, place)
    assert run_job(job, place, resume=True).scores["epoch"] in (1, 2)


def test_a_finished_training_is_not_overwritten(job, tmp_path):
    run_job(job, tmp_path / "m")
    with pytest.raises(ResumeError, match="is finished"):
        run_job(job, tmp_path / "m", resume=True)


def test_a_directory_of_something_else_is_left_alone(job, tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "letters.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ParameterError, match="holds no interrupted training"):
        run_job(job, tmp_path / "m", resume=True)
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["letters.txt"]
