"""Devices: what is refused where there is none, and that noise on a device says that it is not cryptographic."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")

from small_models import needs_cuda, small_table, write_texts, write_vectors  # noqa: E402

from wordveil.errors import ParameterError  # noqa: E402
from wordveil.mechanisms.clipped_gaussian import ClippedGaussian  # noqa: E402
from wordveil_lab.neural.backend import check_device  # noqa: E402
from wordveil_lab.neural.corpora import TextFile  # noqa: E402
from wordveil_lab.neural.jobs import TrainingJob, load_model, run_job  # noqa: E402
from wordveil_lab.neural.private_embedding import PrivateEmbedding  # noqa: E402
from wordveil_lab.neural.training import REWRITE  # noqa: E402


@pytest.fixture
def job(tmp_path):
    return TrainingJob(
        task="rewrite",
        data=TextFile(path=str(write_texts(tmp_path / "public.tsv"))),
        mechanism=ClippedGaussian(epsilon=20.0),
        training=replace(REWRITE, epochs=2, batch=20, hidden=8, patience=2),
        table="glove",
        vectors=write_vectors(tmp_path / "vectors.txt"),
        targets_are_public=True,
    )


def test_a_processor_is_always_there():
    check_device("cpu")


@pytest.mark.parametrize("name", ["tpu", "cuda:", "cuda:x", "cuda:-1", "CPU", "mps"])
def test_devices_that_are_none(name):
    with pytest.raises(ParameterError, match="must be cpu, cuda, or cuda:N"):
        check_device(name)


def test_a_gpu_that_is_not_there_is_refused():
    with pytest.raises(ParameterError, match=r"device='cuda:99' is not there: PyTorch can use \d+ CUDA GPUs here"):
        check_device("cuda:99")


@pytest.mark.slow
def test_a_training_and_a_model_ask_for_their_device_before_they_begin(job, tmp_path):
    with pytest.raises(ParameterError, match="is not there"):
        run_job(replace(job, device="cuda:99"), tmp_path / "m")
    assert not (tmp_path / "m").exists()
    run_job(job, tmp_path / "m")
    with pytest.raises(ParameterError, match="is not there"):
        load_model(tmp_path / "m", device="cuda:99")


def test_a_processor_does_not_draw_the_noise_of_a_device(job):
    with pytest.raises(ParameterError, match="noise='device' needs a GPU"):
        replace(job, noise="device")


@needs_cuda
@pytest.mark.slow
def test_the_card_says_where_the_noise_was_drawn(job, tmp_path):
    secure = run_job(job, tmp_path / "secure")
    drawn = run_job(replace(job, noise="device", device="cuda"), tmp_path / "device")
    label = "The noise comes from the device's own generator, which is not cryptographic."
    assert label not in secure.does_not_hold()
    assert label in drawn.does_not_hold()
    assert any("not cryptographic" in line for line in drawn.guarantee.assumptions)
    assert secure.settings["device"] == "cpu"
    assert load_model(tmp_path / "device").embedding.noise == "device"


def test_noise_on_a_device_has_no_places_to_return_to():
    layer = PrivateEmbedding(small_table(), ClippedGaussian(epsilon=1.0), noise="device")
    with pytest.raises(ParameterError, match="need noise='secure'"):
        layer(torch.zeros((1, 2), dtype=torch.int64), nonces=[1])


@needs_cuda
@pytest.mark.parametrize("noise", ["secure", "device"])
def test_a_model_trains_and_runs_on_a_gpu(noise, job, tmp_path):
    card = run_job(replace(job, noise=noise, device="cuda"), tmp_path / "m")
    assert card.settings["device"] == "cuda"
    model = load_model(tmp_path / "m", device="cuda")
    assert model.embedding(torch.zeros((1, 3), dtype=torch.int64)).device.type == "cuda"
