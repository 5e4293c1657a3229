"""Word lists and the word index against plain lists and dicts, also when all hashes collide."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wordveil.vocabulary import word_index
from wordveil.vocabulary.word_index import WordIndex, build_index, first_duplicate, hash_words
from wordveil.vocabulary.wordlist import WordList, encode_queries

VALID = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ODD = st.sampled_from(
    ["", " ", ". . .", "a\x85b", "\u2028", "new\nline", "\r", "\x00", "\x00\x00", "é", "e\u0301", "🙏🏿"]
)
WORDS = st.lists(VALID | ODD, unique=True, min_size=1, max_size=30)


def pack(words: list[str]) -> WordList:
    return WordList.from_encoded([word.encode() for word in words])


@given(WORDS)
def test_word_list_is_the_list(words):
    packed = pack(words)
    assert list(packed) == words
    assert [packed[i] for i in range(-len(words), len(words))] == words + words
    assert packed[1:7:2] == words[1:7:2]
    assert len(packed) == len(words)
    for outside in (len(words), -len(words) - 1):
        with pytest.raises(IndexError, match="is outside"):
            packed[outside]


@given(st.lists(VALID.filter(lambda w: "\n" not in w), min_size=1), st.booleans())
@example(["a\x85b", "c\u2028d", "e\rf"], False)
def test_lines_end_at_newline_bytes_only(words, final_newline):
    # The last word of a block without a final newline cannot be empty: nothing would mark it.
    words[-1] = words[-1] or "x"
    text = "\n".join(words) + ("\n" if final_newline else "")
    assert list(WordList.from_lines(text.encode())) == words


@given(WORDS, st.lists(VALID | ODD | st.text(max_size=3), max_size=20), st.booleans())
@settings(max_examples=300)
def test_index_agrees_with_a_dict_also_where_all_hashes_collide(words, others, collide):
    packed = pack(words)
    table = {word: i for i, word in enumerate(words)}
    queries = [*others, *words[::-1], *others]
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(word_index, "hash_words", lambda packed: np.full(len(packed), 7, dtype=np.uint64))
        found = build_index(packed).find(packed, encode_queries(queries))
    assert found.dtype == np.int32
    assert found.tolist() == [table.get(word, -1) for word in queries]


def test_a_colliding_hash_of_an_unknown_word_is_unknown():
    packed = pack(["a", "b"])
    lying = WordIndex(hashes=np.sort(hash_words(encode_queries(["x", "y"]))), ids=np.array([0, 1], dtype=np.int32))
    assert lying.find(packed, encode_queries(["x", "y"])).tolist() == [-1, -1]


def test_lone_surrogates_are_unknown():
    packed = pack(["a", "?", "\ufffd"])
    assert build_index(packed).find(packed, encode_queries(["\ud800", "a\udfff"])).tolist() == [-1, -1]


@given(st.lists(VALID | ODD, min_size=1, max_size=30), st.booleans())
def test_first_duplicate_is_the_first_repeat(words, collide):
    seen: dict[str, int] = {}
    expected = None
    for i, word in enumerate(words):
        if word in seen:
            expected = (seen[word], i)
            break
        seen[word] = i
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(word_index, "hash_words", lambda packed: np.zeros(len(packed), dtype=np.uint64))
        packed = pack(words)
        assert first_duplicate(packed, build_index(packed)) == expected


def slow_hash(word: bytes) -> int:
    """The formula of the docstring in Python integers."""
    mask = 2**64 - 1
    h = sum((byte + 1) * pow(0x9E3779B97F4A7C15, i, 2**64) for i, byte in enumerate(word)) & mask
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & mask
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & mask
    return h ^ (h >> 31)


@given(WORDS)
def test_hash_is_the_documented_formula(words):
    # The hash is part of the on-disk form, so it must never drift.
    assert hash_words(pack(words)).tolist() == [slow_hash(word.encode()) for word in words]


def test_hash_is_the_same_across_chunks(monkeypatch):
    words = [f"word {i}" for i in range(1000)]
    whole = hash_words(pack(words))
    monkeypatch.setattr(word_index, "_CHUNK", 7)
    assert np.array_equal(hash_words(pack(words)), whole)
    assert len(set(whole.tolist())) == 1000
