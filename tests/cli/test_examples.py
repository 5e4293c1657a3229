"""The examples that help texts end with run."""

import importlib.util
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import seeds
from wordveil.cli.app import command_examples

ROOT = Path(__file__).parents[2]
EXAMPLES = command_examples()
NEEDS = {
    "serve": "fastapi",
    **{name: "fastapi" for name in EXAMPLES if name.startswith("budget ")},
    "spark-sanitize": "pyspark",
}
PUBLIC = ("evaluate", "reproduce")
BEFORE = {
    "report": "sanitize",
    "denoise": "sanitize",
    "vocabulary info": "vocabulary import",
    "vocabulary neighbours build": "vocabulary import",
    "calibrate": "vocabulary import",
    "certify": "vocabulary import",
    "audit": "vocabulary import",
    "budget show": "budget grant",
    "budget history": "budget grant",
    "budget revoke": "budget key",
    "sentences info": "sentences build",
}
"""Command -> the one whose examples make what its own speak of."""


@pytest.fixture
def folder(tmp_path):
    """What the examples speak of: a note, reviews, sentences, vectors and an embedding file."""
    place = tmp_path
    shutil.copy(ROOT / "examples" / "clinical_note.txt", place / "note.txt")
    shutil.copy(ROOT / "examples" / "reviews.jsonl", place / "reviews.jsonl")
    for name, held in (("notes", "note.txt"), ("tables", "reviews.jsonl")):
        (place / name).mkdir()
        shutil.copy(place / held, place / name / held)
    people, deeds = ("she", "he", "they", "we"), ("saw the doctor", "went home", "ate an apple", "read a book")
    (place / "sentences.txt").write_text("".join(f"{who} {did}\n" for who in people for did in deeds))
    told = [f"{who} {did}" for who in people for did in deeds]
    pairs = "".join(f"{text},{told[i - 5]},{i % 2}\n" for i, text in enumerate(told))
    (place / "pairs.csv").write_text(f"text,released,topic\n{pairs}")
    rows = seeds.rng(0).standard_normal((200, 8)).astype(np.float32)
    np.save(place / "vectors.npy", rows)
    np.savez(place / "vectors.npz", rows=rows, ids=np.arange(200))
    words = [f"{a}{b}" for a in "abcdefghijklmnopqrst" for b in "aeiouybcdf"]
    (place / "glove.txt").write_text(
        "".join(f"{w} {' '.join(f'{x:.4f}' for x in row)}\n" for w, row in zip(words, rows, strict=True))
    )
    return place


@pytest.mark.slow
@pytest.mark.parametrize("command", EXAMPLES)
def test_the_examples_of_a_command_run(wordveil, process, folder, command, monkeypatch):
    needed = NEEDS.get(command)
    if needed is not None and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    if command in PUBLIC and "WORDVEIL_DATA" not in os.environ:
        pytest.skip("reads the shared data sets (WORDVEIL_DATA)")
    monkeypatch.chdir(folder)
    for example in (*EXAMPLES.get(BEFORE.get(command, ""), ()), *EXAMPLES[command]):
        if command == "spark-sanitize":  # whose library warns, and here a warning is an error
            made = process(*example.split()[1:])
            status, said = made.returncode, made.stderr.decode()
        else:
            run = wordveil(*example.split()[1:])
            status, said = run.status, run.err
        assert status == 0, f"{example}\n{said[-2000:]}"
