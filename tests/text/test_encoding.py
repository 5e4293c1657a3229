"""Encoding: every id is what the surface said, no unknown token shows in a gap; and how words are written again."""

import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.times import assert_proportional

from wordveil.errors import ParameterError
from wordveil.text.characters import GAP_CHARACTERS
from wordveil.text.detokenization import apply_casing, apply_shapes, detokenize
from wordveil.text.encoding import Encoder
from wordveil.text.readings import read, split_contraction
from wordveil.text.tokenizer import Tokenizer
from wordveil.withholding.linking import spelled_alike
from worlds import told

TOLD = told(__file__)
WORDS, READINGS = TOLD["words"], TOLD["readings"]


def lookup_in(words):
    ids = {word: i for i, word in enumerate(words)}

    def lookup(asked):
        return np.array([ids.get(word, -1) for word in asked], np.int32)

    return lookup


def encoder(words=WORDS, **settings):
    return Encoder(lookup=lookup_in(words), **settings)


def shown(text, words=WORDS, **settings):
    """The encoded text with each id written as its word and each unknown as an asterisk."""
    (encoded,) = encoder(words, **settings).encode([text])
    return encoded.gaps, [words[i] if i >= 0 else "*" for i in encoded.ids.tolist()]


@pytest.mark.parametrize("token", READINGS)
def test_readings(token):
    parts = READINGS[token].split()
    words = [part.removeprefix("-") for part in parts]
    gaps = ["", *("-" * part.startswith("-") for part in parts[1:]), ""]
    assert shown(token) == (gaps, words)
    assert shown(f"go {token}!") == (["", " " + gaps[0], *gaps[1:-1], gaps[-1] + "!"], ["go", *words])


def test_a_missing_clitic_is_read_as_its_full_word():
    words = ["do", "not", "can", "will", "they", "are", "have", "i", "am", "s", "john"]
    assert shown("don't", words)[1] == ["do", "not"]
    assert shown("can't won't", words)[1] == ["can", "not", "will", "not"]
    assert shown("they're I'm they've", words)[1] == ["they", "are", "i", "am", "they", "have"]
    assert (shown("John's", words)[1], shown("John's", ["john"])[1]) == (["john", "s"], ["john", "*"])
    assert shown("Maria's lemme", ["john"])[1] == ["*", "*", "*", "*"]


def test_numbers_from_the_vocabulary():
    assert shown("in 1999", numbers="vocabulary")[1] == ["in", "1999"]
    assert shown("1999, 2", numbers="vocabulary") == (["", ", ", ""], ["1999", "2"])
    assert shown("1999 2", numbers="vocabulary")[1] == ["*"], "one number to the tokenizer, known or not"
    assert shown("2-year-old, 10/10", numbers="vocabulary")[1] == ["2", "year", "old", "10/10"]
    assert shown("1999 7", numbers="vocabulary")[1] == ["*"]


def test_cased_vocabulary_tries_surface_then_lower_then_capitalized():
    words = ["us", "US", "London", "it", "IT's", "Do", "n't"]
    assert shown("US us London LONDON london IT Us", words, casing="cased")[1] == [
        "US", "us", "London", "London", "London", "it", "us",
    ]  # fmt: skip
    assert shown("don't", words, casing="cased")[1] == ["Do", "n't"]


def test_public_words_stand_as_they_are_listed_and_are_counted():
    public = frozenset({"COVID-19", "the", "Ω"})
    (encoded,) = encoder(public_words=public).encode(["The law: covid-19, maria ω (tHe)."])
    assert encoded.gaps == ["the ", ": COVID-19, ", " Ω (the)."]
    assert [WORDS[i] if i >= 0 else "*" for i in encoded.ids.tolist()] == ["law", "*"]
    assert (encoded.exempt, encoded.unknown) == (4, 1)


@pytest.mark.parametrize("spelled", ["Straße", "STRASSE", "sTRAẞE", "straße"])
def test_no_spelling_of_a_public_word_shows(spelled):
    (encoded,) = encoder(public_words=frozenset({"strasse"})).encode([f"{spelled} go"])
    assert (encoded.gaps, encoded.exempt) == (["strasse ", ""], 1)
    for listed in ("café", "cafe\u0301"):
        for typed in ("cafe\u0301", "CAFÉ", "café"):
            assert encoder(public_words=frozenset({listed})).encode([typed])[0].gaps == [listed]
    both = frozenset({"MARIA", "Maria"})
    assert encoder(public_words=both).encode(["maria Maria MARIA"])[0].gaps == ["MARIA MARIA MARIA"]


@pytest.mark.parametrize("tag", ["<B>", "</B>", "<Br />", "<BR/>"])
def test_tags_stand_in_lower_case_and_only_in_ascii(tag):
    tokenizer = Tokenizer(markup="html")
    assert shown(f"go{tag}go", tokenizer=tokenizer) == (["", tag.lower(), ""], ["go", "go"])
    for odd in ("<\u017f>", "<\u017fpan>", "<\u212abd>", "<\u0130>", "<\u0131>"):  # i and s and k to a careless pattern
        gaps, _ = shown(f"go{odd}go", tokenizer=tokenizer)
        assert set("".join(gaps)) <= GAP_CHARACTERS


def test_public_words_must_be_tokens():
    with pytest.raises(ParameterError, match="public_words='New York' is not one token"):
        encoder(public_words=frozenset({"New York"}))
    with pytest.raises(ParameterError, match="casing='upper' must be one of lower, cased"):
        encoder(casing="upper")
    with pytest.raises(ParameterError, match="numbers='keep' must be one of unknown, vocabulary"):
        encoder(numbers="keep")


def test_shapes():
    (encoded,) = encoder(keep_shapes=True, public_words=frozenset({"well"})).encode(
        ["The JOHN don't DON'T I McCoy well-Known Well it's Mother-in-LAW"]
    )
    assert encoded.shapes.tolist() == [1, 2, 0, 0, 2, 2, 1, 1, 0, 1, 0, 0, 1, 0, 2]
    assert encoded.shapes.dtype == np.uint8
    assert len(encoded.ids) == len(encoded.shapes)
    (plain,) = encoder(keep_shapes=True).encode(["The LAW is"])
    assert plain.shapes.tolist() == [1, 2, 0]


# -- Oracle: one token at a time, written for reading, not for speed -----------------------------------------------

CLITICS = ("n't", "'s", "'re", "'ve", "'ll", "'d", "'m")


def plain(text):
    for c in "’‘‛＇`´ʼ":
        text = text.replace(c, "'")
    for c in "‐‑－":
        text = text.replace(c, "-")
    text = text if text.isascii() else "".join(c for c in text if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFC", text).lower()


def whole(text):
    candidates = [form for form in (text.lower(), plain(text)) if form in WORDS]
    return candidates[:1] or None


def penn(text, deeper):
    fused = {"cannot": 3, "gimme": 3, "gonna": 3, "gotta": 3, "lemme": 3, "wanna": 3}
    if text in fused:
        return full(text[: fused[text]]) + full(text[fused[text] :])
    for clitic in CLITICS:
        if text.endswith(clitic) and len(text) > len(clitic):
            stem = text[: -len(clitic)]
            return (whole(stem) or (deeper and penn(stem, False)) or hyphens(stem) or full(stem)) + full(clitic)
    return None


def full(part):
    """The part as listed, or the word it stands for."""
    word = TOLD["parts"].get(part)
    return whole(part) or ([word] if word in WORDS else ["*"])


def hyphens(text):
    parts = text.split("-")
    if len(parts) == 1 or "" in parts:
        return None
    return [word for part in parts for word in whole(part) or penn(part, False) or ["*"]]


def oracle(token):
    if any(unicodedata.category(c)[0] == "N" for c in token):
        return ["*"]
    folded = plain(token)
    listed = whole(token) or (whole(folded[:-1]) if folded.endswith(".") else None)
    if listed or set(folded) & (GAP_CHARACTERS - {"'", "-"}):
        return listed or ["*"]
    return penn(folded, True) or hyphens(folded) or ["*"]


PIECES = st.sampled_from([
    *WORDS, *CLITICS, "’s", "N’T", "-", "-", "‑", "'", ".", " ", ", ", "Maria", "MARIA", "é", "e\u0301", "\u200d",
    "😀", "x", "9",
])  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(PIECES, max_size=12).map("".join),
    st.lists(st.one_of(PIECES, st.characters()), max_size=12).map("".join),
)


@given(TEXTS)
def test_ids_agree_with_the_oracle_and_gaps_hold_listed_characters_only(text):
    gaps, words = shown(text)
    assert words == [word for token in Tokenizer().split(text)[1::2] for word in oracle(token)]
    assert len(gaps) == len(words) + 1
    assert set("".join(gaps)) <= GAP_CHARACTERS
    assert not any(unicodedata.category(c)[0] == "N" for c in "".join(gaps))


@given(TEXTS, st.sampled_from(["unknown", "vocabulary"]))
def test_where_a_token_is_cut_does_not_depend_on_what_is_known_of_it(text, numbers):
    """Under any vocabulary that lists no form the rule cuts, the layout is the same: no unknown token shows in it."""
    (nothing,) = encoder(["qzqzq"], numbers=numbers).encode([text])
    uncut = [word for word in WORDS if "-" not in word and split_contraction(word) is None]
    for words in (uncut, uncut[::2], [word for word in uncut if word.isalpha()]):
        (encoded,) = encoder(words, numbers=numbers).encode([text])
        assert encoded.gaps == nothing.gaps


@given(st.lists(TEXTS, max_size=4))
def test_public_words_are_the_only_other_way_into_a_gap(texts):
    public = frozenset({"the", "Maria", "9", "😀"})
    for encoded in encoder(public_words=public).encode(texts):
        rest = "".join(encoded.gaps)
        for word in public:
            rest = re.sub(re.escape(word), "", rest, flags=re.IGNORECASE)
        assert set(rest) <= GAP_CHARACTERS


@pytest.mark.parametrize("unit", ["a-", "don't-", "a-'s", "A."])
def test_a_token_of_many_parts_is_read_in_time_in_proportion_to_its_length(unit):
    def work(repeats):
        reading = read((unit * repeats)[:-1], {"a": 0}, "lower")
        assert len(reading.gaps) == len(reading.ids) + 1

    assert_proportional(work, 2_000)


def test_a_run_of_marks_takes_time_in_proportion_to_its_length():
    assert_proportional(lambda repeats: encoder(["a"]).encode(["a" + "\u0300\u0327" * repeats]), 4_000)
    assert_proportional(lambda repeats: spelled_alike("a" + "\u0300\u0327" * repeats), 4_000)


GAPS = st.sampled_from([" ", ", ", ". ", "\n", "-", " (", ") ", "… "])
WORD = st.text(alphabet="abcdefgh'é", min_size=1, max_size=5)


@given(st.data(), st.lists(WORD, max_size=8))
def test_interleaves(data, words):
    gaps = data.draw(st.lists(GAPS, min_size=len(words) + 1, max_size=len(words) + 1))
    expected = gaps[0] + "".join(word + gap for word, gap in zip(words, gaps[1:], strict=True))
    assert detokenize(gaps, words) == expected


@given(st.text(alphabet=st.sampled_from("ab'-. \n(),!9é€"), max_size=40))
def test_undoes_the_split_of_text_without_adjacent_tokens(text):
    pieces = Tokenizer().split(text)
    if "" not in pieces[2:-1:2]:
        assert detokenize(pieces[::2], pieces[1::2]) == text


@pytest.mark.parametrize(("gaps", "words", "text"), TOLD["written"])
def test_detokenize(gaps, words, text):
    assert detokenize(gaps, words) == text


@pytest.mark.parametrize(("text", "cased"), TOLD["sentences"].items())
def test_sentence_casing(text, cased):
    assert apply_casing(text) == apply_casing(cased) == cased


def test_the_pronoun_is_left_alone_where_case_is_told_apart():
    assert apply_casing("so i said. i left NASA", cased=True) == "So i said. I left NASA"


@given(st.text(max_size=60))
def test_casing_is_idempotent_and_changes_case_only(text):
    cased = apply_casing(text)
    assert apply_casing(cased) == cased
    assert len(cased) == len(text)
    assert all(a == b or b == a.upper() for a, b in zip(text, cased, strict=True))


@pytest.mark.parametrize("unit", ["(", '."', ". ", "i", "<a ", ".<b"])
def test_casing_time_stays_linear(unit):
    assert len(apply_casing(unit * 20_000)) == len(unit) * 20_000  # quadratic time would take minutes


def test_shapes_are_put_on_words_and_unequal_lengths_are_refused():
    words = ["movie", "nasa", "i", "", "élan"]
    assert apply_shapes(words, np.array([1, 2, 0, 1, 1], np.uint8)) == ["Movie", "NASA", "i", "", "Élan"]
    assert words[0] == "movie"
    with pytest.raises(ParameterError, match="shapes=1 must hold one entry for each of the 5 words"):
        apply_shapes(words, np.zeros(1, np.uint8))
    with pytest.raises(ParameterError, match="gaps=2 must hold one more entry than the 2 words"):
        detokenize(["", ""], ["secret", "words"])
