import gzip
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordveil.errors import DataFormatError, ParameterError
from wordveil_lab.rows import file_digest, locate, read_labelled, read_spans, scored_pairs, thinned


def test_tsv_has_no_quoting(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text('word1\tword2\tscore\n"a\tb"\t1.5\n', encoding="utf-8")
    (pair,) = scored_pairs(path, ("word1", "word2"))
    assert (pair.first, pair.second, pair.score) == ('"a', 'b"', 1.5)


PAIRS = partial(scored_pairs, columns=("word1", "word2"))


@pytest.mark.parametrize(("name", "read", "text", "message"), [
    ("pairs.tsv", PAIRS, "word1\tword2\tscore\na\tb\n", "line 2: has 2 cells where the header has 3"),
    ("pairs.tsv", PAIRS, "word1\tscore\na\t1\n", "line 2: lacks word2"),
    ("pairs.tsv", PAIRS, "word1\tword2\tscore\na\tb\thigh\n", "column score must hold numbers"),
    ("texts.jsonl", read_labelled, "{\n", "line 1: is not JSON"),
    ("texts.jsonl", read_labelled, "[1]\n", "must be a JSON object"),
    ("spans.jsonl", read_spans, '{"text": "a", "spans": [{"type": "T", "start": 1, "end": 4}]}\n', "outside its text"),
])  # fmt: skip
def test_malformed_files_say_where(tmp_path, name, read, text, message):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataFormatError, match=message):
        read(tmp_path / name)


def test_labels_may_be_nested_and_texts_joined(tmp_path):
    path = tmp_path / "texts.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": "x", "b": "y", "who": {"sex": "f"}}\n'))
    (item,) = read_labelled(path, text="a+b", label="who.sex")
    assert (item.text, item.label) == ("x y", "f")


def test_files_are_found_by_path_and_in_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "a.tsv").write_bytes(b"x")
    monkeypatch.delenv("WORDVEIL_DATA", raising=False)
    with pytest.raises(ParameterError, match="WORDVEIL_DATA"):
        locate("a.tsv")
    monkeypatch.setenv("WORDVEIL_DATA", str(tmp_path))
    assert locate("a.tsv") == tmp_path / "a.tsv"
    assert file_digest("a.tsv") == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"


@given(st.integers(0, 50), st.integers(1, 60))
def test_thinning_keeps_order_ends_and_size(n, limit):
    kept = thinned(list(range(n)), limit)
    assert len(kept) == min(n, limit)
    assert kept == sorted(set(kept))
