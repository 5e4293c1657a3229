"""The header: its domain, its JSON round trip, and what a damaged one says."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordveil.errors import EmbeddingFormatError, ParameterError
from wordveil.vocabulary.header import VocabularyHeader

FACTS = {"name": "tiny", "source": "tests", "rows": 2, "dimensions": 3, "checksum": "ab"}


@given(
    name=st.text(st.characters(exclude_categories=["Cs"])).filter(str.isprintable),
    casing=st.sampled_from(["lower", "cased"]),
    rows=st.integers(1, 2**40),
)
def test_json_round_trip(name, casing, rows):
    header = VocabularyHeader(**{**FACTS, "name": name, "rows": rows}, casing=casing)
    assert VocabularyHeader.from_json(header.to_json()) == header
    assert pickle.loads(pickle.dumps(header)) == header


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("rows", 0, "rows=0 must be a positive integer"),
        ("rows", True, "rows=True must be a positive integer"),
        ("dimensions", 2.0, r"dimensions=2\.0 must be a positive integer"),
        ("casing", "upper", "casing='upper' must be one of lower, cased"),
        ("candidate_rule", "some", "candidate_rule='some' must be one of words, all"),
        ("format_version", 2, "format_version=2 must be 1"),
        ("name", 3, "name=3 must be text on one line"),
        ("name", "glove\nassumes: nothing", "must be text on one line, without control characters"),
    ],
)
def test_domain(field, value, message):
    with pytest.raises(ParameterError, match=message):
        VocabularyHeader(**{**FACTS, field: value})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the header is not JSON"),
        ("[]", "must be a JSON object"),
        (json.dumps({**FACTS, "rows": "2"}), "rows='2' must be a positive integer"),
        (json.dumps({"name": "tiny"}), "missing 4 required keyword-only arguments"),
    ],
)
def test_damaged_json_names_the_file(text, message):
    with pytest.raises(EmbeddingFormatError, match=message) as caught:
        VocabularyHeader.from_json(text, path="voc/header.json")
    assert str(caught.value).startswith("voc/header.json: ")
    assert "Import the source again" in str(caught.value)


def test_unknown_keys_are_left_to_later_versions():
    text = json.dumps({**FACTS, "colour": "blue"})
    assert VocabularyHeader.from_json(text) == VocabularyHeader(**FACTS)
