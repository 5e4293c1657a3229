"""What is done for a batch at once equals what the reference does for each text alone: reading and writing."""

import gzip
import json
from itertools import islice

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.times import assert_proportional

from wordveil.arrays import PrivateText
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.library import text_library
from wordveil.text.characters import plain_characters
from wordveil.text.detokenization import apply_shapes, detokenize
from wordveil.text.encoding import EncodedBatch, Encoder, tokens_per_text
from wordveil.text.reference import encode_text, read_token, write_text
from wordveil.text.surrogates import Surrogates
from wordveil.text.tokenizer import Tokenizer
from wordveil.text.writing import Writer
from wordveil.vocabulary.wordlist import WordList, build_index
from worlds import shared, told

TOLD = told(__file__)

WORDS = TOLD["words"]
IDS = {word: number for number, word in enumerate(WORDS)}
FRAGMENTS = [*TOLD["fragments"], "\ud800"]
mixed = st.lists(st.sampled_from([*FRAGMENTS, " ", " ", " ", "  "]), max_size=14).map("".join)
spaced = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map(" ".join)
texts_of = st.lists(st.one_of(mixed, spaced, st.text(max_size=30)), max_size=6)
markups = st.sampled_from(["none", "html"])


def lookup(words):
    return np.array([IDS.get(word, -1) for word in words], np.int32)


def packed(words=WORDS):
    listed = WordList.from_encoded([word.encode() for word in words])
    return build_index(listed).packed(listed)


def compiled(words=WORDS):
    if text_library() is None:
        pytest.skip("the kernels are not compiled here: python -m wordveil.kernels.compiled")
    return packed(words)


ENGINES = {"compiled": compiled, "reference": lambda _=None: None}
every_engine = pytest.mark.parametrize("engine", ENGINES)
many = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read_alone(encoder, text):
    pieces = encoder.tokenizer.split(PrivateText(text))
    readings = {token: read_token(token, encoder.rules, IDS) for token in pieces[1::2]}
    return encode_text(pieces, readings, encoder.tokenizer.markup)


def assert_reads_as_the_reference(encoder, texts):
    for text, encoded in zip(texts, encoder.encode(list(map(PrivateText, texts))), strict=True):
        found = (encoded.gaps, encoded.ids.tolist(), encoded.shapes.tolist(), encoded.exempt)
        assert found == tuple(read_alone(encoder, text)), text


@pytest.mark.slow
@every_engine
@many
@given(
    texts=texts_of,
    markup=markups,
    casing=st.sampled_from(["lower", "cased"]),
    numbers=st.sampled_from(["unknown", "vocabulary"]),
    public=st.sampled_from(
        [frozenset(), frozenset({"film", "The"}), frozenset({"don't", "5", "Café"}), frozenset({"café"})]
    ),
    typed=st.sampled_from([None, Surrogates(first=1000)]),
)
def test_a_batch_is_its_texts_read_alone(engine, texts, markup, casing, numbers, public, typed):
    encoder = Encoder(
        lookup=lookup, index=ENGINES[engine](), casing=casing, tokenizer=Tokenizer(markup=markup), numbers=numbers,
        public_words=public, keep_shapes=True, typed=typed,
    )  # fmt: skip
    assert_reads_as_the_reference(encoder, texts)


@every_engine
@pytest.mark.parametrize("unit", ["// ", "//\n", "../ ", "&nbsp; ", "</b> <b> ", "Café "])
def test_a_long_gap_takes_memory_in_proportion_to_its_length(engine, unit):
    """The compiled reader kept every beginning of one: 39 KB of slashes took 1.6 GB."""
    text = f"film {unit * 2_000}film"
    encoder = Encoder(
        lookup=lookup, index=ENGINES[engine](), tokenizer=Tokenizer(markup="html"), public_words=frozenset({"Café"}),
        keep_shapes=True,
    )  # fmt: skip
    read = encoder.encode_batch([PrivateText(text)])
    assert sum(map(len, read.gaps)) < 2 * len(text)
    assert_reads_as_the_reference(encoder, [text])


@every_engine
@pytest.mark.parametrize("unit", ["5;", "&nbsp;", "<b>", "Café,"])
def test_a_long_stretch_takes_time_in_proportion_to_its_length(engine, unit):
    """The compiled reader looked for @ from each number to the next space; gaps grew by copies of themselves."""
    encoder = Encoder(
        lookup=lookup, index=ENGINES[engine](), tokenizer=Tokenizer(markup="html"), public_words=frozenset({"Café"})
    )
    assert_proportional(lambda repeats: encoder.encode_batch([PrivateText(unit * repeats)]), 2_000)


def test_dropped_words_take_time_in_proportion_to_their_number():
    assert_proportional(lambda repeats: detokenize(["", *["!!!! "] * repeats], [""] * repeats), 4_000)


def test_a_reader_with_a_wrong_table_is_caught(monkeypatch):
    """The comparison can fail: here digits are letters, so that numbers are cut at spaces."""
    index = compiled()
    table = plain_characters(cased=False, html=False)
    classes, lower = table.classes.copy(), table.lower.copy()
    digits = slice(ord("0"), ord("9") + 1)
    classes[digits], lower[digits] = classes[ord("a")], np.arange(ord("0"), ord("9") + 1)
    wrong = type(table)(classes=classes, lower=lower)
    monkeypatch.setattr("wordveil.text.encoding.plain_characters", lambda **_: wrong)
    encoder = Encoder(lookup=lookup, index=index, keep_shapes=True)
    assert_reads_as_the_reference(encoder, ["the film"])
    with pytest.raises(AssertionError):
        assert_reads_as_the_reference(encoder, ["5 000 film"])


def test_plain_text_is_not_left_to_the_reference(monkeypatch):
    left, read_texts = list[str](), Encoder.read_texts
    monkeypatch.setattr(Encoder, "read_texts", lambda self, texts: left.extend(texts) or read_texts(self, texts))
    text = (
        "In 1999, the “New” film's co-op (of 12 May) wasn't THAT bad: 10/10, don’t you think? Café... it's $ -- or "
        'so; "They" paid 1,000 at 10:30<br />and 7.5% [a] {b} * + = !!! ;-) for 9-year-olds in the 80\'s. www.a.com'
    )
    list(Encoder(lookup=lookup, index=compiled()).encode_parts([PrivateText(text)] * 3))
    assert left == ["www.a.com"]


def test_without_compiled_kernels_the_reference_reads_and_writes(monkeypatch):
    index = packed()
    monkeypatch.setenv("WORDVEIL_ENGINE", "numpy")
    encoder, writer = Encoder(lookup=lookup, index=index), Writer(words=WORDS, index=index)
    batch = encoder.encode_batch([PrivateText("The film, new.")])
    assert writer.write(batch, batch.ids) == ["The film, new."]


@every_engine
def test_a_long_row_of_public_words_is_kept_once(engine):
    public = frozenset({"the"})
    encoder = Encoder(lookup=lookup, index=ENGINES[engine](), public_words=public, keep_shapes=True)
    text = PrivateText("film " + "the " * 2000 + "film")
    batch = encoder.encode_batch([text])
    assert batch.exempt.tolist() == [2000]
    assert sum(map(len, batch.gaps)) < 2 * len(text)


@every_engine
@pytest.mark.data
def test_reviews_and_identifiers_are_read_as_the_reference_reads_them(engine):
    texts = []
    for name in ("documents/imdb.train.jsonl.gz", "privacy/presidio-synth.jsonl.gz"):
        with gzip.open(shared(name), "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["text"] for line in islice(lines, 400)]
    assert_reads_as_the_reference(Encoder(lookup=lookup, index=ENGINES[engine](), keep_shapes=True), texts)


@pytest.fixture
def tiny_pieces(monkeypatch):
    monkeypatch.setattr("wordveil.text.encoding.LONG", 3)
    monkeypatch.setattr("wordveil.text.assembling.KEPT", 2)


long_texts = st.lists(st.sampled_from(TOLD["words_and_gaps"]), min_size=1, max_size=40).map(" ".join)


def written_alone(writer, pieces):
    """One text, encoded in pieces, by the reference."""
    gaps, own = [""], []
    for text, released in pieces:
        gaps[-1] += text.gaps[0]
        gaps += text.gaps[1:]
        own += released.tolist()
    v = len(writer.words)
    words = [None if i < 0 else writer.words[i] if i < v else writer.typed.text(i) for i in own]
    shapes = None
    if writer.casing == "shape":
        given = np.concatenate([text.shapes for text, _ in pieces]).tolist()
        shapes = np.array([shape if 0 <= i < v else 0 for i, shape in zip(own, given, strict=True)], np.uint8)
    return write_text(gaps, words, shapes, writer.casing, cased=writer.cased, mask=writer.mask)


@pytest.mark.slow
@every_engine
@pytest.mark.usefixtures("tiny_pieces")
@many
@given(
    texts=st.lists(long_texts | mixed, max_size=3), draw=st.randoms(use_true_random=False), markup=markups,
    casing=st.sampled_from(["sentence", "vocabulary", "shape"]), mask=st.sampled_from(["", "[unknown]"]),
    dropping=st.sampled_from([0, 0, 1, 10, 1000]),
)  # fmt: skip
def test_long_texts_in_pieces_are_those_read_and_written_whole(engine, texts, draw, markup, casing, mask, dropping):
    index = ENGINES[engine]()
    encoder = Encoder(
        lookup=lookup, index=index, tokenizer=Tokenizer(markup=markup), keep_shapes=casing == "shape",
        public_words=frozenset({"film"}),
    )  # fmt: skip
    writer = Writer(words=WORDS, index=index, casing=casing, mask=mask)
    texts = list(map(PrivateText, texts))
    parts = list(encoder.encode_parts(texts))
    whole = encoder.encode_batch(texts)
    assert [i for part in parts for i in part.ids.tolist()] == whole.ids.tolist()
    assert tokens_per_text(parts).tolist() == whole.counts.tolist()
    released = np.array([max(-1, draw.randrange(-dropping, len(WORDS))) for _ in whole.ids], np.int32)
    own = np.split(released, np.cumsum(whole.counts))
    expected = [written_alone(writer, [pair]) for pair in zip(whole.texts(), own, strict=False)]
    assert writer.write_parts(parts, released) == expected


def test_a_long_text_falls_into_many_pieces(tiny_pieces):
    text = PrivateText("  the New film, don't 5  7 \n" * 40 + "it ")
    parts = list(Encoder(lookup=lookup).encode_parts([text, PrivateText("it")]))
    assert [last for part in parts for last in part.last.tolist()].count(False) > 80
    assert max(len(part.ids) for part in parts) < 8


def test_a_text_without_a_place_to_cut_is_refused_without_showing_it(monkeypatch):
    monkeypatch.setattr("wordveil.text.encoding.LONG", 10)
    monkeypatch.setattr("wordveil.text.encoding.LONGEST", 50)
    encoder = Encoder(lookup=lookup)
    assert sum(int(part.last.sum()) for part in encoder.encode_parts([PrivateText("zzyzx," * 8 + " it")])) == 1
    with pytest.raises(ParameterError, match=r"^text='<60 characters>' must have a space .* in every 50 characters"):
        list(encoder.encode_parts([PrivateText("zzyzx," * 10)]))


def test_the_reference_writes_by_detokenizing_and_casing():
    gaps, words = ["(", " ", "", ". ", ")"], ["do", "i", "n't", "new"]
    write = {"cased": False, "mask": "[unknown]"}
    assert write_text(gaps, words, None, "vocabulary", **write) == detokenize(gaps, words) == "(do in't. new)"
    assert write_text(gaps, words, None, "sentence", **write) == "(Do in't. New)"
    assert write_text(gaps, [None, *words[1:]], None, "sentence", **write) == "([unknown] in't. New)"
    shapes = np.array([2, 1, 0, 1], np.uint8)
    assert write_text(gaps, words, shapes, "shape", **write) == "(DO In't. New)"
    assert apply_shapes(words, shapes) == ["DO", "I", "n't", "New"]


GAPS = [*TOLD["gaps"], "\ud800", f". <{'é' * 30}>", f". <{'e' * 31}>"]
RELEASED = [*WORDS, *TOLD["released"]]


@pytest.mark.slow
@every_engine
@many
@given(
    texts=st.lists(
        st.lists(st.tuples(st.integers(0, len(GAPS) - 1), st.integers(0, len(RELEASED) + 90)), max_size=8), max_size=5
    ),
    draw=st.randoms(use_true_random=False),
    casing=st.sampled_from(["sentence", "vocabulary", "shape"]),
    mask=st.sampled_from(["", "[unknown]"]),
    cased=st.booleans(),
    dropping=st.booleans(),
)
def test_written_texts_are_those_of_the_reference(engine, texts, draw, casing, mask, cased, dropping):
    index, typed = ENGINES[engine](RELEASED), Surrogates(first=len(RELEASED))
    writer = Writer(words=RELEASED, index=index, casing=casing, mask=mask, cased=cased, typed=typed)
    last = [draw.random() < 0.7 for _ in texts]
    batch = EncodedBatch(
        gaps=GAPS, ids=np.empty(0, np.int32), before=np.array([gap for text in texts for gap, _ in text], np.int32),
        closing=np.array([draw.randrange(len(GAPS)) for _ in texts], np.int32),
        counts=np.array([len(text) for text in texts], np.int64), exempt=np.zeros(len(texts), np.int64),
        shapes=np.array([i % 3 for text in texts for _, i in text], np.uint8) if casing == "shape" else None,
        last=np.array(last, np.bool_),
    )  # fmt: skip
    released = np.array([-1 if dropping and i % 5 == 0 else i for text in texts for _, i in text], np.int32)
    expected, begun, start = [], [], 0
    for text, is_last in zip(batch.texts(), last, strict=True):
        stop = start + len(text.gaps) - 1
        begun.append((text, released[start:stop]))
        start = stop
        if is_last:
            expected.append(written_alone(writer, begun))
            begun = []
    assert writer.write(batch, released) == expected


def test_a_batch_without_ids_writes_the_same_and_hides_them():
    batch = Encoder(lookup=lookup).encode_batch([PrivateText("The film, new."), PrivateText("it")])
    released = np.array([1, 0, 5, 3], np.int32)
    assert len(batch.without_ids().ids) == 0
    assert Writer(words=WORDS).write(batch.without_ids(), released) == Writer(words=WORDS).write(batch, released)
    assert repr(batch) == "EncodedBatch(texts=2, tokens=4)"
