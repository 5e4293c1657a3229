"""The measurements of redaction, on texts small enough to count by hand."""

from __future__ import annotations

import pytest

from wordveil.api import Redactor
from wordveil_lab.leagues.redaction import Task, accuracies, found_again, gaps, guessed, passing, row, singled_out, some

pytest.importorskip("sklearn", reason="the measurements need scikit-learn")


def test_gaps_are_counted_by_sentence():
    assert gaps(["We saw it. We saw [name] at [number]. Then [word] came.\nAll is well"]) == (0.5, 0.75)


def test_values_pass_whole_and_in_part_as_they_are_spelled():
    text = "We saw Bad Time, and Zqxw Time there."
    marked = [{"text": text, "spans": [{"start": 7, "end": 15}, {"start": 21, "end": 30}]}]
    assert passing(Redactor(), marked, str) == (0, 0, 2, 1.0)
    assert passing(Redactor(), marked, str.lower) == (1, 2, 2, 1.0)


def test_originals_are_found_and_texts_singled_out():
    texts = ["the red house was old", "a blue car went by", "we had green tea"]
    assert found_again(texts, ["the [word] house was [word]", "a [word] car", "we had [word] tea"]) == 1.0
    assert found_again(texts, ["[word] car"] * 3) == pytest.approx(1 / 3)
    assert singled_out(texts) == 1.0
    assert singled_out(["the same words here", "the same words here"]) == 0.0


def test_hidden_words_are_guessed_from_the_words_around_by_who_has_read_such_text():
    redactor = Redactor(law="placeholder")
    asked = ["my overdraft is here", "my overdraft is there"]
    assert guessed(redactor, asked, ["my overdraft is good"]) == 1.0
    assert guessed(redactor, asked, ["the house is good"]) == 0.0


def test_a_judge_learns_from_releases_and_is_asked_originals_and_releases():
    rows = [("the house is good", "a"), ("the car is bad", "b")] * 6
    task = Task(name="toy", train=rows, test=rows)
    assert accuracies(task, Redactor()) == accuracies(task, None) == (1.0, 1.0)


def test_tables_show_shares_with_two_digits_and_samples_come_from_all_over():
    assert row(["a", 0.5, 3]) == "| a | .50 | 3 |"
    assert some(list(range(10)), 4) == [0, 3, 6, 9]
