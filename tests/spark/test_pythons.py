"""A session whose workers run another Python is refused before its job, in one sentence that names the remedy."""

import os
import sys

import pytest
from tests.spark.spark_sessions import MARKS, session

import wordveil as wv
from wordveil import spark as veil
from wordveil.errors import ParameterError
from wordveil.spark import pythons

pytestmark = [*MARKS, pytest.mark.xdist_group("spark")]

OTHER = """#!/bin/sh
echo '{answer}'
"""


@pytest.fixture
def python_that_answers(tmp_path):
    def make(answer):
        path = tmp_path / f"python{len(list(tmp_path.iterdir()))}"
        path.write_text(OTHER.format(answer=answer))
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture(scope="module")
def spark():
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None:  # a process has one alone
        pytest.skip("another module's session is open; .ci/spark runs this file by itself")
    made = session("local[1]")
    yield made
    made.stop()


def frame_of(spark):
    return spark.createDataFrame([(1, "Maria was here", [1.0])], "id int, note string, row array<float>")


CASES = {
    "another version": ('{"version": "2.7"}', "is Python 2.7, and this driver runs"),
    "no wordveil": (f'{{"version": "{pythons.VERSION}", "missing": "wordveil"}}', "cannot import wordveil"),
    "no Python": ("nothing", "cannot be run"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_python_that_cannot_do_the_work_is_refused_before_the_job(
    spark, python_that_answers, monkeypatch, tmp_path, case
):
    answer, problem = CASES[case]
    python = python_that_answers(answer)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", python)
    sanitizer = wv.Sanitizer(wv.load_embeddings(), wv.NeighbourResponse(), source=wv.run_source(tmp_path / "clean"))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Maria was here\n")
    for job in (
        lambda: veil.sanitize(frame_of(spark), ["note"], sanitizer, ids="id"),
        lambda: veil.save(frame_of(spark), ["note"], sanitizer, str(tmp_path / "out"), ids="id"),
        lambda: veil.release(frame_of(spark), "row", wv.MultivariateLaplace(epsilon=1.0), ids="id"),
        lambda: veil.sanitize_files(spark, tmp_path / "in", tmp_path / "clean", sanitizer),
    ):
        with pytest.raises(ParameterError, match=problem) as refused:
            job()
        assert "PYSPARK_PYTHON" in str(refused.value)
        assert sys.executable in str(refused.value)


def test_the_driver_s_own_python_passes(spark):
    assert spark.sparkContext.pythonExec == os.environ["PYSPARK_PYTHON"] == sys.executable
    pythons.check_workers(spark)


def test_a_tree_of_another_language_stops_on_the_driver(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for day in range(3):
        (folder / f"{day}.txt").write_text(
            "Frau Weber klagt seit drei Wochen, nimmt aber kein Mittel; ihr Sohn kommt nur selten zu Besuch.\n"
        )
    output = tmp_path / "out"
    sanitizer = wv.Sanitizer(wv.load_embeddings(), wv.NeighbourResponse(), source=wv.run_source(output))
    told = []
    report = veil.sanitize_files(spark, folder, output, sanitizer, watch=sanitizer.watch(told.append))
    assert [type(warning) for warning in told] == [wv.ForeignTextWarning]
    assert report.documents == 3

    def stop(warning):
        raise warning

    again = tmp_path / "again"
    sanitizer = wv.Sanitizer(wv.load_embeddings(), wv.NeighbourResponse(), source=wv.run_source(again))
    with pytest.raises(wv.ForeignTextWarning):
        veil.sanitize_files(spark, folder, again, sanitizer, watch=sanitizer.watch(stop))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.release", "in", "out"]
