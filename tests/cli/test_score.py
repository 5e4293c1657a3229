"""`wordveil score` on files of several formats."""

import json

import pytest

TEXTS = [f"sentence number {'abcdefghij'[i] * 4} of them" for i in range(10)]


@pytest.fixture
def files(tmp_path):
    originals = TEXTS
    (tmp_path / "a.txt").write_text("".join(f"{text}\n" for text in originals))
    (tmp_path / "b.csv").write_text("said\n" + "".join(f"{text}\n" for text in originals))
    rows = ({"text": text, "kind": i % 2} for i, text in enumerate(originals))
    (tmp_path / "both.jsonl").write_text("".join(json.dumps({**row, "said": row["text"]}) + "\n" for row in rows))
    return tmp_path


def test_the_command_reads_what_documents_read(wordveil, files):
    run = wordveil.done(
        "score", "--original", files / "a.txt", "--released", files / "b.csv", "--released-column", "said"
    )
    assert "NO CLAIM GIVEN (10 texts)" in run.out
    report = files / "report.html"
    both = ("--original", files / "both.jsonl", "-c", "text", "--released-column", "said", "--label", "kind")
    run = wordveil("score", *both, "--claimed", "0.1", "--report", report)
    assert run.status == 1, run.err
    assert "CONTRADICTED: epsilon 0.1 a text" in run.out
    assert report.read_text().count("<svg") == len(GROUPS)
    run = wordveil("score", "--original", files / "a.txt")
    assert (run.status, "--released-column" in run.err) == (2, True)


GROUPS = ("survival", "identification", "similarity", "fluency", "inference", "task")
