"""Small stocks of made-up public sentences."""

from itertools import product

import pytest

from wordveil.sentences.building import StockSettings, build_stock

WHO = ("The doctor", "My sister", "Our neighbour", "The teacher", "A young soldier", "Maria", "The cook")
DID = ("bought", "found", "painted", "forgot", "sold", "repaired")
WHAT = ("the old house", "a small boat", "3 red apples", "her new car", "the broken clock", "a book about birds")
WHEN = ("last winter", "in the morning", "after dinner", "on 14 March 2026")


@pytest.fixture(scope="session")
def public(tmp_path_factory):
    """A file of public text: 1 008 sentences on 252 lines."""
    sentences = [f"{who} {did} {what} {when}." for who, did, what, when in product(WHO, DID, WHAT, WHEN)]
    path = tmp_path_factory.mktemp("public") / "public.txt"
    path.write_text("".join(" ".join(sentences[i : i + 4]) + "\n" for i in range(0, len(sentences), 4)))
    return path


@pytest.fixture(scope="session")
def stock(public, tmp_path_factory):
    """A stock of 8 or 64 of them, with rows of the static encoder."""
    settings = StockSettings(prototypes=(64, 8), held_out=100, name="made up", licence="CC0-1.0")
    return build_stock([public], tmp_path_factory.mktemp("stock") / "stock", settings)
