"""What a classifier keeps of a public task, against scikit-learn and by hand; and what `score` says of files."""

import json

import numpy as np
import pytest

import seeds
from wordveil.errors import ParameterError
from wordveil.meaning.neighbour_points import neighbour_points
from wordveil.meaning.task import Task
from wordveil.mechanisms.neighbours import NeighbourResponse
from wordveil.randomness import RandomSource

TOPICS = {"pets": "dog cat horse animal puppy", "money": "bank credit loan payment account"}
OTHER = "the of and a to in was it for on"


@pytest.fixture(scope="module")
def lines():
    rng = seeds.rng(5)
    labels = rng.choice(sorted(TOPICS), 600).tolist()
    return labels, [" ".join([*rng.choice(TOPICS[one].split(), 2), *rng.choice(OTHER.split(), 6)]) for one in labels]


@pytest.fixture(scope="module")
def task(packaged, lines):
    labels, texts = lines
    return Task(packaged, texts, labels)


def test_the_classifier_is_scikit_learn_s(packaged, task, lines):
    linear_model = pytest.importorskip("sklearn.linear_model")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    labels, texts = (np.array(column) for column in lines)
    order = np.argsort(RandomSource.public("task").lane(0).random(len(labels)), kind="stable")
    means = np.array([packaged.vectors[packaged.ids(text.split())].mean(axis=0, dtype=np.float64) for text in texts])
    learnt, read = order[:300], order[300:]
    scaler = preprocessing.StandardScaler().fit(means[learnt])
    model = linear_model.RidgeClassifier(alpha=1.0).fit(scaler.transform(means[learnt]), labels[learnt])
    found = task.as_written()
    assert found.share == model.score(scaler.transform(means[read]), labels[read])
    assert found.error == np.sqrt(found.share * (1 - found.share) / 300)
    usual = "pets" if np.mean(labels[learnt] == "pets") > 0.5 else "money"
    assert task.majority() == np.mean(labels[read] == usual)


def test_without_noise_a_release_is_the_text_and_with_nothing_but_noise_a_guess(packaged, task):
    every = NeighbourResponse(epsilon=40.0, k=1, outputs=None).fit(packaged)
    assert task.released(every) == task.as_written()
    nothing = task.released(NeighbourResponse(epsilon=1e-3).fit(packaged))
    assert abs(nothing.share - 0.5) < 0.18  # six deviations of 300 fair guesses
    assert task.as_written().share > 0.9


def test_a_choice_is_ahead_of_those_at_which_the_attacker_names_as_few(packaged, task):
    rows = task.points(neighbour_points(packaged, "nats", 250.0, k=1))
    assert len(rows) > 3
    for row in rows:
        others = [
            other.accuracy.share
            for other in rows
            if other is not row and round(other.point.attacker, 3) <= round(row.point.attacker, 3)
        ]
        assert row.ahead == all(share < row.accuracy.share for share in others)


@pytest.mark.parametrize("labels", [["one"] * 8, ["one", "two"] * 3])
def test_a_task_needs_classes_and_texts(packaged, labels):
    with pytest.raises(ParameterError, match="two classes or more, and 4 texts"):
        Task(packaged, ["a dog"] * len(labels), labels)


def test_the_command_prints_what_the_library_finds(wordveil, packaged, task, lines, tmp_path):
    path = tmp_path / "task.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in zip(*lines, strict=True)), encoding="utf-8")
    arguments = ("calibrate", "--nats", 350, "--set", "outputs=classes:128", "--task", path)
    (found,) = task.points(neighbour_points(packaged, "nats", 350.0, outputs="classes:128"))
    told = json.loads(wordveil(*arguments, "--json").out)["task"]
    assert told["as_written"]["share"] == task.as_written().share
    assert told["points"][0]["accuracy"]["share"] == found.accuracy.share
    assert f"{found.accuracy.share:.3f} {found.accuracy.error:5.3f} * ###" in wordveil(*arguments).out
    path.write_text("pets\tthe dog\nno label\n", encoding="utf-8")
    wrong = wordveil.refused(*arguments)
    assert "must be a label, a tab and a text" in wrong
    assert "no label" not in wrong


TEXTS = [f"sentence number {'abcdefghij'[i] * 4} of them" for i in range(10)]


@pytest.fixture
def files(tmp_path):
    originals = TEXTS
    (tmp_path / "a.txt").write_text("".join(f"{text}\n" for text in originals))
    (tmp_path / "b.csv").write_text("said\n" + "".join(f"{text}\n" for text in originals))
    rows = ({"text": text, "kind": i % 2} for i, text in enumerate(originals))
    (tmp_path / "both.jsonl").write_text("".join(json.dumps({**row, "said": row["text"]}) + "\n" for row in rows))
    return tmp_path


def test_the_command_reads_what_documents_read(wordveil, files):
    run = wordveil.done(
        "score", "--original", files / "a.txt", "--released", files / "b.csv", "--released-column", "said"
    )
    assert "NO CLAIM GIVEN (10 texts)" in run.out
    report = files / "report.html"
    both = ("--original", files / "both.jsonl", "-c", "text", "--released-column", "said", "--label", "kind")
    run = wordveil("score", *both, "--claimed", "0.1", "--report", report)
    assert run.status == 1, run.err
    assert "CONTRADICTED: epsilon 0.1 a text" in run.out
    assert report.read_text().count("<svg") == len(GROUPS)
    run = wordveil("score", "--original", files / "a.txt")
    assert (run.status, "--released-column" in run.err) == (2, True)


GROUPS = ("survival", "identification", "similarity", "fluency", "inference", "task")
