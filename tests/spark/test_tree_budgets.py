"""Budgets for each person over a tree of files; the oracle is one process over a tree without what is left out."""

import datetime
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from decimal import Decimal

import pytest
from tests.beside import content
from tests.spark.spark_sessions import JSONL, MARKS
from tests.spark.test_files import receipts
from tests.tables import write_rows

import wordveil as wv
from wordveil import spark as veil
from wordveil.documents import DocumentSettings
from wordveil.errors import ParameterError
from wordveil.files.atomic import sibling
from wordveil.files.run_key import load_run_key, run_key_path
from wordveil.promises.rows import person

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

pytestmark = MARKS
ALLOWED = 40  # tokens a user


def rows(index):
    """Users of several files; some are numbers in JSON, one document has no user, one user is within any budget."""
    for n in range(12):
        user = "rare" if n == 11 else None if (index, n) == (0, 3) else 7 if n % 2 else f"user {index % 2}"
        yield {"user": user, "text": f"Maria saw film number {n} of {index}", "stars": n % 5}


def write(root, index, kept):
    """One file of a tree, in the format of its number; tables name all users by texts."""
    root.mkdir(exist_ok=True)
    place = root / f"part-{index}.{('jsonl.gz', 'json', 'csv', 'parquet')[index % 4]}"
    if place.suffix == ".csv":
        kept = [{name: str(value) for name, value in row.items()} for row in kept]
    elif place.suffix == ".parquet":
        kept = [row | {"user": None if row["user"] is None else str(row["user"])} for row in kept]
    write_rows(place, kept)


def tree(root, wanted=lambda index, n: True):
    for index in range(5):
        write(root, index, [row for n, row in enumerate(rows(index)) if wanted(index, n)])
    return root


def over_budget(sanitizer):
    """Places of the documents to leave out, and how many users are over; counted one by one."""
    documents = [(index, n, str(row["user"]) if row["user"] is not None else None, sanitizer(row["text"]).tokens)
                 for index in range(5) for n, row in enumerate(rows(index))]  # fmt: skip
    totals = Counter()
    for _, _, user, count in documents:
        totals[user] += count
    above = {user for user, total in totals.items() if total > ALLOWED}
    return {(index, n) for index, n, user, _ in documents if user in above}, len(above)


def test_what_is_over_is_left_out_and_all_else_released(spark, sanitizer, tmp_path):
    key, (lost, above) = os.urandom(16), over_budget(sanitizer())
    budget = veil.UserBudget(user="user", max_nats=7.0 * ALLOWED, over="drop")
    report = veil.sanitize_files(
        spark, tree(tmp_path / "in"), tmp_path / "out", sanitizer(wv.RandomSource(key)), settings=JSONL, budget=budget
    )
    less = tree(tmp_path / "less", lambda index, n: (index, n) not in lost)
    wv.sanitize_documents(less, tmp_path / "one", sanitizer(wv.RandomSource(key)), settings=JSONL)
    released, expected = content(tmp_path / "out"), content(tmp_path / "one")
    assert released.keys() == expected.keys()
    for name in expected:
        if name.endswith(".json"):  # white space between elements may stay
            assert json.loads(released[name]) == json.loads(expected[name])
        elif name.endswith(".parquet"):
            tables = [pq.read_table(tmp_path / folder / name).to_pylist() for folder in ("out", "one")]
            assert tables[0] == tables[1]
        else:
            assert released[name] == expected[name], name
    assert report.documents == 60 - len(lost)
    assert report.budget["documents_left_out"] == len(lost) > 20
    assert report.budget["users_over"] == above == 3
    assert any(line.startswith("which documents are left out") for line in report.disclosed)
    assert not any("user 1" in json.dumps(fact) for fact in (report.budget, report.disclosed))


def test_a_person_written_as_7_and_as_7_point_0_is_one(spark, sanitizer, tmp_path):
    (tmp_path / "in").mkdir()
    for name, users in (("whole.parquet", [7, 7]), ("double.parquet", [7.0, None])):
        pq.write_table(pa.table({"user": users, "text": ["Maria saw a film"] * 2}), tmp_path / "in" / name)
    (tmp_path / "in" / "more.jsonl").write_text('{"user": 7e0, "text": "Maria saw a film"}\n')
    budget = veil.UserBudget(user="user", max_nats=8.0 * 4, over="truncate")
    report = veil.sanitize_files(
        spark, tmp_path / "in", tmp_path / "out", sanitizer(),
        settings=DocumentSettings(columns=("text",), drop_others=True), budget=budget,
    )  # fmt: skip
    assert (report.documents, report.budget["users_over"]) == (2, 1), "one of user 7, one of nobody's"


@pytest.mark.parametrize("user", [b"ana", datetime.date(2026, 1, 1), {"id": "ana"}], ids=["bytes", "date", "object"])
def test_a_person_who_is_named_by_no_text_and_no_number_is_refused(spark, sanitizer, tmp_path, user):
    (tmp_path / "in").mkdir()
    if isinstance(user, dict):
        (tmp_path / "in" / "a.jsonl").write_text(json.dumps({"user": user, "text": "good film"}) + "\n")
    else:
        pq.write_table(pa.table({"user": [user], "text": ["good film"]}), tmp_path / "in" / "a.parquet")
    (tmp_path / "in" / "b.jsonl").write_text('{"user": "ana", "text": "good film"}\n')
    settings = DocumentSettings(columns=("text",), drop_others=True)
    budget = veil.UserBudget(user="user", max_nats=80.0, over="truncate")
    report = veil.sanitize_files(
        spark, tmp_path / "in", tmp_path / "out", sanitizer(), settings=settings, budget=budget
    )
    assert (report.documents, report.bad_files) == (1, 1)
    assert [place.name for place in (tmp_path / "out").glob("a.*")] == []


@pytest.mark.parametrize(("spellings", "name"), [
    ([7, 7.0, "7", " 7 ", "7e0", Decimal("7.00")], "7.0"),
    ([None, "", "  ", "nan", float("nan")], None),
    ([True, "true", "TRUE "], "true"),
    (["ana", " ana"], "ana"),
])  # fmt: skip
def test_all_spellings_of_a_person_are_one_name(spellings, name):
    assert {person(spelling) for spelling in spellings} == {name}


def test_stopping_leaves_nothing_and_counts_users(spark, sanitizer, tmp_path):
    budget = veil.UserBudget(user="user", max_nats=7.0 * ALLOWED)
    with pytest.raises(ParameterError, match="less than what 3 users' texts cost"):
        veil.sanitize_files(spark, tree(tmp_path / "in"), tmp_path / "out", sanitizer(), settings=JSONL, budget=budget)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_files_whose_documents_have_no_user_are_refused_or_left_out(spark, sanitizer, tmp_path):
    root = tree(tmp_path / "in")
    (root / "other.csv").write_text("person,text\nMaria,good film\n")
    budget = veil.UserBudget(user="user", max_nats=1e6, over="drop")
    told = []
    report = veil.sanitize_files(
        spark, root, tmp_path / "out", sanitizer(), settings=JSONL, budget=budget, notice=told.append
    )
    assert (report.files, report.bad_files) == (5, 1)
    assert any("other.csv" in line and "no column 'user'" in line for line in told)
    assert not (tmp_path / "out" / "other.csv").exists()
    (root / "note.txt").write_text("good film\n")
    with pytest.raises(ParameterError, match=r"note\.txt.*has no columns"):
        veil.sanitize_files(spark, root, tmp_path / "out2", sanitizer(), settings=JSONL, budget=budget)


def test_records_that_are_skipped_do_not_shift_what_is_left_out(spark, sanitizer, tmp_path):
    root = tmp_path / "in"
    root.mkdir()
    lines = ['{"user": "a"}', '{"user": "a", "text": "good film"}', '{"user": "b", "text": "bad"}', "", '{"text": "x"}']
    (root / "a.jsonl").write_text("\n".join(lines) + "\n")
    settings = DocumentSettings(columns=("text",), keep_others=True, missing="skip")
    budget = veil.UserBudget(user="user", max_nats=8.0, over="drop")
    report = veil.sanitize_files(spark, root, tmp_path / "out", sanitizer(), settings=settings, budget=budget)
    kept = [json.loads(line) for line in (tmp_path / "out" / "a.jsonl").read_text().splitlines() if line]
    assert [row.get("user") for row in kept] == ["b", None]
    assert (report.skipped_documents, report.budget["documents_left_out"]) == (1, 1)


FILES, LINES, USERS = 12, 400, 60


def written(root, wanted=lambda n: True):
    """Twelve files; whose text it is, and how long, has nothing to do with the file."""
    root.mkdir()
    for index in range(FILES):
        rows = (
            {"id": n, "user": f"user {n * n % USERS}", "text": "a good film " + "it was fine " * (n % 7)}
            for n in range(index * LINES, (index + 1) * LINES)
        )
        lines = [json.dumps(row) + "\n" for row in rows if wanted(row["id"])]
        (root / f"part-{index:02}.jsonl").write_text("".join(lines))
    return root


def lines_of(folder):
    return [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]


@pytest.mark.parametrize(("counted", "whole"), [(True, True), (False, False)])
def test_a_driver_killed_in_the_middle_drops_the_same_and_releases_the_same_bytes(tmp_path, sanitizer, counted, whole):
    """By the command: killed once the drops are written but not all files released, with its Java or without."""
    root, out, allowed = written(tmp_path / "in"), tmp_path / "out", 3000
    counts, tokens, kept = Counter(), Counter(), set()
    for row in lines_of(root):
        counts[row["id"]] = len(row["text"].split())
        tokens[row["user"]] += counts[row["id"]]
        if tokens[row["user"]] <= allowed:
            kept.add(row["id"])
    command = [sys.executable, "-c", "from wordveil.cli.main import main; main()", "spark-sanitize", str(root)]
    command += ["--output", str(out), "--column", "text", "--keep", "id", "--keep", "user", "--master", "local[2]"]
    command += ["--user-column", "user", "--max-nats-per-user", str(7.0 * allowed + 0.01), "--over-budget", "truncate"]
    command += ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"]
    partial = sibling(out, "partial")
    with subprocess.Popen([*command, "--quiet"], start_new_session=True) as driver:
        while not any((partial / "left_out").glob("[0-9]*")) if counted else receipts(out) < 3:
            assert driver.poll() is None
            time.sleep(0.02)
        (os.killpg if whole else os.kill)(driver.pid, signal.SIGKILL)
    key, before = load_run_key(run_key_path(out)), receipts(out)
    assert before < FILES
    assert not out.exists()
    ran = subprocess.run([*command, "--resume"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert counted or re.search(r"going on with the interrupted run: [1-9]\d* files", ran.stderr), ran.stderr
    less = written(tmp_path / "less", kept.__contains__)
    wv.sanitize_documents(less, tmp_path / "one", sanitizer(wv.RandomSource(key)), settings=JSONL)
    assert content(out) == content(tmp_path / "one")
    released = lines_of(out)
    assert [row["id"] for row in released] == sorted(kept)  # none lost, none twice
    assert 0.2 < len(kept) / (FILES * LINES) < 0.8
    lost = Counter()
    for row in released:
        lost[row["user"]] += counts[row["id"]]
    assert allowed - 30 < max(lost.values()) <= allowed
    assert not partial.exists()
    assert not run_key_path(out).exists()
