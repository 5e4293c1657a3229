"""Data frames: schema kept, bytes that depend on neither partitions nor attempts, budgets counted before the noise."""

import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from tests.spark.spark_sessions import MARKS
from tests.withholding.swapping import wire_texts

import seeds
import wordveil as wv
from wordveil import spark as veil
from wordveil.errors import ParameterError, ResumeError, TooLittleKeptError
from wordveil.spark.workers import packed_for_tasks

pytestmark = MARKS
ALL = wv.VectorSettings(keep_others=True)
functions = pytest.importorskip("pyspark.sql.functions", reason="needs the extra spark")


@pytest.fixture(scope="session")
def frame(spark):
    rows = [(f"n{n}", f"Maria was here on {n} March", None if n % 3 == 0 else "good film", n % 2) for n in range(60)]
    return spark.createDataFrame(rows, "id string, note string, title string, user int")


@pytest.fixture
def released(sanitizer, key):
    """The released rows of a frame, sorted; under one key where no other is chosen."""

    def make(frame, columns, **how):
        how = {"ids": "id", "key_file": key, "keep_others": True, **how}
        return sorted(veil.sanitize(frame, columns, sanitizer(), **how).collect())

    return make


def test_rows_are_those_of_the_sanitizer_alone_on_any_partitions(frame, sanitizer, key, released):
    """The oracle is `release_documents` under the same key, one row at a time."""
    rows, private = released(frame, ["note", "title"]), sorted(frame.collect())
    assert rows == released(frame.repartition(7), ["note", "title"])
    assert [(row.id, row.user, row.title is None) for row in rows] == [
        (row.id, row.user, row.title is None) for row in private
    ]
    assert sum(a.note == b.note for a, b in zip(rows, private, strict=True)) < 10
    alone = sanitizer(wv.RandomSource(Path(key).read_bytes()))
    for row, own in zip(rows[:9], private, strict=False):
        texts = [text for text in (own.note, own.title) if text is not None]
        place = json.dumps(["", "note", "title"]) + own.id
        expected = list(alone.release_documents([texts], ids=[place]).texts)
        assert [text for text in (row.note, row.title) if text is not None] == expected


def test_other_frames_and_columns_draw_noise_of_their_own_under_one_key(spark, released):
    rows = [(f"{n}", "Maria was here then", "Maria was here then") for n in range(40)]
    frame = spark.createDataFrame(rows, "id string, a string, b string")
    ways = [("a", ""), ("a", "test"), ("b", "")]
    made = [[row[column] for row in released(frame, [column], name=name)] for column, name in ways]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        # Of one noise all 40 are equal; else each is with a chance below .4, and so many with one below 1e-9.
        assert sum(x == y for x, y in zip(made[one], made[other], strict=True)) < 36


def test_schema_and_guarantee_are_kept_in_parquet(spark, frame, sanitizer, key, tmp_path):
    frame.write.partitionBy("user").parquet(str(tmp_path / "in"))
    read = spark.read.parquet(str(tmp_path / "in"))
    released = veil.sanitize(read, ["note"], sanitizer(), key_file=key, keep_others=True)
    assert [(f.name, f.dataType) for f in released.schema] == [(f.name, f.dataType) for f in read.schema]
    again = veil.sanitize(read, ["note"], sanitizer(), key_file=key, keep_others=True)
    assert sorted(released.collect(), key=lambda row: row.id) == sorted(again.collect(), key=lambda row: row.id)
    released.write.partitionBy("user").parquet(str(tmp_path / "out"))
    field = spark.read.parquet(str(tmp_path / "out")).schema["note"]
    said = json.loads(field.metadata["wordveil"])
    assert said["guarantee"]["sentence"] == sanitizer().guarantee.sentence()
    assert sanitizer().disclosed[0] in said["disclosed"]
    assert "these columns, copied unchanged: id, title, user" in said["disclosed"]
    assert "wordveil" not in spark.read.parquet(str(tmp_path / "out")).schema["title"].metadata


def test_ids_that_repeat_are_refused(frame, sanitizer):
    with pytest.raises(ParameterError, match="60 rows have 2 ids"):
        veil.sanitize(frame, ["note"], sanitizer(), ids="user", keep_others=True)
    with pytest.raises(ParameterError, match="must be a column that is not released"):
        veil.sanitize(frame, ["note"], sanitizer(), ids="note", keep_others=True)
    with pytest.raises(ParameterError, match="must be a column of strings"):
        veil.sanitize(frame, ["user"], sanitizer(), ids="id", keep_others=True)


def test_rows_made_of_one_row_need_ids_of_their_own(spark, sanitizer, tmp_path):
    rows = [(n, ["good film", "bad film"]) for n in range(6)]
    spark.createDataFrame(rows, "id int, notes array<string>").write.parquet(str(tmp_path / "docs"))
    read = spark.read.parquet(str(tmp_path / "docs"))
    first = read.select("id", functions.col("notes")[0].alias("note")).where("id > 1")
    assert veil.sanitize(first, ["note"], sanitizer(), keep_others=True).count() == 4
    several = read.select("id", functions.explode("notes").alias("note")).orderBy("note")
    with pytest.raises(ParameterError, match="12 rows have 6 ids"):
        veil.sanitize(several, ["note"], sanitizer(), keep_others=True)


def test_a_column_of_the_name_that_spark_keeps_files_and_rows_under_is_refused(spark, sanitizer, tmp_path):
    spark.createDataFrame([(n, "good film") for n in range(6)], "id int, note string").write.parquet(
        str(tmp_path / "docs")
    )
    place = functions.struct(functions.lit("f").alias("file_path"), functions.lit(1).alias("row_index"))
    named = spark.read.parquet(str(tmp_path / "docs")).withColumn("_Metadata", place)
    with pytest.raises(ParameterError, match="the frame's own column _metadata"):
        veil.sanitize(named, ["note"], sanitizer(), keep_others=True)
    assert veil.sanitize(named, ["note"], sanitizer(), ids="id", keep_others=True).count() == 6


def test_the_key_is_in_no_plan_and_no_task_and_goes(frame, sanitizer, tmp_path, capsys):
    with veil.run_key(tmp_path / "k") as path:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        secret = Path(path).read_bytes()
        released = veil.sanitize(frame, ["note"], sanitizer(), ids="id", key_file=path, keep_others=True)
        released.explain(extended=True)
        assert "MapInArrow" in (plan := capsys.readouterr().out)
        assert secret.hex() not in plan
        made = sanitizer()
        task = packed_for_tasks(made)
        assert secret not in task
        assert made.source.export_key() not in task
        released.count()
    assert not (tmp_path / "k").exists()


def test_the_key_stays_where_the_job_fails_and_is_taken_up(tmp_path):
    with pytest.raises(KeyError), veil.run_key(tmp_path / "k") as path:
        raise KeyError
    before = (tmp_path / "k").read_bytes()
    os.chmod(tmp_path / "k", 0o644)
    with pytest.raises(ResumeError, match="can be read by others"), veil.run_key(tmp_path / "k"):
        pass
    os.chmod(tmp_path / "k", 0o600)
    with veil.run_key(tmp_path / "k") as path:
        assert Path(path).read_bytes() == before


def test_what_cannot_be_read_is_named_by_file_and_row(spark, sanitizer, key, tmp_path):
    texts = [("good film",), ("a" * 9_000_000,), ("secret",)]
    spark.createDataFrame(texts, "note string").coalesce(1).write.parquet(str(tmp_path / "in"))
    with pytest.raises(Exception, match=r"<9000000 characters>.*Row file:.*/in/part-\S+\.parquet:1\.") as refused:
        veil.sanitize(
            spark.read.parquet(str(tmp_path / "in")), ["note"], sanitizer(), key_file=key, keep_others=True
        ).collect()
    assert "secret" not in str(refused.value)
    frame = spark.read.parquet(str(tmp_path / "in"))
    (tmp_path / "in" / "broken.parquet").write_bytes(b"PAR1 secret")
    broken = spark.read.schema(frame.schema).parquet(str(tmp_path / "in"))
    with pytest.raises(Exception, match=r"broken\.parquet"):
        veil.save(broken, ["note"], sanitizer(), str(tmp_path / "out"), key_file=key, keep_others=True)
    assert not (tmp_path / "out" / "_wordveil.json").exists()


def test_a_test_source_is_refused(frame, sanitizer):
    with pytest.raises(ParameterError, match="test source"):
        veil.sanitize(frame, ["note"], sanitizer(seeds.source(1)), ids="id", keep_others=True)


def test_budgets_hold_for_each_user_and_name_nobody(spark, sanitizer):
    rows = [(n, "secret" if n < 3 else None if n == 9 else f"user {n}", "good film here") for n in range(10)]
    frame = spark.createDataFrame(rows, "id int, user string, note string")
    within = dict(user="user", ids="id")
    three = 24.0  # what a row of three tokens costs, rounded up
    assert veil.within_budget(frame, ["note"], sanitizer(), max_nats=3 * three, **within).count() == 10
    with pytest.raises(ParameterError, match="less than what 1 users' texts cost") as refused:
        veil.within_budget(frame, ["note"], sanitizer(), max_nats=2 * three, **within)
    assert "secret" not in str(refused.value)
    kept = veil.within_budget(frame, ["note"], sanitizer(), max_nats=2 * three, over="drop", **within)
    assert sorted(row.id for row in kept.collect()) == list(range(3, 10))
    kept = veil.within_budget(frame, ["note"], sanitizer(), max_nats=2 * three, over="truncate", **within)
    assert sorted(row.id for row in kept.collect()) == [0, 1, *range(3, 10)]
    assert kept.columns == frame.columns
    for ids in ("user", "id % 5"):  # some are null, or repeat
        other = frame.withColumn("other", functions.expr(ids))
        with pytest.raises(ParameterError, match="unique and not null"):
            veil.within_budget(other, ["note"], sanitizer(), max_nats=three, user="user", ids="other", over="drop")
    grid = wv.NumberGrid(kind="number", low=0, high=100, step=1, epsilon=2.0)
    options = wv.TextOptions(unknown="typed", numbers="metric", grids=(grid,))
    made = wv.Sanitizer(sanitizer().embeddings, wv.NeighbourResponse(), options=options)
    with pytest.raises(ParameterError, match="must keep no magnitudes"):
        veil.within_budget(frame, ["note"], made, max_nats=60.0, **within)
    made = wv.Sanitizer(sanitizer().embeddings, wv.TEM(epsilon=4.0))
    with pytest.raises(ParameterError, match="pure local DP"):
        veil.within_budget(frame, ["note"], made, max_nats=9.0, **within)


def test_vectors_are_released_row_by_row(spark, key):
    rows = seeds.rng(3).normal(size=(40, 6)).astype(np.float32)
    frame = spark.createDataFrame([(n, row.tolist()) for n, row in enumerate(rows)], "id int, v array<float>")
    mechanism = wv.MultivariateLaplace(epsilon=8.0)
    one = sorted(veil.release(frame, "v", mechanism, ids="id", key_file=key, settings=ALL).collect())
    other = sorted(veil.release(frame.repartition(5), "v", mechanism, ids="id", key_file=key, settings=ALL).collect())
    assert one == other
    assert not (np.array([row.v for row in one]) == rows).any(axis=1).any()
    frame = spark.createDataFrame([(1, [1.0]), (2, [1.0, 2.0])], "id int, v array<float>")
    with pytest.raises(Exception, match="must hold 1 numbers in every row"):
        veil.release(frame, "v", mechanism, ids="id", key_file=key, name="ragged", settings=ALL).collect()


def test_a_redactor_gives_the_same_rows_however_spark_cuts_them(spark, key):
    texts = ["Maria was here on 3 May.", None, "The house of E. Smith is old.", "We saw Zqx and 😀."] * 5
    frame = spark.createDataFrame([(f"n{n}", text) for n, text in enumerate(texts)], "id string, note string")
    ids = [f"n{n}" for n in range(len(texts))]
    for redactor in (wv.Redactor(), wv.Redactor(law="surrogate"), wv.Redactor(link="document")):
        how = {"ids": "id", "key_file": key, "keep": ["id"], "name": redactor.law + redactor.link}
        one, other = (veil.sanitize(frame.repartition(parts), ["note"], redactor, **how) for parts in (1, 3))
        released = sorted((row.id, row.note) for row in one.collect())
        assert released == sorted((row.id, row.note) for row in other.collect())
        if redactor.law == "placeholder":
            right = redactor.release_rows([[text] for text in texts], ids)
            assert dict(released) == {each: row[0] for each, row in zip(ids, right, strict=True)}
    kept = veil.sanitize(frame, ["note"], wv.Redactor(), ids="id", drop_others=True)
    assert kept.columns == ["note"]
    assert json.loads(kept.schema["note"].metadata["wordveil"])["guarantee"]["promise"] == "withholding"
    agreeing = []
    for texts in wire_texts():
        rows = spark.createDataFrame([(f"n{n:03}", text) for n, text in enumerate(texts)], "id string, note string")
        shown = veil.sanitize(rows, ["note"], wv.Redactor(), ids="id", keep=["id"], name="agreeing").collect()
        agreeing.append([row.note for row in sorted(shown, key=lambda row: row.id)])
    assert agreeing[0] == agreeing[1] == [row[0] for row in wv.Redactor().release_rows([[t] for t in wire_texts()[0]])]
    german = [("n", "Hallo ich bin der Johannes und wohne in Berlin seit vielen Jahren " * 3)]
    foreign = spark.createDataFrame(german, "id string, note string")
    with pytest.raises(TooLittleKeptError):
        veil.sanitize(foreign, ["note"], wv.Redactor(), ids="id", drop_others=True)
