"""Lists, laws, linking, refusals and the promise of a redactor, and the traps that must not embarrass."""

import pickle
from collections import Counter
from itertools import pairwise

import pytest

import seeds
import wordveil as wv
from wordveil.arrays import PrivateText
from wordveil.errors import ChecksumError, ParameterError
from wordveil.withholding import words as lists
from wordveil.withholding.kinds import Kind
from wordveil.withholding.laws import LAWS, Slot, surrogate_generators
from wordveil.withholding.words import COMMON, LISTS, PACKS, Mark, PublicWords, closed_list


@pytest.mark.parametrize("name", ["An", "Do", "So", "Will", "May"])
def test_names_that_arefunction_words_leave_nowhere_but_as_openers(name):
    redactor = wv.Redactor(rule=wv.Rule(strict=True))
    assert name not in redactor.redact(f"We met {name} yesterday. We saw Mr. {name} Smith and {name}.").split()


@pytest.mark.parametrize("written", ["[name]", "[name-1]", "[[word]]", "[other]", "\uff3bname\uff3d"])
def test_a_placeholder_of_the_input_is_never_taken_for_one_of_ours(written, redactor):
    released = redactor.redact(f"He said {written} to me")
    assert "[name]" not in released.replace("[other]", "")
    assert "[name-1]" not in released


def test_characters_that_are_not_listed_do_not_leave(redactor):
    text = "ok \u202e\u0301 \U0001f1e9\U0001f1ea \u0915\u093f \u2028 \x07 \u3000 ~ \ufe0f end"
    released = redactor.redact(text)
    assert released.isascii()
    assert set(released) <= set("ok end[]other~word ")


def test_line_ends_of_every_system_are_newlines(redactor):
    assert redactor.redact("one\r\ntwo\rthree<br />four") == redactor.redact("one\ntwo\nthree\nfour")


def test_every_file_of_a_list_is_the_one_that_was_built():
    names = {path.name for path in LISTS.iterdir() if path.suffix in (".txt", ".tsv")}
    assert names == set(lists._digests())
    for name in names:
        assert lists._text(name)


def test_a_list_that_was_changed_is_refused(monkeypatch, tmp_path):
    for path in LISTS.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "spoken.txt").write_text("okay smith\n")
    monkeypatch.setattr(lists, "LISTS", tmp_path)
    with pytest.raises(ChecksumError, match=r"spoken\.txt is not the one"):
        closed_list.__wrapped__("spoken")


def test_longer_lists_hold_shorter_ones_and_packs_add():
    grown = [PublicWords(common=n) for n in COMMON]
    for short, long in pairwise(grown):
        assert set(short.marks()) < set(long.marks())
        assert short.digest != long.digest
    assert set(PublicWords().marks()) < set(PublicWords(packs=PACKS).marks())
    assert not closed_list("sensitive") & set(PublicWords(common=8000, packs=PACKS).marks())
    assert "cancer" in PublicWords(sensitive=True, common=8000)


def test_no_word_of_the_list_is_mostly_written_with_a_capital():
    rows = [line.split("\t") for line in (LISTS / "common.tsv").read_text().splitlines()[1:]]
    assert all(float(share) <= 0.5 for word, _, share, _ in rows if word != "i")
    assert all(
        Mark(mark) is not Mark.SURE
        for word, _, share, mark in rows
        if float(share) > 0.05 and word not in lists.function_words()
    )
    assert not {"london", "maria", "january", "smith", "christmas"} & {word for word, *_ in rows}


def test_words_of_the_owner_are_added_and_taken_away():
    words = PublicWords(added=frozenset({"Metoprolol"}), hidden=frozenset({"house"}))
    assert (
        wv.Redactor(words=words).redact("She takes metoprolol at the house.") == "She takes metoprolol at the [word]."
    )
    with pytest.raises(ParameterError, match="plain letters"):
        PublicWords(added=frozenset({"two words"}))


def test_a_value_is_equal_where_its_lists_are_and_travels():
    words = PublicWords(added=frozenset({"zq"}))
    assert pickle.loads(pickle.dumps(words)) == words
    assert hash(wv.Redactor(words=words)) == hash(wv.Redactor(words=PublicWords(added=frozenset({"zq"}))))


def test_linked_placeholders_agree_where_tokens_do_and_nowhere_else():
    redactor = wv.Redactor(link="document")
    text = "We saw Maria and Tom. Maria left, tom stayed; Anna wrote 7 and 8 and 7."
    assert redactor.redact(text) == (
        "We saw [name-1] and [name-2]. [name-1] left, [word-1] stayed; "
        "[name-3] wrote [number-1] and [number-2] and [number-1]."
    )
    assert "equal" in redactor.guarantee.sentence()


@pytest.mark.parametrize("printed", ["name", "word", "number", "link"])
def test_every_surrogate_is_of_its_generator(printed):
    generator = surrogate_generators()[printed]
    public = {generator.text(i) for i in range(1 << generator.bits)}
    assert len(public) == 1 << generator.bits
    kind = next(kind for kind in Kind if kind.printed == printed)
    assert set(LAWS["surrogate"]([Slot(kind)] * 200, seeds.source(6).stream("x"))) <= public


def test_a_law_that_is_the_same_for_equal_slots_is_exact_on_a_small_table():
    """The whole channel: for each pair of inputs of one kind, the law of outputs is one law, drawn from one stream."""
    redactor = wv.Redactor(law="surrogate", source=seeds.source(7))
    inputs = ["Maria", "Tom", "Zq", "Grant", "Vienna"]
    channel = {
        name: [redactor.release(PrivateText(f"so {name} went"), Counter(), str(i)) for i in range(300)]
        for name in inputs
    }
    assert len({tuple(outputs) for outputs in channel.values()}) == 1
    assert len(set(channel["Maria"])) > 40


def test_every_release_has_a_guarantee_that_speaks_of_loss_only_between_texts_that_agree(redactor):
    redaction = redactor.redaction("We saw Maria.")
    assert redaction.guarantee.loss(0.0) == 0.0
    assert redaction.guarantee.standing is wv.Standing.PROVED
    assert redaction.guarantee.largest_loss() is None
    assert (
        "agree in kept tokens, where they stand, the kinds of all others and layout" in redaction.guarantee.sentence()
    )
    assert redaction.as_dict()["guarantee"]["promise"] == "withholding"
    with pytest.raises(ParameterError, match="must be a Guarantee"):
        type(redaction)(text=redaction.text, guarantee=None, disclosed=(), claim=redaction.claim)


def test_surrogates_of_a_seeded_source_promise_nothing():
    assert isinstance(wv.Redactor(law="surrogate", source=seeds.source(1)).guarantee, wv.NoGuarantee)
    assert not isinstance(wv.Redactor(source=seeds.source(1)).guarantee, wv.NoGuarantee)


def test_counts_are_those_of_the_spans(redactor):
    text, counts = "We saw Maria Garcia at 7 in a zqx.", Counter()
    redactor.release(PrivateText(text), counts)
    spans = redactor.spans(text)
    assert (counts["kept"], counts["hidden"]) == (sum(span.kept for span in spans), len(spans) - counts["kept"])
    assert Counter(span.kind.printed for span in spans if not span.kept) == {
        k: counts[k] for k in ("name", "number", "word")
    }
    assert [text[span.start : span.end] for span in spans if not span.kept] == ["Maria", "Garcia", "7", "zqx"]
