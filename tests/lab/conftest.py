"""A tiny made-up world: a vocabulary with topics, and data files of the standard names whose answers it knows."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

import seeds
import wordveil as wv
from wordveil_lab.evaluation.subjects import Entrant, subject_of

TOPICS = 4
PER_TOPIC = 20
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def spelled(i: int) -> str:
    return "w" + LETTERS[i // 26] + LETTERS[i % 26]


@pytest.fixture(scope="session")
def world() -> wv.Embeddings:
    """80 words in 4 topics of 20, in 6 dimensions: words of a topic lie near each other."""
    generator = seeds.rng(0)
    centres = 3 * np.eye(TOPICS, 6)
    topic = np.arange(TOPICS * PER_TOPIC) % TOPICS
    rows = centres[topic] + 0.5 * generator.standard_normal((len(topic), 6))
    return wv.Embeddings.from_arrays([spelled(i) for i in range(len(topic))], rows, name="world", candidate_rule="all")


def noisy(world: wv.Embeddings, epsilon: float, *, decoded: bool = False) -> Entrant:
    """Laplace noise on the made-up world: the vectors, or the words that they are decoded to."""
    return subject_of(wv.Decoded(mechanism=wv.MultivariateLaplace(epsilon=epsilon)).fit(world), decoded=decoded)


def text_of(topic: int, n: int, generator: np.random.Generator) -> str:
    return " ".join(spelled(int(i) * TOPICS + topic) for i in generator.integers(0, PER_TOPIC, n))


def sentence_pairs(generator: np.random.Generator) -> Iterator[str]:
    """30 pairs with scores: texts of one topic are close in meaning, of two they are not."""
    for i in range(30):
        other = i % TOPICS if i % 2 else (i + 1) % TOPICS
        yield f"{5.0 if i % 2 else 1.0}\t{text_of(i % 4, 5, generator)}\t{text_of(other, 5, generator)}"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        path.write_text(text, encoding="utf-8")


def _table(path: Path, header: str, rows: Iterable[str]) -> None:
    _write(path, "\n".join([header, *rows]) + "\n")


def _records(path: Path, rows: Iterable[object]) -> None:
    _write(path, "".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="session")
def world_data(world, tmp_path_factory) -> Path:
    """The folder of data files."""
    folder = tmp_path_factory.mktemp("data")
    generator = seeds.rng(1)
    words = list(world.words)
    rows = world.vectors.astype(np.float64)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = generator.integers(0, len(words), (40, 2))
    (folder / "embeddings").mkdir()
    np.savez(folder / "embeddings/glove.6B.50d.top100k.npz", words=words, vectors=world.vectors)
    scored = (f"{words[a]}\t{words[b]}\t{float(unit[a] @ unit[b]):.6f}" for a, b in pairs)
    _table(folder / "wordsim/men3k.tsv", "word1\tword2\tscore", scored)
    kin = ["|".join(spelled(4 * (i + j) + i % 4) for j in range(4)) for i in range(12)]
    odd = (f"s\tc\t{spelled(4 * i + (i + 1) % 4)}\t{others}" for i, others in enumerate(kin))
    _table(folder / "wordsim/odd-man-out.tsv", "set\tcategory\todd\tothers", odd)
    for part, draws in (("dev", generator), ("train", seeds.rng(2))):
        _table(folder / f"sentences/stsb.{part}.tsv", "score\tsentence1\tsentence2", sentence_pairs(draws))
    for name, count in (("sst2.train", 60), ("sst2.dev", 30), ("trec6.train", 60), ("trec6.test", 30)):
        labelled = [f"{i % 2}\t{text_of(i % 2, 6, generator)} zzz" for i in range(count)]
        _table(folder / f"sentences/{name}.tsv", "label\ttext", labelled)
    polar = (f"{word}\t{'positive' if i % 4 < 2 else 'negative'}" for i, word in enumerate(words))
    _table(folder / "lexicon/opinion-lexicon.tsv", "word\tpolarity", polar)
    for name in ("imdb.train", "imdb.test10k"):
        reviews = [{"label": i % 2, "text": text_of(i % 2, 8, generator)} for i in range(40)]
        _records(folder / f"documents/{name}.jsonl.gz", reviews)
    spans = [{"type": "NAME", "start": 0, "end": 7}]
    marked = [{"text": text_of(0, 4, generator), "spans": spans} for _ in range(10)]
    _records(folder / "privacy/presidio-synth.jsonl.gz", marked)
    notes = [{"section": "A", "note": text_of(i % 4, 12, generator)} for i in range(6)]
    _records(folder / "privacy/mts-dialog.test.jsonl.gz", notes)
    authors = [{"text": text_of(i % 2, 8, generator), "profile": {"sex": "fm"[i % 2]}} for i in range(24)]
    _records(folder / "privacy/llmprivacy-synthetic.jsonl.gz", authors)
    for name in ("20news.train", "20news.test"):
        posts = [{"label": i % TOPICS, "text": post_of(i % 6, text_of(i % TOPICS, 14, generator))} for i in range(60)]
        _records(folder / f"documents/{name}.jsonl.gz", posts)
    return folder


def post_of(author: int, body: str) -> str:
    """A newsgroup post with tabs for line breaks, as in the shared data set; each author has two words of his own."""
    habit = f"{spelled(author)} {spelled(author + 6)}"
    head = f"From: {LETTERS[author] * 3}@example.org (Name Surname)\tSubject: waa\t\t"
    return f"{head}In article <x@y> z writes:\t> quoted\t{habit} {body} {habit}\t--\tsignature\t"


@pytest.fixture
def use_world(world_data, monkeypatch) -> Path:
    monkeypatch.setenv("WORDVEIL_DATA", str(world_data))
    return world_data
