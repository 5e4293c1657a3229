"""Nothing private leaves: not through the output, a repr, an error, or a report."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables import write_rows

import seeds
import wordveil as wv
from wordveil.arrays import PrivateText
from wordveil.documents import DocumentSettings
from wordveil.mechanisms.wrappers import StandIns
from wordveil.promises.release import MASK, TextOptions
from wordveil.runs.evidence import Evidence
from wordveil.runs.report import write_report
from wordveil.text.characters import GAP_CHARACTERS
from wordveil.text.encoding import Encoder

SECRET = "Qwxzjvbk"
POLICIES = ["random", "drop", "mask"]
GAPS = "[" + re.escape("".join(sorted(GAP_CHARACTERS))) + "]+"

joined_digits = st.from_regex(r"[0-9]{1,4}([-./:, ()+'][0-9]{1,4}){0,4}", fullmatch=True)
awkward = st.sampled_from(
    ["e\u0301\u0302", "a\u200db", "\u202eabc\u202c", "שלום", "مرحبا", "\x00", "\ud800", "👩\u200d👩\u200d👧",
     "日本", "ﬁ",
     "ß", "İ", "\ufeff", "a@b.c", "x.y/z", "#tag", "C:\\x", "don't", "can't", "o’clock", "rock-n-roll", "babaq",
     "BABAQ", "babaq-dadaq", "¼", "Ⅷ", "٣"]
)  # fmt: skip
texts = st.lists(st.text(max_size=8) | st.text(st.characters(), max_size=5) | joined_digits | awkward, max_size=12)


def outputs_only(text: str, allowed: set[str]) -> None:
    """Every run of characters between listed gap characters is a word that may be output."""
    runs = [run for run in re.split(GAPS, text) if run]
    assert {run.lower() for run in runs} <= allowed


@pytest.fixture(scope="module")
def cautious(vocabulary):
    """A sanitizer for each way with what is unknown and with numbers."""
    every = [TextOptions(unknown=how, numbers=known) for how in POLICIES for known in ("unknown", "vocabulary")]
    return [wv.Sanitizer(vocabulary, wv.SanText(epsilon=1.0), options=options, threads=1) for options in every]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(pieces=texts, joiner=st.sampled_from([" ", "", "\n", ", "]))
def test_arbitrary_text_leaves_only_candidate_words(vocabulary, cautious, pieces, joiner):
    allowed = {*vocabulary.words, MASK.strip("[]")}
    for sanitizer in cautious:
        outputs_only(sanitizer(joiner.join(pieces)).text, allowed)


def test_a_sanitizer_that_lets_unknown_words_pass_is_noticed(vocabulary):
    with pytest.raises(AssertionError):
        outputs_only(f"babaq {SECRET}", set(vocabulary.words))


def test_no_object_of_the_pipeline_shows_private_text(vocabulary, tmp_path):
    source = wv.RandomSource(seeds.key(16))
    sanitizer = wv.Sanitizer(vocabulary, wv.TEM(epsilon=3.0), source=source)
    text = PrivateText(f"{SECRET} {SECRET.upper()} babaq")
    (encoded,) = Encoder(lookup=vocabulary.ids, keep_shapes=True).encode([text])
    batch = sanitizer.release_batch([text], ids=[SECRET])
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"text": text}) + "\n")
    with DocumentSettings(columns=("text",), keep_others=True).open(str(path)) as reader:
        records = list(reader)
    release = sanitizer(text, document_id=SECRET)
    nonces = source.nonces([SECRET], [text])
    objects = [sanitizer, sanitizer.for_batch_job(), encoded, batch, *records, release, release.as_dict()]
    objects += [source, source.stream(SECRET, text), source.documents(nonces, [3]), sanitizer.options, nonces]
    shown = "\n".join(f"{o!r} {o!s}" for o in objects)
    assert SECRET.lower() not in shown.lower()
    assert SECRET in repr(records[0].texts), "the private text was really there"


@pytest.mark.parametrize("ending", [".json", ".html"])
def test_reports_hold_no_private_word(vocabulary, tmp_path, ending):
    path = tmp_path / "in.jsonl"
    rows = [{"text": f"{SECRET} babaq dadaq", "label": SECRET.upper()}] * 5
    write_rows(path, rows)
    sanitizer = wv.Sanitizer(vocabulary, wv.TEM(epsilon=3.0))
    result = wv.sanitize_documents(
        path, tmp_path / "out.jsonl", sanitizer, settings=DocumentSettings(columns=("text",), keep_others=True)
    )
    write_report(result, tmp_path / f"report{ending}", Evidence.of_facts(sanitizer, result.as_dict()))
    written = (tmp_path / f"report{ending}").read_text(encoding="utf-8")
    assert not re.search(rf"{SECRET}|babaq|dadaq", written, flags=re.IGNORECASE)
    assert "label" in written, "copied columns are named"
    assert vocabulary.header.checksum in written


def test_released_words_come_from_the_released_ids_alone(vocabulary, monkeypatch):
    """What is written after the mechanism does not change when the private ids do."""
    sanitizer = wv.Sanitizer(vocabulary, wv.SanText(epsilon=1.0), threads=1)
    fixed = np.arange(3, dtype=np.int32)
    monkeypatch.setattr(StandIns, "randomize", lambda self, tokens, *_, **__: fixed[: len(tokens)])
    assert sanitizer("babaq dadaq zzz").text == sanitizer("Fabaq ZZZ 1.5").text
