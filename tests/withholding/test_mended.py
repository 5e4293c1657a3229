"""What an adversary found in redaction, each held by a test that failed before."""

import os
import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.tables import write_rows
from tests.times import assert_proportional

import seeds
import wordveil as wv
from wordveil.arrays import PrivateText
from wordveil.documents import DocumentSettings
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.kernels.compiled.library import withholding_library
from wordveil.withholding import compiled, redactor, runs
from wordveil.withholding.kinds import Kind
from wordveil.withholding.linking import PersonLinks, persons_of, spelled_alike
from worlds import told

ENGINES = [False, True]


@pytest.fixture(params=ENGINES, ids=["reference", "compiled"])
def compiled_or_not(request, monkeypatch):
    if request.param and withholding_library() is None:
        pytest.skip("no compiled pass is built here")
    if not request.param:
        monkeypatch.setattr(redactor, "compiled_pass", lambda *_: None)


def released(text: str, **rule) -> str:
    return wv.Redactor(rule=wv.Rule(**rule)).release(PrivateText(text), Counter())


def test_words_to_hide_and_words_declared_public_are_shown_nowhere():
    words = wv.PublicWords(hidden=frozenset({"secrethide"}), added=frozenset({"secretadd"}))
    one = wv.Redactor(words=words)
    shown = f"{words!r} {one!r} {one.provenance!r} {one.choices()!r} {one.redaction('We saw it.')!r}"
    assert "secret" not in shown
    assert wv.Redactor(words=wv.PublicWords()).provenance != one.provenance


def test_no_value_of_a_redactor_holds_a_token_that_it_has_met(compiled_or_not):
    one = wv.Redactor()
    one.redact("We saw Zqxqz there.")
    assert "Zqxqz" not in str(asdict(one.words))


@pytest.mark.parametrize(("name", "word", "problem"), [
    *(("hidden", word, "announces a secret") for word in ("Password", "pin", "is", "are")),
    *(("hidden", word, "must not hold I") for word in ("i", "I'm", "i\u2019ve")),
    *((name, "doctor's", "without 's") for name in ("added", "hidden")),
    ("added", "Mr", "no title before a name"),
])  # fmt: skip
def test_no_word_is_hidden_whose_letters_hide_a_secret(name, word, problem):
    """Nor one that would leave all the same, or do nothing: a pronoun, a possessive."""
    with pytest.raises(ParameterError, match=problem) as refused:
        wv.PublicWords(**{name: frozenset({"zqx", word})})
    assert "zqx" not in str(refused.value)


def test_titles_months_and_days_to_hide_are_hidden_where_others_are_kept(compiled_or_not):
    words = wv.PublicWords(hidden=frozenset({"mr", "may", "monday"}))
    one = wv.Redactor(words=words, rule=wv.Rule(titles=True, calendar=True))
    text = "We saw Mr. Qx and Dr. Qx on Monday and Tuesday, 5 May and 5 June."
    shown = "We saw [name]. [name] and Dr. [name] on [name] and Tuesday, [number] [name] and [number] June."
    assert one.release(PrivateText(text), Counter()) == shown


@pytest.mark.parametrize("hidden", ["is", "it's", "not", "so"])
def test_no_letter_of_a_token_hidden_with_what_it_is_joined_to_ends_a_secret(hidden, compiled_or_not):
    shown = released(f"We saw it. The code pin's = {hidden}-\ndon't be, i so it")
    assert shown == "We saw it. The code pin's = [word]-\n[word], [word]"


@pytest.mark.parametrize("unit", ["1", "a,", "a'", "\U0001f6001"])
def test_a_long_unit_takes_time_in_proportion(unit, compiled_or_not):
    assert_proportional(lambda n: released(unit * n), 2_000)


@pytest.mark.parametrize(("unit", "rule"), [
    *((unit, wv.Rule()) for unit in ("pin: ", "my pin: x ", "pin is ", "pin: a-b ", "Zq. House-Table. House. ")),
    ("Good-\nSo.\n", wv.Rule()),
    ("Good the password\n", wv.Rule()),
    ("NOW-\nIT. ", wv.Rule()),
    ("Mr-\nThe. ", wv.Rule(titles=True)),
    ("The table window garden chair paper river\nHow.\n", wv.Rule(strict=True)),
])  # fmt: skip
def test_verdicts_that_could_follow_from_each_other_take_time_in_proportion(unit, rule, compiled_or_not):
    redactor = wv.Redactor(rule=rule)
    opening = "Zq.\ntable window garden chair paper river stone apple password\n"
    assert_proportional(lambda n: redactor.release(PrivateText(opening + unit * n), Counter()), 200)


def test_compounds_that_lengthen_a_run_of_words_take_time_in_proportion(compiled_or_not):
    words = "house table water money house table water money"
    assert "the" not in released(f"We saw it. {'the-end money water people ' * 3}{words}").split()
    assert_proportional(lambda n: released("We saw it. " + "the-end money water people " * n + words), 200)


ACCENTS = "\u00b4`\u00a8\u00af\u00b8\u02c2\u02d9\u02db\u0384\u1fbd\u309b\ua700\uff40"
CUTS = "\u2032\u00b7\u2027\u2044\u2212\u00ac\u2122\u00d7\u201a\U0001f600\U0001f3fd\x07\x7f"
SHOWN = {
    **told(__file__, "shown"),
    **{f"a name after a title that is kept, strict: {strict}": (
        {"titles": True, "strict": strict}, "We saw Dr. Happy there.", "We saw Dr. [name] there.")
       for strict in (False, True)},
    **{f"{sign!r} in {cut}": ({}, f"We saw {sign.join(cut.split())} of us.", "We saw [word] of us.")
       for sign in ACCENTS + CUTS for cut in ("so me", "it, all")},
}  # fmt: skip
"""What was found -> rule, text and release."""


@pytest.mark.parametrize("name", SHOWN)
def test_what_was_found_is_shown_as_it_should_be(name, compiled_or_not):
    rule, text, shown = SHOWN[name]
    assert released(text, **rule) == shown


@pytest.mark.parametrize(
    "between", ["  ", ") (", " . ", "\n", " *** ", " ... ", " - ", "<br />", " \U0001f600 ", '", "']
)
def test_numbers_are_beside_each_other_whatever_marks_are_between(between, compiled_or_not):
    text = f"We had (4{between}2{between}7) of them, two{between}three"
    assert not {"4", "2", "7", "two", "three"} & set(re.findall(r"\w+", released(text, numbers=(0, 10))))
    assert released("We had 4 of the 7.", numbers=(0, 10)) == "We had 4 of the 7."


@pytest.mark.parametrize("text", ["<brMaria>", "<brMaria>Garcia>", "<brMaria!>", "<br\u00e9>"])
def test_what_begins_like_a_line_break_is_a_unit_like_others(text, compiled_or_not):
    counts = Counter()
    shown = wv.Redactor().release(PrivateText(f"We saw {text} there."), counts)
    assert counts["hidden"] >= 1
    assert re.sub(r"\[(?:name|word|link)\]", "", shown) in (
        "We saw <> there.",
        "We saw <>> there.",
        "We saw <!> there.",
    )


@pytest.mark.parametrize("text", ["so\u00b4", "\u02c2so", "\u24c8o", "\U0001f142o"])
def test_an_accent_or_a_circled_letter_is_part_of_its_word(text, compiled_or_not):
    assert "so" not in released(f"We saw {text} there")
    assert re.fullmatch(r"We saw \[(?:word|name)\] there", released(f"We saw {text} there"))


ALIKE = [
    ("Stra\u00dfe", "STRASSE"), ("O'Brt", "O\u2019Brt"), ("O'Brt", "O\u00b4Brt"), ("O'Brt", "O`Brt"),
    ("Caf\u00e9", "Cafe\u0301"), ("Maria", "Mar\u00adia"), ("Maria", "\uff2daria"), ("\u212bq", "\u00c5Q"),
]  # fmt: skip
APART = [("Maria", "Marie"), ("O'Brt", "Obrt"), ("Ren\u00e9", "Rene"), ("Maria", "Maria's"), ("Mc-Qx", "Mcqx")]


@pytest.mark.parametrize(("one", "other", "equal"), [(*p, True) for p in ALIKE] + [(*p, False) for p in APART])
def test_linked_are_those_that_the_page_calls_equal(one, other, equal):
    person = PersonLinks(seeds.source(1), "ann")
    assert (spelled_alike(one) == spelled_alike(other)) is equal
    assert (person.number(one, Kind.CAPITALIZED) == person.number(other, Kind.CAPITALIZED)) is equal
    document = wv.Redactor(link="document").redact(f"We saw {one} and {other} there.")
    assert ("[name-2]" not in document) is equal


def test_an_interrupt_while_a_pass_learns_leaves_the_next_one_whole(monkeypatch):
    if withholding_library() is None:
        pytest.skip("no compiled pass is built here")
    one, text = wv.Redactor(), ["We saw Jos\xe9 and the caf\xe9."]
    expected = one.release_all(text, Counter())
    passed = compiled.compiled_pass(one.words, one.rule)
    passed._close()
    passed._open()

    def pressed():
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(passed, "_learn", pressed)
        with pytest.raises(KeyboardInterrupt):
            passed.release(text)
    assert one.release_all(text, Counter()) == expected


def test_nobody_is_nobody_and_one_person_is_one(tmp_path: Path):
    (tmp_path / "who.csv").write_text("who,text\n,a\n7,b\n7.0,c\n ann ,d\nann,e\nnan,f\n")
    persons = persons_of(tmp_path / "who.csv", "who", DocumentSettings(columns=("text",), keep=()))
    assert persons == [None, "7", "7.0", "ann", "ann", None]


@pytest.mark.parametrize(
    ("one", "other"), [("1e400", "52e7791"), ("9007199254740992", "9007199254740993"), ("007", "7")]
)
def test_persons_whose_names_are_one_number_are_not_one_person(tmp_path, one, other):
    text = "We saw Zqmaria there and it was good for all of us."
    rows = [{"who": who, "text": text} for who in (one, other, one)]
    write_rows(tmp_path / "in.jsonl", rows)
    settings = DocumentSettings(columns=("text",), drop_others=True)
    wv.redact_documents(tmp_path / "in.jsonl", tmp_path / "out.jsonl", wv.Redactor(link="who"), settings=settings)
    first, second, third = (tmp_path / "out.jsonl").read_text().splitlines()
    assert first == third != second


@pytest.mark.parametrize("meanwhile", ["another", "longer", "put back"])
def test_nobody_is_linked_by_the_persons_of_a_file_that_changed_since(tmp_path, monkeypatch, meanwhile):
    text = "We saw Zqmaria there and it was good for all of us."
    older, newer = ([{"who": who, "text": text} for who in names] for names in (("ann", "ann"), ("ann", "bob", "bob")))
    write_rows(tmp_path / "in.jsonl", older)
    times = (tmp_path / "in.jsonl").stat()

    def replaced(*given):
        persons = persons_of(*given)
        write_rows(tmp_path / "in.jsonl", newer if meanwhile == "longer" else newer[:2])
        if meanwhile == "put back":
            os.utime(tmp_path / "in.jsonl", ns=(times.st_atime_ns, times.st_mtime_ns))
        return persons

    monkeypatch.setattr(runs, "persons_of", replaced)
    settings = DocumentSettings(columns=("text",), drop_others=True)
    with pytest.raises(DocumentFormatError, match="was written to"):
        wv.redact_documents(tmp_path / "in.jsonl", tmp_path / "out.jsonl", wv.Redactor(link="who"), settings=settings)
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    "row", ['{"turns": [{"who": "ann", "said": "Zq"}, {"said": "Zq"}]}', '{"who": ["ann"], "said": "Zq"}']
)
def test_persons_in_a_list_are_refused_since_some_may_be_nobody(tmp_path, row):
    (tmp_path / "chat.jsonl").write_text(f"{row}\n")
    text, who = ("turns.said", "turns.who") if "turns" in row else ("said", "who")
    with pytest.raises(DocumentFormatError, match="lies in a list"):
        persons_of(tmp_path / "chat.jsonl", who, DocumentSettings(columns=(text,), keep=()))


def test_whether_there_is_a_release_does_not_depend_on_the_length_of_hidden_words(tmp_path):
    for name, letters in (("short", 4), ("long", 40_000)):
        lines = [" ".join(["z" * letters] * 30), *["it was good for all of us and we saw it"] * 40]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines))
        wv.redact_documents(tmp_path / f"{name}.txt", tmp_path / f"{name}.out", wv.Redactor())
    assert (tmp_path / "short.out").read_bytes() == (tmp_path / "long.out").read_bytes()


def test_no_report_confirms_a_guess_of_a_word_of_the_owners(tmp_path):
    (tmp_path / "in.txt").write_text("it was good for all of us\n")
    one = wv.PublicWords(added=frozenset({"zq"}), hidden=frozenset({"hope"}))
    other = wv.PublicWords(added=frozenset({"zx"}), hidden=frozenset({"good"}))
    listed = wv.PublicWords(hidden=frozenset({"hope"})), wv.PublicWords(hidden=frozenset({"zq"}))
    assert len({str([wv.Redactor(words=words).disclosed, words.choices()]) for words in listed}) == 1
    for words in (one, other):
        found = wv.redact_documents(
            tmp_path / "in.txt", tmp_path / "out.txt", wv.Redactor(words=words), again=True
        ).as_dict()
        assert words.digest == wv.PublicWords().digest
        assert wv.Redactor(words=words).guarantee == wv.Redactor(words=other).guarantee
        assert found["provenance"]["checksum"] == wv.PublicWords().digest
    source = wv.RandomSource(seeds.key(6))
    assert wv.Redactor(words=one, source=source).own_words() != wv.Redactor(words=other, source=source).own_words()
    assert wv.Redactor(words=one).own_words() != wv.Redactor(words=one).own_words()


def test_a_document_of_several_persons_links_nobody_to_another(tmp_path: Path):
    (tmp_path / "chat.jsonl").write_text('{"who": "ann", "who": "bob", "said": "Zq"}\n')
    with pytest.raises(ParameterError, match="several persons") as refused:
        persons_of(tmp_path / "chat.jsonl", "who", DocumentSettings(columns=("said",), keep=()))
    assert "ann" not in str(refused.value)


def test_a_document_of_a_line_is_a_line_after_its_release(tmp_path: Path):
    (tmp_path / "in.txt").write_text("It was good.<br />We saw it.\rAll of it.\nThe end of it.\n", newline="")
    wv.redact_documents(tmp_path / "in.txt", tmp_path / "out.txt", wv.Redactor())
    assert (tmp_path / "out.txt").read_text() == "It was good. We saw it. All of it.\nThe end of it.\n"
