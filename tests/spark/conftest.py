"""A real Spark, two executors in processes of their own; without PySpark or Java these tests are skipped."""

import json

import pytest

import wordveil as wv


@pytest.fixture(scope="session")
def spark():
    from tests.spark.spark_sessions import session

    made = session()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def vocabulary():
    return wv.load_embeddings()


@pytest.fixture
def sanitizer(vocabulary):
    def make(source=None):
        options = wv.TextOptions(unknown="typed")
        return wv.Sanitizer(vocabulary, wv.NeighbourResponse(), source=source, options=options)

    return make


@pytest.fixture
def key(tmp_path):
    from wordveil.spark.keys import run_key

    with run_key(tmp_path / "run.key") as path:
        yield path


@pytest.fixture
def tree(tmp_path):
    """A tree of twelve files in two partitions, the way Spark writes them, with one that is cut off."""

    def make(lines=50, files=12):
        root = tmp_path / "in"
        for index in range(files):
            folder = root / f"day={index % 2}"
            folder.mkdir(parents=True, exist_ok=True)
            rows = (
                {"id": n, "text": f"Maria saw film {n} of {index}, it was good", "stars": n % 5} for n in range(lines)
            )
            (folder / f"part-{index:03d}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (root / "broken.jsonl.gz").write_bytes(b"\x1f\x8b no gzip")
        return root

    return make
