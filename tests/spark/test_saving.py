"""Frames that are written with their promise: a sidecar or table properties, counts and budgets among it."""

import json

import pytest
from tests.spark.spark_sessions import MARKS

from wordveil import spark as veil
from wordveil.errors import ParameterError
from wordveil.spark.saving import SIDECAR

pytestmark = MARKS
ROWS = [(n, f"user {n % 3}", "She slept badly." if n % 4 else None, "Maria, 54, came.") for n in range(30)]


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(ROWS, "id int, user string, note string, title string").repartition(5)


def tokens(rows, sanitizer):
    return sum(sanitizer(text).tokens for row in rows for text in row[2:] if text is not None)


def test_promise_and_counts_stand_once_beside_the_data(spark, frame, sanitizer, tmp_path):
    out = tmp_path / "out"
    promise = veil.save(
        frame, ["note", "title"], sanitizer(), str(out), format="json", partition_by=["user"], ids="id",
        keep_others=True,
    )  # fmt: skip
    said = json.loads((out / SIDECAR).read_text())
    assert said == json.loads(promise.as_json())
    # Tasks run twice under speculation, and count once.
    assert said["counts"] == {"rows": 30, "tokens": tokens(ROWS, sanitizer()), "exempt": 0}
    assert said["guarantee"] == json.loads(json.dumps(sanitizer().guarantee.as_dict()))
    assert said["guarantee"]["assumptions"]
    assert "these columns, copied unchanged: id, user" in said["disclosed"]
    read = spark.read.json(str(out))
    assert sorted((row.id, row.user, row.note is None) for row in read.collect()) == [
        (n, user, note is None) for n, user, note, _ in ROWS
    ]


def test_a_table_has_the_promise_as_its_properties(spark, frame, sanitizer):
    spark.sql("DROP TABLE IF EXISTS wordveil_notes")
    promise = veil.save(
        frame, ["note"], sanitizer(), "wordveil_notes", table=True, ids="id", partition_by=["user"], keep_others=True
    )
    shown = {row.key: row.value for row in spark.sql("SHOW TBLPROPERTIES wordveil_notes").collect()}
    spark.sql("DROP TABLE wordveil_notes")
    assert json.loads(shown["wordveil.counts"]) == promise.counts == {**promise.counts, "rows": 30}
    said = json.loads(shown["wordveil"])
    assert said["guarantee"]["sentence"] == sanitizer().guarantee.sentence()
    assert "counts" not in said


@pytest.mark.parametrize("over", ["drop", "truncate"])
def test_a_budget_is_held_and_told(spark, frame, sanitizer, tmp_path, over):
    alone = [sanitizer()(row[2]).tokens if row[2] else 0 for row in ROWS]
    allowed = 20  # tokens a user
    left, so_far = [], {}
    for row, count in zip(sorted(ROWS, key=lambda row: str(row[0])), _by(ROWS, alone), strict=True):
        so_far[row[1]] = so_far.get(row[1], 0) + count
        left.append((row, so_far[row[1]]))
    kept = [row for row, sum_ in left if (sum_ if over == "truncate" else so_far[row[1]]) <= allowed]
    budget = veil.UserBudget(user="user", max_nats=allowed * 7.0, over=over)
    out = str(tmp_path / "out")
    promise = veil.save(frame, ["note"], sanitizer(), out, ids="id", budget=budget, keep_others=True)
    assert sorted(row.id for row in spark.read.parquet(out).collect()) == sorted(row[0] for row in kept)
    assert promise.budget["documents_left_out"] == 30 - len(kept) > 0
    assert promise.budget["users_over"] == len({user for user, total in so_far.items() if total > allowed})
    assert promise.counts["rows"] == len(kept)
    assert promise.counts["tokens"] == sum(count for row, count in zip(ROWS, alone, strict=True) if row in kept)
    assert "140 nats" in promise.budget["sentence"]
    assert any(line.startswith("which documents are left out") for line in promise.disclosed)


def _by(rows, values):
    """The values in the order of ids, which are compared as strings."""
    return [value for _, value in sorted(zip((str(row[0]) for row in rows), values, strict=True))]


def test_a_budget_that_stops_writes_nothing(frame, sanitizer, tmp_path):
    budget = veil.UserBudget(user="user", max_nats=100.0)
    with pytest.raises(ParameterError, match="less than what 3 users' texts cost"):
        veil.save(frame, ["note"], sanitizer(), str(tmp_path / "out"), ids="id", budget=budget, keep_others=True)
    assert not (tmp_path / "out").exists()


def test_rows_without_an_id_are_refused(spark, sanitizer):
    frame = spark.createDataFrame([(None, "u", "good film " * 9), (2, "u", "good")], "id int, user string, note string")
    with pytest.raises(ParameterError, match="unique and not null"):
        veil.within_budget(frame, ["note"], sanitizer(), user="user", max_nats=17.0, over="drop", ids="id")
