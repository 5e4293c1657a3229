"""Each task against a slow, obvious computation, and at the two ends: no noise, and noise that leaves nothing."""

import json
import math
from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lab.conftest import noisy

import seeds
import wordveil as wv
from wordveil.errors import ParameterError
from wordveil_lab.corpora import encode
from wordveil_lab.evaluation.authors import AttributeInference, AuthorshipLinkage, parse_post
from wordveil_lab.evaluation.base import summarize
from wordveil_lab.evaluation.catalogue import TASKS, chosen_tasks, data_files, data_text, runnable
from wordveil_lab.evaluation.classification import CentroidClassification, LexiconClassification, TextClassification
from wordveil_lab.evaluation.models import MeanClassifier, bag_of_words, fit_quietly, linear_model, weighted_bag
from wordveil_lab.evaluation.overlap import PersonalDataSurvival, RareWordSurvival, TextOverlap, rouge_1
from wordveil_lab.evaluation.retrieval import Retrieval, TopicRetrieval
from wordveil_lab.evaluation.subjects import as_texts, centroids, released_tokens, subject_of, unprotected
from wordveil_lab.evaluation.word_tasks import DistanceDistortion, OddManOut, SentenceSimilarity, WordSimilarity
from wordveil_lab.rows import train_and_test

SOURCE = seeds.source(7)


def run(task, world, subject):
    return task.run(task.prepare(world), subject, SOURCE)


def test_the_baseline_solves_what_the_made_up_world_answers(world, use_world):
    clean = unprotected(world)
    assert run(WordSimilarity(), world, clean)["spearman"] == pytest.approx(1.0, abs=1e-3)
    assert run(OddManOut(), world, clean)["accuracy"] == 1.0
    assert run(SentenceSimilarity(), world, clean)["spearman"] > 0.8
    assert run(LexiconClassification(cap=40), world, clean)["accuracy"] >= 0.8
    assert run(CentroidClassification(), world, clean)["accuracy"] == 1.0
    assert run(TextClassification(), world, clean) == {"logistic": 1.0, "fasttext": 1.0}
    assert run(AttributeInference(folds=3), world, clean)["accuracy"] == 1.0
    assert run(TextOverlap(limit=10), world, clean) == pytest.approx({"meaning": 1, "rouge-1": 1, "bleu": 100})
    assert run(DistanceDistortion(words=10), world, clean) == {
        "distance-relative": 0,
        "distance": 0,
        "inner-product": 0,
    }
    assert run(PersonalDataSurvival(), world, clean) == {"tokens": 1, "entities": 1, "touched": 1}
    assert run(RareWordSurvival(), world, clean) == {"tokens": 1, "notes": 1}


def test_overwhelming_noise_leaves_chance(world, use_world):
    drowned = noisy(world, 1e-3)
    assert abs(run(WordSimilarity(), world, drowned)["spearman"]) < 0.6
    assert run(TextOverlap(), world, drowned)["rouge-1"] < 0.3
    assert run(PersonalDataSurvival(), world, drowned)["entities"] == 0.0
    assert run(DistanceDistortion(words=10), world, drowned)["distance"] > 100


def test_hardly_any_noise_is_as_good_as_none(world, use_world):
    kept = subject_of(wv.SanText(epsilon=200.0).fit(world))
    assert run(PersonalDataSurvival(), world, kept)["tokens"] == 1.0
    assert run(RareWordSurvival(), world, kept)["notes"] == 1.0
    assert run(Retrieval(), world, kept) == run(Retrieval(), world, unprotected(world))


def test_projected_documents_are_searched_with_projected_queries(world, use_world):
    mechanism = wv.Projection(epsilon=1e9, dimensions=6, directions="orthonormal", sensitivity="spectral")
    turned = subject_of(wv.Decoded(mechanism=mechanism).fit(world))
    assert run(Retrieval(), world, turned) == pytest.approx(run(Retrieval(), world, unprotected(world)))


def test_odd_man_out_is_the_word_whose_removal_leaves_the_closest_set(world, use_world):
    task = OddManOut()
    sets = task.prepare(world)
    subject = noisy(world, 3.0)
    ids = np.unique(sets).astype(np.int32)
    rows = dict(zip(ids.tolist(), subject.release_vectors(ids, SOURCE, task.name), strict=True))

    def closeness(words):
        cosine = [
            rows[a] @ rows[b] / np.linalg.norm(rows[a]) / np.linalg.norm(rows[b]) for a, b in combinations(words, 2)
        ]
        return np.mean(cosine)

    right = 0
    for words in sets.tolist():
        left_out = [closeness([w for w in words if w != word]) for word in words]
        right += int(np.argmax(left_out)) == 0
    assert task.run(sets, subject, SOURCE)["accuracy"] == pytest.approx(right / len(sets))


def test_ndcg_is_the_textbook_sum(world, use_world):
    task = Retrieval(k=3)
    found = task.prepare(world)
    subject = unprotected(world)
    queries, stored = (centroids(texts.tokens, texts, world.vectors) for texts in found[:2])
    total = 0.0
    for query, relevant in zip(queries, found[2], strict=True):
        cosine = [query @ d / np.linalg.norm(query) / np.linalg.norm(d) for d in stored]
        order = sorted(range(len(stored)), key=lambda i: -cosine[i])[:3]
        gain = sum(relevant[i] / math.log2(place + 2) for place, i in enumerate(order))
        ideal = sum(1 / math.log2(place + 2) for place in range(min(3, int(relevant.sum()))))
        total += gain / ideal
    assert task.run(found, subject, SOURCE)["ndcg"] == pytest.approx(total / len(queries))


words = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=6)


@given(words, words)
def test_rouge_is_symmetric_bounded_and_one_only_for_equal_bags(first, second):
    score = rouge_1(" ".join(first), " ".join(second))
    assert score == rouge_1(" ".join(second), " ".join(first))
    assert 0 <= score <= 1
    assert (score == 1) == (Counter(first) == Counter(second))


def test_centroids_and_bags_equal_a_loop(world):
    texts = ["waa wab waa", "", "zzz", "wac zzz wad"]
    corpus = encode(world, texts)
    assert (corpus.tokens < 0).sum() == 2
    rows = centroids(corpus.tokens, corpus, world.vectors)
    for text, row in zip(texts, rows, strict=True):
        ids = [world.id(word) for word in text.split() if world.id(word) is not None]
        expected = np.mean([world.vectors[i].astype(float) for i in ids], axis=0) if ids else np.zeros(6)
        assert row == pytest.approx(expected)
    bag = bag_of_words(corpus.tokens, corpus, len(world)).toarray()
    assert bag[0, world.id("waa")] == 2
    assert bag.sum() == 5
    weighted, _ = weighted_bag(bag_of_words(corpus.tokens, corpus, len(world)))
    assert np.linalg.norm(weighted.toarray(), axis=1) == pytest.approx([1, 0, 0, 1])


def test_unknown_tokens_are_drawn_before_the_mechanism_and_never_pass(world):
    corpus = encode(world, ["zzz " * 50])
    released = released_tokens(corpus, subject_of(wv.SanText(epsilon=500.0).fit(world)), SOURCE, "x")
    assert released.min() >= 0
    assert len(np.unique(released)) > 10
    assert (released_tokens(corpus, unprotected(world), SOURCE, "x") == -1).all()
    assert as_texts(released, corpus, world)[0].count(" ") == 49


def test_the_mean_classifier_learns_and_is_repeatable(world):
    corpus = encode(world, ["waa wae", "wab waf", "wai waa", "waj wab"])
    labels = np.array([0, 1, 0, 1])

    def trained():
        model = MeanClassifier(len(world), 2, 4, SOURCE.stream("model"), rate=0.1)
        return model.fit(corpus.tokens, corpus, labels, epochs=40, batch=2).probabilities(corpus.tokens, corpus)

    first = trained()
    assert first.sum(axis=1) == pytest.approx(np.ones(4))
    assert first.argmax(axis=1).tolist() == labels.tolist()
    assert np.array_equal(first, trained())


def test_summaries_are_those_of_a_small_sample():
    found = summarize([1.0, 2.0, 3.0])
    assert (found.mean, found.standard_error) == (2.0, pytest.approx(1 / math.sqrt(3)))
    assert found.high - found.mean == pytest.approx(4.302652729 / math.sqrt(3))
    exact = summarize([0.25])
    assert (exact.low, exact.high, exact.runs) == (0.25, 0.25, 1)
    with pytest.raises(ParameterError, match="at least one number"):
        summarize([])


def test_tasks_are_found_by_name_and_take_the_users_files():
    mine = {"text-classification.train": "a.tsv", "text-classification.test": "b.tsv"}
    (task,) = chosen_tasks(("text-classification",), size="miniature", data=mine)
    assert (task.test, task.train, task.limit) == ("b.tsv", "a.tsv", 40)
    assert data_text(task) == "train a.tsv, test b.tsv"
    assert chosen_tasks(("sts",), data={"sts": "pairs.tsv"})[0].path == "pairs.tsv"
    assert [task.name for task in chosen_tasks(None)] == list(TASKS)
    with pytest.raises(ParameterError, match="must be all or among"):
        chosen_tasks(("nothing",))
    with pytest.raises(ParameterError, match="must name one of"):
        chosen_tasks(("sts",), data={"sts.colour": "x"})


@pytest.mark.parametrize("name", ["text-classification", "centroid-classification", "membership"])
def test_a_task_is_never_tested_on_other_data_than_it_was_given(world, use_world, tmp_path, name):
    """A file of the user's own is split; with a test file alone the training data would be another corpus."""
    rows = [f"{'ab'[i % 2]}\t{world.words[i % 2]} {world.words[i]}" for i in range(40)]
    (tmp_path / "mine.tsv").write_text("label\ttext\n" + "\n".join(rows) + "\n")
    mine = str(tmp_path / "mine.tsv")
    for key in (name, f"{name}.train"):
        (task,) = chosen_tasks((name,), size="miniature", data={key: mine})
        assert data_files(task) == (mine,)
        assert data_text(task) == f"train {mine}, of which a fixed fifth is held out as test"
        found = task.run(task.prepare(world), unprotected(world), SOURCE)
        assert name == "membership" or next(iter(found.values())) == 1.0  # the classes of sst2 are 0 and 1
    with pytest.raises(ParameterError, match=r"must come with .*\.train"):
        chosen_tasks((name,), data={f"{name}.test": mine})


def test_of_one_file_a_fifth_is_held_out(tmp_path):
    (tmp_path / "one.tsv").write_text("label\ttext\n" + "".join(f"x\t{i}\n" for i in range(50)))
    train, test = train_and_test(str(tmp_path / "one.tsv"), None, limits=(None, None))
    assert (len(train), len(test)) == (40, 10)
    assert sorted(int(item.text) for item in train + test) == list(range(50))


def test_tasks_that_cannot_run_here_are_left_out_with_the_reason(world, use_world, tmp_path, monkeypatch):
    tasks = chosen_tasks(("sts", "odd-man-out", "lexicon", "skewness"), data={"sts": "nowhere.tsv"})
    monkeypatch.setattr(LexiconClassification, "needs", ("no_such_module",))
    here, left_out = runnable(tasks)
    assert [task.name for task in here] == ["odd-man-out", "skewness"]
    assert left_out == {
        "sts": "no file nowhere.tsv",
        "lexicon": "no_such_module not installed: pip install 'wordveil-lab[evaluation]'",
    }


def test_the_support_vector_machine_is_the_solution_and_not_a_step_towards_it():
    """The gradient of |w|^2/2 + C sum max(0, 1 - y f(x))^2 is 0; one that has not converged is an error."""
    from sklearn.exceptions import ConvergenceWarning

    generator = seeds.rng(5)
    labels = generator.integers(0, 2, 200)
    rows = generator.standard_normal((200, 12)) + 0.4 * labels[:, None]
    model = fit_quietly(linear_model("svm"), rows, labels)
    wide, signs = np.column_stack((rows, np.ones(200))), 2 * labels - 1
    weights = np.append(model.coef_[0], model.intercept_)
    slack = np.maximum(0, 1 - signs * (wide @ weights))
    gradient = weights - 2 * model.C * wide.T @ (signs * slack)
    start = -2 * model.C * wide.T @ signs
    assert np.linalg.norm(gradient) < 1e-3 * np.linalg.norm(start)
    hurried = linear_model("svm").set_params(max_iter=1)
    with pytest.raises(ConvergenceWarning):
        fit_quietly(hurried, rows, labels)


def test_nothing_that_names_the_author_is_left():
    post = parse_post(
        "From: Ann.Lee@Site.org (Ann Lee)\nOrganization: Site\nLines: 9\n\n"
        "Archive-Name: x\nIn article <1@site> bob@other (Bob) writes:\n> Ann, hello\nBob> hi\n: quoted\n"
        "I agree with planning.\n\n\tBest, Ann\n--\nAnn Lee, Site, 555-0100\n"
    )
    assert post == ("ann.lee@site.org", "I agree with planning. Best,")


@pytest.mark.parametrize(("text", "author", "body"), [("", "", ""), ("Subject: x\t\thello", "", "hello")])
def test_posts_without_a_sender_have_no_author(text, author, body):
    post = parse_post(text)
    assert post == (author, body)


def test_linkage_ranges_from_certainty_to_chance(world, tmp_path):
    """Six authors of six texts, each of twelve words that are their own, in another order in each text."""
    own = [[world.words[author + 6 * i] for i in range(12)] for author in range(6)]
    rows = [
        {"text": " ".join(words[i:] + words[:i]), "author": "abcdef"[a]}
        for a, words in enumerate(own)
        for i in range(6)
    ]
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    task = AuthorshipLinkage(path=str(path), author="author", words=12)
    prepared = task.prepare(world)
    assert len(prepared[1]) == 6 * 2
    clean = task.run(prepared, unprotected(world), SOURCE)
    assert clean == {"success": 1.0, "guessing": pytest.approx(1 / 6)}
    drowned = noisy(world, 1e-3)
    runs = [task.run(prepared, drowned, seeds.source(i))["success"] for i in range(20)]
    # 240 guesses at one in six: 9 standard deviations above chance are 0.38.
    assert sum(runs) / len(runs) < 0.38


def test_texts_of_the_users_own_name_their_author_in_a_column(world, tmp_path):
    path = tmp_path / "texts.jsonl"
    rows = [{"text": f"waa wab wac wad w{'ae' if i % 2 else 'af'}", "author": "xy"[i % 2], "n": i} for i in range(4)]
    rows += [{"text": f"wag wa{'hi'[i]} wa{'jk'[i]} wal", "author": "xy"[i]} for i in range(2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    task = AuthorshipLinkage(path=str(path), author="author", known=1, linked=1, words=8)
    assert task.prepare(world)[1].tolist() == [0, 1]  # equal texts count once
    with pytest.raises(ParameterError, match="two authors with 6"):
        AuthorshipLinkage(path=str(path), author="author", words=8).prepare(world)
    with pytest.raises(ParameterError, match="at least 2"):
        AuthorshipLinkage(authors=1).prepare(world)


def test_documents_of_a_topic_are_found_and_headers_are_not_read(world, use_world):
    task = TopicRetrieval(documents=40, queries=10, k=5)
    prepared = task.prepare(world)
    subject_line = world.id("waa")
    documents = prepared[1]
    bodies = [documents.tokens[a:b] for a, b in pairwise(documents.offsets.tolist())]
    assert sum(subject_line in body for body in bodies) < len(bodies) / 2
    clean = task.run(prepared, unprotected(world), SOURCE)
    assert clean["ndcg"] > 0.9
    drowned = noisy(world, 1e-3)
    assert task.run(prepared, drowned, SOURCE)["ndcg"] < 0.6
