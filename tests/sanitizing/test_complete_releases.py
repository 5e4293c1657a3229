"""A complete release is left alone: by a retry, by a run that forgot it, and by one of another input or setting."""

import hashlib
import itertools
import json
import os
import re
import stat

import numpy as np
import pytest
from tests.beside import hidden, stamped
from tests.dying import interrupt_after
from tests.tables import write_rows

import seeds
import wordveil as wv
from wordveil.documents import DocumentSettings
from wordveil.errors import ParameterError, ResumeError
from wordveil.files.records import record_path
from wordveil.runs.sanitize import RunReport, sanitize_documents

ROWS = [{"text": f"Maria was in Uppsala {n}", "ward": n} for n in range(30)]
KINDS = ["in.jsonl", "in.jsonl.gz", "in.parquet", "tree"]


def write(folder, kind):
    """Return an input of a kind, and the output."""
    if kind == "tree":
        (folder / "in" / "sub").mkdir(parents=True)
        write_rows(folder / "in" / "a.jsonl", ROWS)
        write_rows(folder / "in" / "sub" / "b.jsonl", ROWS)
        return folder / "in", folder / "out"
    write_rows(folder / kind, ROWS)
    return folder / kind, folder / f"out{kind.removeprefix('in')}"


def run(table, source, output, *, epsilon=8.0, columns=("text",), **options) -> tuple[RunReport, list[str]]:
    """Release as the command does, with a fresh key; returns the report and what was told."""
    told: list[str] = []
    randomness = wv.run_source(output, resume=options.get("resume", False))
    sanitizer = wv.Sanitizer(table, wv.NeighbourResponse(epsilon=epsilon, outputs=None), source=randomness, threads=1)
    settings = DocumentSettings(columns=columns, drop_others=True)
    return sanitize_documents(source, output, sanitizer, settings=settings, notice=told.append, **options), told


@pytest.mark.parametrize("kind", KINDS)
def test_resuming_after_success_touches_nothing_and_says_so(vocabulary, tmp_path, kind):
    source, output = write(tmp_path, kind)
    first, _ = run(vocabulary, source, output, resume=True)
    before, delivered = stamped(output), []
    for _ in range(2):
        again, told = run(vocabulary, source, output, resume=True, deliver=delivered.append)
        assert stamped(output) == before
        assert told == [f"complete already, since {first.finished}: nothing is released anew."]
        facts = [{**report.as_dict(), "seconds": 0, "tokens_per_second": 0} for report in (first, again)]
        assert facts[0] == facts[1]
    assert delivered == []
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_written_over_only_where_that_is_asked_for(vocabulary, tmp_path, kind):
    source, output = write(tmp_path, kind)
    run(vocabulary, source, output)
    before = stamped(output)
    with pytest.raises(ParameterError, match=r"is there already. resume=True tells .* adds its loss to the first's"):
        run(vocabulary, source, output)
    assert stamped(output) == before
    _, told = run(vocabulary, source, output, again=True)
    assert told == [f"writing over {output.name}: a second release of the same texts adds its loss to the first's."]
    assert [entry[1] for entry in stamped(output)] != [entry[1] for entry in before]
    assert [entry[0] for entry in stamped(output)] == [entry[0] for entry in before]
    before = stamped(output)
    run(vocabulary, source, output, resume=True)
    assert stamped(output) == before
    with pytest.raises(ParameterError, match="again=True begins a second release; resume=True alone goes on"):
        run(vocabulary, source, output, resume=True, again=True)
    assert hidden(tmp_path) == []


def test_another_setting_column_input_or_output_is_refused(vocabulary, tmp_path):
    source, output = write(tmp_path, "in.jsonl")
    run(vocabulary, source, output)
    before = stamped(output)
    refusals = {
        r"differs in: mechanism, noise\. Nothing was done": {"epsilon": 9.0},
        r"differs in: documents\.columns\. Nothing": {"columns": ("text", "ward")},
    }
    for match, options in refusals.items():
        with pytest.raises(ResumeError, match=match):
            run(vocabulary, source, output, resume=True, **options)
    other = source.read_text().replace("Uppsala", "Bologna")
    source.write_text(other)  # of the same length
    with pytest.raises(ResumeError, match=r"complete, but differs in: input\. Nothing was done.*again=True"):
        run(vocabulary, source, output, resume=True)
    assert stamped(output) == before


def test_an_output_that_was_written_to_or_has_no_record_is_not_taken_for_complete(vocabulary, tmp_path):
    source, output = write(tmp_path, "in.jsonl")
    run(vocabulary, source, output)
    record, whole = record_path(output).read_text(), output.read_bytes()
    output.write_bytes(whole[:-10])
    with pytest.raises(ResumeError, match=r"is not what the run that completed it wrote any more\. Nothing was done"):
        run(vocabulary, source, output, resume=True)
    for damaged in ("", "{}", "[]", record[:-20], record.replace('"version": 1', '"version": 99')):
        record_path(output).write_text(damaged)
        with pytest.raises(ResumeError, match="no record beside it tells what it is"):
            run(vocabulary, source, output, resume=True)
    assert output.read_bytes() == whole[:-10]


def test_a_release_that_was_moved_away_is_not_made_once_more_unasked(vocabulary, tmp_path):
    source, output = write(tmp_path, "in.jsonl")
    run(vocabulary, source, output)
    output.rename(tmp_path / "uploaded.jsonl")
    for resume in (False, True):
        with pytest.raises(ParameterError, match=r"was released from the same input .* and is gone\. again=True"):
            run(vocabulary, source, output, resume=resume)
    assert not output.exists()
    write_rows(source, [{**row, "text": "Bologna and Lund"} for row in ROWS])  # of the next night
    assert run(vocabulary, source, output)[0].documents == 30


def test_a_second_release_that_is_cut_off_goes_on_and_leaves_the_first_until_then(vocabulary, tmp_path):
    source, output = write(tmp_path, "tree")
    run(vocabulary, source, output)
    before = stamped(output)
    with pytest.raises(KeyboardInterrupt):
        run(vocabulary, source, output, again=True, progress=interrupt_after(0))
    assert stamped(output) == before
    with pytest.raises(ParameterError, match="is there already"):
        run(vocabulary, source, output)
    report, told = run(vocabulary, source, output, resume=True)
    assert "going on with the interrupted run" in told[0]
    assert report.documents == 60
    assert [entry[1] for entry in stamped(output)] != [entry[1] for entry in before]
    assert hidden(tmp_path) == []


def test_a_folder_with_anything_else_in_it_is_never_replaced(vocabulary, tmp_path):
    source, output = write(tmp_path, "tree")
    run(vocabulary, source, output)
    (output / "mine.txt").write_text("mine")
    for options in ({}, {"again": True}):
        with pytest.raises(ParameterError, match="a new or empty directory, or one that holds a release alone"):
            run(vocabulary, source, output, **options)
    assert (output / "mine.txt").read_text() == "mine"


def test_a_file_of_whatever_origin_is_written_over_only_where_that_is_asked_for(vocabulary, tmp_path):
    source, output = write(tmp_path, "in.jsonl")
    output.write_text("mine")
    with pytest.raises(ParameterError, match="is there already"):
        run(vocabulary, source, output)
    assert output.read_text() == "mine"
    output.write_text("")  # as of mktemp
    run(vocabulary, source, output)
    assert output.stat().st_size


def test_an_empty_release_is_complete_too(vocabulary, tmp_path):
    (tmp_path / "in.txt").write_text("")
    with pytest.warns(wv.InputWarning, match="holds no documents"):
        run(vocabulary, tmp_path / "in.txt", tmp_path / "out.txt", columns=())
    _, told = run(vocabulary, tmp_path / "in.txt", tmp_path / "out.txt", columns=(), resume=True)
    assert "complete already" in told[0]


def test_the_record_tells_nothing_of_the_text(vocabulary, tmp_path):
    """No digest of what the input holds, nor its size: who has one can test a guess of the whole file."""
    source, output = write(tmp_path, "tree")
    (source / "bad.jsonl").write_text("{")
    secret = os.urandom(16)
    sanitizer = wv.Sanitizer(vocabulary, wv.NeighbourResponse(outputs=None), source=wv.RandomSource(secret))
    sanitize_documents(source, output, sanitizer, settings=DocumentSettings(columns=("text",), drop_others=True))
    record = record_path(output).read_text()
    facts = json.loads(record)
    assert set(facts) == {"version", "settings", "input", "output", "tally", "finished"}
    assert "input" not in facts["settings"]
    assert "run key" not in facts["settings"]
    assert facts["tally"] == {
        "bad_files": 1, "columns": [], "gaps": {},
        "counts": {"documents": 60, "exempt": 0, "longest": 5, "tokens": 300},
    }  # fmt: skip
    for value in (hashlib.sha256((source / "a.jsonl").read_bytes()).hexdigest(), secret.hex(), "Maria", "bad.jsonl"):
        assert value not in record
    before = facts["input"]  # of names, places and times alone
    for path in source.rglob("[ab].jsonl"):
        times = path.stat().st_atime_ns, path.stat().st_mtime_ns
        path.write_text("")  # the same place on the disk
        os.utime(path, ns=times)
    record_path(output).unlink()
    with pytest.warns(wv.InputWarning, match="holds no documents"):
        sanitize_documents(source, tmp_path / "other", sanitizer, settings=DocumentSettings(columns=("text",)))
    assert json.loads(record_path(tmp_path / "other").read_text())["input"] == before
    mask = os.umask(0o022)
    os.umask(mask)
    assert stat.S_IMODE(record_path(tmp_path / "other").stat().st_mode) == 0o666 & ~mask


def test_standard_input_leaves_no_record_but_its_output_is_not_written_over_either(vocabulary, tmp_path, monkeypatch):
    import io
    import sys

    def piped(**options):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Maria was here\n")))
        return run(vocabulary, "-", tmp_path / "out.txt", columns=(), **options)

    piped()
    assert not record_path(tmp_path / "out.txt").exists()
    with pytest.raises(ParameterError, match="is there already"):
        piped()
    assert "writing over" in piped(again=True)[1][0]


@pytest.mark.parametrize("ending", [".npy", ".npz", ".safetensors"])
def test_vectors_are_released_once_too(tmp_path, monkeypatch, ending):
    source, output = tmp_path / "in.npy", tmp_path / f"out{ending}"
    np.save(source, seeds.rng(0).standard_normal((40, 5)))
    mechanism = wv.MultivariateLaplace(epsilon=5.0)
    clock = (f"2026-01-01T00:00:{second:02}Z" for second in itertools.count())
    monkeypatch.setattr("time.strftime", lambda *_: next(clock))  # report and record tell one time
    first = wv.release_vector_file(source, output, mechanism)
    before, told, delivered = stamped(output), [], []
    other = {"notice": told.append, "deliver": delivered.append, "resume": True}
    second = wv.release_vector_file(source, output, mechanism, **other)
    assert (second.finished, second.rows, second.guarantee) == (first.finished, 40, first.guarantee)
    assert stamped(output) == before
    assert told == [f"complete already, since {first.finished}: nothing is released anew."]
    assert delivered == []
    with pytest.raises(ResumeError, match=r"differs in: grid\."):
        wv.release_vector_file(source, output, mechanism, settings=wv.VectorSettings(grid=2.0**-4), resume=True)
    with pytest.raises(ParameterError, match="is there already"):
        wv.release_vector_file(source, output, mechanism)
    assert stamped(output) == before
    wv.release_vector_file(source, output, mechanism, again=True, notice=told.append)
    assert re.fullmatch(rf"writing over out\{ending}: a second release .* adds its loss .*", told[1])
    assert stamped(output) != before
