"""Long texts go through in pieces: the same release as in one piece, and memory that one line cannot exhaust."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import seeds
import wordveil as wv
from wordveil.documents import DocumentSettings
from wordveil.errors import DocumentFormatError

KEY = seeds.key(16)
CHUNKS = "wordveil.text.encoding"


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
        sanitizer = wv.Sanitizer(
            vocabulary, wv.TEM(epsilon=2.0), options=wv.TextOptions(**options), source=wv.RandomSource(KEY), threads=1
        )
        batch = sanitizer.release_batch(["short", text, "", text, "end"], ids=list("abcde"))
        return batch.texts, batch.tokens, batch.exempt

    whole = release()
    monkeypatch.setattr(f"{CHUNKS}.LONG", 50)
    monkeypatch.setattr("wordveil.mechanisms.wrapper.TOGETHER", 17)
    assert release() == whole


def test_a_long_text_in_a_file_becomes_what_it_becomes_whole(vocabulary, text, tmp_path, monkeypatch):
    records = [text if number % 7 == 3 else None if number % 7 == 4 else "babaq dadaq" for number in range(20)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in records))
    for block in (1 << 24, 9000):
        sanitizer = wv.Sanitizer(vocabulary, wv.TEM(epsilon=2.0), source=wv.RandomSource(KEY), threads=1)
        settings = DocumentSettings(columns=("text",), keep_others=True, block_characters=block)
        wv.sanitize_documents(tmp_path / "in.jsonl", tmp_path / f"{block}.jsonl", sanitizer, settings=settings)
        monkeypatch.setattr(f"{CHUNKS}.LONG", 5000)
    assert (tmp_path / f"{1 << 24}.jsonl").read_bytes() == (tmp_path / "9000.jsonl").read_bytes()


def test_what_is_too_long_is_refused_with_a_remedy(vocabulary, tmp_path, monkeypatch):
    (tmp_path / "in.txt").write_text("babaq\n" + "zebrafish," * 10)
    for name, size in {"LONG": 10, "LONGEST": 50}.items():
        monkeypatch.setattr(f"{CHUNKS}.{name}", size)
    sanitizer = wv.Sanitizer(vocabulary, wv.TEM(epsilon=2.0))
    with pytest.raises(DocumentFormatError, match=r"in\.txt, line 2: the text of 100 characters must .*into lines\.$"):
        wv.sanitize_documents(tmp_path / "in.txt", tmp_path / "out.txt", sanitizer)
    monkeypatch.setattr("wordveil.documents.base.MAX_RECORD_BYTES", 99)
    with pytest.raises(DocumentFormatError, match=r"line 2: the line is longer than 99 bytes\. Break it into several"):
        wv.sanitize_documents(tmp_path / "in.txt", tmp_path / "out.txt", sanitizer)
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a new process is read from /proc")
@pytest.mark.parametrize("ending", ["txt", "jsonl"])
def test_the_memory_for_one_line_of_24_megabytes_is_bounded(tmp_path, ending):
    line = "She saw Don't-Ask again, at last. And the other one said no! " * 400_000
    text = line if ending == "txt" else json.dumps({"text": line})
    (tmp_path / f"in.{ending}").write_text(text + "\n")
    program = """
import re, sys
import numpy as np
import wordveil as wv
vocabulary = wv.Embeddings.from_arrays(["she", "saw", "again", "other", "one"], np.eye(5))
wv.sanitize_documents(sys.argv[1], sys.argv[2], wv.Sanitizer(vocabulary, wv.SanText(epsilon=3.0), threads=1))
print(*re.findall(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()))
"""
    if ending == "jsonl":
        settings = 'settings=wv.documents.DocumentSettings(columns=("text",))'
        program = program.replace("threads=1))", f"threads=1), {settings})")
    arguments = [tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"]
    run = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, check=True)
    assert int(run.stdout) < 390_000  # kilobytes: twelve for a character, and what every run needs
    assert (tmp_path / f"out.{ending}").stat().st_size > len(line) // 2
