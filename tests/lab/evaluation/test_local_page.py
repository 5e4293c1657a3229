"""The page on local DP is that of the stored run; what is read out of a release is scored as it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wordveil_lab.corpora import encode
from wordveil_lab.evaluation.aligned import AlignedSimilarity
from wordveil_lab.evaluation.data import read_texts
from wordveil_lab.evaluation.inversion import ATTACKERS
from wordveil_lab.evaluation.retrieval import Retrieval
from wordveil_lab.evaluation.subjects import unprotected
from wordveil_lab.leagues import local as measured
from wordveil_lab.leagues import reading_back
from wordveil_lab.leagues.reading_back import Captions, Reading

ROOT = Path(__file__).resolve().parents[3]

REPORT = measured.RUN.report()


def test_the_page_is_made_from_the_stored_run():
    page = measured.RUN.page_path.read_text(encoding="utf-8")
    assert page == measured.RUN.page(), "run python -m wordveil_lab.leagues.local --page"


def test_the_run_holds_every_row_at_its_promise():
    found = {(row["name"], row["epsilon"]): row for row in REPORT["rows"] if row["group"]}
    # The stored run is of the state in which crowds stood where classes stand.
    then = {name.replace("256-classes", "crowds-16"): given for name, given in measured.EPSILONS.items()}
    assert set(found) == {(name, e) for name, given in then.items() for e in given}
    for (name, epsilon), row in found.items():
        assert row["guarantee"]["promise"] == {"metric": "metric DP", "local": "local DP"}[row["group"]], name
        assert row["guarantee"]["epsilon"] <= epsilon * (1 + 1e-9)
        tasks = measured.TASKS + (measured.OTHER_TASKS if epsilon in measured.DENOISED_ROWS.get(name, ()) else ())
        assert row["cells"].keys() == {task.name for task in tasks}


def test_no_channel_is_better_than_the_best_and_flat_lists_are_close_to_it():
    for line in REPORT["yardstick"]:
        best = line["best channel"]
        for name in ("neighbour response", "k = 1", "tem-certified", "santext-certified"):
            assert line[name] >= best * (1 - 1e-6)
        assert line["neighbour response"] <= 1.02 * best


def test_what_is_left_to_use_is_counted_word_by_word(world, use_world):
    task = Reading(limit=20, public_limit=20)
    attack = task.prepare(world)
    original = attack.corpus.tokens
    read = np.where(original == original.max(), 0, original).astype(np.int32)
    units = AlignedSimilarity(limit=1).prepare(world).units
    content = [i for i, token in enumerate(original) if token in attack.content_words]
    cosine = np.mean([float(units[original[i]] @ units[read[i]]) for i in content])
    assert task.left_to_use(attack, world, read)["similarity"] == pytest.approx(cosine)
    whole = task.run(attack, unprotected(world), None)
    for score in ("similarity", "sentiment"):
        assert whole[f"released {score}"] == whole[f"denoised {score}"]
    assert whole["released similarity"] > cosine


def test_a_class_is_told_by_who_has_not_read_the_attacked_texts(world, use_world, monkeypatch):
    task = Reading(limit=10, public_limit=20, train=Reading.path)
    learnt = []
    monkeypatch.setattr(reading_back, "encode", lambda table, texts: learnt.extend(texts) or encode(table, texts))
    attacked = read_texts(task.path, limit=10)
    task.run(task.prepare(world), unprotected(world), None)
    assert len(learnt) >= 10
    assert not set(attacked) & set(learnt)


def test_search_in_what_is_read_is_the_search_in_releases(world, use_world):
    task = Captions(limit=30, public_limit=20)
    attack = task.prepare(world)
    whole = task.run(attack, unprotected(world), None)
    plain = Retrieval(documents=30)
    assert whole["released search"] == plain.run(plain.prepare(world), unprotected(world), None)["ndcg"]
    nothing = np.full_like(attack.corpus.tokens, int(world.candidates[0]))
    blind = task.scored(attack, unprotected(world), {name: (nothing, nothing) for name in ATTACKERS})
    assert blind["denoised search"] < whole["denoised search"]
