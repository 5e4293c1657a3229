"""The measurements of redaction, on texts small enough to count by hand."""

import gzip
import json

import numpy as np
import pytest

from wordveil.api import NeighbourResponse, Redactor, Sanitizer, load_embeddings

pytest.importorskip("sklearn", reason="the measurements need scikit-learn")
from wordveil_lab.leagues import redaction as page
from wordveil_lab.leagues.redaction_releases import (
    WORD_BY_WORD,
    conditions,
    exchanging,
    found_again,
    guessed,
    redacting,
    rows,
    singled_out,
)

DEFAULT = redacting("common:4000", Redactor())


def test_gaps_are_counted_by_sentence():
    assert page.gaps(["We saw it. We saw [name] at [number]. Then [word] came.\nAll is well"]) == (0.5, 0.75)


def test_values_pass_whole_and_in_part_as_they_are_spelled():
    text = "We saw Bad Time, and Zqxw Time there."
    spans = [{"start": 7, "end": 15, "type": "A"}, {"start": 21, "end": 30, "type": "B"}]
    marked = [{"text": text, "spans": spans}]
    assert page.passing(DEFAULT.tokens, marked, str) == page.Passed(whole=0, part=0, values=2, others=1.0)
    assert page.passing(DEFAULT.tokens, marked, str.lower) == page.Passed(whole=1, part=2, values=2, others=1.0)
    assert page.passing(DEFAULT.tokens, marked, str.lower, {"B"}) == page.Passed(whole=0, part=1, values=1, others=1.0)


def test_values_stand_in_a_release_where_words_are_exchanged_and_none_is_left_of():
    marked = [{"text": "Ann Lee came", "spans": [{"value": "Ann Lee"}, {"value": "came"}]}]
    assert page.standing(list, marked, str) == 2
    assert page.standing(lambda texts: [text.replace("Ann", "Anne") for text in texts], marked, str.upper) == 2
    assert page.standing(lambda texts: [text.replace("Ann", "Anne") for text in texts], marked, str) == 1


def test_values_of_chats_are_cut_by_their_words_and_each_turn_is_counted_once(tmp_path):
    (tmp_path / "documents").mkdir()
    turn = {"text": "i am zqx brt ok", "slots": [[2, 4, "name"]]}
    with gzip.open(tmp_path / "documents" / "multidogo-customer.jsonl.gz", "wt") as file:
        file.writelines(f"{json.dumps(each)}\n" for each in (turn, turn, {"text": "hi", "slots": None}))
    (found,) = page.chats(tmp_path)
    assert [found["text"][span["start"] : span["end"]] for span in found["spans"]] == ["zqx brt"]


def test_originals_are_found_and_texts_singled_out():
    texts = ["the red house was old", "a blue car went by", "we had green tea"]
    assert found_again(texts, ["the [word] house was [word]", "a [word] car", "we had [word] tea"]) == 1.0
    assert found_again(texts, ["[word] car"] * 3) == pytest.approx(1 / 3)
    (row,) = [each for each in rows() if each.name == WORD_BY_WORD]
    assert found_again(row.image(texts), row.image(texts)) == 1.0  # by the classes of words
    assert singled_out(texts) == singled_out(texts, rarest=False) == 1.0
    assert singled_out(["the same words here", "the same words here"]) == 0.0
    common = "one two three four five six seven eight nine ten"
    alike = [f"{common} {word}" for word in ("red", "blue", "green")]
    assert singled_out(alike) == 1.0 > singled_out(alike, rarest=False)


@pytest.mark.parametrize("linear", [True, False])
def test_hidden_words_are_guessed_from_the_words_around_by_who_has_read_such_text(linear):
    asked = ["my overdraft is here", "my topup was there"]
    read = ["my overdraft is good", "my topup was good", "my overdraft is bad", "my topup was bad"]
    assert guessed(Redactor(), asked, read, linear=linear) == 1.0
    assert guessed(Redactor(), asked, ["the zqx is good", "the zqx is bad"], linear=linear) == 0.0
    assert guessed(Redactor(), asked, ["all is good"], linear=linear) == 0.0
    near = [f"my {word} is {end}" for word, end in (("topup", "old"), ("overdraft", "new"), ("overdraft", "old"))]
    assert guessed(Redactor(), ["your overdraft is new"], [*near, "our topup is new"], linear=linear) == 1.0


def test_a_close_reader_tells_authors_by_layout_and_marks_alone_and_conditions_by_their_words():
    train = [("Maria  saw -- Tom!!", "a"), ("Maria saw Tom.", "b")] * 5
    test = [("Zqxw  saw -- Vbnm!!", "a"), ("Qwrt saw Plkj.", "b")]
    assert page.read_closely(DEFAULT.release, train, test) == 1.0
    assert page.commonest_share(train, [*test, ("", "a")]) == pytest.approx(2 / 3)
    posts = [("one ocd two", "ocd"), ("Autistic, too", "autism"), ("none is named", "anxiety")]
    assert (
        page.read_closely(list, [("anxious here", "anxiety")] * 4 + [("ocd", "ocd")] * 3, posts, conditions=True) == 1.0
    )


def test_conditions_are_of_posts_that_name_one():
    posts = [("My OCD is bad", "1"), ("ocd and anxiety", "2"), ("anxious, panic", "3"), ("all is well", "4")]
    assert conditions(posts) == [("My OCD is bad", "1", "ocd"), ("anxious, panic", "3", "anxiety")]


def test_hidden_words_are_exchanged_and_all_else_is_redacted():
    row = exchanging("", Redactor(), Sanitizer(load_embeddings(), NeighbourResponse(epsilon=50.0)))
    one, other = row.release(["Please call Maria: my overdraft is here.", "All is well."])
    assert one.startswith("Please call [name]: my ")
    assert one.endswith(" is here.")
    assert not {"overdraft", "word"} & set(one.split())
    assert other == "All is well."


def test_a_judge_learns_from_releases_and_is_asked_originals_and_releases():
    pairs = [("the house is good", "a"), ("the car is bad", "b")] * 6
    task = (pairs, pairs)
    assert page.accuracies(task, DEFAULT.release) == page.accuracies(task, list) == (1.0, 1.0)


def test_tables_show_shares_with_two_digits_and_samples_come_from_all_over():
    assert page.sheet("abcde", [["a", 0.5, 3, None, (0.25, 1.0)]])[2] == "| a | .50 | 3 | – | .250 / 1.000 |"
    assert page.some(list(range(10)), 4) == [0, 3, 6, 9]
    assert np.isclose(page.commonest_share([("x", "a")], [("y", "b")]), 0.0)
