"""Texts through the whole pipeline: layout, choices around the mechanism, and invariance of the bytes."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.times import peak_memory, without_peaks

import seeds
import wordveil as wv
from wordveil.errors import DocumentFormatError
from wordveil.mechanisms.neighbours import FittedNeighbourResponse
from wordveil.promises.release import MASK, TextOptions

KEY = seeds.key(16)
MECHANISMS = [wv.SanText(epsilon=3.0), wv.TEM(epsilon=3.0), wv.MultivariateLaplace(epsilon=3.0)]


def sanitizer_for(table, mechanism, key=KEY, **options):
    threads = options.pop("threads", 1)
    return wv.Sanitizer(table, mechanism, options=TextOptions(**options), source=wv.RandomSource(key), threads=threads)


# Layout and choices.

known = st.sampled_from(["cat", "dog", "tree", "house", "river", "stone"])
layout = st.sampled_from([" ", "\n", ", ", ". ", "! ", "\t", " (", ") ", "\r\n", "   ", " — ", "\u00a0", ' "', "' "])


@given(st.lists(st.tuples(known, layout)), st.sampled_from(["", " ", "\n\n", "“", "- "]))
def test_layout_is_kept_to_the_character(far_apart, pairs, start):
    text = start + "".join(word + gap for word, gap in pairs)
    release = sanitizer_for(far_apart, wv.SanText(epsilon=1.0), casing="vocabulary")(text)
    assert (release.text, release.tokens) == (text, len(pairs))


@pytest.mark.parametrize(("options", "text", "released"), [
    ({"unknown": "mask"}, "Cat saw Maria.", f"Cat {MASK} {MASK}."),
    ({"unknown": "mask"}, "Maria. Maria! cat", f"{MASK}. {MASK}! Cat"),
    ({"unknown": "drop"}, "Cat saw Maria, dog.", "Cat, dog."),
    ({"unknown": "mask"}, "+1 (555) 010-9999, a@b.org http://x.y/z?q #tag", f"{MASK}, {MASK} {MASK} {MASK}"),
    ({"casing": "vocabulary"}, "Cat DOG. Tree", "cat dog. tree"),
    ({"casing": "sentence"}, "cat DOG. tree", "Cat dog. Tree"),
    ({"casing": "shape"}, "Cat DOG tree", "Cat DOG tree"),
    ({"public_words": {"maria"}, "unknown": "mask"}, "cat saw MARIA", f"Cat {MASK} maria"),
    ({"public_words": {"HIV"}, "casing": "vocabulary"}, "hiv, Hiv, cat", "HIV, HIV, cat"),
    ({"markup": "html", "casing": "vocabulary"}, "cat<BR />dog", "cat<br />dog"),
    ({"markup": "html", "unknown": "mask"}, "cat <a href=x>dog", f"Cat {MASK}dog"),
    ({}, "", ""),
    ({}, " \n", " \n"),
])  # fmt: skip
def test_choices(far_apart, options, text, released):
    result = sanitizer_for(far_apart, wv.SanText(epsilon=1.0), **options)(text).text
    assert result.replace(f"{MASK} dog", f"{MASK}dog") == released


def test_public_words_count_as_exempt_and_are_not_randomized(tiny):
    sanitizer = sanitizer_for(tiny, wv.SanText(epsilon=0.01), public_words={"alpha"})
    batch = sanitizer.release_batch(["Alpha beta ALPHA"] * 50)
    assert (batch.exempt, batch.tokens) == (100, 50)
    assert all(text.startswith("Alpha ") and text.endswith(" alpha") for text in batch.texts)


# Retries, batches, threads, blocks.

documents = st.lists(
    st.lists(st.sampled_from(["baba", "dadaq", "babaq", "dabaq", "zz", "42", "fabaq", "."]), max_size=12).map(" ".join),
    max_size=6,
)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
@pytest.mark.parametrize("options", [{}, {"per": "document"}, {"unknown": "mask"}, {"casing": "shape"}])
@settings(max_examples=15)
@given(texts=documents, data=st.data())
def test_what_a_document_becomes_depends_on_its_id_and_content_alone(vocabulary, mechanism, options, texts, data):
    sanitizer = sanitizer_for(vocabulary, mechanism, **options)
    ids = [f"id{i}" for i in range(len(texts))]
    whole = sanitizer.release_batch(texts, ids=ids)
    alone = [sanitizer(text, document_id=name).text for text, name in zip(texts, ids, strict=True)]
    assert list(whole.texts) == alone
    order = data.draw(st.permutations(range(len(texts))))
    shuffled = sanitizer.release_batch([texts[i] for i in order], ids=[ids[i] for i in order])
    assert list(shuffled.texts) == [alone[i] for i in order]
    assert whole.tokens == shuffled.tokens


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
@pytest.mark.parametrize("per", ["token", "document"])
def test_bytes_do_not_depend_on_threads_chunks_or_kept_work(vocabulary, mechanism, per, monkeypatch):
    generator = seeds.rng(3)
    entries = [*vocabulary.words, "zzz", "1.5"]
    texts = [" ".join(entries[i] for i in generator.integers(0, 302, n)) for n in (0, 1, 700, 3, 2000, 40)]
    ids = [str(i) for i in range(len(texts))]
    done, first = [], sanitizer_for(vocabulary, mechanism, per=per)
    whole = first.release_batch(texts, ids=ids, progress=done.append)
    expected = list(whole.texts)
    assert per == "document" or sum(done) == whole.tokens
    for threads in (2, None):
        other = sanitizer_for(vocabulary, mechanism, per=per, threads=threads)
        assert list(other.release_batch(texts, ids=ids).texts) == expected
    job = sanitizer_for(vocabulary, mechanism, per=per).for_batch_job()
    for _ in range(2):  # the second time from kept work
        assert list(job.release_batch(texts, ids=ids).texts) == expected
    monkeypatch.setattr("wordveil.sanitizing.ids.DRAW_VALUES", 50)
    assert list(sanitizer_for(vocabulary, mechanism, per=per).release_batch(texts, ids=ids).texts) == expected


def test_a_retry_repeats_and_everything_else_draws_afresh(vocabulary):
    text = " ".join(list(vocabulary.words)[:60])
    sanitizer = sanitizer_for(vocabulary, wv.SanText(epsilon=0.5))
    first = sanitizer(text, document_id="one").text
    assert sanitizer_for(vocabulary, wv.SanText(epsilon=0.5))(text, document_id="one").text == first
    others = [
        sanitizer(text, document_id="two").text,
        sanitizer(text).text,
        sanitizer(text).text,
        sanitizer(f"{text} ", document_id="one").text,
        sanitizer_for(vocabulary, wv.SanText(epsilon=0.5), key=seeds.key(17))(text, document_id="one").text,
        *(wv.Sanitizer(vocabulary, wv.SanText(epsilon=0.5))(text, document_id="one").text for _ in range(2)),
    ]
    assert len({first, *(text.strip() for text in others)}) == 8


# Guarantee and provenance.
def test_the_guarantee_is_the_mechanisms(vocabulary):
    mechanism = wv.TEM(epsilon=2.0)
    release = sanitizer_for(vocabulary, mechanism)("babaq")
    claim = mechanism.fit(vocabulary).guarantee()
    assert isinstance(release.guarantee, wv.MetricDP)
    assert replace(release.guarantee, assumptions=claim.assumptions, scope=claim.scope) == claim
    assert release.guarantee.scope[:-1] == claim.scope
    assert release.guarantee.scope[-1].startswith("reading ")
    assert release.guarantee.assumptions[:-1] == claim.assumptions
    assert release.guarantee.assumptions[-1].startswith("both texts agree in the number and positions of tokens")
    assert release.provenance.mechanism == repr(mechanism)
    assert eval(release.provenance.mechanism, vars(wv.metrics.distances) | {"TEM": wv.TEM}) == mechanism
    assert release.provenance.checksum == vocabulary.header.checksum
    assert release.provenance.version == wv.__version__
    narrowed = sanitizer_for(vocabulary.without_outputs(["babaq"]), mechanism)
    assert narrowed.provenance.candidates_checksum != release.provenance.candidates_checksum


def test_a_sentence_passes_few_modules_and_four_of_its_room(packaged):
    sanitizer = wv.Sanitizer(packaged, wv.TEM(epsilon=9.0), threads=1)
    text = "Maria was diagnosed with depression in March."
    sanitizer(text)  # lays out what later calls share
    passed = set()

    def note(frame, event, _):
        if event == "call":
            passed.add(frame.f_globals.get("__name__", ""))

    sys.setprofile(note)
    try:
        sanitizer(text)
    finally:
        sys.setprofile(None)
    passed = {name for name in passed if name.startswith("wordveil.") and not name.startswith("wordveil.kernels.")}
    room = "wordveil.sanitizing."
    own = {name.removeprefix(room) for name in passed if name.startswith(room)}
    assert own == {"sanitizer", "ids", "input_watch", "places"}
    of_text = {"wordveil.text.reference", "wordveil.text.tokenizer"}  # which read where there is no compiled code
    assert len(passed) <= (23 if of_text <= passed else 15), sorted(passed)


@pytest.mark.parametrize("unknown", ["random", "typed", "drop"])
@pytest.mark.parametrize("per", ["token", "document"])
def test_a_mechanism_that_answers_unknown_tokens_gets_them(tiny, unknown, per, monkeypatch):
    shown = lambda self, ids, draws, **_: (ids < 0).astype(np.int32)  # noqa: E731 (word 1 for every unknown token)
    monkeypatch.setattr(FittedNeighbourResponse, "randomize", shown)
    mechanism = wv.NeighbourResponse(epsilon=1.0, k=1, outputs=None)
    sanitizer = sanitizer_for(tiny, mechanism, unknown=unknown, per=per, casing="vocabulary")
    written = {"random": "alpha beta, beta alpha.", "typed": "alpha beta, beta alpha.", "drop": "alpha, alpha."}
    assert sanitizer("delta zz, yy delta.").text == written[unknown]
    assert "replaced by a public word" not in "\n".join(sanitizer.disclosed)


@pytest.fixture(scope="module")
def text(vocabulary):
    """Two thousand words in sentences, some of them unknown, with what may hold a space."""
    generator = seeds.rng(3)
    entries = [
        *vocabulary.words[:40], "zzyzx", "Zzyzx 😀", "5 000", "<br />", "i", "babaq's", "dadaq-babaq", "日本。日本",
    ]  # fmt: skip
    ends = [" ", " ", " ", ", ", ". ", "\n", "... (", " <b x ", ""]
    return "".join(entries[i] + ends[j] for i, j in generator.integers(0, [[len(entries), len(ends)]] * 2000))


@pytest.mark.parametrize("options", [
    {},
    {"unknown": "drop"},
    {"unknown": "mask"},
    {"per": "document"},
    {"per": "document", "unknown": "drop", "casing": "shape"},
    {"markup": "html", "public_words": frozenset({"babaq"})},
])  # fmt: skip
def test_a_text_in_pieces_becomes_what_it_becomes_whole(vocabulary, text, monkeypatch, options):
    def release():
        sanitizer = sanitizer_for(vocabulary, wv.TEM(epsilon=2.0), **options)
        batch = sanitizer.release_batch(["short", text, "", text, "end"], ids=list("abcde"))
        return batch.texts, batch.tokens, batch.exempt

    whole = release()
    monkeypatch.setattr("wordveil.text.encoding.LONG", 50)
    monkeypatch.setattr("wordveil.mechanisms.wrappers.TOGETHER", 17)
    assert release() == whole


def test_what_is_too_long_is_refused_with_a_remedy(vocabulary, tmp_path, monkeypatch):
    (tmp_path / "in.txt").write_text("babaq\n" + "zebrafish," * 10)
    for name, size in {"LONG": 10, "LONGEST": 50}.items():
        monkeypatch.setattr(f"wordveil.text.encoding.{name}", size)
    sanitizer = wv.Sanitizer(vocabulary, wv.TEM(epsilon=2.0))
    with pytest.raises(DocumentFormatError, match=r"in\.txt, line 2: the text of 100 characters must .*into lines\.$"):
        wv.sanitize_documents(tmp_path / "in.txt", tmp_path / "out.txt", sanitizer)
    monkeypatch.setattr("wordveil.documents.base.MAX_RECORD_BYTES", 99)
    with pytest.raises(DocumentFormatError, match=r"line 2: the line is longer than 99 bytes\. Break it into several"):
        wv.sanitize_documents(tmp_path / "in.txt", tmp_path / "out.txt", sanitizer)
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.slow
@without_peaks
@pytest.mark.parametrize("ending", ["txt", "jsonl"])
def test_the_memory_for_one_line_of_12_megabytes_is_bounded(tmp_path, ending):
    line = "She saw Don't-Ask again, at last. And the other one said no! " * 200_000
    text = line if ending == "txt" else json.dumps({"text": line})
    (tmp_path / f"in.{ending}").write_text(text + "\n")
    program = """
import sys
import numpy as np
import wordveil as wv
from wordveil.documents import DocumentSettings
vocabulary = wv.Embeddings.from_arrays(["she", "saw", "again", "other", "one"], np.eye(5))
sanitizer = wv.Sanitizer(vocabulary, wv.SanText(epsilon=3.0), threads=1)
settings = DocumentSettings(columns=tuple(sys.argv[3:]))
wv.sanitize_documents(sys.argv[1], sys.argv[2], sanitizer, settings=settings)
"""
    files, columns = (tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"), ["text"] * (ending == "jsonl")
    assert (
        peak_memory(program, *files, *columns) < 300_000
    )  # kilobytes: eight for a character, and what every run needs
    assert (tmp_path / f"out.{ending}").stat().st_size > len(line) // 2
