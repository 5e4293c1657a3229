"""No command copies a column that was not named: it lists the others and the ways on, and writes nothing."""

import json

import numpy as np
import pytest
from tests.documents.test_other_columns import ROWS
from tests.tables import write_rows

import seeds

WAYS = "--keep NAME copies one, --keep-others copies all, --drop-others leaves them out."


@pytest.fixture
def table(tmp_path):
    """A table with two other columns."""
    write_rows(tmp_path / "in.csv", ROWS)
    write_rows(tmp_path / "in.json", ROWS)
    return tmp_path


def test_a_table_and_its_text_column_alone_release_nothing(wordveil, vocabulary, table):
    run, before = f"sanitize in.csv --column text --vocabulary {vocabulary} -e 4", sorted(table.iterdir())
    answer = wordveil(f"{run} -o out.csv -q")
    expected = f"wordveil: --column text leaves 2 other columns of in.csv unnamed: customer, email. {WAYS}\n"
    assert (answer.status, answer.out, answer.err) == (2, "", expected)
    assert sorted(table.iterdir()) == before
    assert wordveil.done(f"{run} --drop-others").out.startswith("text\n")
    answer = wordveil(f"{run} --keep-others")
    assert answer.err.splitlines()[0] == "every column besides the text is copied unchanged: customer, email"
    assert answer.out.startswith("customer,email,text\n")
    passed = [line for line in answer.err.splitlines() if line.startswith("passed ")]
    assert [line.endswith("; columns customer, email") for line in passed] == [True]
    kept = wordveil(f"{run} --keep email --explain")
    assert kept.out.startswith("email,text\n")
    assert "disclosed: these columns, copied unchanged: email" in kept.err.splitlines()


@pytest.mark.slow
def test_a_pipe_is_asked_for_before_a_text_is_released(process, table):
    data = (table / "in.json").read_bytes()
    common = ["sanitize", "--format", "json", "-c", "text", "-e", 4]
    done = process(*common, data=data)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"unnamed: customer, email. " + WAYS.encode() in done.stderr
    assert process(*common, "--drop-others", data=data).returncode == 0


@pytest.mark.parametrize("form", ["npz", "parquet", "safetensors"])
def test_release_asks_as_well(wordveil, tmp_path, form):
    rows = seeds.rng(3).standard_normal((20, 4)).astype(np.float32)
    others = {"ids": np.arange(20), "raw": np.arange(20.0)}
    source = tmp_path / f"in.{form}"
    if form == "npz":
        np.savez(source, v=rows, **others)
    elif form == "parquet":
        write_rows(source, {"v": rows.tolist(), **others})
    else:
        pytest.importorskip("safetensors.numpy").save_file({"v": rows, **others}, source)
    run = f"release in.{form} -o out.{form} -e 4 --column v --explain"
    told = f"wordveil: --column v leaves 2 other columns of {source.name} unnamed: ids, raw. {WAYS}\n"
    assert wordveil.refused(run) == told
    assert [path.name for path in tmp_path.iterdir()] == [source.name]
    assert "Did you mean 'raw'?" in wordveil(f"{run} --keep rav").err
    said = wordveil(f"{run} --keep-others").err.splitlines()
    assert said[0] == "all else in the file is copied unchanged: ids, raw"
    assert "disclosed: these columns, copied unchanged beside each row: ids, raw" in said
    assert "left out: 2 other arrays, columns or tensors" in wordveil(f"{run} --drop-others --again").err
    assert "ids" in wordveil(f"{run} --keep ids --again").err


@pytest.fixture
def prior(wordveil, tmp_path):
    """A small model of public text, for which a denoiser is calibrated in no time."""
    (tmp_path / "public.txt").write_text("The good film was long.\nThe bad food was cold.\n" * 1000)
    wordveil.done("prior build public.txt -o prior.npz")


@pytest.mark.slow
def test_denoise_copies_what_the_report_says_was_copied(wordveil, table, prior):
    report, read = table / "report.json", table / "read.csv"
    wordveil.done("sanitize in.csv -c text -o out.csv --report report.json --keep email -q")
    run = "denoise out.csv report.json -o read.csv --least 0 --prior prior.npz"
    for more, columns in (("", "email,text"), (" --drop-others --again", "text")):
        wordveil.done(run + more)
        assert read.read_text().startswith(f"{columns}\n")
    facts = json.loads(report.read_text())
    facts["settings"]["keep"] = None  # a report of a release that asked for nothing, as they once were
    del facts["settings"]["keep_others"]
    report.write_text(json.dumps(facts))
    read.unlink()
    assert f"unnamed: email. {WAYS}" in wordveil.refused(f"{run} --again")
    assert not read.exists()
    wordveil.done(f"{run} --keep-others --again")


@pytest.mark.slow
def test_a_release_without_a_header_is_read_by_the_places_its_columns_have_now(wordveil, tmp_path, prior):
    (tmp_path / "in.csv").write_text("7,maria,good film\n8,jon,bad food\n")
    wordveil.done("sanitize in.csv --no-header -c 3 --keep 1 -o out.csv --report report.json")
    wordveil.done("denoise out.csv report.json -o read.csv --least 0 --prior prior.npz")
    assert [line.split(",")[0] for line in (tmp_path / "read.csv").read_text().splitlines()] == ["7", "8"]
