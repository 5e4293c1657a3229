"""The layer on a GPU: its noise is drawn on the processor, and the result lies where the table does."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")

from small_models import needs_cuda, small_table  # noqa: E402

from wordveil.mechanisms.clipped_gaussian import ClippedGaussian  # noqa: E402
from wordveil_lab.neural.private_embedding import PrivateEmbedding  # noqa: E402


@needs_cuda
def test_a_layer_runs_on_a_gpu():
    layer = PrivateEmbedding(small_table(), ClippedGaussian(epsilon=20.0)).to("cuda")
    released = layer(torch.zeros((1, 3), dtype=torch.int64))
    assert released.device.type == "cuda"
    assert len(torch.unique(released[0], dim=0)) == 3
