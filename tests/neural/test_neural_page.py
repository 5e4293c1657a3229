"""The commands and the Python of docs/neural.md run, on small files in the place of the reader's."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")

from small_models import write_texts, write_vectors

from wordveil.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "neural.md"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def commands(block):
    return [shlex.split(line)[1:] for line in block.replace("\\\n", " ").splitlines() if line]


def test_the_commands_of_the_page_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_texts(tmp_path / "public.tsv")
    write_texts(tmp_path / "reviews.tsv")
    write_vectors(tmp_path / "glove.txt")
    (tmp_path / "private.jsonl").write_text('{"text": "the film was sad"}\n', encoding="utf-8")
    run = commands(blocks("sh")[0])
    assert [words[:2] for words in run] == [["train", "rewrite"], ["rewrite", "private.jsonl"], ["train", "classify"]]
    for words in run:
        words = [w for i, w in enumerate(words) if "--epochs" not in words[max(0, i - 1) : i + 1]]
        small = ["--epochs", "1", "--words", "200"] if words[0] == "train" else []
        with pytest.raises(SystemExit) as end:
            main([*words, *small])
        assert not end.value.code, capsys.readouterr().err
    assert len(json.loads((tmp_path / "released.jsonl").read_text(encoding="utf-8"))["text"].split()) == 4
    assert (tmp_path / "passes").exists()


@pytest.mark.slow
def test_the_layer_of_the_page_works_and_its_audit_refutes_nothing(tmp_path):
    (block,) = blocks("py")
    (tmp_path / "my_layer.py").write_text(block, encoding="utf-8")
    ((audit,),) = [commands(block) for block in blocks("sh")[1:]]
    tool = [sys.executable, "-c", "from wordveil.cli.main import main; main()"]
    run = subprocess.run([*tool, *audit, "--samples", "4000"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "one token of a text of fixed length" in run.stdout
    assert "NOT REFUTED" in run.stdout
