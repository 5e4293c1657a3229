"""The public counts: those of the stated sentences, joined by spelling, whatever the order of a table."""

import numpy as np
import pytest
from tests.installed_packages import tool

from wordveil.errors import EmbeddingFormatError, ParameterError
from wordveil.vocabulary.frequencies import COUNTS_FILE, most_frequent, word_frequencies
from wordveil.vocabulary.table import Embeddings, load_embeddings
from worlds import shared


def table(words):
    return Embeddings.from_arrays(words, np.eye(len(words)), candidate_rule="all", casing="cased")


def test_every_embedded_word_has_a_count():
    counts, embeddings = np.load(COUNTS_FILE), load_embeddings()
    assert counts.shape == (len(embeddings) + 1,)
    assert word_frequencies(embeddings) == pytest.approx(counts[:-1] / counts.sum())
    assert 0.9 < word_frequencies(embeddings).sum() < 1  # the rest is outside the vocabulary


def test_the_commonest_words_are_those_of_english_and_letters_are_not():
    """The table begins a, b, c: an order that was once taken for that of frequency."""
    embeddings = load_embeddings()
    shares = word_frequencies(embeddings)
    order = [embeddings.words[int(i)] for i in np.argsort(-shares)[:6]]
    assert set(order) == {"the", "and", "to", "of", "a", "in"}
    letters = embeddings.ids([chr(c) for c in range(ord("b"), ord("z") + 1) if chr(c) != "i"])
    assert shares[letters].sum() < 0.01


def test_other_vocabularies_are_joined_by_spelling_in_any_order():
    words = ["xqzv", "diabetes", "The", "the", "of"]
    shares = dict(zip(words, word_frequencies(table(words)), strict=True))
    assert shares["xqzv"] == 0
    assert shares["The"] == shares["the"] > shares["of"] > shares["diabetes"] > 0
    again = dict(zip(words[::-1], word_frequencies(table(words[::-1])), strict=True))
    assert again == shares
    embeddings = load_embeddings()
    assert shares["diabetes"] == word_frequencies(embeddings)[embeddings.id("diabetes")]


def test_smoothing_makes_every_word_possible():
    words = ["xqzv", "the"]
    plain, total = word_frequencies(table(words)), np.load(COUNTS_FILE).sum()
    smoothed = word_frequencies(table(words), smoothing=0.5)
    assert smoothed == pytest.approx((plain * total + 0.5) / (total + 1))


@pytest.mark.data
@pytest.mark.slow
def test_the_counts_are_those_of_the_public_sentences():
    sentences = shared("sentences", "public-en.txt.gz")
    assert np.array_equal(tool("build_frequencies").count(sentences), np.load(COUNTS_FILE))


def test_the_most_frequent_words_are_those_of_the_counts_and_may_be_output():
    embeddings = load_embeddings()
    shares, allowed = word_frequencies(embeddings), set(embeddings.candidates.tolist())
    order = sorted(allowed, key=lambda i: (-shares[i], i))
    for m in (1, 100, 4000, len(allowed)):
        assert most_frequent(embeddings, m).tolist() == sorted(order[:m])
    assert most_frequent(embeddings, 4000).dtype == np.int32
    with pytest.raises(ParameterError, match="outputs=31867 must be at most 31866"):
        most_frequent(embeddings, 31_867)
    with pytest.raises(ParameterError, match="outputs=30000 must be at most 27252, the words whose frequency is known"):
        most_frequent(embeddings, 30_000)


def test_a_vocabulary_ordered_by_frequency_is_taken_at_its_word():
    words = table(["xqzv", "of", "the", "diabetes"])
    assert most_frequent(words, 2).tolist() == [1, 2]
    ordered = words.with_header(order="frequency")
    assert most_frequent(ordered, 2).tolist() == [0, 1]
    assert most_frequent(ordered.without_outputs(["xqzv"]), 2).tolist() == [1, 2]
    with pytest.raises(ParameterError, match="order"):
        words.with_header(order="alphabet")


def test_counts_of_ones_own_come_from_a_file(tmp_path):
    words = table(["one", "two", "three", "four"]).without_outputs(["four"])
    counts = tmp_path / "counts.txt"
    counts.write_text("two 5\nunknown 9\nthree\t7\nfour 100\none 5\n")
    assert most_frequent(words, 1, counts=counts).tolist() == [2]
    assert most_frequent(words, 2, counts=counts).tolist() == [0, 2]
    assert most_frequent(words.with_header(order="frequency"), 1, counts=counts).tolist() == [2]
    counts.write_text("two 5\n")
    with pytest.raises(ParameterError, match="outputs=2 must be at most 1"):
        most_frequent(words, 2, counts=counts)
    for bad in ("two", "two -1", "two five", "two nan"):
        counts.write_text(f"one 1\n{bad}\n")
        with pytest.raises(EmbeddingFormatError, match="line 2"):
            most_frequent(words, 1, counts=counts)
