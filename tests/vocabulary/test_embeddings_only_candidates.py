"""Vocabularies of the words that may be output and of no others: from memory and from a file, and what it is for."""

import numpy as np
import pytest

import seeds
import wordveil as wv
from wordveil.errors import EmbeddingFormatError, ParameterError

WORDS = ["the", "2019", "good", "!", "bad", "http://x.org", "it's", "-"]


def rows():
    return seeds.rng(2).normal(size=(len(WORDS), 3)).astype(np.float32)


def test_only_words_that_may_be_output_are_left():
    whole = wv.Embeddings.from_arrays(WORDS, rows(), name="n", licence="L", casing="cased")
    whole = whole.with_header(tokenizer="words", normalisation="none")
    only = whole.without_outputs(["bad"]).only_candidates()
    assert list(only.words) == ["the", "good", "it's"]
    assert only.candidates.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(only.vectors, whole.vectors[[0, 2, 6]])
    header = only.header
    assert (header.name, header.licence, header.casing, header.tokenizer) == ("n", "L", "cased", "words")
    assert header.normalisation == "none"
    assert header.checksum != whole.header.checksum
    assert list(only.only_candidates().words) == list(only.words)


def test_the_import_leaves_the_same_words(tmp_path):
    source = tmp_path / "v.txt"
    source.write_text("".join(f"{w} {' '.join(map(repr, r.tolist()))}\n" for w, r in zip(WORDS, rows(), strict=True)))
    made = wv.import_embeddings(source, tmp_path / "only", candidate_rule="only-words")
    expected = wv.Embeddings.from_arrays(WORDS, rows()).only_candidates()
    assert list(made.words) == list(expected.words)
    np.testing.assert_array_equal(made.vectors, expected.vectors)
    assert len(made.candidates) == len(made) == 4
    assert "words that may be output" in made.header.source
    made.verify()
    with pytest.raises(ParameterError, match="must be one of words, all, only-words"):
        wv.import_embeddings(source, tmp_path / "other", candidate_rule="none")


def test_broken_words_are_still_reported(tmp_path):
    source = tmp_path / "v.txt"
    source.write_bytes(b"the 1.0 2.0\n\xff\xfe 1.0 2.0\nbad 3.0 1.0\n")
    with pytest.raises(EmbeddingFormatError):
        wv.import_embeddings(source, tmp_path / "only", candidate_rule="only-words")
    source.write_text("1 1.0 2.0\n2 3.0 1.0\n")
    with pytest.raises(ParameterError, match="leaves no entry at all"):
        wv.import_embeddings(source, tmp_path / "only", candidate_rule="only-words")
    assert not (tmp_path / "only").exists()


def test_what_could_only_be_input_is_an_unknown_word():
    only = wv.Embeddings.from_arrays(WORDS, rows()).only_candidates()
    release = wv.Sanitizer(only, wv.SanText(epsilon=2.0))("good 2019 bad")
    assert release.tokens == 3
    assert "2019" not in release.text.split()
