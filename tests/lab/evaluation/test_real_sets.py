"""The tasks on the shared data sets: known baselines, and that every file is read as a task expects it."""

import numpy as np
import pytest

import seeds
import wordveil as wv
from wordveil_lab.corpora import encode
from wordveil_lab.evaluation.catalogue import TASKS, chosen_tasks
from wordveil_lab.evaluation.inversion import ReviewInversion
from wordveil_lab.evaluation.subjects import subject_of, unprotected
from wordveil_lab.evaluation.word_tasks import WordSimilarity
from wordveil_lab.rows import read_spans
from worlds import shared

pytestmark = pytest.mark.data


@pytest.fixture(autouse=True)
def named(monkeypatch):
    monkeypatch.setenv("WORDVEIL_DATA", str(shared()))


@pytest.fixture(scope="module")
def glove() -> wv.Embeddings:
    with np.load(shared("embeddings/glove.6B.50d.top100k.npz")) as read:
        return wv.Embeddings.from_arrays(str(read["words"]).split("\n"), read["vectors"], candidate_rule="all")


@pytest.mark.parametrize(
    ("name", "expected"), [("men3k", 0.652), ("simlex999", 0.265), ("wordsim353", 0.503), ("rg65", 0.602)]
)
def test_similarity_without_noise_is_what_is_commonly_reported(glove, name, expected):
    task = WordSimilarity(path=f"wordsim/{name}.tsv")
    found = task.run(task.prepare(glove), unprotected(glove), seeds.source(0))
    assert found["spearman"] == pytest.approx(expected, abs=0.004)  # a few rare words are beyond the first 100 000


def test_every_marked_span_is_read(glove):
    items = read_spans("privacy/presidio-synth.jsonl.gz")
    assert sum(len(item.spans) for item in items) == 2863
    names = [item.text[start:end] for item in items for kind, start, end in item.spans if kind == "CREDIT_CARD"]
    tokens = encode(glove, names).tokens
    assert len(tokens)
    assert (tokens < 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", list(TASKS))
def test_every_task_reads_its_real_data_and_keeps_its_scores_in_range(glove, name):
    (task,) = chosen_tasks((name,), size="miniature")
    subject = unprotected(glove)
    if task.lacking:
        pytest.skip(task.lacking)
    found = task.run(task.prepare(glove), subject, seeds.source(0))
    assert list(found) == [score.name for score in task.scores]
    bounded = {"distance", "inner-product", "s_w", "bleu", "skewness"}
    assert all(-1 <= value <= 1 + 1e-9 for score, value in found.items() if score not in bounded)


# Over three seeds context gained .015 to .026, .080 to .099 and .034 to .051.
GAINS = {"selected": 0.01, "vectors": 0.06, "decoded": 0.02}


@pytest.mark.slow
def test_reading_whole_texts_beats_every_attacker_on_single_words(glove):
    """One fixed seed on fixed data: a regression check of the gains seen there, not a test with a stated level."""
    few = glove.first(5000)
    task = ReviewInversion(limit=100, public_limit=4000)
    prepared = task.prepare(few)
    noise = wv.Decoded(mechanism=wv.MultivariateLaplace(epsilon=8.0)).fit(few)
    subjects = {
        "selected": subject_of(wv.SanText(epsilon=3.0).fit(few)),
        "vectors": subject_of(noise),
        "decoded": subject_of(noise, decoded=True),
    }
    for name, subject in subjects.items():
        found = task.run(prepared, subject, seeds.source(0))
        assert found["pairs"] > found["alone"] + GAINS[name]
        assert found["best"] < 0.8
