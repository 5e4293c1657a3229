"""A vocabulary none of whose words can stand for itself, and the check that nothing else than a release went out.

Every word of the texts is known to the vocabulary, but only made-up words may be output. So a raw word in what a vendor
got is a leak, never chance.
"""

import gzip
import itertools
import json
import os
import re
from functools import cache
from pathlib import Path

import seeds
import wordveil as wv
from wordveil.text.surrogates import GENERATORS
from wordveil.text.tokenizer import Tokenizer

OUTPUTS = ["".join(letters) + "qzx" for letters in itertools.product("bcdfgh", repeat=2)]
PROMPTS = (
    "Maria Lindqvist, 54, lives in Uppsala; write to maria.lindqvist@clinic.se or call +46 70 555 01 23.",
    "Her card is 4532 0151 1283 0366, her account DE89 3704 0044 0532 0130 00; she was seen on 14 March 2026.",
    "See https://clinic.se/notes/anna?id=7, /home/anna/notes.pdf, host 10.2.3.4 and case B-4711 of @annaberg.",
)


@cache
def presidio_texts():
    """Texts and their private spans: the Presidio set where it is, else a few of our own."""
    path = Path(os.environ.get("WORDVEIL_DATA", "")) / "privacy" / "presidio-synth.jsonl.gz"
    if not path.is_file():
        return [(text, []) for text in PROMPTS]
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        read = [json.loads(line) for line in lines]
    return [(each["text"], [span["value"] for span in each["spans"]]) for each in read]


@cache
def sanitizer():
    words = {w for text, _ in presidio_texts() for w in re.findall(r"[a-z]+", text.lower())}
    words |= {w for text in PROMPTS for w in re.findall(r"[a-z]+", text.lower())}
    known = sorted(words - set(OUTPUTS))
    rows = seeds.rng(0).standard_normal((len(OUTPUTS) + len(known), 8))
    vocabulary = wv.Embeddings.from_arrays([*OUTPUTS, *known], rows).without_outputs(known)
    assert len(vocabulary.candidates) == len(OUTPUTS)
    options = wv.TextOptions(unknown="typed")
    return wv.Sanitizer(vocabulary, wv.NeighbourResponse(epsilon=4.0, k=4), options=options, threads=1)


@cache
def surrogates():
    made = {each.text(i).lower() for name, each in GENERATORS.items() if name != "IBAN" for i in range(1 << each.bits)}
    return made | set(OUTPUTS)


def check_release(*texts):
    """Fail unless texts consist of output words, public surrogates and gaps, and nothing else."""
    for token in (token for text in texts for token in Tokenizer().split(text)[1::2]):
        assert is_public(token.lower()), f"{token!r} is no part of a release"


@cache
def is_public(token):
    """Whether a token is an output word, a surrogate, or several of them that stand side by side."""
    if token in surrogates() or re.fullmatch(r"[a-z]{2}\d\dxxxx\d{14}", token):
        return True
    ends = [found.start() for found in re.finditer(r"[^a-z0-9]", token)]
    return any((not token[:end] or is_public(token[:end])) and is_public(token[end + 1 :]) for end in ends)
