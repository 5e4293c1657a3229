"""Conversations: what leaves is the sanitizer's release, once for each message; what comes back is restored."""

import gc
import weakref
from collections import Counter

import leak_free
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import wordveil as wv
from wordveil.errors import ParameterError, WordveilError
from wordveil.integrations.conversation import RESTORED, Conversation, Conversations, Message
from wordveil.promises.number_grids import NumberGrid
from wordveil.text.kinds import KINDS, kind

KEY = bytes(range(16))


def user(*texts):
    return [Message("user", text) for text in texts]


def talk(**settings):
    return Conversation(leak_free.sanitizer(), **settings)


def test_what_leaves_is_what_the_sanitizer_releases():
    base = leak_free.sanitizer()
    fresh = wv.Sanitizer(base.embeddings, base.mechanism, options=base.options, source=wv.RandomSource(KEY), threads=1)
    for text in (*leak_free.PROMPTS, "", "no typed token", "x" * 10):
        one = Conversation(base, source=wv.RandomSource(KEY))
        # Where a value comes once and takes nobody's surrogate, not a byte differs.
        assert one.release(user(text)) == [fresh(text, document_id="message").text]


ODD = (
    "14 March 2026", "5 p.m.", "50 EUR", "a@b.se", "#x", "\u0664\u0665", "\u200b", "\n\n", "can't", "12-year-old",
    "\ud800", "漢字", "é", "</p>",
)  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from([*ODD, *leak_free.PROMPTS]), st.text(max_size=8)), max_size=8), st.booleans())
def test_any_text_is_released_and_nothing_of_it_is_left(parts, spaced):
    leak_free.check_release(talk().release(user((" " if spaced else "").join(parts)))[0])


def test_a_long_text_is_read_as_a_short_one():
    conversation = talk()
    short = conversation.release(user("a@b.se, B-4711, 14 March 2026."))[0]
    long = conversation.release(user("a@b.se, B-4711, 14 March 2026.\n" * 40_000))[0]
    assert set(long.lower().split("\n")) == {short.lower(), ""}


def test_every_restorable_value_comes_back_and_words_do_not():
    conversation = talk()
    sent = conversation.release(user(*leak_free.PROMPTS))
    restored = " ".join(map(conversation.restore, sent))
    for text in sent:
        leak_free.check_release(text)
    for value in ("maria.lindqvist@clinic.se", "+46 70 555 01 23", "4532 0151 1283 0366", "10.2.3.4", "B-4711",
                  "14-March-2026", "https://clinic.se/notes/anna?id=7", "/home/anna/notes.pdf", "@annaberg",
                  "DE89 3704 0044 0532 0130 00"):  # fmt: skip
        assert value in restored
    assert "Lindqvist" not in restored
    assert "54" not in restored.split()


def test_a_value_has_one_surrogate_in_a_conversation_and_two_values_have_two():
    conversation = talk()
    first, second, third = conversation.release(user("a@b.se", "c@d.se and a@b.se", "7 and 7 and 8"))
    assert first.lower() == second.split()[-1]
    assert first.lower() != second.split()[0].lower()
    numbers = third.split()
    assert numbers[0] == numbers[2]


def test_a_message_is_released_once():
    conversation = talk()
    first = conversation.release(user("Maria lives in Uppsala."))
    assert conversation.release(user("Maria lives in Uppsala.")) == first
    assert any(talk().release(user("Maria lives in Uppsala.")) != first for _ in range(20))


def test_surrogates_without_replacement_are_uniform():
    # All 16 cards in one conversation are all 16 surrogates; which one the third value gets is uniform.
    cards = [f"4{i:015}" for i in range(16)]
    assert all(kind(card) == "card" for card in cards)
    seen = Counter()
    for seed in range(320):
        conversation = talk(source=wv.RandomSource.seeded_for_tests(seed))
        sent = conversation.release(user(", ".join(cards[:3])))[0].split(", ")
        assert len(set(sent)) == 3
        seen[sent[2]] += 1
    assert len(seen) == 16
    assert chisquare(list(seen.values())).pvalue > 1e-9


def test_a_kind_that_has_run_out_stops_the_message():
    conversation = talk()
    conversation.release(user(", ".join(f"4{i:015}" for i in range(16))))
    with pytest.raises(WordveilError, match="16 values of the kind card"):
        conversation.release(user("4999999999999999"))


def test_an_assistant_message_that_repeats_a_reply_goes_back_as_the_vendor_wrote_it():
    conversation = talk()
    sent = conversation.release(user("write to a@b.se"))[0]
    reply = f"I wrote to {sent.split()[-1]}, as you said."
    restored = conversation.restore(reply)
    assert "a@b.se" in restored
    assert conversation.release([Message("assistant", restored)]) == [reply]
    # A user's words are never taken for the vendor's.
    leak_free.check_release(conversation.release(user(restored))[0])
    leak_free.check_release(conversation.release([Message("assistant", f"{restored} Uppsala")])[0])


def test_public_texts_go_out_verbatim_and_are_declared():
    conversation = talk(public=["You are a helpful assistant."])
    sent = conversation.release([Message("system", "You are a helpful assistant."), *user("You are a helpful")])
    assert sent[0] == "You are a helpful assistant."
    leak_free.check_release(sent[1])
    assert any("declared public (1 of them" in line for line in conversation.disclosed)
    assert any("declared public (1 of them" in line for line in conversation.guarantee.assumptions)


def test_the_promise_names_what_a_conversation_adds():
    conversation, base = talk(), leak_free.sanitizer()
    assert conversation.guarantee.epsilon == base.guarantee.epsilon
    assert set(base.disclosed) < set(conversation.disclosed)
    assert any("same value has the same surrogate" in line for line in conversation.guarantee.assumptions)
    assert set(RESTORED) <= set(KINDS)
    seeded = talk(source=wv.RandomSource.seeded_for_tests(1))
    assert isinstance(seeded.guarantee, wv.NoGuarantee)


def test_a_sanitizer_that_keeps_no_kinds_is_refused():
    base = leak_free.sanitizer()
    with pytest.raises(ParameterError, match="unknown='typed'"):
        Conversation(wv.Sanitizer(base.embeddings, base.mechanism))


def test_a_rephraser_is_refused_also_where_it_reads_numbers():
    for grids, problem in (((), "unknown='typed'"), ((NumberGrid.parse("number=0:100:1@1"),), "must release words")):
        with pytest.raises(ParameterError, match=problem):
            Conversation(wv.Rephraser(epsilon=6, prototypes=64, grids=grids))


def test_numbers_on_a_grid_are_left_as_drawn():
    base = leak_free.sanitizer()
    ages = wv.NumberGrid(kind="number", low=0, high=120, step=5, epsilon=0.5)
    options = wv.TextOptions(unknown="typed", numbers="metric", grids=(ages,))
    conversation = Conversation(wv.Sanitizer(base.embeddings, base.mechanism, options=options))
    numbers = {n for _ in range(40) for n in conversation.release(user(f"54 {_} a@b.se"))[0].split()[:1]}
    assert len(numbers) > 1
    assert all(int(n) % 5 == 0 for n in numbers)


def test_a_conversation_goes_on_with_what_was_said():
    live = Conversations(leak_free.sanitizer())
    opened = live.of("me", user("one"))
    sent = opened.release(user("one"))
    assert live.of("me", [*user("one"), Message("assistant", "x"), *user("two")]).release(user("one")) == sent
    others = live.of("you", user("one")), live.of("me", user("three"))
    assert all(not other._sent for other in others)


@pytest.mark.parametrize("kind", ["clock", "asked again", "cut off", "others begin alike"])
def test_a_message_is_released_once_though_what_stands_before_it_changes(kind):
    live, drawn, history = Conversations(leak_free.sanitizer()), Counter(), []
    for turn in range(5):
        history += user(f"note {turn}: mail a{turn}@b.se")
        shown = history[-3:] if kind == "cut off" else history
        told = [Message("system", f"It is 10:0{turn}."), *shown] if kind in ("clock", "asked again") else shown
        conversation, sent = live.release("me", told)
        drawn.update({pair for pair in zip(told, sent, strict=True) if pair[0].role != "system"})
        if kind == "others begin alike":
            other, _ = live.release("me", told)
            other.restore("fine")
        if kind == "asked again":
            told = [Message("system", f"It is 11:0{turn}."), *shown]
            conversation, sent = live.release("me", told)
            drawn.update({pair for pair in zip(told, sent, strict=True) if pair[0].role != "system"})
        reply = f"To {sent[-1].split()[-1]} again."
        history.append(Message("assistant", conversation.restore(reply)))
        drawn[history[-1], reply] += 1
        assert history[-1].text == f"To a{turn}@b.se again."
    assert len({message for message, _ in drawn}) == len(drawn), "drawn again, or not sent back as the vendor wrote it"


def test_a_private_prompt_that_every_chat_begins_with_is_released_once():
    live, prompt = Conversations(leak_free.sanitizer()), Message("system", "The clinic of Uppsala, mail a@b.se")
    sent = set()
    for n in range(5):
        live.release("me", user(f"note {n}"))  # in another program, whose prompt is another
        sent.add(live.release("me", [prompt, *user(f"note {n}")])[1][0])
    assert len(sent) == 1


def test_what_each_of_two_hears_goes_back_as_it_came_though_they_say_the_same():
    live, said = Conversations(leak_free.sanitizer()), user("mail a@b.se", "go on", "and on")
    histories: dict[str, list[Message]] = {"one": [], "two": []}
    for turn in range(3):
        for who, history in histories.items():
            history.append(said[turn])
            conversation, sent = live.release("me", history)
            assert sent[1::2] == [message.text for message in history[1::2]], "released like a private message"
            history.append(Message("assistant", conversation.restore("fine" if turn else f"Reply to {who}.")))


def test_a_message_that_others_send_too_takes_nobody_from_their_own_turn():
    live, hello = Conversations(leak_free.sanitizer()), Message("assistant", "Hello!")
    own = live.release("me", user("note, mail a@b.se"))
    own[0].restore("Hello!")
    for told in (user("hi"), [*user("hi"), hello, *user("thanks")]):
        live.release("me", told)[0].restore("Hello!")
    assert live.release("me", [*user("note, mail a@b.se"), hello, *user("thanks")])[1][0] == own[1][0]


def test_a_turn_knows_no_reply_to_another_that_began_alike():
    live, hello = Conversations(leak_free.sanitizer()), user("hi")
    live.release("me", hello)[0].restore("Hello!")
    told = [*hello, Message("assistant", "Hello!")]
    one, sent = live.release("me", [*told, *user("mail a@b.se")])
    said = one.restore(raw := f"Sent to {sent[-1].split()[-1]}.")
    two = live.release("me", [*told, *user("mail c@d.se")])[0]
    guess = Message("assistant", said)
    assert one.release([guess]) == [raw]
    assert two.release([guess]) != [raw], "whether another heard it could be asked for"


def test_who_hears_the_same_reply_sends_alike_only_what_both_said():
    live = Conversations(leak_free.sanitizer())
    first, _ = live.release("me", user("mail a@b.se"))
    first.restore("fine")
    second, other = live.release("me", [*user("mail c@d.se"), Message("assistant", "fine"), *user("and a@b.se")])
    assert not {"mail a@b.se"} & second._sent.keys()
    assert second.restore(other[0]).split()[-1] == "c@d.se"
    stranger, _ = live.release("you", [*user("mail a@b.se"), Message("assistant", "fine")])
    assert stranger._sent["mail a@b.se"] is not first._sent["mail a@b.se"]


@pytest.mark.parametrize(
    "answer", [(), (Message("assistant", "y"), Message("user", "two"))], ids=["retry", "answered anew"]
)
def test_who_begins_alike_sends_alike_and_reads_nothing_of_the_others(answer):
    live = Conversations(leak_free.sanitizer())
    begun = user("mail a@b.se")
    first = live.of("me", begun)
    sent = first.release(begun)
    went_on = [*begun, Message("assistant", "fine"), *user("my card is 4222 2222 2222 2220")]
    later = live.of("me", went_on)
    card = later.release(went_on)[-1]
    assert later.restore(card).split()[-4:] == ["4222", "2222", "2222", "2220"]
    other = live.of("me", [*begun, *answer])
    assert other is not first
    assert other.release(begun) == sent
    assert first.restore(card) == card, "a reply to an earlier turn, which was on its way"
    assert other.restore(sent[0]).split()[-1] == "a@b.se"
    assert other.restore(card) == card


def test_conversations_are_dropped_when_idle_when_told_and_when_too_many():
    now = [0.0]
    live = Conversations(leak_free.sanitizer(), idle=10.0, most=3, clock=lambda: now[0])
    first = weakref.ref(live.release("me", user("one"))[0])
    now[0] = 9.0
    live.release("me", [*user("one"), *user("two")])
    now[0] = 18.0
    live.drop_idle()
    assert len(live) == 2, "it was gone on from"
    now[0] = 20.0
    live.drop_idle()
    gc.collect()
    assert first() is None
    assert len(live) == 0
    for text in "abcd":
        live.of("me", user(text))
    live.of("you", user("e"))
    assert len(live) == 3
    assert live.drop("me") == 2
    assert len(live) == 1


def test_the_repr_of_a_conversation_says_nothing_of_its_texts():
    conversation = talk()
    conversation.release(user("write to a@b.se in Uppsala"))
    assert "a@b.se" not in repr(conversation)
    assert "Uppsala" not in repr(conversation)
