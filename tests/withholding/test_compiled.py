"""The compiled pass gives the bytes and the counts of the reference, whatever the text and the choices."""

import threading
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.withholding.test_non_interference import REMEMBERED, RULES, TEXTS, WORDS

import wordveil as wv
from wordveil.kernels.compiled import withholding
from wordveil.kernels.compiled.library import VARIABLE, withholding_library
from wordveil.withholding.compiled import compiled_pass

pytestmark = pytest.mark.skipif(withholding_library() is None, reason="withholding.c is not built here")

SIGNS = st.text(
    " \t\n\r\x0b\x1c\x85\xa0\u2028\u3000\u00ad\u200b\u0301.,:;!?'\"’‘“”()[]{}<>/\\-–—‐‑*•&…£°~@#=_|\0"
    "abIAw.07\u212a\u0430é😀\U0001f1e9½²\ud800",
    max_size=8,
)
ROUGH = st.lists(
    st.one_of(SIGNS, st.sampled_from(["the", "Mr", "PIN", "is", "<br />", "<br", ">", "www.", "Grant", "I'm", "two"])),
    max_size=30,
).map("".join)


def reference(redactor: wv.Redactor, texts):
    """Release with the reference, by the engine's switch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "numpy")
        counts = Counter()
        return [redactor.release(text, counts) for text in texts], counts


def compiled(redactor: wv.Redactor, texts):
    counts = Counter()
    return redactor.release_all(texts, counts), counts


def agree(redactor: wv.Redactor, texts):
    (one, counted), (other, recounted) = compiled(redactor, texts), reference(redactor, texts)
    assert one == other
    assert +counted == +recounted


@settings(max_examples=400)
@given(texts=st.lists(st.one_of(TEXTS, ROUGH, st.text()), max_size=4), rule=RULES, words=WORDS)
@example(texts=["<br\r>a<br \n/>b", "<brown>", "PIN: a\nis b"], rule=wv.Rule(), words=wv.PublicWords())
@example(texts=["I- Grant I-", "password is pin is\nb c\nd"], rule=wv.Rule(), words=wv.PublicWords())
@example(texts=["a.b", "end.Next", "U.S.", "e.g", "U.s.A"], rule=wv.Rule(), words=wv.PublicWords())
@example(texts=["😀hello😀", "😀\u200b😀", "x½"], rule=wv.Rule(), words=wv.PublicWords())
@example(texts=["0 00 7 007 101 " + "9" * 5000], rule=wv.Rule(numbers=(0, 100)), words=wv.PublicWords())
def test_the_pass_gives_what_the_reference_gives(texts, rule, words):
    agree(wv.Redactor(words=REMEMBERED.setdefault(words, words), rule=rule), texts)


@pytest.mark.parametrize("strict", [False, True])
def test_real_texts_too(real_texts, strict):
    step = 1 if strict else 7
    redactor = wv.Redactor(rule=wv.Rule(strict=strict, numbers=(0, 10), calendar=True, titles=True))
    agree(redactor, real_texts[::step][:1500])


def test_words_that_are_longer_than_the_tables_are_left_to_the_reference():
    long = "z" * 100
    redactor = wv.Redactor(words=wv.PublicWords(added=frozenset({long})))
    assert redactor.release_all([long], Counter()) is None
    assert redactor.redact(f"the {long} is mine") == f"the {long} is mine"


def test_a_twin_of_the_rule_is_never_compiled():
    class Twin(wv.Rule):
        pass

    assert compiled_pass(wv.PublicWords(), Twin()) is None
    assert compiled_pass(wv.PublicWords(), wv.Rule()) is not None


def test_what_was_remembered_is_forgotten(monkeypatch):
    monkeypatch.setattr(withholding, "_REMEMBERED", 3)
    redactor = wv.Redactor()
    for n in range(20):
        agree(redactor, [f"the caf{chr(0x100 + n)} is open {chr(0x1F600 + n)} now"])


def test_threads_have_passes_of_their_own():
    redactor, texts = wv.Redactor(), [f"We saw Maria{n} in the house 😀." for n in range(50)]
    right, answers = reference(redactor, texts)[0], []
    threads = [threading.Thread(target=lambda: answers.append(compiled(redactor, texts * 20)[0])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [right * 20] * 8
