"""A few words, public sentences of them, and priors counted from these."""

import pytest

import seeds
import wordveil as wv

WORDS = ["the", "a", "dog", "cat", "bird", "runs", "sleeps", "sings", "and", "not", "here", "there"]
GRAMMAR = (("the", "a"), ("dog", "cat", "bird"), ("runs", "sleeps", "sings"), ("here", "there"))


def sentences(n: int, seed: int = 0) -> list[str]:
    """Sentences of one pattern: every word but the second choice of an article is settled by what stands around."""
    generator = seeds.rng(seed)
    made = []
    for _ in range(n):
        kind = int(generator.integers(3))
        article, place = GRAMMAR[0][int(generator.random() < 0.2)], GRAMMAR[3][kind % 2]
        made.append(f"{article.capitalize()} {GRAMMAR[1][kind]} {GRAMMAR[2][kind]}, and not {place}.")
    return made


@pytest.fixture(scope="session")
def few():
    """Twelve words in three dimensions."""
    rows = seeds.rng(1).standard_normal((len(WORDS), 3))
    return wv.Embeddings.from_arrays(WORDS, rows, name="few", candidate_rule="all")


@pytest.fixture(scope="session")
def prior(few):
    return wv.build_prior(sentences(3000), few, source="made up")
