"""Word lists and the word index against plain lists and dicts; which words may be output, and they alone."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import seeds
import wordveil as wv
from wordveil.errors import EmbeddingFormatError, ParameterError
from wordveil.vocabulary import wordlist
from wordveil.vocabulary.candidates import candidate_ids, canonical_ids, is_plain_word
from wordveil.vocabulary.wordlist import WordIndex, WordList, build_index, encode_queries, first_duplicate, hash_words
from worlds import told

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
            patch.setattr(wordlist, "hash_words", lambda packed: np.full(len(packed), 7, dtype=np.uint64))
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
            patch.setattr(wordlist, "hash_words", lambda packed: np.zeros(len(packed), dtype=np.uint64))
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
    monkeypatch.setattr(wordlist, "_CHUNK", 7)
    assert np.array_equal(hash_words(pack(words)), whole)
    assert len(set(whole.tolist())) == 1000


TOLD = told(__file__, "entries")


@pytest.mark.parametrize("word", TOLD["allowed"] + TOLD["refused"])
def test_plain_words_may_be_output_and_other_entries_may_not(word):
    assert is_plain_word(word) == (word in TOLD["allowed"])


def test_rules():
    words = ["<unk>", "good", "3", "well-known", "a\nb"]
    packed = WordList.from_encoded([word.encode() for word in words])
    ids = candidate_ids(packed, "words")
    assert ids.dtype == np.int32
    assert ids.tolist() == [1, 3]
    assert candidate_ids(packed, "all").tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ParameterError, match="must be one of words, all"):
        candidate_ids(packed, "most")


def test_a_table_without_words_says_what_to_do():
    packed = WordList.from_encoded([b"3", b"<unk>"])
    with pytest.raises(ParameterError, match='leaves no entry that may be output; use "all"'):
        candidate_ids(packed, "words")


def slow_canonical(vectors):
    return [next(j for j in range(len(vectors)) if (vectors[j] == vectors[i]).all()) for i in range(len(vectors))]


@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 25), st.integers(1, 3)), elements=st.sampled_from([0.0, -0.0, 1.0]))
)
def test_equal_rows_are_found(vectors):
    found = canonical_ids(vectors)
    assert found.dtype == np.int32
    assert found.tolist() == slow_canonical(vectors)


def test_equal_rows_in_wide_tables_whose_beginnings_are_equal():
    # Rows agree in the components that are compared first, so only the exact comparison tells them apart.
    vectors = np.zeros((200, 40), dtype=np.float32)
    vectors[:, 39] = np.arange(200) % 50
    vectors[:, 20] = np.arange(200) % 3
    assert canonical_ids(vectors).tolist() == slow_canonical(vectors)


ENTRIES = ["the", "2019", "good", "!", "bad", "http://x.org", "it's", "-"]


def rows():
    return seeds.rng(2).normal(size=(len(ENTRIES), 3)).astype(np.float32)


def test_only_words_that_may_be_output_are_left():
    whole = wv.Embeddings.from_arrays(ENTRIES, rows(), name="n", licence="L", casing="cased")
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
    source.write_text("".join(f"{w} {' '.join(map(repr, r.tolist()))}\n" for w, r in zip(ENTRIES, rows(), strict=True)))
    made = wv.import_embeddings(source, tmp_path / "only", candidate_rule="only-words")
    expected = wv.Embeddings.from_arrays(ENTRIES, rows()).only_candidates()
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
    only = wv.Embeddings.from_arrays(ENTRIES, rows()).only_candidates()
    release = wv.Sanitizer(only, wv.SanText(epsilon=2.0))("good 2019 bad")
    assert release.tokens == 3
    assert "2019" not in release.text.split()
