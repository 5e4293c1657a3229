"""What is done for a batch at once equals what is done for each text alone: cutting, reading, writing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wordveil.arrays import PrivateText
from wordveil.errors import ParameterError
from wordveil.text import Encoder, Tokenizer, Writer, apply_casing, apply_shapes, detokenize
from wordveil.text.chunks import cut_at_spaces
from wordveil.text.detokenization import SentenceCasing
from wordveil.text.encoded import tokens_per_text
from wordveil.text.patterns import digit_pattern
from wordveil.text.readings import UNKNOWN, read, shape, spellings

WORDS = ["the", "film", "do", "n't", "'s", "can", "not", "new", "york", "u.s", "i", "it", "-", "5", "ab12", "mr.", '"']
IDS = {word: number for number, word in enumerate(WORDS)}
# Whatever can hold a space, look like it, or stand in its way.
FRAGMENTS = [
    "5", "6%", "$7", "+1", "(555)", "010-9999", "٣", "½", "DE89", "3704", "0044", "AB12", "CDEF", "GHIJ", "Kl", "A",
    "<br", "/>", "<br />", "<a", 'href="x">', "<b>", "</b>", "c<d", ">", "<", "<!--", "-->", "&amp;", "&", "nbsp;",
    "film", "Don't", "THE", "New-York", "U.S.", "i", "it's", "cannot", "Zzyzx", "mr.", "x@y.org", "http://a.b/c",
    "C:\\d", ".", "...", "-", "!", '"', "(", ")", "\n", "\n\n", "\t", "\xa0", "\u2009", "\v", "\x85", "🙂", "日本",
    "\ud800", "",
]  # fmt: skip
mixed = st.lists(st.sampled_from([*FRAGMENTS, " ", " ", " ", "  "]), max_size=14).map("".join)
spaced = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map(" ".join)
texts_of = st.lists(st.one_of(mixed, spaced, st.text(max_size=30)), max_size=6)
markups = st.sampled_from(["none", "html"])


def lookup(words):
    return np.array([IDS.get(word, -1) for word in words], np.int32)


def joined(parts):
    """Pieces of neighbouring chunks as the pieces of the text they make."""
    pieces = list(parts[0])
    for part in parts[1:]:
        pieces[-1] += " " + part[0]
        pieces += part[1:]
    return pieces


def read_alone(encoder, text):
    """One text through the encoder's rules, token by token: gaps, ids, shapes, exempt."""
    pieces = encoder.tokenizer.split(PrivateText(text))
    if encoder.tokenizer.markup == "html":
        pieces[::2] = map(str.lower, pieces[::2])
    public = {word.casefold(): word for word in encoder.public_words}
    gaps, ids, shapes, exempt = [pieces[0]], [], [], 0
    for token, gap in zip(pieces[1::2], pieces[2::2], strict=True):
        if token.casefold() in public:
            gaps[-1] += public[token.casefold()] + gap
            exempt += 1
            continue
        known = {form: IDS[form] for form in spellings(token, encoder.casing) if form in IDS}
        own_ids, own_gaps, own_shapes = read(token, known, encoder.casing)
        if encoder.numbers == "unknown" and digit_pattern().search(token):
            own_ids, own_gaps, own_shapes = (UNKNOWN,), ("", ""), (shape(token),)
        gaps[-1] += own_gaps[0]
        gaps += own_gaps[1:]
        gaps[-1] += gap
        ids += own_ids
        shapes += own_shapes
    return gaps, ids, shapes, exempt


@settings(max_examples=400, deadline=None)
@given(texts=texts_of, markup=markups)
def test_chunks_are_read_as_inside_their_text(texts, markup):
    chunks = cut_at_spaces(list(map(PrivateText, texts)), markup=markup)
    tokenizer = Tokenizer(markup=markup)
    start = 0
    for text, end in zip(texts, chunks.ends.tolist(), strict=True):
        own = [chunks.types[i] for i in chunks.numbers[start:end].tolist()]
        assert " ".join(own) == text
        assert joined([tokenizer.split(PrivateText(chunk)) for chunk in own]) == tokenizer.split(PrivateText(text))
        start = end
    assert start == len(chunks.numbers)


def test_most_spaces_are_cut():
    text = "In 1999 we paid 5 000 dollars to DE89 3704 0044 0532 0130 00 for the New York film of 12 May."
    chunks = cut_at_spaces([PrivateText(text)])
    assert "5 000" in chunks.types
    assert "DE89 3704 0044 0532 0130 00" in chunks.types
    assert len(chunks.numbers) == len(text.split(" ")) - 6


def test_a_long_run_of_bound_chunks_is_joined_once():
    text = " ".join(["7"] * 50_000 + ["<a"] * 3000)
    assert len(cut_at_spaces([PrivateText(text)]).numbers) == 1 + 3000
    assert len(cut_at_spaces([PrivateText(text)], markup="html").numbers) == 2


@settings(max_examples=400, deadline=None)
@given(
    texts=texts_of,
    markup=markups,
    casing=st.sampled_from(["lower", "cased"]),
    numbers=st.sampled_from(["unknown", "vocabulary"]),
    public=st.sampled_from([frozenset(), frozenset({"film", "The"}), frozenset({"don't", "5"})]),
)
def test_a_batch_is_its_texts_read_alone(texts, markup, casing, numbers, public):
    encoder = Encoder(
        lookup=lookup,
        casing=casing,
        tokenizer=Tokenizer(markup=markup),
        numbers=numbers,
        public_words=public,
        keep_shapes=True,
    )
    for text, encoded in zip(texts, encoder.encode(list(map(PrivateText, texts))), strict=True):
        found = (encoded.gaps, encoded.ids.tolist(), encoded.shapes.tolist(), encoded.exempt)
        assert found == read_alone(encoder, text)


@pytest.fixture
def tiny_pieces(monkeypatch):
    for name, size in {
        "chunks.LONG": 3, "chunks._MOST_TYPES": 4, "encoding._PART": 2, "writing._SLAB": 3, "detokenization._TAIL": 40,
    }.items():  # fmt: skip
        monkeypatch.setattr(f"wordveil.text.{name}", size)


words_and_gaps = st.sampled_from([
    "film", "the New", "don't", "it", "i", "mr.", "zzyzx", "日本。日本", "5 film", "U.S. a", "<b c", "<b>", "d>", "x<",
    " ", ".", "!", "\n", "", "... ", "(", "'", "5", "½", "DE89 3704", "AB12 new", "C:/x y", "🙂", "、it", "/a b/c",
])  # fmt: skip
long_texts = st.lists(words_and_gaps, min_size=1, max_size=40).map(" ".join)


@pytest.mark.usefixtures("tiny_pieces")
@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(long_texts | mixed, max_size=3),
    draw=st.randoms(use_true_random=False),
    markup=markups,
    casing=st.sampled_from(["sentence", "vocabulary", "shape"]),
    mask=st.sampled_from(["", "[unknown]"]),
    dropping=st.sampled_from([0, 0, 1, 10, 1000]),
)
def test_long_texts_in_pieces_are_those_read_and_written_whole(texts, draw, markup, casing, mask, dropping):
    shapes = casing == "shape"
    public = frozenset({"film"})
    encoder = Encoder(lookup=lookup, tokenizer=Tokenizer(markup=markup), keep_shapes=shapes, public_words=public)
    writer = Writer(words=WORDS, casing=casing, mask=mask)
    texts = list(map(PrivateText, texts))
    parts = list(encoder.encode_parts(texts))
    whole = encoder.encode_batch(texts)
    assert [i for part in parts for i in part.ids.tolist()] == whole.ids.tolist()
    assert tokens_per_text(parts).tolist() == whole.counts.tolist()
    released = np.array([max(-1, draw.randrange(-dropping, len(WORDS))) for _ in whole.ids], np.int32)
    expected = []
    for text, own in zip(whole.texts(), np.split(released, np.cumsum(whole.counts)), strict=False):
        words = [mask if i < 0 else WORDS[i] for i in own.tolist()]
        if shapes:
            words = apply_shapes(words, np.where(own < 0, 0, text.shapes).astype(np.uint8))
        expected.append(detokenize(text.gaps, words))
    if casing == "sentence":
        expected = [apply_casing(text).replace("[Unknown]", "[unknown]") for text in expected]
    assert writer.write_parts(parts, released) == expected


@settings(max_examples=600, deadline=None)
@given(
    pieces=st.lists(
        st.sampled_from([*FRAGMENTS, "Is it so? ", "i", "hi", "ai.", " i'm", "x" * 33, "é. "]), max_size=60
    ),
    cuts=st.randoms(use_true_random=False),
    cased=st.booleans(),
)
def test_text_in_pieces_is_cased_as_a_whole(pieces, cuts, cased):
    text = "".join(pieces)
    casing = SentenceCasing(cased=cased)
    for _ in range(2):
        places = sorted(cuts.randrange(len(text) + 1) for _ in range(3))
        parts = [text[first:stop] for first, stop in pairwise([0, *places, len(text)])]
        fed = [casing.feed(part, last=False) for part in parts]
        assert "".join([*fed, casing.feed("", last=True)]) == apply_casing(text, cased=cased)


def test_casing_holds_back_little():
    casing = SentenceCasing(cased=False)
    assert len(casing.feed("as they went on and on. " * 1000, last=False)) > 19_000


def test_a_long_text_falls_into_many_pieces(tiny_pieces):
    text = PrivateText("  the New film, don't 5  7 \n" * 40 + "it ")
    parts = list(Encoder(lookup=lookup).encode_parts([text, PrivateText("it")]))
    assert [last for part in parts for last in part.last.tolist()].count(False) > 80
    assert max(len(part.ids) for part in parts) < 8


def test_a_text_without_a_place_to_cut_is_refused_without_showing_it(monkeypatch):
    monkeypatch.setattr("wordveil.text.chunks.LONG", 10)
    monkeypatch.setattr("wordveil.text.chunks.LONGEST", 50)
    encoder = Encoder(lookup=lookup)
    assert len(list(encoder.encode_parts([PrivateText("zzyzx," * 8 + " it")]))) == 1
    with pytest.raises(ParameterError, match=r"^text='<60 characters>' must have a space .* in every 50 characters"):
        list(encoder.encode_parts([PrivateText("zzyzx," * 10)]))


def test_no_texts_and_texts_without_tokens():
    encoder = Encoder(lookup=lookup)
    assert encoder.encode([]) == []
    assert [text.gaps for text in encoder.encode([PrivateText(" "), PrivateText(""), PrivateText(" .  ! ")])] == [
        [" "],
        [""],
        [" .  ! "],
    ]
    assert Writer(words=WORDS).write(encoder.encode_batch([]), np.empty(0, np.int32)) == []


@settings(max_examples=400, deadline=None)
@given(
    texts=texts_of,
    draw=st.randoms(use_true_random=False),
    casing=st.sampled_from(["sentence", "vocabulary", "shape"]),
    mask=st.sampled_from(["", "[unknown]"]),
    dropping=st.booleans(),
    cased=st.booleans(),
)
def test_written_texts_are_those_of_detokenizing_each(texts, draw, casing, mask, dropping, cased):
    batch = Encoder(lookup=lookup, keep_shapes=casing == "shape").encode_batch(list(map(PrivateText, texts)))
    released = np.array([draw.randrange(-dropping, len(WORDS)) for _ in batch.ids], np.int32)
    written = Writer(words=WORDS, casing=casing, cased=cased, mask=mask).write(batch, released)
    start = 0
    for text, output in zip(batch.texts(), written, strict=True):
        ids = released[start : start + len(text.ids)].tolist()
        start += len(text.ids)
        words = [mask if i < 0 else WORDS[i] for i in ids]
        if casing == "shape":
            shapes = [0 if i < 0 else own for i, own in zip(ids, text.shapes.tolist(), strict=True)]
            assert output == detokenize(text.gaps, apply_shapes(words, np.array(shapes, np.uint8)))
            continue
        expected = detokenize(text.gaps, words)
        if casing == "sentence":
            expected = apply_casing(expected, cased=cased)
            expected = expected.replace("[Unknown]", mask) if mask else expected
        assert output == expected


@pytest.mark.parametrize("text", ["ZZYZX film", "Zzyzx film", "the ZZYZX"])
def test_a_mask_is_written_the_same_whatever_the_casing_of_the_token(text):
    batch = Encoder(lookup=lookup, keep_shapes=True).encode_batch([PrivateText(text)])
    (written,) = Writer(words=WORDS, casing="shape", mask="[unknown]").write(batch, batch.ids)
    assert "[unknown]" in written


def test_a_batch_without_ids_writes_the_same_and_hides_them():
    batch = Encoder(lookup=lookup).encode_batch([PrivateText("The film, new."), PrivateText("it")])
    released = np.array([1, 0, 5, 3], np.int32)
    assert len(batch.without_ids().ids) == 0
    assert Writer(words=WORDS).write(batch.without_ids(), released) == Writer(words=WORDS).write(batch, released)
    assert repr(batch) == "EncodedBatch(texts=2, tokens=4)"
