"""Personal data and reviews: what the vocabulary does not list never reaches a gap."""

import gzip
import json

import numpy as np
import pytest
from tests.text.test_encoding import lookup_in

from wordveil.text.detokenization import detokenize
from wordveil.text.encoding import Encoder
from wordveil.text.tokenizer import Tokenizer
from worlds import shared

pytestmark = pytest.mark.data


def records(name, limit=None):
    with gzip.open(shared(name), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for _, line in zip(range(limit or 10**9), lines, strict=False)]


@pytest.fixture(scope="module")
def words():
    return str(np.load(shared("embeddings/glove.6B.50d.top100k.npz"))["words"]).split("\n")


def overlapping(text, start, end):
    """The tokens that share a character with a span."""
    position, found = 0, []
    for i, piece in enumerate(Tokenizer().split(text)):
        if i % 2 and position < end and position + len(piece) > start:
            found.append(piece)
        position += len(piece)
    return found


@pytest.mark.parametrize("kind", ["IP_ADDRESS", "CREDIT_CARD", "EMAIL_ADDRESS", "DOMAIN_NAME", "IBAN_CODE", "US_SSN"])
def test_presidio_identifiers_are_one_token(kind):
    spans = 0
    for record in records("privacy/presidio-synth.jsonl.gz"):
        for span in record["spans"]:
            if span["type"] == kind:
                spans += 1
                assert len(overlapping(record["text"], span["start"], span["end"])) == 1
    assert spans > 10


def test_reviews_keep_their_line_breaks(words):
    texts = [record["text"] for record in records("documents/imdb.train.jsonl.gz", 300)]
    encoded = Encoder(lookup=lookup_in(words), tokenizer=Tokenizer(markup="html")).encode(texts)
    assert sum(text.count("<br />") for text in texts) > 500
    for text, parts in zip(texts, encoded, strict=True):
        assert "".join(parts.gaps).count("<br />") == text.count("<br />")


def test_reviews_with_every_word_kept_read_as_before(words):
    texts = [record["text"] for record in records("documents/imdb.train.jsonl.gz", 300)]
    encoded = Encoder(lookup=lookup_in(words)).encode(texts)
    for text, parts in zip(texts, encoded, strict=True):
        if parts.unknown == 0:
            kept = [words[i] for i in parts.ids.tolist()]
            spaced = detokenize(parts.gaps, kept)
            assert spaced.replace(" ", "") == text.lower().replace(" ", "").replace("`", "'").replace("´", "'")
    assert sum(parts.unknown for parts in encoded) < 0.03 * sum(len(parts.ids) for parts in encoded)
