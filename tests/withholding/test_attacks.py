"""Values that real and made-up texts mark: what passes whole, and what twins of the rule let pass."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.withholding.test_compiled import ROUGH
from tests.withholding.test_non_interference import REMEMBERED, TEXTS

import wordveil as wv
from wordveil.withholding.tokens import MARKS
from wordveil.withholding.words import Mark, PublicWords
from worlds import told

PERSONAL = {"PERSON", "GPE", "STREET_ADDRESS"}
PLACED = re.compile(r"\[(?:name|number|link|word|other)\]")
SHOWN = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?")


def passing(redactor: wv.Redactor, marked) -> list[tuple[str, str]]:
    """Type and value of every marked value of which all tokens are kept."""
    found = []
    for row in marked:
        spans = redactor.spans(row["text"])
        for value in row["spans"]:
            inside = [span for span in spans if span.start < value["end"] and span.end > value["start"]]
            if inside and all(span.kept for span in inside):
                found.append((value["type"], value["value"]))
    return found


def kept_elsewhere(redactor: wv.Redactor, marked) -> float:
    """The share of tokens outside of marked values that are kept."""
    kept = total = 0
    for row in marked:
        for span in redactor.spans(row["text"]):
            if not any(span.start < value["end"] and span.end > value["start"] for value in row["spans"]):
                kept, total = kept + span.kept, total + 1
    return kept / total


def test_at_most_three_marked_values_pass_whole_and_no_person_and_no_place(marked, redactor):
    found = passing(redactor, marked)
    assert len(found) <= 3
    assert not {kind for kind, _ in found} & PERSONAL
    assert kept_elsewhere(redactor, marked) >= 0.80


class WithoutCasing(wv.Rule):
    """A twin that takes a capital for nothing."""

    def _capital(self, spelling_of, spelling, place):
        return True


class WithoutKinds(wv.Rule):
    """A twin that looks at no neighbour's kind after an opener."""

    def places(self, tokens):
        return [place._replace(before_capital=False) for place in super().places(tokens)]


class WithoutCounts(PublicWords):
    """A twin whose lists were counted in small letters: no word is unsure."""

    def _merged(self):
        return dict.fromkeys(super()._merged(), Mark.SURE)


TRAPS = told(__file__, "traps")["traps"]


def caught(redactor: wv.Redactor) -> list[str]:
    """The words of the traps that leave."""
    shown = [set(SHOWN.findall(PLACED.sub(" ", redactor.release(text, Counter())))) for text, _ in TRAPS]
    return [word for (_, words), left in zip(TRAPS, shown, strict=True) for word in words if word in left]


def test_nothing_of_the_traps_leaves(redactor):
    assert caught(redactor) == caught(wv.Redactor(rule=wv.Rule(strict=True))) == []


TWINS = {
    "casing": wv.Redactor(rule=WithoutCasing()),
    "kinds": wv.Redactor(rule=WithoutKinds()),
    "counts": wv.Redactor(words=WithoutCounts()),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_without_a_part_of_the_rule_lets_names_leave(name):
    assert caught(TWINS[name])


@pytest.mark.parametrize(("name", "spell"), [("casing", str), ("counts", str.lower)])
def test_a_twin_lets_more_marked_values_pass_too(marked, redactor, name, spell):
    spelled = [row | {"text": spell(row["text"])} for row in marked]
    assert len(passing(TWINS[name], spelled)) > 2 * len(passing(redactor, spelled))


LAYOUT = frozenset(" \n") | MARKS - frozenset("[]")


def unlisted(redactor: wv.Redactor, released: str) -> list[str]:
    """What of a release is on no list: read off the release alone, without the rule."""
    rest = PLACED.sub(" ", released)
    words = [found[0].lower() for found in SHOWN.finditer(rest)]
    signs = set(SHOWN.sub("", rest)) - LAYOUT
    public = set(redactor.words.marks())
    return [word for word in words if word not in public and word.removesuffix("'s") not in public] + sorted(signs)


@pytest.mark.parametrize("strict", [False, True])
def test_nothing_leaves_that_is_not_on_the_list(real_texts, strict):
    redactor = wv.Redactor(rule=wv.Rule(strict=strict))
    left = Counter(
        each for text in redactor.release_all(real_texts, Counter()) or () for each in unlisted(redactor, text)
    )
    assert left == {}
    assert unlisted(redactor, "We saw Maria at 7 \u2603 [name].") == ["maria", "7", "\u2603"]


@settings(max_examples=300)
@given(text=st.one_of(st.text(), ROUGH, TEXTS))
def test_nothing_of_any_text_leaves_that_is_not_on_the_list(text):
    redactor = wv.Redactor(words=REMEMBERED.setdefault(PublicWords(), PublicWords()))
    assert unlisted(redactor, redactor.release(text, Counter())) == []
