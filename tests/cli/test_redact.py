"""`wordveil redact` and `wordveil words`: choices, wires, reports, refusals; and a resumed run."""

import errno
import json
import os
import re

import pytest
from tests.cli.forging import FORGERIES, facts_of, forged
from tests.tables import read_rows, write_rows

import seeds
from wordveil.cli.redact import _write
from wordveil.documents import DocumentSettings
from wordveil.errors import ResumeError
from wordveil.runs.report_schema import checksum, sealed
from wordveil.withholding.redactor import Redactor
from wordveil.withholding.runs import redact_documents
from wordveil.withholding.words import PublicWords, closed_list

TEXTS = ["Please call Maria Garcia at 555-0147.", "The house of E. Smith is old.", "He went home at 7."]
RELEASED = ["Please call [name] at [number].", "The house of [name]. [name] is old.", "He went home at [number]."]


@pytest.fixture
def wires(tmp_path):
    """The same texts as plain text, JSONL, JSON and CSV, with a column beside them."""
    rows = [{"id": f"row {n}", "text": text} for n, text in enumerate(TEXTS)]
    for ending in ("txt", "jsonl", "json", "csv"):
        write_rows(tmp_path / f"in.{ending}", rows)
    return tmp_path


@pytest.mark.parametrize("ending", ["txt", "jsonl", "json", "csv"])
def test_every_wire_gives_what_python_gives(wordveil, wires, ending):
    columns = [] if ending == "txt" else ["--column", "text", "--keep", "id"]
    out = wires / f"out.{ending}"
    wordveil.done("redact", wires / f"in.{ending}", "-o", out, *columns)
    assert [row["text"] for row in read_rows(out)] == RELEASED == [Redactor().redact(text) for text in TEXTS]
    assert ("row 1" in out.read_text()) == bool(columns)


def test_metadata_of_a_file_does_not_leave_and_names_of_files_are_said_to(wordveil, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "in"
    folder.mkdir()
    table = arrow.table({"text": TEXTS}).replace_schema_metadata({"about": "letters of Maria Garcia"})
    parquet.write_table(table, folder / "letters.parquet")
    answer = wordveil.done("redact", folder, "-o", tmp_path / "out", "-c", "text")
    assert "; file names and folders\n" in answer.err
    assert not re.search(b"Maria|Garcia|Smith", (tmp_path / "out" / "letters.parquet").read_bytes())


def test_standard_input_gives_a_line_for_a_line(process):
    answer = process("redact", "-q", data="\n".join(TEXTS).encode())
    assert (answer.stdout.decode().splitlines(), answer.stderr) == (RELEASED, b"")


def test_the_four_lines_and_the_promise_are_said_and_reported(wordveil, wires):
    answer = wordveil("redact", wires / "in.txt", "-o", wires / "out.txt", "--report", wires / "r.json")
    heads = [line.partition(":")[0] for line in answer.err.splitlines()]
    assert heads == ["released", "guarantee", "passed unchanged", "must also say"]
    full = wordveil("redact", wires / "in.txt", "-o", wires / "out.txt", "--resume", "--explain").err
    heads = [line.partition(":")[0] for line in full.splitlines()]
    assert heads[2:7] == ["kept", "hidden", "may say", "must also say", "guarantee"]
    facts = json.loads((wires / "r.json").read_text())
    assert (facts["kind"], facts["checksum"]) == ("redaction", checksum(facts))
    assert facts["hidden"] == {"name": 4, "number": 3, "link": 0, "word": 0}
    assert facts["tokens"] == facts["kept"] + sum(facts["hidden"].values())
    assert facts["guarantee"]["promise"] == "withholding"
    assert facts["claim"]["may_say"] in answer.err
    assert facts["options"]["words"]["digest"] == PublicWords().digest
    assert not re.search(r"Maria|Garcia|Smith|\b0147\b", (wires / "r.json").read_text())


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("ending", ["json", "html"])
def test_a_report_is_held_against_the_release_and_against_itself(wordveil, wires, ending, own):
    (wires / "own.txt").write_text("zebras\n")
    more = " --public-words own.txt" if own else ""
    run = f"redact in.jsonl -c text --keep id -o o.jsonl --strict --keep-numbers 0-10 --pack clinic{more}"
    told = wordveil(f"{run} --report r.{ending}").err
    verify = f"report o.jsonl --verify r.{ending}"
    assert (f"is verified by: wordveil {verify}{more}\n" in told) == own
    wordveil.done(verify + more)
    if own:
        assert "--public-words" in wordveil.refused(verify)
    (wires / "o.jsonl").write_text("{}")
    assert wordveil(verify).status == 1


@pytest.mark.parametrize(("path", "value"), FORGERIES["redacted"])
def test_an_edited_report_does_not_pass_with_a_new_checksum(wordveil, wires, path, value):
    wordveil("redact", wires / "in.txt", "-o", wires / "out.txt", "--report", wires / "r.json", "-q")
    (wires / "r.json").write_text(json.dumps(sealed(forged(facts_of(wires / "r.json"), path, value))))
    assert wordveil("report", wires / "out.txt", "--verify", wires / "r.json").status in (1, 2)


@pytest.mark.parametrize("how", [{}, {"law": "surrogate"}, {"days": 9}, {"link": "id"}])
def test_an_honest_report_of_a_test_source_holds_and_says_so(wordveil, wires, how):
    redactor = Redactor(**how, source=seeds.source(1))
    settings = DocumentSettings(columns=("text",), keep=("id",))
    report = redact_documents(wires / "in.jsonl", wires / "o.jsonl", redactor, settings=settings)
    _write(report, wires / "r.json")
    wordveil.done("report", wires / "o.jsonl", "--verify", wires / "r.json")
    assert report.provenance.test_source == bool(how)
    forgery = forged(facts_of(wires / "r.json"), ("provenance", "test_source"), not how)
    (wires / "r.json").write_text(json.dumps(sealed(forgery)))
    assert wordveil("report", wires / "o.jsonl", "--verify", wires / "r.json").status == 1


def test_the_page_says_what_the_json_says(wordveil, wires):
    for ending in ("json", "html"):
        wordveil(f"redact in.txt -o out.txt --report r.{ending} --again -q")
    facts, page = json.loads((wires / "r.json").read_text()), (wires / "r.html").read_text()
    for said in (facts["claim"]["must_say"], facts["guarantee"]["sentence"], *facts["disclosed"]):
        assert said in page


def test_placeholders_of_a_person_agree_over_documents_and_those_of_others_do_not(wordveil, tmp_path):
    people = ["ann", "bob", "ann", None, None]
    rows = [{"who": who, "text": "We saw Maria, and MARIA left at 7.", "title": "Maria"} for who in people]
    write_rows(tmp_path / "in.jsonl", rows)
    outputs = []
    for name in ("one.jsonl", "two.jsonl"):
        answer = wordveil.done(f"redact in.jsonl -c text -c title --drop-others --link who --explain -o {name}")
        outputs.append(read_rows(tmp_path / name))
    codes = [re.findall(r"\[name-(\d+)\]", row["title"] + row["text"]) for row in outputs[0]]
    assert all(len(set(of_row)) == 1 and len(of_row) == 3 for of_row in codes)  # one name in all texts of a record
    assert codes[0] == codes[2]
    assert len({of_row[0] for of_row in codes}) == 4
    assert outputs[0] != outputs[1]  # another key
    assert "which hidden tokens of a person" in answer.err
    assert "who" not in (tmp_path / "one.jsonl").read_text()


def test_surrogates_of_a_person_agree_too(wordveil, tmp_path):
    people = ["ann", "bob", "ann", *(f"other {n}" for n in range(40))]
    rows = [{"who": who, "text": "We saw Maria. Then Maria left."} for who in people]
    write_rows(tmp_path / "in.jsonl", rows)
    answer = wordveil("redact in.jsonl -c text --drop-others --law surrogate --link who -q")
    texts = [json.loads(line)["text"] for line in answer.out.splitlines()]
    names = [re.fullmatch(r"We saw (\w+)\. Then (\w+) left\.", text) for text in texts]
    assert all(found[1] == found[2] for found in names)
    assert names[0][1] == names[2][1]
    assert len({found[1] for found in names}) > 10  # of 42 uniform draws from 64


def test_dates_of_a_person_are_moved_alike_and_the_report_says_so(wordveil, tmp_path):
    rows = [{"who": who, "text": "We saw her on 2026-03-14, and she went home."} for who in ("ann", "bob", "ann")]
    write_rows(tmp_path / "in.jsonl", rows)
    run = "redact in.jsonl -c text --drop-others --link who --dates shift --days 2000 -o out.jsonl"
    answer = wordveil.done(f"{run} --report r.json --explain")
    dates = [re.findall(r"\d{4}-\d\d-\d\d", line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [len(each) for each in dates] == [1, 1, 1]
    assert dates[0] == dates[2]
    assert "d / 4001" in answer.err
    wordveil.done("report out.jsonl --verify r.json")


def test_a_preview_on_a_terminal_shows_the_owners_first_rows_too(wires):
    pytest.importorskip("pty", reason="needs a terminal of Unix")
    from tests.cli.test_terminal import Terminal

    terminal = Terminal("redact", wires / "in.txt", "--preview", "2", terminal=("stdout",))
    assert terminal.end() == 0
    shown = terminal.seen.splitlines()
    own = shown[1 + next(i for i, line in enumerate(shown) if line.endswith("on this screen alone:")) :]
    pairs = zip(TEXTS[:2], RELEASED[:2], strict=True)
    assert own == [line for text, release in pairs for line in (f"  {text}", f"> {release}")]


def test_a_complete_release_is_none_of_other_words_of_the_owners(wordveil, wires):
    words = wires / "hide.txt"
    given = ["redact", wires / "in.txt", "-o", wires / "out.txt", "--hide", words, "--resume"]
    for text, status in (("garden\n", 0), (None, 0), ("river\n", 2)):
        if text is not None:
            words.write_text(text)
            os.utime(words, ns=(len(text), len(text)))
        assert wordveil(*given).status == status
    same = "nothing is drawn: the same words, lists and options give the same file, and others a second form of it"
    complaint = wordveil.refused(*given)
    assert "differs in: files of words. Nothing was done. Choose another output, or add --again " in complaint
    assert complaint.endswith(f"to write over this one: {same}.\n")
    assert f"--again writes over it ({same})" in wordveil.refused(*given[:-1])
    assert f"writing over out.txt: {same}." in wordveil(*given[:-1], "--again").err
    anew = "its numbers and made-up values are drawn anew"
    assert f"writing over out.txt: {anew}." in wordveil(*given[:-1], "--law", "surrogate", "--again").err


def test_a_complete_release_under_words_of_no_file_is_not_taken_for_another(tmp_path):
    (tmp_path / "in.txt").write_text("it was good for all of us\n")
    one, other = (Redactor(words=PublicWords(hidden=frozenset({word}))) for word in ("hope", "good"))
    redact_documents(tmp_path / "in.txt", tmp_path / "out.txt", one)
    with pytest.raises(ResumeError, match="own words"):
        redact_documents(tmp_path / "in.txt", tmp_path / "out.txt", other, resume=True)


def test_words_prints_what_may_leave(wordveil):
    answer = wordveil("words", "--kept", "--json", "--pack", "food")
    marks = json.loads(answer.out)
    assert marks == {word: mark.value for word, mark in PublicWords(packs=("spoken", "food")).marks().items()}
    assert set(wordveil("words", "--sensitive").out.split()) == closed_list("sensitive")
    assert PublicWords().digest in wordveil("words").out
    assert len(wordveil("words", "--kept", "--pack", "none").out.split()) == len(PublicWords(packs=()))
    more = wordveil("words", "--kept", "--keep-words", "titles", "--keep-words", "calendar").out.split()
    assert {each.rstrip("^=~") for each in more} == {*PublicWords().marks()} | closed_list("titles") | closed_list(
        "calendar"
    )


def test_words_are_shown_with_the_faces_of_their_classes(wordveil):
    answer = wordveil("words", "--classes", "256", "doctor", "surgeon", "zzxqk")
    (doctor, face), surgeon, unknown = (line.split("\t") for line in answer.out.splitlines())
    assert (doctor, surgeon, unknown) == ("doctor", ["surgeon", face], ["zzxqk", "-"])
    every = json.loads(wordveil("words", "--classes", "256", "--json").out)
    assert (len(every), len(set(every.values()))) == (32_000, 256)
    assert every["doctor"] == face


@pytest.mark.parametrize("command", [
    "redact", "redact --hide hidden.txt", "redact --dates shift --days 30", "sanitize -e 4",
])  # fmt: skip
def test_a_run_whose_report_failed_is_finished_by_resume(wordveil, tmp_path, monkeypatch, command):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "in.txt").write_text("Please call Maria Garcia at 555-0147.\n")
    (tmp_path / "hidden.txt").write_text("call\n")
    run = f"{command} in.txt -o o.txt --report r.json"
    with monkeypatch.context() as patch:
        patch.setattr("wordveil.runs.report.write_sealed", full)
        assert wordveil(run).status == 2
    released = (tmp_path / "o.txt").read_bytes()
    wordveil.done(f"{run} --resume")
    assert (tmp_path / "o.txt").read_bytes() == released
    wordveil.done("report o.txt --verify r.json" + (" --hide hidden.txt" if "hide" in command else ""))
    assert sorted(path.name for path in tmp_path.iterdir() if "journal" in path.name) == []
