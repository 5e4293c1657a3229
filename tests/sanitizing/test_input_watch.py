"""Text that is not what the vocabulary is for is told of before it is released, and its counts leave by no way."""

import json
import math
import string
import sys
import warnings
from collections import Counter
from contextlib import nullcontext
from itertools import islice

import pytest
from tests.dying import interrupt_after

import seeds
import wordveil as wv
from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.errors import NotConfirmedError
from wordveil.files.journal import journal_path
from wordveil.runs.evidence import Evidence
from wordveil.runs.report import write_report
from wordveil.sanitizing import input_watch
from wordveil.text.characters import letters_by_script
from worlds import told

pytestmark = pytest.mark.filterwarnings("error::wordveil.errors.ForeignTextWarning")

TOLD = told(__file__)
ENGLISH, FOREIGN = TOLD["english"], TOLD["foreign"]


@pytest.fixture(scope="module")
def table():
    return wv.load_embeddings()


def sanitizer(table, **options):
    chosen = wv.TextOptions(**{"unknown": "typed", **options})
    return wv.Sanitizer(table, wv.NeighbourResponse(), options=chosen, threads=1)


def misspelt(text, share, generator):
    """The text with a letter of some words exchanged, as typing errors are."""
    words = text.split(" ")
    for i in generator.choice(len(words), int(share * len(words)), replace=False):
        at = int(generator.integers(max(1, len(words[i]))))
        words[i] = words[i][:at] + string.ascii_lowercase[generator.integers(26)] + words[i][at + 1 :]
    return " ".join(words)


# What is judged.
@pytest.mark.parametrize(
    ("language", "unknown"), [*((language, "typed") for language in FOREIGN), ("German", "random"), ("German", "drop")]
)
def test_text_of_another_language_is_told_of_before_it_is_released(table, language, unknown):
    with pytest.warns(wv.ForeignTextWarning, match="this does not look like English text") as told:
        sanitizer(table, unknown=unknown)(FOREIGN[language])
    shown = str(told[0].message)
    assert not set(FOREIGN[language].split()) & set(shown.split())
    assert told[0].filename == __file__  # the line that asked for the release, not one of the library


def test_english_text_is_not(table):
    generator = seeds.rng(24)
    names = "Xiomara Schwarzenegger Nguyen Ochieng Wójcik Papadopoulos Lindqvist Srinivasan O'Shaughnessy Kowalczyk"
    for text in (
        ENGLISH,
        ENGLISH.upper(),
        *(misspelt(ENGLISH, 0.25, generator) for _ in range(50)),
        f"{ENGLISH}Present were {', '.join(names.split())}.",
        "1203 44.50 2026-03-14 12:30 a@b.org 555-0101 " * 20 + ENGLISH,
        "C'est la vie, sagte er.",  # too little to judge
        "",
    ):
        for unknown in ("typed", "random"):
            sanitizer(table, unknown=unknown)(text)
        sanitizer(table, unknown="typed", public_words=frozenset({"the", "and"}))(text)


def test_public_words_count_as_known(table):
    words = FOREIGN["German"].replace(",", "").replace(".", "").split()
    public = frozenset(word for word in words if word.isalpha())
    sanitizer(table, public_words=public)(FOREIGN["German"])


def test_a_vocabulary_of_another_language_judges_by_its_own_words():
    words = sorted(set(FOREIGN["Russian"].lower().replace(".", "").split()))
    table = wv.Embeddings.from_arrays(words, seeds.rng(5).standard_normal((len(words), 4)))
    assert table.scripts == {"CYRILLIC"}
    own = wv.Sanitizer(table, wv.SanText(epsilon=4.0))
    own(FOREIGN["Russian"] * 3)
    for text in (ENGLISH, FOREIGN["Greek"]):
        with pytest.warns(wv.ForeignTextWarning, match="like the text that this vocabulary is for"):
            own(text)


def test_the_share_must_be_above_the_limit_by_more_than_chance():
    """Of n tokens that are unknown with a chance of .3 each, the rule takes fewer than one in 30 for another language.

    Exact, by the binomial law; and it takes all of those with a chance of .6 from 200 words on, but one in a million.
    """

    def above(n, chance):
        law = (math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1))
        return sum(p for k, p in enumerate(law) if input_watch._exceeds(k, n))

    for n in (20, 36, 100, 300):
        assert above(n, 0.3) < 1 / 30
    assert above(200, 0.6) > 1 - 1e-6
    assert not input_watch._exceeds(19, 19)


def test_scripts_are_those_of_letters():
    assert letters_by_script(["Ünïcode 12 ½ ²", "日本 ひらがな", "Ω한"]) == Counter(
        LATIN=7, CJK=2, HIRAGANA=4, GREEK=1, HANGUL=1
    )


# Runs.
def watched(sanitizer, answer=None):
    told = []

    def warn(warning):
        told.append(warning)
        if answer is not None:
            raise answer

    return sanitizer.watch(warn), told


def test_a_run_that_is_not_confirmed_leaves_nothing(table, tmp_path):
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text(FOREIGN["German"] + "\n")
    own = wv.Sanitizer(table, wv.NeighbourResponse(), source=wv.run_source(output))
    watch, told = watched(own, NotConfirmedError("no"))
    with pytest.raises(NotConfirmedError):
        wv.sanitize_documents(source, output, own, watch=watch)
    assert [type(each) for each in told] == [wv.ForeignTextWarning]
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(wv.ForeignTextWarning):
            wv.sanitize_documents(source, output, own)
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_the_words_of_a_run_are_counted_for_its_owner_and_in_no_report(table, tmp_path):
    (tmp_path / "in.txt").write_text(ENGLISH + "Zzyzx xyzzy 14 March 2026.\n")
    own = sanitizer(table)
    watch, told = watched(own)
    report = wv.sanitize_documents(tmp_path / "in.txt", tmp_path / "out.txt", own, watch=watch)
    assert not told
    assert watch.unknown == 2
    assert watch.words == report.tokens - 1  # the date is typed
    assert watch.in_words() == f"outside the vocabulary: 2 of {watch.words} words ({2 / watch.words:.0%})"
    assert "unknown" not in repr(watch)
    write_report(report, tmp_path / "report.json", Evidence.of_facts(own, report.as_dict()))
    facts = json.loads((tmp_path / "report.json").read_text())
    assert watch.words not in facts.values()
    assert not any("vocabulary" in line and "2 of" in line for line in facts["disclosed"])


def documents(tmp_path, files):
    folder = tmp_path / "in"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_small_files_of_a_tree_are_judged_together(table, tmp_path):
    words = FOREIGN["German"].replace(".", "").split()
    folder = documents(tmp_path, {f"{i:02}.txt": " ".join(words[2 * i : 2 * i + 2]) for i in range(len(words) // 2)})
    own = sanitizer(table)
    watch, told = watched(own)
    wv.sanitize_documents(folder, tmp_path / "out", own, watch=watch)
    assert [type(each) for each in told] == [wv.ForeignTextWarning]


def test_what_comes_after_the_sample_is_told_of_at_the_end(table, tmp_path):
    half = input_watch.SAMPLE // len(ENGLISH.split()) + 1
    folder = documents(tmp_path, {"a.txt": ENGLISH * half, "b.txt": FOREIGN["German"] * 40 * half})
    own = sanitizer(table)
    watch, told = watched(own)
    wv.sanitize_documents(folder, tmp_path / "out", own, watch=watch)
    assert [type(each) for each in told] == [wv.InputWarning]
    assert "though fewer were at the beginning" in str(told[0])


def test_a_resumed_run_is_not_judged_again(table, tmp_path):
    folder = documents(tmp_path, {f"{i}.txt": FOREIGN["German"] for i in range(3)})
    output = tmp_path / "out"

    def run(resume, progress=None):
        own = wv.Sanitizer(table, wv.NeighbourResponse(), source=wv.run_source(output, resume=resume))
        watch, told = watched(own)
        with pytest.raises(KeyboardInterrupt) if progress else nullcontext():
            wv.sanitize_documents(folder, output, own, resume=resume, progress=progress, watch=watch)
        return told

    assert len(run(resume=False, progress=interrupt_after(1))) == 1
    assert journal_path(output).exists()
    assert run(resume=True) == []
    assert len(list(output.iterdir())) == 3


def test_a_stream_is_read_once_and_judged_line_by_line(table, tmp_path, monkeypatch, capfdbinary):
    class Lines:
        def __init__(self, lines):
            self.rest, self.asked = list(lines), 0

        def readline(self, _):
            self.asked += 1
            return self.rest.pop(0) if self.rest else b""

    lines = [f"{word}\n".encode() for word in FOREIGN["German"].replace(".", "").split()]
    stream = Lines(lines)
    monkeypatch.setattr(sys, "stdin", type("Input", (), {"buffer": stream}))
    own = sanitizer(table)
    watch, told = watched(own, NotConfirmedError("no"))
    with pytest.raises(NotConfirmedError):
        wv.sanitize_documents("-", "-", own, settings=DocumentSettings(line_buffered=True), watch=watch)
    assert len(told) == 1
    assert stream.asked <= len(lines) + 1
    written = capfdbinary.readouterr().out.count(b"\n")
    assert 0 < written < len(lines)


# Who is not the owner hears nothing.
def test_a_service_and_a_job_warn_of_nothing(table):
    for silent in (sanitizer(table).looking(), sanitizer(table).for_batch_job()):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            silent(FOREIGN["German"])
            silent(FOREIGN["Chinese"])


# English of every kind, with its names, typing errors, abbreviations and redactions.


@pytest.mark.data
@pytest.mark.parametrize(("name", "column"), TOLD["sets"].items())
def test_no_sample_of_an_english_data_set_is_taken_for_another_language(table, data_directory, name, column):
    """Samples as runs have them, one after the other: no chance is involved, and none may warn."""
    settings = DocumentSettings(columns=(column,), missing="skip", details=FormatDetails(quoting="none"))
    with settings.for_file(name).open_texts(str(data_directory / "documents" / name)) as reader:
        texts = [text for record in islice(reader, 4000) for text in record.texts if text]
    own, words, unknown = sanitizer(table), 0, 0
    for start in range(0, len(texts), 1000):
        sample = texts[start : start + 1000]
        read = own.prepare([[text] for text in sample])
        watch, told = watched(own)
        watch.look(sample, read.tokens, read.exempt)  # as a release does before it draws
        words, unknown = words + watch.words, unknown + watch.unknown
        assert not told
    assert 0.01 < unknown / words < 0.17
