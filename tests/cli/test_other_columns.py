"""No command copies a column that was not named: it lists the others and the ways on, and writes nothing."""

import json

import numpy as np
import pytest
from tests.documents.test_other_columns import NAMES, ROWS
from tests.tables import write_rows

import seeds

WAYS = "--keep NAME copies one, --keep-others copies all, --drop-others leaves them out."


@pytest.fixture
def tables(tmp_path):
    """A table with two other columns in each format."""
    for name in NAMES:
        write_rows(tmp_path / name, ROWS)
    write_rows(tmp_path / "odd.jsonl", [{"text": "good film"}, {"text": "bad food", "zebra": "fish"}])
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_a_table_and_its_text_column_alone_release_nothing(wordveil, vocabulary, tables, name):
    output, before = tables / name.replace("in.", "out."), sorted(tables.iterdir())
    common = ["sanitize", tables / name, "-o", output, "--column", "text", "--vocabulary", vocabulary, "-e", 4, "-q"]
    answer = wordveil(*common)
    expected = f"wordveil: --column text leaves 2 other columns of {tables / name} unnamed: customer, email. {WAYS}\n"
    assert (answer.status, answer.out, answer.err) == (2, "", expected)
    assert sorted(tables.iterdir()) == before
    assert wordveil(*common, "--drop-others").status == 0
    assert output.exists()


def test_all_are_copied_only_after_it_is_said(wordveil, vocabulary, tables):
    common = ["sanitize", tables / "in.csv", "-c", "text", "--vocabulary", vocabulary, "-e", 4]
    answer = wordveil(*common, "--keep-others")
    assert answer.err.splitlines()[0] == "every column besides the text is copied unchanged: customer, email"
    assert answer.out.splitlines()[0] == "customer,email,text"
    kept = wordveil(*common, "--keep", "email", "--explain")
    assert kept.out.splitlines()[0] == "email,text"
    assert "disclosed: these columns, copied unchanged: email" in kept.err.splitlines()
    shortly = wordveil(*common, "--keep-others").err.splitlines()
    assert [line.endswith("; columns customer, email") for line in shortly if line.startswith("passed ")] == [True]


def test_what_later_records_have_besides_is_counted_in_summary_and_report(wordveil, vocabulary, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "babaq"}\n{"text": "dabaq", "zebra": "fish"}\n')
    common = ["sanitize", tmp_path / "in.jsonl", "-c", "text", "--vocabulary", vocabulary, "-e", 4]
    common += ["-o", tmp_path / "out.jsonl"]
    refused = wordveil.refused(*common)
    assert "in.jsonl, line 2: members that were not named, and that the first record does not have: 1." in refused
    assert not (tmp_path / "out.jsonl").exists()
    answer = wordveil(*common, "--drop-others", "--report", tmp_path / "report.json")
    assert "left out or replaced: members that the first record does not have: 1" in answer.err
    report = (tmp_path / "report.json").read_text()
    assert json.loads(report)["left_out_members"] == 1
    assert "zebra" not in report + answer.err + (tmp_path / "out.jsonl").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
def test_a_pipe_is_asked_for_before_a_text_is_released(process, tables, form):
    data = (tables / f"in.{form}").read_bytes()
    common = ["sanitize", "--format", form, "-c", "text", "-e", 4]
    done = process(*common, data=data)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"unnamed: customer, email. " + WAYS.encode() in done.stderr
    assert process(*common, "--drop-others", data=data).returncode == 0


@pytest.mark.parametrize("command", ["rephrase", "redact"])
def test_other_commands_ask_as_well(wordveil, tables, command):
    common = [command, tables / "in.csv", "-c", "text", "-o", tables / "out.csv"]
    assert f"unnamed: customer, email. {WAYS}" in wordveil.refused(*common)
    assert not (tables / "out.csv").exists()
    assert wordveil(*common, "--keep", "customer").status == 0
    assert (tables / "out.csv").read_text().startswith("customer,text\nmaria,")
    odd = wordveil(command, tables / "odd.jsonl", "-c", "text", "--drop-others")
    assert "left out or replaced: members that the first record does not have: 1" in odd.err
    assert "zebra" not in odd.out + odd.err


@pytest.mark.parametrize("form", ["npz", "parquet", "safetensors"])
def test_release_asks_as_well(wordveil, tmp_path, form):
    rows = seeds.rng(3).standard_normal((20, 4)).astype(np.float32)
    others = {"ids": np.arange(20), "raw": np.arange(20.0)}
    source, output = tmp_path / f"in.{form}", tmp_path / f"out.{form}"
    if form == "npz":
        np.savez(source, v=rows, **others)
    elif form == "parquet":
        write_rows(source, {"v": rows.tolist(), **others})
    else:
        pytest.importorskip("safetensors.numpy").save_file({"v": rows, **others}, source)
    common = ["release", source, "-o", output, "-e", 4, "--column", "v", "--explain"]
    answer = wordveil.refused(*common)
    assert answer == f"wordveil: --column v leaves 2 other columns of {source} unnamed: ids, raw. {WAYS}\n"
    assert [path.name for path in tmp_path.iterdir()] == [source.name]
    assert "Did you mean 'raw'?" in wordveil(*common, "--keep", "rav").err
    said = wordveil(*common, "--keep-others").err.splitlines()
    assert said[0] == "all else in the file is copied unchanged: ids, raw"
    assert "disclosed: these columns, copied unchanged beside each row: ids, raw" in said
    assert "left out: 2 other arrays, columns or tensors" in wordveil(*common, "--drop-others", "--again").err
    assert "ids" in wordveil(*common, "--keep", "ids", "--again").err


@pytest.fixture
def prior(wordveil, tmp_path):
    """A small model of public text, for which a denoiser is calibrated in no time."""
    (tmp_path / "public.txt").write_text("The good film was long.\nThe bad food was cold.\n" * 1000)
    wordveil.done("prior build public.txt -o prior.npz")
    return tmp_path / "prior.npz"


@pytest.mark.slow
def test_denoise_copies_what_the_report_says_was_copied(wordveil, tables, prior):
    report, read = tables / "report.json", tables / "read.csv"
    released = ["sanitize", tables / "in.csv", "-c", "text", "-o", tables / "out.csv", "--report", report]
    assert wordveil(*released, "--keep", "email", "-q").status == 0
    common = ["denoise", tables / "out.csv", report, "-o", read, "--least", 0, "--prior", prior]
    assert wordveil(*common).status == 0
    assert read.read_text().startswith("email,text\n")
    assert wordveil(*common, "--drop-others", "--again").status == 0
    assert read.read_text().startswith("text\n")
    facts = json.loads(report.read_text())
    facts["settings"]["keep"] = None  # a report of a release that asked for nothing, as they once were
    del facts["settings"]["keep_others"]
    report.write_text(json.dumps(facts))
    read.unlink()
    assert f"unnamed: email. {WAYS}" in wordveil.refused(*common, "--again")
    assert not read.exists()
    assert wordveil(*common, "--keep-others", "--again").status == 0


@pytest.mark.slow
def test_a_release_without_a_header_is_read_by_the_places_its_columns_have_now(wordveil, tmp_path, prior):
    (tmp_path / "in.csv").write_text("7,maria,good film\n8,jon,bad food\n")
    report = tmp_path / "report.json"
    released = ["sanitize", tmp_path / "in.csv", "--no-header", "-c", 3, "--keep", 1, "-o", tmp_path / "out.csv"]
    assert wordveil(*released, "--report", report).status == 0
    read = ["denoise", tmp_path / "out.csv", report, "-o", tmp_path / "read.csv", "--least", 0, "--prior", prior]
    assert wordveil(*read).status == 0
    assert [line.split(",")[0] for line in (tmp_path / "read.csv").read_text().splitlines()] == ["7", "8"]
