"""What is said and settled before a long run: a dry run, an own key with ids, a budget for each person, a log."""

import gzip
import json
import logging
import unicodedata

import pytest
from tests.beside import stamped
from tests.tables import write_rows

import seeds
from wordveil.runs.report import write_sealed
from wordveil.runs.report_schema import sealed
from worlds import made_up

TICKETS = "id,who,body,phone\n" + "".join(
    f"{n},{'ann' if n % 3 else 'bob'},babaq dabaq fabaq Qwertzuiop 0301234{n:02},555-01{n:02}\n" for n in range(30)
)
PRIVATE = ("Qwertzuiop", "0301234", "555-01", "ann", "bob")
RUN = "sanitize in.csv --column body --keep id -e 1 --vocabulary small"


@pytest.fixture(autouse=True)
def tickets(tmp_path):
    made_up(200).save(tmp_path / "small")
    (tmp_path / "in.csv").write_text(TICKETS)


def test_an_own_key_ids_and_a_budget_give_one_release_whose_report_is_verified(wordveil, tmp_path):
    (tmp_path / "own.key").write_bytes(seeds.key(8))
    run = f"{RUN} --key-file own.key --ids id"
    bound = " --user-column who --max-nats-per-user 60 --over-budget drop --yes"
    (tmp_path / "own.key").chmod(0o644)
    said = wordveil.refused(f"{run} -o a.csv")
    assert "can be read by others (mode 0644). If nobody has read it: chmod 600 own.key." in " ".join(said.split())
    assert "urandom" not in said, "which would write another key over it"
    (tmp_path / "own.key").chmod(0o600)
    for name in ("a", "b"):
        wordveil.done(f"{run}{bound} -o {name}.csv --report {name}.json")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert (tmp_path / "a.csv").read_text().count("\n") == 11, "of twenty documents of one person none is left"
    facts = json.loads((tmp_path / "a.json").read_text())
    assert "lose at most 60 nats" in facts["budget"]["sentence"]
    assert (facts["ids"], facts["lasting_key"]) == ("id", True)
    assert "which its owner keeps" in facts["verdict"]["stays"]
    said = json.dumps(facts)
    assert "the id is the value of the column id" in said
    assert not any(false in said for false in ("is removed when", "removes it when", "this is the only release"))
    wordveil.done("report a.csv --verify a.json --vocabulary small")
    write_sealed(sealed(facts | {"lasting_key": False}), tmp_path / "forged.json")
    assert wordveil("report a.csv --verify forged.json --vocabulary small").status == 1
    assert (tmp_path / "own.key").read_bytes() == seeds.key(8), "the key is the owner's, and stays"
    assert "must come together with --key-file" in wordveil.refused(f"{RUN} --ids id -o c.csv")
    assert "head -c 16 /dev/urandom > no.key" in wordveil.refused(f"{RUN} --key-file no.key -o c.csv")
    for ending in ("key", "journal", "partial", "release", "key.new"):
        (tmp_path / "own.key").rename(tmp_path / f".c.csv.{ending}")
        named = run.replace("own.key", f".c.csv.{ending}")
        assert "is made and removed by runs of this output" in wordveil.refused(f"{named} -o c.csv")
        (tmp_path / f".c.csv.{ending}").rename(tmp_path / "own.key")
    (tmp_path / ".c.csv.key").symlink_to("own.key")
    assert "is made and removed" in wordveil.refused(f"{run.replace('own.key', '.c.csv.key')} -o c.csv")
    (tmp_path / ".c.csv.key").unlink()
    stopped = wordveil.refused(f"{run}{bound.replace('drop', 'stop')} -o c.csv")
    assert "--max-nats-per-user=60.0 is less than what 1 users' texts cost" in stopped
    assert "--over-budget drop or truncate" in stopped
    assert not (tmp_path / "c.csv").exists()


def test_whose_the_key_is_stays_when_a_run_goes_on(wordveil, tmp_path):
    (tmp_path / "own.key").write_bytes(seeds.key(8))
    (tmp_path / "own.key").chmod(0o600)
    wordveil.done(f"{RUN} --key-file own.key -o a.csv --yes")
    wordveil.done(f"{RUN} -o b.csv --yes")
    for other in ("-o a.csv", "--key-file own.key -o b.csv"):
        assert "differs in: whose the key is" in wordveil.refused(f"{RUN} {other} --yes --resume --report r.json")


def test_a_report_is_of_the_output_that_is_there(wordveil, tmp_path):
    wordveil.done(f"{RUN} -o a.csv --yes --report r.json")
    first, before = (tmp_path / "r.json").read_bytes(), stamped(tmp_path / "a.csv")
    told = wordveil.done(f"{RUN} -o a.csv --yes --resume --report r.json").err
    assert told.startswith("complete already, since ")
    assert (tmp_path / "r.json").read_bytes() == first
    assert wordveil.done(f"{RUN} -o a.csv --yes --resume -q").err == ""
    assert wordveil.refused(f"{RUN} -o a.csv --yes") == (
        "wordveil: --output='a.csv' is there already. --resume tells whether it is complete; --again writes over it "
        "(a second release of the same texts adds its loss to the first's).\n"
    )
    assert stamped(tmp_path / "a.csv") == before
    told = wordveil.done(f"{RUN} -o a.csv --yes --again").err
    assert "writing over a.csv: a second release of the same texts adds its loss to the first's." in told
    assert wordveil("report a.csv --verify r.json --vocabulary small").status == 1
    wordveil.done(f"{RUN} -o a.csv --yes --resume --report r.json")
    wordveil.done("report a.csv --verify r.json --vocabulary small")
    for other in ('{"my": "notes"}', (tmp_path / "r.json").read_text().replace('"outputs": [', '"outputs": [5, ')):
        (tmp_path / "other.json").write_text(other)
        for more in ("--resume", "--again"):
            refused = wordveil.refused(f"{RUN} -o a.csv --yes {more} --report other.json")
            assert "--report='other.json' is there and is no report" in refused
        assert (tmp_path / "other.json").read_text() == other, "what is no report is nobody's to replace"
    (tmp_path / "folder.json").mkdir()
    for output in ("a.csv --resume", "new.csv"):
        refused = wordveil.refused(f"{RUN} -o {output} --yes --report folder.json")
        assert "--report='folder.json' is a folder" in refused
    assert not (tmp_path / "new.csv").exists()
    (tmp_path / "empty.json").touch()
    wordveil.done(f"{RUN} -o a.csv --yes --resume --report empty.json")
    wordveil.done("report a.csv --verify empty.json --vocabulary small")


@pytest.mark.parametrize("command", [RUN, "redact in.csv --column body --keep id"])
def test_a_dry_run_counts_what_the_run_would_do_and_releases_nothing(wordveil, tmp_path, command):
    before = sorted(path.name for path in tmp_path.iterdir())
    answer = wordveil(f"{command} -o out.csv --dry-run")
    assert answer.status == 0, answer.err
    said = " ".join(answer.err.split())
    assert (answer.out, sorted(path.name for path in tmp_path.iterdir())) == ("", before)
    assert f"1 file, {len(TICKETS):,} bytes" in said
    assert "text in body; copied as they are: id; left out: who, phone" in said
    tokens = {"sanitize": "150 tokens", "redact": "150 tokens, of which 0% would be kept"}[command.split()[0]]
    assert f"looked into: 30 documents, {tokens}" in said
    assert ("outside the vocabulary: 30 of 120 words" in said) == command.startswith("sanitize")
    assert "about 1 s for about 150 tokens" in said
    assert not any(word in said for word in PRIVATE if word not in ("ann", "bob"))
    if command.startswith("sanitize"):
        bound = "--user-column who --max-nats-per-user 60 --over-budget drop"
        said = " ".join(wordveil.done(f"{command} {bound} --dry-run").err.split())
        assert "the bound: 1 persons are over it, 20 documents left out" in said
    (tmp_path / "out.csv").write_text("there\n")
    assert "nothing was released or written" in wordveil.done(f"{command} -o out.csv --dry-run").err
    assert "no other column" in wordveil.refused(f"{command.replace('--keep id', '--keep idd')} --dry-run -o out.csv")
    assert "can be read only once" in wordveil.refused(f"{command.replace('in.csv', '-')} --dry-run")


def test_a_dry_run_of_a_folder_looks_into_some_files_and_counts_all(wordveil, tmp_path):
    (tmp_path / "in").mkdir()
    for n in range(25):
        (tmp_path / "in" / f"{n:02}.csv").write_text(TICKETS)
    (tmp_path / "in" / "03.csv").write_text('id,who,body,phone\n1,ann,"open\n')
    (tmp_path / "in" / "photo.jpg").write_bytes(b"x")
    answer = wordveil(f"{RUN.replace('in.csv', 'in')} -o out --dry-run")
    assert answer.status == 3, "the run would leave a file out"
    said = " ".join(answer.err.split())
    assert "incomplete, as 1 file or folder could not be read" in said
    accepted = wordveil.done(f"{RUN.replace('in.csv', 'in')} -o out --dry-run --allow-bad-files")
    assert "cannot be read" in accepted.err
    (tmp_path / "none").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "none" / name).write_text('id,who,body,phone\n1,ann,"open\n')
    for accepts in ("", " --allow-bad-files"):
        nothing = wordveil(f"{RUN.replace('in.csv', 'none')} -o out --dry-run{accepts}")
        assert (nothing.status, "the run would stop" in nothing.err) == (2, True)
    assert "a quoted field is not closed" in wordveil.refused(f"{RUN.replace('in.csv', 'in/03.csv')} --dry-run")
    size = sum(path.stat().st_size for path in (tmp_path / "in").glob("*.csv"))
    assert f"25 files, {size:,} bytes; not read: 1 " in said
    assert "cannot be read: " in said
    assert "03.csv" in said
    assert "looked into: 240 documents, 1,200 tokens" in said
    tokens = int(said.partition(" s for about ")[2].partition(" tokens")[0].replace(",", ""))
    assert abs(tokens - 24 * 150) < 40


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_dry_run_knows_how_much_there_is_beyond_what_it_looks_at(wordveil, tmp_path, monkeypatch, ending):
    monkeypatch.setattr("wordveil.runs.dry_run.BYTES", 20_000)
    rows = TICKETS.splitlines()[1:] * 1500
    whole = "id,who,body,phone\n" + "\n".join(rows) + "\n"
    if ending == "csv.gz":
        (tmp_path / "in.csv.gz").write_bytes(gzip.compress(whole.encode()))
    elif ending == "parquet":
        columns = zip(*(row.split(",") for row in rows), strict=True)
        write_rows(tmp_path / "in.parquet", dict(zip(("id", "who", "body", "phone"), map(list, columns), strict=True)))
    else:
        (tmp_path / "in.csv").write_text(whole)
    said = " ".join(wordveil.done(f"{RUN.replace('in.csv', f'in.{ending}')} --dry-run").err.split())
    told = int(said.partition(" for about ")[2].partition(" tokens")[0].replace(",", ""))
    least = 0 if ending == "csv.gz" else 0.9  # packed bytes are read ahead
    assert least * 225_000 < told < 1.1 * 225_000


def test_the_log_of_a_run_says_how_it_goes_and_nothing_private(wordveil, tmp_path, caplog):
    with caplog.at_level(logging.DEBUG, "wordveil"):
        wordveil.done(f"{RUN} -o out.csv --yes")
        wordveil.done(f"{RUN} -o out.csv --yes --resume")
        (tmp_path / "in.csv").write_text(TICKETS + '99,ann,"open')
        wordveil.refused(f"{RUN} -o other.csv --yes")
    lines = [record.getMessage() for record in caplog.records]
    assert [line.partition(";")[0] for line in lines] == [
        "the output is in its place",
        "30 documents with 150 tokens are released",
        "complete already: nothing is released anew",
        "stopped",
    ]
    assert not any(word in line for line in lines for word in PRIVATE)
    caplog.clear()
    (tmp_path / "in.csv").write_text(TICKETS)
    assert "wordveil INFO the output is in its place\n" in wordveil.done(f"--debug {RUN} -o third.csv -q --yes").err


def test_a_name_is_one_person_however_its_letters_are_composed(wordveil, tmp_path):
    spellings = [unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD")]
    rows = "".join(f'{n},{name},"aa bb cc dd ee",\n' for n, name in enumerate(spellings * 5))
    (tmp_path / "in.csv").write_text(f"id,who,body,phone\n{rows}")
    bound = "--user-column who --max-nats-per-user 30 --over-budget truncate"
    assert "4 documents left out" in " ".join(wordveil.done(f"{RUN} {bound} --dry-run").err.split())
    (tmp_path / "in.csv").write_text(f"id,who,body,phone\n1,{spellings[1] * 300},aa bb,\n")  # in order in the square
    assert "in at most 1,000 characters each" in wordveil.refused(f"{RUN} {bound} -o out.csv")
