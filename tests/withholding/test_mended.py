"""What an adversary found in redaction, each held by a test that failed before."""

from collections import Counter
from pathlib import Path

import pytest
from tests.times import assert_proportional

from wordveil.arrays import PrivateText
from wordveil.documents import DocumentSettings
from wordveil.kernels.compiled.library import withholding_library
from wordveil.withholding import compiled, redactor
from wordveil.withholding.linking import persons_of
from wordveil.withholding.redactor import Redactor
from wordveil.withholding.rule import Rule
from wordveil.withholding.words import PublicWords

ENGINES = [False, True]


@pytest.fixture(params=ENGINES, ids=["reference", "compiled"])
def compiled_or_not(request, monkeypatch):
    if request.param and withholding_library() is None:
        pytest.skip("no compiled pass is built here")
    if not request.param:
        monkeypatch.setattr(redactor, "compiled_pass", lambda *_: None)


def released(text: str, **rule) -> str:
    return Redactor(rule=Rule(**rule)).release(PrivateText(text), Counter())


def test_words_to_hide_and_words_declared_public_are_shown_nowhere():
    words = PublicWords(hidden=frozenset({"secrethide"}), added=frozenset({"secretadd"}))
    one = Redactor(words=words)
    shown = f"{words!r} {one!r} {one.provenance!r} {one.choices()!r} {one.redaction('We saw it.')!r}"
    assert "secret" not in shown
    assert Redactor(words=PublicWords()).provenance != one.provenance


@pytest.mark.parametrize("unit", ["1", "a,", "a'", "\U0001f6001"])
def test_a_long_unit_takes_time_in_proportion(unit, compiled_or_not):
    assert_proportional(lambda n: released(unit * n), 2_000)


def test_a_name_after_a_title_is_hidden_where_titles_are_kept(compiled_or_not):
    assert released("We saw Dr. Happy there.", titles=True) == "We saw Dr. [name] there."
    assert "Happy" not in released("We saw Dr. Happy there.", titles=True, strict=True)


def test_an_interrupt_while_a_pass_learns_leaves_the_next_one_whole(monkeypatch):
    if withholding_library() is None:
        pytest.skip("no compiled pass is built here")
    one, text = Redactor(), ["We saw Jos\xe9 and the caf\xe9."]
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
    assert persons == [None, "7.0", "7.0", "ann", "ann", None]
