"""Frames and trees are written with their promise, counts and budgets among it, and no column that was not named."""

import json
from collections import Counter

import pytest
from tests.spark.spark_sessions import MARKS

import wordveil as wv
from wordveil import spark as veil
from wordveil.documents import DocumentSettings
from wordveil.errors import ParameterError
from wordveil.spark.saving import SIDECAR

pytestmark = MARKS
ROWS = [(f"n{n:02}", f"user {n % 3}", "She slept badly." if n % 4 else None, "Maria, 54, came.") for n in range(30)]


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(ROWS, "id string, user string, note string, title string").repartition(5)


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


def test_a_budget_is_held_and_told(spark, frame, sanitizer, tmp_path):
    alone = [sanitizer()(row[2]).tokens if row[2] else 0 for row in ROWS]
    allowed = 20  # tokens a user
    kept, so_far = [], Counter()
    for row, count in zip(ROWS, alone, strict=True):
        so_far[row[1]] += count
        kept += [row] if so_far[row[1]] <= allowed else []
    budget = veil.UserBudget(user="user", max_nats=allowed * 7.0, over="truncate")
    out = str(tmp_path / "out")
    promise = veil.save(frame, ["note"], sanitizer(), out, ids="id", budget=budget, keep_others=True)
    assert sorted(row.id for row in spark.read.parquet(out).collect()) == sorted(row[0] for row in kept)
    assert promise.budget["documents_left_out"] == 30 - len(kept) > 0
    assert promise.budget["users_over"] == len({user for user, total in so_far.items() if total > allowed})
    assert promise.counts["rows"] == len(kept)
    assert promise.counts["tokens"] == sum(count for row, count in zip(ROWS, alone, strict=True) if row in kept)
    assert "140 nats" in promise.budget["sentence"]
    assert any(line.startswith("which documents are left out") for line in promise.disclosed)


@pytest.fixture(scope="session")
def people(spark):
    rows = [(f"n{n}", f"user {n % 2}", f"m{n}@clinic.org", f"Maria was here on {n} March") for n in range(6)]
    return spark.createDataFrame(rows, "id string, user string, email string, note string")


@pytest.mark.parametrize("make", ["sanitize", "save"])
def test_a_frame_is_released_only_where_it_is_said_what_becomes_of_the_rest(people, sanitizer, tmp_path, make):
    places = [str(tmp_path / "out")] if make == "save" else []
    with pytest.raises(ParameterError, match=r"leaves 3 other columns of the table unnamed: id, user, email\."):
        getattr(veil, make)(people, ["note"], sanitizer(), *places, ids="id")
    with pytest.raises(ParameterError, match=r"keep='emial' is no other column of the table\. Did you mean 'email'\?"):
        getattr(veil, make)(people, ["note"], sanitizer(), *places, ids="id", keep=["emial"])
    assert not (tmp_path / "out").exists()


def test_a_frame_has_the_columns_that_were_named(people, sanitizer):
    def released(**choice):
        return veil.sanitize(people, ["note"], sanitizer(), ids="id", **choice)

    assert released(keep=["user"]).columns == ["user", "note"]
    assert sorted(row.user for row in released(keep=["user"]).collect()) == ["user 0"] * 3 + ["user 1"] * 3
    assert released(drop_others=True).columns == ["note"]
    assert released(drop_others=True).count() == 6
    every = released(keep_others=True)
    assert every.columns == people.columns
    said = json.loads(every.schema["note"].metadata["wordveil"])["disclosed"]
    assert "these columns, copied unchanged: id, user, email" in said


def test_what_is_saved_has_the_columns_that_were_named_and_its_folders(spark, people, sanitizer, tmp_path):
    budget = veil.UserBudget(user="user", max_nats=1000.0)
    promise = veil.save(
        people, ["note"], sanitizer(), str(tmp_path / "out"), ids="id", partition_by=["user"], budget=budget
    )
    assert sorted(spark.read.parquet(str(tmp_path / "out")).columns) == ["note", "user"]
    assert "these columns, copied unchanged: user" in promise.disclosed
    assert (promise.counts["rows"], promise.budget["documents_left_out"]) == (6, 0)


def test_vectors_are_released_with_the_columns_that_were_named(spark):
    frame = spark.createDataFrame([(1, "m@clinic.org", [0.5, 1.0])], "id int, email string, v array<double>")
    mechanism = wv.MultivariateLaplace(epsilon=8.0)
    with pytest.raises(ParameterError, match="unnamed: id, email"):
        veil.release(frame, "v", mechanism, ids="id")
    kept = veil.release(frame, "v", mechanism, ids="id", settings=wv.VectorSettings(keep=("id",)))
    assert (kept.columns, kept.first().id) == (["id", "v"], 1)
    assert veil.release(frame, "v", mechanism, ids="id", settings=wv.VectorSettings(drop_others=True)).columns == ["v"]


def test_a_tree_is_released_only_where_it_is_said_what_becomes_of_the_rest(spark, tree, sanitizer, tmp_path):
    root, out = tree(lines=3, files=3), tmp_path / "out"
    (root / "last.csv").write_text("text,email\ngood film,m@clinic.org\n")

    def run(**choice):
        settings = DocumentSettings(columns=("text",), **choice)
        return veil.sanitize_files(spark, root, out, sanitizer(), settings=settings, notice=told.append)

    told: list[str] = []
    with pytest.raises(ParameterError, match=r"unnamed: .*email"):
        run()
    with pytest.raises(ParameterError, match="keep='zzz' is in no record"):
        run(keep=("zzz",))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    report = run(keep_others=True)
    assert report.documents == 10
    assert told[0] == "every column besides the text is copied unchanged: id, stars, email"


def test_a_tree_has_the_columns_that_were_named(spark, tree, sanitizer, tmp_path):
    settings = DocumentSettings(columns=("text",), keep=("stars",))
    report = veil.sanitize_files(spark, tree(lines=3, files=3), tmp_path / "out", sanitizer(), settings=settings)
    lines = [line for path in (tmp_path / "out").rglob("*.jsonl") for line in path.read_text().splitlines()]
    assert [set(json.loads(line)) for line in lines] == [{"text", "stars"}] * 9
    assert "these columns, copied unchanged: stars" in report.disclosed


def test_no_metadata_of_a_column_is_copied_with_it(spark, sanitizer, tmp_path):
    from pyspark.sql import types

    private = {"comment": "zzsecret", "ml_attr": {"vals": ["a", "zzsecret"]}}
    inner = types.StructType([types.StructField("a", types.StringType(), metadata=private)])
    fields = [
        types.StructField("id", types.IntegerType(), metadata=private),
        types.StructField("note", types.StringType(), metadata=private),
        types.StructField("deep", types.ArrayType(inner), metadata=private),
        types.StructField("v", types.ArrayType(types.DoubleType()), metadata=private),
    ]
    frame = spark.createDataFrame([(1, "good film", [("x",)], [0.5])], types.StructType(fields))
    veil.save(frame, ["note"], sanitizer(), str(tmp_path / "out"), ids="id", keep_others=True)
    written = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    settings = wv.VectorSettings(keep=("deep",))
    vectors = veil.release(frame, "v", wv.MultivariateLaplace(epsilon=8.0), ids="id", settings=settings)
    lazy = veil.sanitize(frame, ["note"], sanitizer(), ids="id", keep_others=True)
    assert b"zzsecret" not in written
    assert "zzsecret" not in lazy.schema.json() + vectors.schema.json()
    assert lazy.select("deep").first().deep[0].a == "x"
