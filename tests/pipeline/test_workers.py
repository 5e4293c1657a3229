"""Runs with text work in other processes: the same bytes, the same reports, clear errors, nothing left behind."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wordveil as wv
from wordveil.documents import DocumentSettings, FormatDetails, is_resumable, run_key_path
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.pipeline.runs import run_source, sanitize_documents
from wordveil.pipeline.workers import TextWorkers, VocabularyWords
from wordveil.promises.release import TextOptions
from wordveil.randomness import RandomSource

DRIVER = Path(__file__).with_name("worker_driver.py")
KEY = bytes(range(16))
MECHANISM = wv.TEM(epsilon=2.0)


@pytest.fixture(scope="module")
def reviews(vocabulary, tmp_path_factory):
    """120 documents in several compressed sections: empty ones, nulls, unknown words, contractions."""
    generator = np.random.default_rng(8)
    entries = [*vocabulary.words, "Zzyzx", "12.5", "babaq-dadaq", "babaq's", "...", ""]
    path = tmp_path_factory.mktemp("reviews") / "reviews.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for number, length in enumerate(generator.integers(0, 40, 120)):
            text = " ".join(entries[i] for i in generator.integers(0, len(entries), length))
            file.write(json.dumps({"id": number, "text": None if number % 17 == 5 else text}) + "\n")
    return path


def run(table, path, output, *, workers, block=4000, threads=1, resume=False, progress=None, **options):
    source = run_source(output, resume=True) if resume else RandomSource(KEY)
    sanitizer = wv.Sanitizer(table, MECHANISM, options=TextOptions(**options), source=source, threads=threads)
    details = FormatDetails(section_documents=20)
    settings = DocumentSettings(columns=("text",), block_characters=block, details=details)
    return sanitize_documents(
        path, output, sanitizer, settings=settings, resume=resume, workers=workers, progress=progress
    )


def test_the_bytes_do_not_depend_on_workers_blocks_or_threads(vocabulary, reviews, tmp_path):
    expected, facts = None, None
    for number, (workers, block, threads) in enumerate(
        [(1, 3000, 1), (1, 1 << 20, 2), (2, 3000, 2), (2, 9000, 1), (2, 1 << 20, 1), (3, 9000, 2)]
    ):
        output = tmp_path / f"{number}.jsonl.gz"
        report = run(vocabulary, reviews, output, workers=workers, block=block, threads=threads)
        expected = output.read_bytes() if expected is None else expected
        facts = (report.documents, report.tokens, report.exempt) if facts is None else facts
        assert output.read_bytes() == expected
        assert (report.documents, report.tokens, report.exempt) == facts
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    "options",
    [{"unknown": "drop"}, {"unknown": "mask", "casing": "shape"}, {"markup": "html", "public_words": {"babaq"}}],
)
def test_every_option_reaches_the_workers(vocabulary, reviews, tmp_path, options):
    options = {name: frozenset(value) if isinstance(value, set) else value for name, value in options.items()}
    for workers in (1, 2):
        run(vocabulary, reviews, tmp_path / f"{workers}.jsonl.gz", workers=workers, **options)
    assert (tmp_path / "1.jsonl.gz").read_bytes() == (tmp_path / "2.jsonl.gz").read_bytes()


def test_a_mapped_vocabulary_travels_as_its_path(vocabulary, reviews, tmp_path):
    mapped = vocabulary.save(tmp_path / "vocabulary")
    here, there = VocabularyWords(vocabulary), VocabularyWords(mapped)
    assert len(pickle.dumps(there)) < 1000
    asked = [*vocabulary.words[:7], "Zzyzx", ""]
    for words in (here, there):
        travelled = pickle.loads(pickle.dumps(words))
        assert travelled.ids(asked).tolist() == vocabulary.ids(asked).tolist()
        assert list(travelled) == list(vocabulary.words)
    for workers, table in ((1, vocabulary), (2, mapped)):
        run(table, reviews, tmp_path / f"{workers}.jsonl.gz", workers=workers)
    assert (tmp_path / "1.jsonl.gz").read_bytes() == (tmp_path / "2.jsonl.gz").read_bytes()


def test_a_tree_is_run_with_workers(vocabulary, reviews, tmp_path):
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.jsonl.gz").write_bytes(reviews.read_bytes())
    (folder / "sub" / "b.txt").write_text("babaq dadaq\n\nfabaq\n", encoding="utf-8")
    for workers in (1, 2):
        run(vocabulary, folder, tmp_path / f"out{workers}", workers=workers)
    for name in ("a.jsonl.gz", "sub/b.txt"):
        assert (tmp_path / "out1" / name).read_bytes() == (tmp_path / "out2" / name).read_bytes()


def test_malformed_input_is_reported_with_its_line_and_without_its_text(vocabulary, tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "babaq"}\n' * 200 + '{"text": "secretword"\n', encoding="utf-8")
    with pytest.raises(DocumentFormatError, match="line 201: not valid JSON") as caught:
        run(vocabulary, path, tmp_path / "out.jsonl", workers=2, block=500)
    assert "secretword" not in str(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.jsonl"]


def test_an_interrupted_run_is_resumed_with_another_number_of_workers(vocabulary, reviews, tmp_path):
    run(vocabulary, reviews, tmp_path / "whole.jsonl.gz", workers=1)

    def interrupt(done, total, documents, tokens):
        if documents > 40:
            raise KeyboardInterrupt

    output = tmp_path / "out.jsonl.gz"
    with pytest.raises(KeyboardInterrupt):
        run(vocabulary, reviews, output, workers=2, progress=interrupt)
    assert is_resumable(output)
    report = run(vocabulary, reviews, output, workers=1, resume=True)
    assert 0 < report.resumed_documents < report.documents
    assert output.read_bytes() == (tmp_path / "whole.jsonl.gz").read_bytes()
    assert not run_key_path(output).exists()


def test_a_killed_worker_is_reported_and_the_run_resumes(vocabulary, reviews, tmp_path):
    directory = tmp_path / "vocabulary"
    vocabulary.save(directory)
    output = tmp_path / "out.jsonl.gz"
    command = [sys.executable, str(DRIVER), str(directory), str(reviews), str(output)]
    killed = subprocess.run([*command, "kill"], capture_output=True, text=True, timeout=120, check=False)
    assert killed.returncode == 2, killed.stderr
    assert killed.stdout.startswith("a worker process ended before its work")
    assert "babaq" not in killed.stdout + killed.stderr
    assert is_resumable(output)
    assert not output.exists()
    resumed = subprocess.run([*command, "resume"], capture_output=True, text=True, timeout=120, check=True)
    assert json.loads(resumed.stdout)["resumed"] > 0
    run(vocabulary, reviews, tmp_path / "whole.jsonl.gz", workers=1)
    assert output.read_bytes() == (tmp_path / "whole.jsonl.gz").read_bytes()


def test_workers_end_with_the_run_that_is_killed(vocabulary, reviews, tmp_path):
    directory = tmp_path / "vocabulary"
    vocabulary.save(directory)
    command = [sys.executable, str(DRIVER), str(directory), str(reviews), str(tmp_path / "out.jsonl.gz"), "hang"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        workers = json.loads(child.stdout.readline())
        child.kill()  # before anything that can fail: it would wait for ever
        assert len(workers) == 2
        # The workers inherit the pipe: it ends when the last of them has ended, else the wait times out.
        assert child.communicate(timeout=60)[0] == ""


def test_the_number_of_workers_is_checked(vocabulary, reviews, tmp_path):
    with pytest.raises(ParameterError, match="workers=0 must be at least 1"):
        run(vocabulary, reviews, tmp_path / "out.jsonl.gz", workers=0)
    sanitizer = wv.Sanitizer(vocabulary, MECHANISM)
    with pytest.raises(ParameterError, match="workers=-1 must be at least 1"):
        TextWorkers(vocabulary, *sanitizer.text_side, -1)


def test_a_second_run_leaves_the_key_of_the_first(vocabulary, reviews, tmp_path):
    output = tmp_path / "out.jsonl.gz"
    refused = []

    def second(done, total, documents, tokens):
        key = run_key_path(output).read_bytes()
        for resume in (False, True):
            with pytest.raises(ParameterError, match="is being written by another run") as caught:
                run(vocabulary, reviews, output, workers=1, resume=resume)
            refused.append(str(caught.value))
        assert run_key_path(output).read_bytes() == key == KEY

    run(vocabulary, reviews, output, workers=1, progress=second)
    assert refused
    run(vocabulary, reviews, tmp_path / "whole.jsonl.gz", workers=1)
    assert output.read_bytes() == (tmp_path / "whole.jsonl.gz").read_bytes()
