"""Personal data: an identifier is one token, so that no part of it reaches a gap."""

import gzip
import json

import pytest

from wordveil.text.tokenizer import Tokenizer
from worlds import shared

pytestmark = pytest.mark.data


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
    with gzip.open(shared("privacy/presidio-synth.jsonl.gz"), "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    for record in records:
        for span in record["spans"]:
            if span["type"] == kind:
                spans += 1
                assert len(overlapping(record["text"], span["start"], span["end"])) == 1
    assert spans > 10
